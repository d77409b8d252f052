//! What the programs send, as bytes to structs. The layouts are those of `jvm_probes.bpf.c`.

use super::probes::{KINDS, NUMBERS, Probe, TEXTS};
use crate::bpf::{halves, words};

const TEXT_BYTES: usize = 128;
const HEAD_BYTES: usize = 16 + 8 * NUMBERS;

/// A thread has come by a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) probe: Probe,
    /// On the monotonic clock as sent, and on the common time axis later.
    pub(super) time_ns: i64,
    pub(super) tid: u32,
    pub(super) numbers: [i64; NUMBERS],
    /// Empty where there is none, or where it could not be read.
    pub(super) texts: [String; TEXTS],
}

impl Event {
    /// Reads one event of the ring; `None` when it is none.
    pub(super) fn parse(bytes: &[u8]) -> Option<Event> {
        let head = bytes.get(..HEAD_BYTES)?;
        let mut all = words(head);
        let mut next = || all.next().unwrap_or(0);
        let time_ns = next() as i64;
        let (tid, rest) = halves(next());
        let [low, high, first, second] = rest.to_ne_bytes();
        let probe = KINDS.get(usize::from(u16::from_ne_bytes([low, high])))?.probe;
        let numbers = std::array::from_fn(|_| next() as i64);
        let lengths = [usize::from(first), usize::from(second)];
        let texts = std::array::from_fn(|index| text(&bytes[HEAD_BYTES..], index, lengths[index]));
        Some(Event { probe, time_ns, tid, numbers, texts })
    }
}

/// A text up to its NUL, if it has one.
fn text(bytes: &[u8], index: usize, length: usize) -> String {
    let from = index * TEXT_BYTES;
    let bytes = bytes.get(from..from + length.min(TEXT_BYTES)).unwrap_or_default();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: [i64; NUMBERS] = [1, -2, 3, 4, 5, 6, 7, 8, 9];

    fn event(probe: u16, lengths: [u8; 2], texts: &[u8]) -> Vec<u8> {
        let mut bytes = 7_u64.to_ne_bytes().to_vec();
        bytes.extend(12_u32.to_ne_bytes());
        bytes.extend(probe.to_ne_bytes());
        bytes.extend(lengths);
        bytes.extend(TOLD.into_iter().flat_map(i64::to_ne_bytes));
        bytes.extend(texts);
        bytes
    }

    #[test]
    fn events_with_and_without_texts() {
        let mut texts = vec![b'x'; 2 * TEXT_BYTES];
        texts[..5].copy_from_slice(b"G1\0ab");
        for (bytes, expected) in [
            (event(0, [0, 0], &[]), ["", ""]),
            (event(3, [5, 3], &texts), ["G1", "xxx"]),
            (event(3, [255, 0], &texts[..100]), ["", ""]),
        ] {
            let event = Event::parse(&bytes).unwrap();
            assert_eq!((event.time_ns, event.tid, event.numbers), (7, 12, TOLD));
            assert_eq!(event.texts, expected);
        }
        assert_eq!(Event::parse(&event(99, [0, 0], &[])), None, "a probe that there is not");
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400))| {
            let is_event = Event::parse(&bytes).is_some();
            proptest::prop_assert!(!is_event || bytes.len() >= HEAD_BYTES);
        });
    }
}
