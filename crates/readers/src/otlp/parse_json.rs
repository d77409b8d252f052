//! The same messages as JSON (`ProfilesData` in the mapping of proto3), converted to protocol buffers. Knows no evidence.
//!
//! A collector writes a message on each line, each with a dictionary of its own. Names may be those of the schema or in camel case, numbers may be texts.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::lines;

/// What a field holds.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Number,
    Fixed64,
    Message(&'static [Field]),
    /// A message of which a half means nothing.
    Whole(&'static [Field]),
}

/// Name in camel case, number, what it holds.
type Field = (&'static str, u32, Kind);

use Kind::{Fixed64, Message, Number, Text, Whole};

const ANY: &[Field] = &[("stringValue", 1, Text), ("intValue", 3, Number)];
const PAIR: &[Field] = &[("key", 1, Text), ("value", 2, Message(ANY))];
const VALUE_TYPE: &[Field] = &[("typeStrindex", 1, Number), ("unitStrindex", 2, Number)];
const SAMPLE: &[Field] = &[
    ("stackIndex", 1, Number),
    ("attributeIndices", 2, Number),
    ("linkIndex", 3, Number),
    ("values", 4, Number),
    ("timestampsUnixNano", 5, Fixed64),
];
const PROFILE: &[Field] = &[
    ("sampleType", 1, Message(VALUE_TYPE)),
    ("samples", 2, Whole(SAMPLE)),
    ("timeUnixNano", 3, Fixed64),
    ("durationNano", 4, Number),
    ("periodType", 5, Message(VALUE_TYPE)),
    ("period", 6, Number),
];
const SCOPE: &[Field] = &[("profiles", 2, Message(PROFILE))];
const RESOURCE: &[Field] = &[("attributes", 1, Message(PAIR))];
const RESOURCE_PROFILES: &[Field] = &[("resource", 1, Message(RESOURCE)), ("scopeProfiles", 2, Message(SCOPE))];
const MAPPING: &[Field] = &[("filenameStrindex", 4, Number)];
const LINE: &[Field] = &[("functionIndex", 1, Number), ("line", 2, Number)];
const LOCATION: &[Field] = &[
    ("mappingIndex", 1, Number),
    ("address", 2, Number),
    ("lines", 3, Message(LINE)),
    ("attributeIndices", 4, Number),
];
const FUNCTION: &[Field] = &[("nameStrindex", 1, Number), ("filenameStrindex", 3, Number)];
const ATTRIBUTE: &[Field] = &[("keyStrindex", 1, Number), ("value", 2, Message(ANY))];
const STACK: &[Field] = &[("locationIndices", 1, Number)];
const DICTIONARY: &[Field] = &[
    ("mappingTable", 1, Message(MAPPING)),
    ("locationTable", 2, Message(LOCATION)),
    ("functionTable", 3, Message(FUNCTION)),
    ("stringTable", 5, Text),
    ("attributeTable", 6, Message(ATTRIBUTE)),
    ("stackTable", 7, Message(STACK)),
];
const PROFILES_DATA: &[Field] =
    &[("resourceProfiles", 1, Message(RESOURCE_PROFILES)), ("dictionary", 2, Message(DICTIONARY))];

/// Names that the beginning of such a file has: of its outermost object, and of what is in it.
const OUTER: [&[u8]; 4] = [b"\"resourceProfiles\"", b"\"resource_profiles\"", b"\"dictionary\"", b"\"stringTable\""];
const INNER: [&[u8]; 8] = [
    b"\"scopeProfiles\"",
    b"\"scope_profiles\"",
    b"\"stringTable\"",
    b"\"string_table\"",
    b"\"mappingTable\"",
    b"\"mapping_table\"",
    b"\"locationTable\"",
    b"\"location_table\"",
];

/// Longest text that is kept, in bytes.
const TEXT_MAX_BYTES: usize = 4_096;

/// Messages of a file are kept up to this size.
const MESSAGES_MAX_BYTES: usize = 1 << 29;

/// Whether a file that begins with `head` is such JSON.
pub(super) fn is_profile(head: &[u8]) -> bool {
    let has = |names: &[&[u8]]| names.iter().any(|name| memchr::memmem::find(head, name).is_some());
    head.trim_ascii_start().starts_with(b"{") && has(&OUTER) && has(&INNER)
}

/// Messages of a file, each as protocol buffers.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub(super) all: Vec<Vec<u8>>,
    /// Why the last one ended early.
    pub(super) damage: Option<String>,
}

pub(super) fn messages(bytes: &[u8]) -> Messages {
    let (mut found, mut rest, mut left) = (Messages::default(), bytes.trim_ascii(), MESSAGES_MAX_BYTES);
    while !rest.is_empty() && found.damage.is_none() {
        let mut json = serde_json::Deserializer::from_slice(rest);
        let mut writer = Writer { open: vec![Vec::new()], left };
        let whole = Message(PROFILES_DATA);
        let result = Seed { writer: &mut writer, field: 0, kind: whole }.deserialize(&mut json);
        found.damage = result.err().map(|error| lines::shown(error.to_string().as_bytes()));
        left = writer.left;
        found.all.extend(writer.open.pop());
        rest = rest.get(json.into_iter::<IgnoredAny>().byte_offset()..).unwrap_or_default().trim_ascii_start();
    }
    found
}

/// Messages that are being written, each within the one before it.
struct Writer {
    open: Vec<Vec<u8>>,
    left: usize,
}

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;

impl Writer {
    fn put(&mut self, field: u32, kind: u64, bytes: impl IntoIterator<Item = u8>) -> Result<(), &'static str> {
        let Some(message) = self.open.last_mut() else { return Ok(()) };
        let before = message.len();
        message.extend(varint(u64::from(field) << 3 | kind).chain(bytes));
        self.left = self.left.checked_sub(message.len() - before).ok_or("it is larger than what is kept in memory")?;
        Ok(())
    }

    fn number(&mut self, field: u32, value: u64) -> Result<(), &'static str> {
        self.put(field, VARINT, varint(value))
    }

    fn fixed(&mut self, field: u32, value: u64) -> Result<(), &'static str> {
        self.put(field, FIXED_64, value.to_le_bytes())
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) -> Result<(), &'static str> {
        self.put(field, BYTES, varint(bytes.len() as u64).chain(bytes.iter().copied()))
    }
}

