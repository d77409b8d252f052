//! Tables in text whose columns have names, as the tools of a machine print them.

use crate::cursor::Cursor;

/// Columns that are kept of a heading; no tool prints more.
const COLUMNS_MAX: usize = 256;

/// What is between blanks.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// All of a word as a number; the decimal point may be a comma.
pub(crate) fn number(word: &[u8]) -> Option<f64> {
    const DECIMALS: u32 = 6;
    let mut cursor = Cursor(word);
    let is_negative = cursor.eat(b"-");
    let value = cursor.fixed(DECIMALS)? as f64 / 10_f64.powi(DECIMALS as i32);
    cursor.is_done().then_some(if is_negative { -value } else { value })
}

/// The names of columns.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Columns(Vec<String>);

impl Columns {
    pub(crate) fn of<'a>(words: impl Iterator<Item = &'a [u8]>) -> Columns {
        Columns(words.take(COLUMNS_MAX).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The names with a row's values.
    pub(crate) fn row<'a>(&'a self, values: &'a [&'a [u8]]) -> Row<'a> {
        Row { columns: self, values }
    }
}

/// A row under its heading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    columns: &'a Columns,
    values: &'a [&'a [u8]],
}

impl<'a> Row<'a> {
    /// What stands in a column.
    pub(crate) fn text(&self, name: &str) -> Option<&'a [u8]> {
        let index = self.columns.0.iter().position(|known| known == name)?;
        self.values.get(index).copied()
    }

    /// The number in a column.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.text(name).and_then(number)
    }

    /// The number in the first of some columns that there is: tools have renamed theirs.
    pub(crate) fn first_of(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.number(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let columns = Columns::of(words(b"Device  r/s   %util"));
        let values: Vec<&[u8]> = words(b"vda 1,50 -0.25").collect();
        let row = columns.row(&values);
        assert_eq!(
            (row.text("Device"), row.number("r/s"), row.number("%util")),
            (Some(&b"vda"[..]), Some(1.5), Some(-0.25))
        );
        assert_eq!((row.number("Device"), row.number("w/s"), row.first_of(&["svctm", "r/s"])), (None, None, Some(1.5)));
        assert!(columns.has("r/s") && !columns.has("w/s"));
    }
}
