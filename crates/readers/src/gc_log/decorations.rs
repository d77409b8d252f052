//! Unified logging's decorations (JDK 9 and later): `[time][uptime][pid][tid][level][tags] message`.
//!
//! Any subset may be present, in any order, padded with blanks. The shape of a bracket shows which decoration it is;
//! only host names and tags look alike, and tags come last.

use memchr::memchr;

use crate::cursor::{Cursor, trim};
use crate::gc_log::event::Stamp;
use crate::time::IsoTimes;

/// Longest text between two brackets: host names have at most 253 bytes.
const MAX_DECORATION_BYTES: usize = 255;

/// Uptime can hardly exceed what a wall clock in milliseconds always does: 1973.
const EPOCH_MS_MIN: i64 = 100_000_000_000;

/// Which kind of message a line has, by its tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// No tags: anything is possible.
    Unknown,
    /// One of the tag sets whose every line is known: `gc`, `safepoint` or `codecache` alone.
    Main,
    /// `gc,init`: properties.
    Init,
    /// `gc,phases`.
    Phases,
    /// Another set that begins with `gc`, `safepoint` or `codecache`.
    Detail,
    /// Something else of the JVM.
    Foreign,
}

/// A line split into decorations and message.
#[derive(Debug)]
pub(crate) struct Decorated<'a> {
    pub(crate) stamp: Stamp,
    /// Nanoseconds of an unnamed clock: `uptimenanos`, or `timenanos`, which counts from any origin.
    pub(crate) nanos: Option<i64>,
    pub(crate) topic: Topic,
    /// Whether the level is `debug` or `trace`.
    pub(crate) verbose: bool,
    pub(crate) message: &'a [u8],
}

enum Decoration {
    Wall(i64),
    Uptime(i64),
    Nanos(i64),
    Number,
    Level { verbose: bool },
    Word(Topic),
}

/// Splits `line`, or tells that it is not of unified logging.
pub(crate) fn split<'a>(line: &'a [u8], times: &mut IsoTimes) -> Option<Decorated<'a>> {
    let mut found =
        Decorated { stamp: Stamp::default(), nanos: None, topic: Topic::Unknown, verbose: false, message: line };
    let mut is_sure = false;
    while let [b'[', rest @ ..] = found.message {
        let window = &rest[..rest.len().min(MAX_DECORATION_BYTES)];
        let Some(end) = memchr(b']', window) else { break };
        let Some(decoration) = classify(&rest[..end], times) else { break };
        is_sure |= found.note(decoration);
        found.message = &rest[end + 1..];
    }
    is_sure.then_some(())?;
    found.message = found.message.strip_prefix(b" ").unwrap_or(found.message);
    Some(found)
}

impl Decorated<'_> {
    /// Takes a decoration over; says whether it is one that only unified logging writes.
    fn note(&mut self, decoration: Decoration) -> bool {
        match decoration {
            Decoration::Wall(ns) => self.stamp.wall_ns = Some(ns),
            Decoration::Uptime(ns) => self.stamp.uptime_ns = Some(ns),
            Decoration::Nanos(ns) => self.nanos = Some(self.nanos.map_or(ns, |other| ns.min(other))),
            Decoration::Level { verbose } => self.verbose = verbose,
            Decoration::Number => return false,
            Decoration::Word(topic) => {
                self.topic = topic;
                return topic != Topic::Foreign;
            }
        }
        true
    }
}

fn classify(text: &[u8], times: &mut IsoTimes) -> Option<Decoration> {
    match text.first()? {
        b'0'..=b'9' => number(text, times),
        b'a'..=b'z' | b'A'..=b'Z' => word(trim(text)),
        _ => None,
    }
}

fn number(text: &[u8], times: &mut IsoTimes) -> Option<Decoration> {
    if text.get(4) == Some(&b'-') {
        let mut cursor = Cursor(text);
        let ns = times.read(&mut cursor)?;
        return cursor.is_done().then_some(Decoration::Wall(ns));
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let read = |scale| Cursor(text).fixed(scale);
    match &text[digits..] {
        b"" => Some(Decoration::Number),
        b"ns" => Some(Decoration::Nanos(read(0)?)),
        b"ms" => {
            let ns = read(6)?;
            let is_epoch = ns / 1_000_000 >= EPOCH_MS_MIN;
            Some(if is_epoch { Decoration::Wall(ns) } else { Decoration::Uptime(ns) })
        }
        [b'.' | b',', fraction @ .., b's'] if fraction.iter().all(u8::is_ascii_digit) => {
            Some(Decoration::Uptime(read(9)?))
        }
        _ => word(text),
    }
}

fn word(text: &[u8]) -> Option<Decoration> {
    match text {
        b"info" | b"warning" | b"error" => return Some(Decoration::Level { verbose: false }),
        b"debug" | b"trace" => return Some(Decoration::Level { verbose: true }),
        _ => {}
    }
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b',' | b'.' | b'-' | b'_');
    text.iter().all(belongs).then(|| Decoration::Word(topic(text)))
}

fn topic(tags: &[u8]) -> Topic {
    match tags {
        b"gc" | b"safepoint" | b"codecache" => Topic::Main,
        b"gc,init" => Topic::Init,
        b"gc,phases" => Topic::Phases,
        _ => {
            let belongs = |tag: &[u8]| matches!(tag, b"gc" | b"safepoint" | b"codecache");
            if tags.split(|byte| *byte == b',').any(belongs) { Topic::Detail } else { Topic::Foreign }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(line: &str) -> Option<String> {
        let found = split(line.as_bytes(), &mut IsoTimes::default())?;
        let message = String::from_utf8_lossy(found.message);
        let Stamp { wall_ns, uptime_ns, .. } = found.stamp;
        Some(format!("{wall_ns:?} {uptime_ns:?} {:?} {:?} {} {message}", found.nanos, found.topic, found.verbose))
    }

    #[test]
    fn any_decorations_in_any_order() {
        for (line, expected) in [
            ("[0.005s][info][gc] Using G1", Some("None Some(5000000) None Main false Using G1")),
            ("[info ][gc,phases   ] GC(1)   Other: 1.0ms", Some("None None None Phases false GC(1)   Other: 1.0ms")),
            ("[gc] x", Some("None None None Main false x")),
            (
                "[1970-01-01T00:00:01.000+0000][77ns][12][13][box-7.example][debug][gc,heap] x",
                Some("Some(1000000000) None Some(77) Detail true x"),
            ),
            (
                "[gc,heap][debug][7ms][1700000000000ms] x",
                Some("Some(1700000000000000000) Some(7000000) None Detail true x"),
            ),
            ("[900ns][100000000ns][gc] x", Some("None None Some(900) Main false x")),
            ("[0,123s][info][gc] x", Some("None Some(123000000) None Main false x")),
            ("[info][class,load] x", Some("None None None Foreign false x")),
            ("[0.1s][info][gc] [nested] x", Some("None Some(100000000) None Main false [nested] x")),
            ("[GC (Allocation Failure) 1K->1K(1K), 0.1 secs]", None),
            ("[main] INFO c.e.App - started", None),
            ("[Times: user=0.1]", None),
            ("[12][13] x", None),
            ("[", None),
            ("[]", None),
            ("[99999999999999999999s][gc", None),
        ] {
            assert_eq!(show(line).as_deref(), expected, "{line}");
        }
    }
}