fn varint(mut value: u64) -> impl Iterator<Item = u8> {
    let mut is_done = false;
    std::iter::from_fn(move || {
        if is_done {
            return None;
        }
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        is_done = value == 0;
        Some(if is_done { byte } else { byte | 0x80 })
    })
}

/// A value of a field, or several of them in an array.
struct Seed<'w> {
    writer: &'w mut Writer,
    field: u32,
    kind: Kind,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl Seed<'_> {
    fn integer<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        match self.kind {
            Number => self.writer.number(self.field, value).map_err(E::custom),
            Fixed64 => self.writer.fixed(self.field, value).map_err(E::custom),
            Text | Message(_) | Whole(_) => Ok(()),
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value of a profile")
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.integer(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.integer(value.cast_unsigned())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        // The cast saturates; a fraction is no number of these fields.
        self.integer((value as i64).cast_unsigned())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        if let Text = self.kind {
            let text = &text[..text.floor_char_boundary(TEXT_MAX_BYTES)];
            return self.writer.bytes(self.field, text.as_bytes()).map_err(E::custom);
        }
        let value = text.parse::<u64>().ok().or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned));
        value.map_or(Ok(()), |value| self.integer(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        let Seed { writer, field, kind } = self;
        while all.next_element_seed(Seed { writer: &mut *writer, field, kind })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        let Seed { writer, field, kind } = self;
        let (Message(fields) | Whole(fields)) = kind else { return skip(&mut all) };
        if field == 0 {
            return entries(&mut all, writer, fields);
        }
        writer.open.push(Vec::new());
        let result = entries(&mut all, writer, fields);
        let message = writer.open.pop().unwrap_or_default();
        // Its bytes are counted where it stands.
        writer.left = writer.left.saturating_add(message.len());
        if result.is_ok() || matches!(kind, Message(_)) {
            writer.bytes(field, &message).map_err(A::Error::custom)?;
        }
        result
    }
}

