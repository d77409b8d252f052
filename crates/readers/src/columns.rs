//! Text tables with named columns, as system tools print them.

use rustc_hash::FxHashMap;

use crate::cursor::Cursor;

/// Columns that are kept of a heading; no tool prints more.
const COLUMNS_MAX: usize = 256;

/// Words of a line that there is room for from the start.
const WORDS_USUAL: usize = 32;

/// What is between blanks.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// The same at once: most lines of a table are asked for several of their words.
pub(crate) fn all_words(line: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::with_capacity(WORDS_USUAL);
    all.extend(words(line));
    all
}

/// All of a word as a number; the decimal point may be a comma.
pub(crate) fn number(word: &[u8]) -> Option<f64> {
    const DECIMALS: u32 = 6;
    let mut cursor = Cursor(word);
    let is_negative = cursor.eat(b"-");
    let value = cursor.fixed(DECIMALS)? as f64 / 10_f64.powi(DECIMALS as i32);
    cursor.is_done().then_some(if is_negative { -value } else { value })
}

/// The names of columns, each with the first place where it stands.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    places: FxHashMap<String, usize>,
    len: usize,
}

impl Columns {
    pub(crate) fn of<'a>(words: impl Iterator<Item = &'a [u8]>) -> Columns {
        let mut columns = Columns::default();
        for word in words.take(COLUMNS_MAX) {
            let name = String::from_utf8_lossy(word).into_owned();
            columns.places.entry(name).or_insert(columns.len);
            columns.len += 1;
        }
        columns
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Where a column stands.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The names with a row's values.
    pub(crate) fn row<'a>(&'a self, values: &'a [&'a [u8]]) -> Row<'a> {
        Row { columns: self, values, first: 0 }
    }
}

/// A row under its heading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    columns: &'a Columns,
    values: &'a [&'a [u8]],
    /// The column of the first value.
    first: usize,
}

impl<'a> Row<'a> {
    /// What stands in a column.
    pub(crate) fn text(&self, name: &str) -> Option<&'a [u8]> {
        self.values.get(self.columns.place(name)?.checked_sub(self.first)?).copied()
    }

    /// The same row if the first column has no value in it.
    pub(crate) fn behind_first(self) -> Row<'a> {
        Row { first: 1, ..self }
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
