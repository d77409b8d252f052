//! The messages of `profile.proto`. Knows no evidence. Numbers of fields are those of its schema.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::profiles::{ENTRIES_MAX, FRAMES_MAX};
use crate::wire::{Fields, Value};

/// Fields of `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const MAPPING: u32 = 3;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
    pub(super) const TIME_NANOS: u32 = 9;
    pub(super) const DURATION_NANOS: u32 = 10;
    pub(super) const PERIOD_TYPE: u32 = 11;
    pub(super) const COMMENT: u32 = 13;
    pub(super) const LAST: u32 = 15;
}

/// Whether a file that begins with `head` is a profile: its first fields are those that a profile has.
pub(super) fn is_profile(head: &[u8]) -> bool {
    let mut fields = Fields::of(head);
    let (mut types, mut others) = (0, 0);
    for (number, value) in fields.by_ref() {
        match number {
            field::SAMPLE_TYPE if is_value_type(value) => types += 1,
            field::SAMPLE | field::MAPPING | field::LOCATION | field::FUNCTION if is_message(value) => others += 1,
            field::STRING_TABLE if is_text(value) => others += 1,
            7..=10 | 12 | 14 if matches!(value, Value::Varint(_)) => {}
            field::PERIOD_TYPE if is_value_type(value) => {}
            field::COMMENT | field::LAST => {}
            _ => return false,
        }
    }
    // What is cut off at the end is a field all the same.
    let is_cut = fields.cut().is_some_and(|(number, _)| (field::SAMPLE..=field::STRING_TABLE).contains(&number));
    types > 0 && (others > 0 || is_cut)
}

fn is_text(value: Value<'_>) -> bool {
    matches!(value, Value::Bytes(bytes) if std::str::from_utf8(bytes).is_ok())
}

fn is_message(value: Value<'_>) -> bool {
    let mut fields = value.fields();
    matches!(value, Value::Bytes(_)) && fields.by_ref().all(|(number, _)| number <= 10) && !fields.is_damaged()
}

/// Two places in the table of texts.
fn is_value_type(value: Value<'_>) -> bool {
    let is_place = |(number, value): (u32, Value<'_>)| number <= 2 && matches!(value, Value::Varint(_));
    let mut fields = value.fields();
    matches!(value, Value::Bytes(bytes) if !bytes.is_empty()) && fields.by_ref().all(is_place) && !fields.is_damaged()
}

/// A frame of a location: the function that was called last comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) function: u64,
    pub(super) line: u32,
}

#[derive(Debug, Default)]
pub(super) struct Location {
    pub(super) mapping: u64,
    pub(super) address: u64,
    pub(super) lines: Vec<Line>,
}

/// What a profile has beside its samples.
#[derive(Debug, Default)]
pub(super) struct Tables<'a> {
    /// Kind and unit of each value of a sample.
    pub(super) types: Vec<(usize, usize)>,
    strings: Vec<&'a [u8]>,
    locations: FxHashMap<u64, Value<'a>>,
    /// Name and file.
    functions: FxHashMap<u64, (usize, usize)>,
    /// File.
    mappings: FxHashMap<u64, usize>,
    pub(super) time_ns: i64,
    pub(super) duration_ns: i64,
    /// Entries that there was no room for.
    pub(super) too_many: i64,
}

impl<'a> Tables<'a> {
    /// Reads all but the samples. How far the file could be read, and whether that is not its end.
    pub(super) fn read(file: &'a [u8]) -> (Tables<'a>, usize, bool) {
        let mut tables = Tables::default();
        let mut fields = Fields::of(file);
        fields.by_ref().for_each(|(number, value)| tables.take(number, value));
        (tables, fields.read_bytes(), fields.is_damaged())
    }

    fn take(&mut self, number: u32, value: Value<'a>) {
        match number {
            field::TIME_NANOS => return self.time_ns = value.int(),
            field::DURATION_NANOS => return self.duration_ns = value.int(),
            field::SAMPLE_TYPE | field::MAPPING | field::LOCATION | field::FUNCTION | field::STRING_TABLE => {}
            _ => return,
        }
        let entries =
            [self.strings.len(), self.locations.len(), self.functions.len(), self.mappings.len(), self.types.len()];
        if entries.iter().sum::<usize>() >= ENTRIES_MAX {
            self.too_many += 1;
            return;
        }
        match number {
            field::SAMPLE_TYPE => self.types.push((of(value, 1).index(), of(value, 2).index())),
            field::STRING_TABLE => self.strings.push(value.bytes()),
            field::LOCATION => {
                self.locations.insert(of(value, 1).int().cast_unsigned(), value);
            }
            field::FUNCTION => {
                let file = (of(value, 2).index(), of(value, 4).index());
                self.functions.insert(of(value, 1).int().cast_unsigned(), file);
            }
            _ => {
                self.mappings.insert(of(value, 1).int().cast_unsigned(), of(value, 5).index());
            }
        }
    }