fn skip<'de, A: MapAccess<'de>>(all: &mut A) -> Result<(), A::Error> {
    while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

fn entries<'de, A: MapAccess<'de>>(all: &mut A, writer: &mut Writer, fields: &'static [Field]) -> Result<(), A::Error> {
    while let Some(key) = all.next_key::<Cow<'de, str>>()? {
        match fields.iter().find(|(name, ..)| is_name(&key, name)) {
            Some((_, field, kind)) => all.next_value_seed(Seed { writer: &mut *writer, field: *field, kind: *kind })?,
            None => all.next_value::<IgnoredAny>().map(drop)?,
        }
    }
    Ok(())
}

/// Whether `string_table` or `stringTable` is `stringTable`.
fn is_name(key: &str, name: &str) -> bool {
    let mut is_behind = false;
    let camel = key.chars().filter_map(|letter| {
        let was_behind = std::mem::replace(&mut is_behind, letter == '_');
        let letter = if was_behind { letter.to_ascii_uppercase() } else { letter };
        (letter != '_').then_some(letter)
    });
    camel.eq(name.chars())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::parse::File;

    const WHOLE: &str = r#"{"resourceProfiles":[{"resource":{"attributes":[{"key":"process.pid","value":{"intValue":"7"}}]},"scopeProfiles":[{"profiles":
        [{"profileId":"AAEC","samples":[{"stackIndex":1,"values":["5",-6],"timestampsUnixNano":["1795156200000000001",2]},{"unknown":{"a":[1]}}]}]}]}],
        "dictionary":{"string_table":["","a.B.c"],"functionTable":[{},{"nameStrindex":1}],"locationTable":[{},{"lines":[{"functionIndex":1,"line":"3"}]}],
        "stackTable":[{},{"locationIndices":[1]}]}}"#;

    /// Process, values and times of the samples, and the names of frames.
    type Read = Vec<(i64, Vec<i64>, Vec<i64>, Vec<String>)>;

    fn read(bytes: &[u8]) -> Read {
        let file = File::read(bytes);
        assert!(!file.is_damaged);
        let mut found = Vec::new();
        for (pid, profile) in file.profiles() {
            for sample in profile.samples() {
                let places: Vec<usize> = file.dictionary.stack(sample.stack()).collect();
                let names = places.into_iter().flat_map(|place| {
                    let lines = file.dictionary.location(place).lines;
                    lines.into_iter().map(|line| format!("{}:{}", line.name, line.line)).collect::<Vec<_>>()
                });
                found.push((pid, sample.values().collect(), sample.times_ns().collect(), names.collect()));
            }
        }
        found
    }

    #[test]
    fn json_becomes_the_same_messages() {
        let several = format!("{WHOLE}\n{WHOLE}\r\n");
        assert!(is_profile(WHOLE.as_bytes()));
        let found = messages(several.as_bytes());
        assert_eq!((found.all.len(), &found.damage), (2, &None));
        let expected: Read = vec![
            (7, vec![5, -6], vec![1_795_156_200_000_000_001, 2], vec!["a.B.c:3".to_owned()]),
            (7, vec![], vec![], vec![]),
        ];
        assert_eq!(read(&found.all[1]), expected);
    }

    /// What stands before the cut is read; half a sample is none.
    #[test]
    fn cut_anywhere() {
        let at = WHOLE.find("},{\"unknown").unwrap();
        for (cut, samples) in [(at, 0), (at + 1, 1), (at + 3, 1), (WHOLE.len() - 1, 2)] {
            let found = messages(&WHOLE.as_bytes()[..cut]);
            assert!(found.damage.is_some());
            assert_eq!(read(&found.all[0]).len(), samples, "{cut}");
        }
        for cut in 0..WHOLE.len() {
            messages(&WHOLE.as_bytes()[..cut]).all.iter().for_each(|message| drop(read(message)));
        }
    }

    #[test]
    fn what_is_no_profile() {
        for head in ["{}", "{\"resourceSpans\":[{\"scopeSpans\":[]}]}", "{\"dictionary\":1}", "x", ""] {
            assert!(!is_profile(head.as_bytes()), "{head}");
        }
        assert!(
            messages(b"[[[[1,{\"a\":2}]]]] {\"resourceProfiles\":3} {\"dictionary\":{\"stringTable\":\"x\"}}")
                .damage
                .is_none()
        );
    }
}
