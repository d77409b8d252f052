//! The file of the JVM's counters: bytes to names, places and values. No I/O, no evidence.
//!
//! A prologue of 32 bytes, then entries that each state their length. The bytes come from the memory of the process and
//! may hold anything, so every length and offset is checked before use. The positions of counters do not change while
//! the JVM lives; new ones are added at the end.

use std::collections::HashMap;

/// First bytes of the file.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const PROLOGUE_BYTES: usize = 32;
const ENTRY_HEAD_BYTES: usize = 20;
/// The JVM's own unit of time, among the units of entries.
const UNIT_TICKS: u8 = 3;
/// More counters than any JVM has.
const ENTRIES_MAX: usize = 20_000;

/// Why the bytes are no counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotCounters {
    #[error("the file of the JVM's counters does not begin like one")]
    Magic,
    #[error("the file of the JVM's counters is of version {0}.{1}; 2.0 is known")]
    Version(u8, u8),
    #[error("the JVM has not finished making its counters")]
    NotYet,
    #[error("the file of the JVM's counters is cut or damaged")]
    Damaged,
}

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A number.
    Number {
        /// Its offset.
        at: usize,
        /// Whether its unit is the JVM's own unit of time.
        in_ticks: bool,
    },
    /// A text that ends with a NUL, within these offsets.
    Text(usize, usize),
}

/// The names of a file and where their values are.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Layout {
    places: HashMap<String, Place>,
    is_little_endian: bool,
    /// Number of entries the prologue speaks of: more of them mean that new counters were added.
    pub(crate) entries: u32,
}

impl Layout {
    /// Reads the prologue and all entries.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Layout, NotCounters> {
        if bytes.get(..4) != Some(&MAGIC) || bytes.len() < PROLOGUE_BYTES {
            return Err(NotCounters::Magic);
        }
        let (major, minor, is_accessible) = (bytes[5], bytes[6], bytes[7]);
        if (major, minor) != (2, 0) {
            return Err(NotCounters::Version(major, minor));
        }
        if is_accessible == 0 {
            return Err(NotCounters::NotYet);
        }
        let mut layout = Layout { is_little_endian: bytes[4] == 1, ..Layout::default() };
        let number = |at| layout.u32(bytes, at).ok_or(NotCounters::Damaged);
        let (used, first, entries) = (number(8)? as usize, number(24)? as usize, number(28)?);
        if used > bytes.len() || entries as usize > ENTRIES_MAX {
            return Err(NotCounters::Damaged);
        }
        layout.entries = entries;
        layout.read_entries(&bytes[..used], first)?;
        Ok(layout)
    }

    fn read_entries(&mut self, bytes: &[u8], first: usize) -> Result<(), NotCounters> {
        let mut at = first;
        for _ in 0..self.entries {
            let (length, name, place) = self.entry(bytes, at).ok_or(NotCounters::Damaged)?;
            if let Some(place) = place {
                self.places.insert(name, place);
            }
            at += length;
        }
        Ok(())
    }

    /// Length, name and place of the entry at `at`; kinds of values that no JVM writes have no place.
    fn entry(&self, bytes: &[u8], at: usize) -> Option<(usize, String, Option<Place>)> {
        let number = |offset: usize| self.u32(bytes, at.checked_add(offset)?).map(|number| number as usize);
        let length = number(0)?;
        let end = at.checked_add(length)?;
        if length < ENTRY_HEAD_BYTES || end > bytes.len() {
            return None;
        }
        let within = |offset: usize| at.checked_add(offset).filter(|place| *place < end);
        let (name, data) = (within(number(4)?)?, within(number(16)?)?);
        let vector = number(8)?;
        let place = match (bytes[at + 12], vector) {
            (b'J', 0) if data + 8 <= end => Some(Place::Number { at: data, in_ticks: bytes[at + 14] == UNIT_TICKS }),
            (b'B', 1..) if vector <= end - data => Some(Place::Text(data, data + vector)),
            _ => None,
        };
        Some((length, text_of(&bytes[name..end]), place))
    }

    fn u32(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.is_little_endian { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) })
    }

    /// The place of a counter.
    pub(crate) fn place(&self, name: &str) -> Option<Place> {
        self.places.get(name).copied()
    }

    /// Names of all counters, in no order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// The number at a place, in a later state of the same file.
    pub(crate) fn number_at(&self, bytes: &[u8], at: usize) -> Option<i64> {
        let eight = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
        Some(if self.is_little_endian { i64::from_le_bytes(eight) } else { i64::from_be_bytes(eight) })
    }

    /// A number by its name.
    pub(crate) fn number(&self, bytes: &[u8], name: &str) -> Option<i64> {
        match self.place(name)? {
            Place::Number { at, .. } => self.number_at(bytes, at),
            Place::Text(..) => None,
        }
    }

    /// A text by its name.
    pub(crate) fn text(&self, bytes: &[u8], name: &str) -> Option<String> {
        match self.place(name)? {
            Place::Text(from, to) => bytes.get(from..to).map(text_of),
            Place::Number { .. } => None,
        }
    }
}

