//! Messages of unified logging (JDK 9 and later), one rule per kind of message.
//!
//! A rule is a fixed prefix and a function that reads the rest. Rules are found by the first byte of the message, so a
//! line costs a few comparisons whatever the number of rules. Each rule has example lines that it must understand, and
//! a test runs every rule against the lines of all other rules.

mod code_cache;
mod heap;
mod pauses;
mod safepoints;
mod setup;

use crate::cursor::Cursor;
use crate::gc_log::decorations::{Decorated, Topic};
use crate::gc_log::event::{Event, Stamp};

pub(super) use pauses::{change, phase_of_shenandoah};
pub(super) use safepoints::stopped_times;

/// A message and what its line says besides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    /// When the line was written.
    at: Stamp,
    /// `GC(n)`
    gc_id: Option<u64>,
    /// The tags.
    topic: Topic,
    /// The whole message, after `GC(n)` and a generation's letter.
    text: &'a [u8],
}

/// How one kind of message is read.
pub(crate) struct Rule {
    /// What the message begins with.
    prefix: &'static [u8],
    /// Reads the rest; `None` when it is another kind of message after all.
    read: for<'a> fn(Message<'a>, Cursor<'a>) -> Option<Event<'a>>,
    /// Messages that this rule reads and no other.
    #[cfg_attr(not(test), allow(dead_code))]
    samples: &'static [&'static str],
}

/// All rules, by the first byte of their prefix.
pub(crate) struct Rules(Vec<Vec<&'static Rule>>);

impl Rules {
    /// Sorts the rules by their first byte.
    pub(crate) fn new() -> Rules {
        let mut by_byte = vec![Vec::new(); 256];
        for rule in all() {
            by_byte[usize::from(rule.prefix[0])].push(rule);
        }
        Rules(by_byte)
    }

    /// What a line says; `None` when it is not understood.
    pub(crate) fn read<'a>(&self, line: &Decorated<'a>) -> Option<Event<'a>> {
        if line.topic == Topic::Foreign {
            return Some(Event::Detail);
        }
        let message = message(line);
        let first = message.text.first().copied();
        let candidates = first.map_or(&[][..], |byte| &self.0[usize::from(byte)]);
        candidates.iter().find_map(|rule| rule.apply(message)).or_else(|| unmatched(line, message))
    }
}

impl Rule {
    fn apply<'a>(&self, message: Message<'a>) -> Option<Event<'a>> {
        let rest = message.text.strip_prefix(self.prefix)?;
        (self.read)(message, Cursor(rest))
    }
}

fn all() -> impl Iterator<Item = &'static Rule> {
    [pauses::RULES, heap::RULES, safepoints::RULES, code_cache::RULES, setup::RULES].into_iter().flatten()
}

/// A line that no rule reads: a detail by its tags, or not understood.
fn unmatched<'a>(line: &Decorated<'a>, message: Message<'a>) -> Option<Event<'a>> {
    match line.topic {
        Topic::Init => setup::property(message),
        Topic::Phases => pauses::phase(message).or(Some(Event::Detail)),
        Topic::Detail | Topic::Foreign => Some(Event::Detail),
        Topic::Main if line.verbose || message.text.is_empty() => Some(Event::Detail),
        Topic::Main | Topic::Unknown => None,
    }
}

/// Takes `GC(n) ` and the `y: `, `Y: ` or `O: ` of generational ZGC off the message.
fn message<'a>(line: &Decorated<'a>) -> Message<'a> {
    let mut cursor = Cursor(line.message);
    let gc_id = gc_id(&mut cursor);
    if let [b'y' | b'Y' | b'O' | b'o', b':', b' ', ..] = cursor.0 {
        cursor.skip(3);
    }
    Message { at: line.stamp, gc_id, topic: line.topic, text: cursor.0 }
}

fn gc_id(cursor: &mut Cursor<'_>) -> Option<u64> {
    let mut rest = *cursor;
    rest.expect(b"GC(")?;
    let id = rest.integer()?;
    rest.expect(b") ")?;
    *cursor = rest;
    Some(id)
}

/// Whether a line without any decorations is surely unified logging's.
pub(crate) fn is_unmistakable(text: &[u8]) -> bool {
    const BEGINNINGS: &[&[u8]] =
        &[b"Safepoint \"", b"Allocation Stall (", b"Using ", b"Heap region size: ", b"Heap Region Size: "];
    gc_id(&mut Cursor(text)).is_some() || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(text: &str) -> Message<'_> {
        let line = Decorated {
            stamp: Stamp::default(),
            nanos: None,
            topic: Topic::Unknown,
            verbose: false,
            message: text.as_bytes(),
        };
        message(&line)
    }

    /// Every rule reads its own samples and no other rule's.
    #[test]
    fn each_sample_has_one_rule() {
        for owner in all() {
            assert!(!owner.samples.is_empty(), "{:?} has no sample", String::from_utf8_lossy(owner.prefix));
            for sample in owner.samples {
                let readers: Vec<_> = all().filter(|rule| rule.apply(message_of(sample)).is_some()).collect();
                let names: Vec<_> = readers.iter().map(|rule| String::from_utf8_lossy(rule.prefix)).collect();
                assert!(readers.len() == 1 && std::ptr::eq(readers[0], owner), "{sample:?} is read by {names:?}");
            }
        }
    }

    /// What each sample says, reviewed by hand.
    #[test]
    fn what_samples_say() {
        let mut page = String::new();
        for sample in all().flat_map(|rule| rule.samples) {
            let event = Rules::new().read(&Decorated {
                stamp: Stamp { uptime_ns: Some(60_000_000_000), ..Stamp::default() },
                nanos: None,
                topic: Topic::Unknown,
                verbose: false,
                message: sample.as_bytes(),
            });
            let shown = event.map_or("not understood".to_owned(), |event| crate::gc_log::show::event(&event));
            page.push_str(&format!("{sample}\n    {shown}\n"));
        }
        insta::assert_snapshot!(page);
    }
}
