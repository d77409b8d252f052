//! Lines that are JSON objects: what log4j, logback, Docker and journald write. Knows no evidence.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use crate::app_log::head::Level;
use crate::app_log::stamp::{Stamp, Stamps};
use crate::cursor::Cursor;
use crate::lines::MAX_LINE_BYTES;

/// Lines of this length were cut, with what a container writes before them.
const CUT_FROM_BYTES: usize = MAX_LINE_BYTES - 256;

/// The fields of a line that are read, in buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct Fields {
    time: String,
    pub(super) level: Level,
    pub(super) logger: String,
    pub(super) message: String,
    pub(super) exception: String,
    /// Whether journald wrote it.
    pub(super) is_of_journal: bool,
    /// A line that Docker has put into an object.
    pub(super) wrapped: String,
    /// What is read, until it is known whether it counts.
    text: String,
}

impl Fields {
    /// Reads a line; false if it is no object.
    pub(super) fn read(&mut self, line: &[u8]) -> bool {
        for text in [&mut self.time, &mut self.logger, &mut self.message, &mut self.exception, &mut self.wrapped] {
            text.clear();
        }
        (self.level, self.is_of_journal) = (Level::None, false);
        let is_whole = serde_json::Deserializer::from_slice(line).deserialize_map(&mut *self).is_ok();
        // Of a line that was cut counts what stands before the cut.
        is_whole || line.len() >= CUT_FROM_BYTES && is_time(&self.time)
    }

    /// Whether it says anything: objects may also be what a program logs as text.
    pub(super) fn has_message(&self) -> bool {
        !self.message.is_empty() || !self.wrapped.is_empty()
    }

    /// When it was written. Numbers are seconds, or parts of these, since the epoch.
    pub(super) fn stamp(&self, stamps: &mut Stamps) -> Option<Stamp> {
        stamp_of(&self.time, stamps)
    }

    /// Reads what belongs to one of [`KEYS`].
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        if OBJECTS.contains(&key) {
            let value = map.next_value()?;
            self.take(key, value);
            return Ok(());
        }
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let read = map.next_value_seed(Text(&mut text));
        if read.is_ok() {
            self.take_text(key, &mut text);
        }
        self.text = text;
        read
    }

    fn take(&mut self, key: &str, value: Value) {
        match (key, value) {
            ("instant", Value::Object(instant)) => {
                let part = |name: &str| instant.get(name).and_then(Value::as_u64).unwrap_or(0);
                self.time = format!("{}.{:09}", part("epochSecond"), part("nanoOfSecond"));
            }
            ("stack_trace" | "exception" | "throwable" | "thrown" | "error.type" | "exc_info", value) => {
                self.exception = exception(value);
            }
            ("log", Value::String(line)) => self.wrapped = line,
            ("log", Value::Object(log)) => {
                log.into_iter().for_each(|(name, value)| self.take(&format!("log.{name}"), value));
            }
            ("log" | "instant", _) => {}
            (key, value) => self.take_text(key, &mut text(value)),
        }
    }

    /// Takes a text, and leaves another one in its place, whose memory is used again.
    fn take_text(&mut self, key: &str, text: &mut String) {
        match key {
            "@timestamp" | "timestamp" | "time" | "ts" | "timeMillis" | "__REALTIME_TIMESTAMP" => {
                self.is_of_journal |= key == "__REALTIME_TIMESTAMP";
                // Of several times counts the last that is one: `time` may be how long something took.
                if self.time.is_empty() || is_time(text) {
                    std::mem::swap(&mut self.time, text);
                }
            }
            "level" | "severity" | "log.level" | "levelname" => {
                self.level = Level::of(text.as_bytes()).unwrap_or_default();
            }
            "PRIORITY" => self.level = text.parse().map_or(Level::None, Level::of_severity),
            "logger_name" | "logger" | "loggerName" | "log.logger" | "SYSLOG_IDENTIFIER" => {
                std::mem::swap(&mut self.logger, text);
            }
            "message" | "msg" | "MESSAGE" => std::mem::swap(&mut self.message, text),
            _ => {}
        }
    }
}

fn is_time(text: &str) -> bool {
    !text.is_empty() && stamp_of(text, &mut Stamps::default()).is_some()
}

fn stamp_of(time: &str, stamps: &mut Stamps) -> Option<Stamp> {
    let mut cursor = Cursor(time.as_bytes());
    if let Some(stamp) = stamps.read(&mut cursor) {
        return Some(stamp);
    }
    let is_number = time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let whole = time.split('.').next().unwrap_or_default().len();
    let scale = match whole {
        9..=10 => 9,
        12..=13 => 6,
        15..=16 => 3,
        18..=19 => 0,
        _ => return None,
    };
    Cursor(time.as_bytes()).fixed(scale).filter(|_| is_number).map(Stamp::exact)
}

fn text(value: Value) -> String {
    let mut text = String::new();
    // A value that is there has no mistakes of writing.
    let _ = Text(&mut text).deserialize(value);
    text
}

/// Its stack, or its class alone.
fn exception(value: Value) -> String {
    match value {
        Value::Object(mut thrown) => ["name", "exceptionClass", "class", "type"]
            .iter()
            .find_map(|key| thrown.remove(*key))
            .map_or_else(String::new, text),
        value => text(value),
    }
}

impl<'de> Visitor<'de> for &mut Fields {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            match key {
                Some(key) => self.field(key, &mut map)?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Keys that [`Fields::take`] knows: values of others are skipped without looking at them.
const KEYS: &[&str] = &[
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "timeMillis",
    "__REALTIME_TIMESTAMP",
    "instant",
    "level",
    "severity",
    "log.level",
    "levelname",
    "PRIORITY",
    "logger_name",
    "logger",
    "loggerName",
    "log.logger",
    "SYSLOG_IDENTIFIER",
    "message",
    "msg",
    "MESSAGE",
    "stack_trace",
    "exception",
    "throwable",
    "thrown",
    "error.type",
    "exc_info",
    "log",
];

/// Those of them whose values may be objects of which more than one field counts.
const OBJECTS: &[&str] =
    &["instant", "stack_trace", "exception", "throwable", "thrown", "error.type", "exc_info", "log"];

/// The text or number of a value, into memory that is there; of others nothing.
struct Text<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Text<'_> {
    fn number(self, number: Number) {
        *self.0 = number.to_string();
    }
}

impl<'de> Visitor<'de> for Text<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.number(number.into());
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.number(number.into());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        Number::from_f64(number).into_iter().for_each(|number| self.0.push_str(&number.to_string()));
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// One of [`KEYS`], or another.
struct Key(Option<&'static str>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_str<E>(self, text: &str) -> Result<Key, E> {
        Ok(Key(KEYS.iter().copied().find(|key| *key == text)))
    }
}
