//! Keys as they are read: distinct ones with how often each occurs.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// Distinct keys that are kept. Two millions put thousands of keys into each cell of a table of 18 × 18
/// nodes; more only cost memory.
pub const MAX_DISTINCT: usize = 2_000_000;

/// Distinct keys in the order of their first occurrence.
#[derive(Debug, Default)]
pub struct Keys {
    occurrences: IndexMap<Box<str>, u64, FxBuildHasher>,
    /// Keys that were read, repetitions included.
    pub lines: u64,
    /// Of those, how many were not UTF-8; their bad bytes became U+FFFD, as when Java decodes them.
    pub not_utf8: u64,
    /// Of those, how many were left out because there were too many different ones.
    pub left_out: u64,
}

impl Keys {
    /// Adds an occurrence of a key.
    pub fn add(&mut self, key: &[u8]) {
        let text = String::from_utf8_lossy(key);
        self.lines += 1;
        self.not_utf8 += u64::from(std::str::from_utf8(key).is_err());
        if let Some(count) = self.occurrences.get_mut(&*text) {
            *count += 1;
        } else if self.occurrences.len() < MAX_DISTINCT {
            self.occurrences.insert(text.into(), 1);
        } else {
            self.left_out += 1;
        }
    }

    /// How many different ones there are.
    pub fn distinct(&self) -> usize {
        self.occurrences.len()
    }

    /// Each with its occurrences.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.occurrences.iter().map(|(key, count)| (&**key, *count))
    }
}

/// The field of a line of comma-separated values, counted from 0; fields may be in double quotes.
pub fn field(line: &[u8], index: usize) -> Option<Vec<u8>> {
    let mut rest = line;
    for current in 0.. {
        let (value, after) = next_field(rest);
        if current == index {
            return Some(value);
        }
        rest = after?;
    }
    None
}

/// The first field, and what follows its comma.
fn next_field(line: &[u8]) -> (Vec<u8>, Option<&[u8]>) {
    let mut value = Vec::new();
    let mut is_quoted = false;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' if is_quoted && line.get(at + 1) == Some(&b'"') => {
                value.push(b'"');
                at += 1;
            }
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => return (value, Some(&line[at + 1..])),
            byte => value.push(*byte),
        }
        at += 1;
    }
    (value, None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repetitions_are_counted_and_bad_bytes_noticed() {
        let mut keys = Keys::default();
        for key in [&b"a"[..], b"b", b"a", b"\xff"] {
            keys.add(key);
        }
        assert_eq!((keys.lines, keys.distinct(), keys.not_utf8), (4, 3, 1));
        assert_eq!(keys.iter().collect::<Vec<_>>(), [("a", 2), ("b", 1), ("\u{fffd}", 1)]);
    }

    #[test]
    fn fields_with_and_without_quotes() {
        for (line, index, expected) in [
            ("a,b,c", 1, Some("b")),
            ("a,b,c", 3, None),
            ("", 0, Some("")),
            ("a,", 1, Some("")),
            ("\"a,b\",c", 0, Some("a,b")),
            ("\"say \"\"hi\"\"\",x", 0, Some("say \"hi\"")),
            ("\"never closed, x", 0, Some("never closed, x")),
        ] {
            assert_eq!(field(line.as_bytes(), index), expected.map(|text| text.as_bytes().to_vec()), "{line} {index}");
        }
    }

    proptest! {
        #[test]
        fn any_line_has_as_many_fields_as_it_has_and_no_more(line: Vec<u8>) {
            let fields = (0..).take_while(|index| field(&line, *index).is_some()).count();
            prop_assert!(fields >= 1 && fields <= line.iter().filter(|byte| **byte == b',').count() + 1);
        }
    }
}