    pub(super) fn text(&self, place: usize) -> Cow<'a, str> {
        String::from_utf8_lossy(self.strings.get(place).copied().unwrap_or_default())
    }

    /// Name and file of a function.
    pub(super) fn function(&self, id: u64) -> (Cow<'a, str>, Cow<'a, str>) {
        let (name, file) = self.functions.get(&id).copied().unwrap_or((usize::MAX, usize::MAX));
        (self.text(name), self.text(file))
    }

    pub(super) fn location(&self, id: u64) -> Option<Location> {
        self.locations.get(&id).map(|location| self::location(*location))
    }

    pub(super) fn mapping(&self, id: u64) -> Cow<'a, str> {
        self.text(self.mappings.get(&id).copied().unwrap_or(usize::MAX))
    }
}

/// The last value of a field of a message.
fn of(message: Value<'_>, number: u32) -> Value<'_> {
    message.fields().filter(|(known, _)| *known == number).last().map_or(Value::Varint(0), |(_, value)| value)
}

fn location(value: Value<'_>) -> Location {
    let line = |line: Value<'_>| Line {
        function: of(line, 1).int().cast_unsigned(),
        line: u32::try_from(of(line, 2).int()).unwrap_or(0),
    };
    let lines = value.fields().filter(|(number, _)| *number == 4).map(|(_, value)| line(value));
    Location {
        mapping: of(value, 2).int().cast_unsigned(),
        address: of(value, 3).int().cast_unsigned(),
        lines: lines.take(FRAMES_MAX).collect(),
    }
}

/// A sample: its locations, the one that ran first, and its values.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) locations: Vec<u64>,
    pub(super) values: Vec<i64>,
    /// Place of the name of its thread, or the thread's number.
    pub(super) thread: Option<Thread>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thread {
    Named(usize),
    Numbered(i64),
}

/// The samples, in the order of the file.
pub(super) fn samples<'a>(file: &'a [u8], tables: &'a Tables<'a>) -> impl Iterator<Item = Sample> + 'a {
    let samples = Fields::of(file).filter(|(number, _)| *number == field::SAMPLE);
    samples.map(|(_, value)| sample(value, tables))
}

fn sample(value: Value<'_>, tables: &Tables<'_>) -> Sample {
    let mut sample = Sample::default();
    for (number, value) in value.fields() {
        match number {
            1 => {
                let room = FRAMES_MAX.saturating_sub(sample.locations.len());
                sample.locations.extend(value.numbers().take(room).map(i64::cast_unsigned));
            }
            2 => {
                let room = tables.types.len().saturating_sub(sample.values.len());
                sample.values.extend(value.numbers().take(room));
            }
            3 => sample.thread = thread(value, tables).or(sample.thread),
            _ => {}
        }
    }
    sample
}

/// The thread that a label names.
fn thread(label: Value<'_>, tables: &Tables<'_>) -> Option<Thread> {
    let (text, number) = (of(label, 2).index(), of(label, 3).int());
    match &*tables.text(of(label, 1).index()) {
        "thread" | "thread_name" | "thread.name" if text > 0 => Some(Thread::Named(text)),
        "tid" | "thread_id" | "thread.id" if number > 0 => Some(Thread::Numbered(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_profiles() {
        let kind = [0x0a, 4, 8, 1, 16, 2];
        for (bytes, expected) in [
            (&[&kind[..], &[0x12, 4, 0x0a, 2, 1, 2]].concat()[..], true),
            (&[&kind[..], &[0x12, 90, 0x0a, 2, 1, 2]].concat(), true),
            (&[&kind[..], b"\x32\x00\x32\x03cpu"].concat(), true),
            (&kind, false),
            (&[&kind[..], b"\x32\x00\x7a\x03cpu\xff"].concat(), true),
            (&[&kind[..], &[0x4a, 1, 1]].concat(), false),
            (b"\x0a\x04main\x12\x01a", false),
            (b"", false),
        ] {
            assert_eq!(is_profile(bytes), expected, "{bytes:?}");
        }
    }
}
