//! The default text output of blkparse, as the events that it was made of. Knows nothing of stages.
//!
//! `  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]`: device, CPU, number, s, process, action, operation, sectors. Times count from
//! the beginning of the trace. Summaries stand at the end.

use rustc_hash::FxHashSet;

use super::parse::{Event, Read, action};
use crate::columns::words;
use crate::cursor::Cursor;
use crate::lines::Line;

/// What a loss says of lines that are none, and of bytes that are no events.
pub(crate) const DAMAGED: &str = "bytes or lines are no events";

const SECTOR_BYTES: u64 = 512;

/// Processes whose name is given once.
const NAMES_MAX: usize = 1_000;

/// Lines of the beginning of which two must be events.
const LINES_LOOKED_AT: usize = 6;

/// Whether a file that begins with `head` is such text.
pub(super) fn is_text(head: &[u8]) -> bool {
    let lines = crate::lines::of_head(head).filter(|line| !line.is_empty()).take(LINES_LOOKED_AT);
    lines.filter(|line| event(line).is_some()).count() >= 2
}

/// Follows the lines of a text.
#[derive(Debug, Default)]
pub(super) struct Lines {
    named: FxHashSet<u32>,
    is_at_end: bool,
    pub(super) read: Read,
}

impl Lines {
    /// Reads a line, and gives what stands in it to `see`.
    pub(super) fn line(&mut self, line: Line<'_>, see: &mut dyn FnMut(Event<'_>)) {
        let Line::Whole(line) = line else {
            self.read.damaged_bytes += 1;
            return;
        };
        let Some((event, name)) = event(line) else {
            // Messages have no sectors; behind the last event there are sums.
            self.is_at_end |= line.starts_with(b"CPU");
            self.read.damaged_bytes += u64::from(!self.is_at_end && !is_other(line));
            return;
        };
        if event.action == action::QUEUE && self.named.len() < NAMES_MAX && self.named.insert(event.pid) {
            see(Event { process: Some(name), action: 0, ..event });
        }
        if self.read.events == 0 {
            self.read.first_ns = event.time_ns;
        }
        self.read.events += 1;
        self.read.last_ns = self.read.last_ns.max(event.time_ns);
        see(event);
    }
}

/// The words that each line begins with: device, CPU, number, time, process, action.
type Begin<'a> = ((u32, u32), u64, u32, &'a [u8]);

fn begin<'a>(words: &mut impl Iterator<Item = &'a [u8]>) -> Option<Begin<'a>> {
    let mut device = words.next()?.split(|byte| *byte == b',');
    let device = (number(device.next()?)?, number(device.next()?)?);
    number::<u32>(words.next()?)?;
    number::<u64>(words.next()?)?;
    let mut time = Cursor(words.next()?);
    let time_ns = u64::try_from(time.fixed(9)?).ok().filter(|_| time.is_done())?;
    Some((device, time_ns, number(words.next()?)?, words.next()?))
}

/// The event of a line, and the name of its process.
fn event(line: &[u8]) -> Option<(Event<'_>, &[u8])> {
    let mut words = words(line);
    let (device, time_ns, pid, action) = begin(&mut words)?;
    let action = match action {
        b"Q" => action::QUEUE,
        b"G" => action::GET_REQUEST,
        b"M" => action::BACK_MERGE,
        b"F" => action::FRONT_MERGE,
        b"I" => action::INSERT,
        b"D" => action::ISSUE,
        b"C" => action::COMPLETE,
        _ => return None,
    };
    let operation = words.next()?;
    let sector = number(words.next()?)?;
    let sectors: u64 = if words.next()? == b"+" { number(words.next()?)? } else { return None };
    let name = words.next().and_then(|word| word.strip_prefix(b"[")?.strip_suffix(b"]")).unwrap_or_default();
    let bytes = u32::try_from(sectors.checked_mul(SECTOR_BYTES)?).ok()?;
    let has = |letter: u8| operation.contains(&letter);
    let event = Event {
        time_ns,
        action,
        sector,
        bytes,
        pid,
        device,
        is_read: has(b'R'),
        is_write: has(b'W'),
        is_discard: has(b'D'),
        ..Event::default()
    };
    Some((event, name))
}

/// Whether a line is of another action, or of a request without sectors.
fn is_other(line: &[u8]) -> bool {
    line.is_empty() || begin(&mut words(line)).is_some()
}

fn number<N: TryFrom<u64>>(word: &[u8]) -> Option<N> {
    let mut cursor = Cursor(word);
    cursor.integer().filter(|_| cursor.is_done()).and_then(|number| N::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_blkparse() {
        let text = b"  8,0    3        1     0.000000012   697  Q  WS 223490 + 8 [kjournald]";
        let (event, name) = event(text).unwrap();
        assert_eq!((event.device, event.time_ns, event.pid, event.action), ((8, 0), 12, 697, action::QUEUE));
        assert_eq!((event.sector, event.bytes, event.is_write, name), (223_490, 4_096, true, &b"kjournald"[..]));
        for (text, is_other_line) in [
            (&b"  7,0    1        4     0.000008787  6408  P   N [dd]"[..], true),
            (b"  8,0    0        0     0.000000000     0  m   N served: vt=1", true),
            (b"  8,0    3       31     0.000012   697  D  FN [dd]", true),
            (b" Reads Queued:        2979,    11916KiB", false),
            (b"8,0 x", false),
        ] {
            assert!(super::event(text).is_none());
            assert_eq!(is_other(text), is_other_line, "{}", String::from_utf8_lossy(text));
        }
    }
}