/// The text up to its NUL.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Number of entries by the prologue, to see without parsing that some were added.
pub(crate) fn entries_of(layout: &Layout, bytes: &[u8]) -> Option<u32> {
    layout.u32(bytes, 28)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A value of a file made for a test.
    #[derive(Debug, Clone)]
    pub(crate) enum Value {
        Number(i64),
        Text(&'static str),
    }

    /// A file as a JVM writes it.
    pub(crate) fn file(values: &[(&str, Value)]) -> Vec<u8> {
        let mut bytes = vec![0_u8; PROLOGUE_BYTES];
        for (name, value) in values {
            let (kind, vector, data) = match value {
                Value::Number(number) => (b'J', 0, number.to_le_bytes().to_vec()),
                Value::Text(text) => (b'B', 64, format!("{text:\0<64}").into_bytes()),
            };
            let name_end = ENTRY_HEAD_BYTES + name.len() + 1;
            let data_at = name_end.next_multiple_of(8);
            let length = data_at + data.len();
            let mut entry = Vec::new();
            for number in [length as u32, ENTRY_HEAD_BYTES as u32, vector] {
                entry.extend_from_slice(&number.to_le_bytes());
            }
            entry.extend_from_slice(&[kind, 0, 1, 3]);
            entry.extend_from_slice(&(data_at as u32).to_le_bytes());
            entry.extend_from_slice(name.as_bytes());
            entry.resize(data_at, 0);
            entry.extend_from_slice(&data);
            bytes.extend_from_slice(&entry);
        }
        let used = bytes.len() as u32;
        bytes[..8].copy_from_slice(&[0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1]);
        bytes[8..12].copy_from_slice(&used.to_le_bytes());
        bytes[24..28].copy_from_slice(&(PROLOGUE_BYTES as u32).to_le_bytes());
        bytes[28..32].copy_from_slice(&(values.len() as u32).to_le_bytes());
        bytes.resize(32 << 10, 0);
        bytes
    }

    fn example() -> Vec<u8> {
        file(&[
            ("sun.rt.safepoints", Value::Number(17)),
            ("sun.gc.cause", Value::Text("No GC")),
            ("sun.ci.totalCompiles", Value::Number(-1)),
        ])
    }

    #[test]
    fn values_are_where_the_entries_say() {
        let bytes = example();
        let layout = Layout::parse(&bytes).unwrap();
        assert_eq!(layout.number(&bytes, "sun.rt.safepoints"), Some(17));
        assert_eq!(layout.number(&bytes, "sun.ci.totalCompiles"), Some(-1));
        assert_eq!(layout.text(&bytes, "sun.gc.cause").as_deref(), Some("No GC"));
        assert_eq!(layout.number(&bytes, "sun.gc.cause"), None);
        assert_eq!(layout.text(&bytes, "sun.rt.safepoints"), None);
        assert_eq!(layout.number(&bytes, "absent"), None);
        assert_eq!(layout.names().count(), 3);
        assert_eq!(layout.number_at(&[], 40), None, "the file was cut afterwards");
    }

    #[test]
    fn what_is_no_file_of_counters() {
        let change = |at: usize, to: u8| {
            let mut bytes = example();
            bytes[at] = to;
            bytes
        };
        for (bytes, expected) in [
            (Vec::new(), NotCounters::Magic),
            (vec![0xca, 0xfe, 0xc0, 0xc0], NotCounters::Magic),
            (change(0, 0), NotCounters::Magic),
            (change(5, 1), NotCounters::Version(1, 0)),
            (change(7, 0), NotCounters::NotYet),
            (change(10, 0xff), NotCounters::Damaged),
            (change(27, 0x7f), NotCounters::Damaged),
            (change(30, 0xff), NotCounters::Damaged),
            (change(28, 200), NotCounters::Damaged),
            (change(32, 1), NotCounters::Damaged),
            (change(35, 0x7f), NotCounters::Damaged),
            (change(39, 0x7f), NotCounters::Damaged),
            (change(51, 0x7f), NotCounters::Damaged),
        ] {
            assert_eq!(Layout::parse(&bytes), Err(expected));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(start in 0..200_usize, noise in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut bytes = example();
            bytes[start..start + noise.len()].copy_from_slice(&noise);
            if let Ok(layout) = Layout::parse(&bytes) {
                for name in layout.names() {
                    let _ = (layout.number(&bytes, name), layout.text(&bytes, name));
                    let _ = (layout.number(&bytes[..100], name), layout.text(&bytes[..100], name));
                }
            }
        }
    }
}
