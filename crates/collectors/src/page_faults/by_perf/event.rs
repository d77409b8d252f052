//! The content of a record of the kernel.

use fathom_symbols::unwind::Registers;

use super::super::pairs::{Begun, Event};
use crate::perf::records::{Record, UserSample};
use crate::symbols::this_machine;
use crate::words::words;

/// The lengths of the records' bodies, by which events are identified. Records could carry the number of their event,
/// but it is another event's number where another program (`perf record`) has opened the same one for the same thread
/// (Linux 6.18).
const MINOR_BYTES: usize = 8;
const BEGINS_BYTES: usize = 24;
/// Before the registers.
const MAJOR_HEAD_BYTES: usize = 16;

/// The time of a record.
pub(super) fn time_of(record: Record<'_>) -> Option<i64> {
    event(record)?.0.time_ns()
}

/// What a record says, and the thread as it then was; `None` when it is none of ours.
pub(super) fn event(record: Record<'_>) -> Option<(Event, Option<UserSample<'_>>)> {
    let Record::Sample { in_kernel, body } = record else { return Some((Event::Lost, None)) };
    let mut all = words(body);
    let mut next = || all.next().unwrap_or(0);
    match body.len() {
        MINOR_BYTES => Some((Event::Served { time_ns: next() as i64, major: false }, None)),
        BEGINS_BYTES => {
            let (instruction, time_ns, address) = (Some(next()), next() as i64, next());
            Some((Event::Begins(Begun { time_ns, address, instruction, in_kernel }), None))
        }
        size if size > BEGINS_BYTES => {
            let (_instruction, time_ns) = (next(), next() as i64);
            let registers = Registers::perf_mask(this_machine()).count_ones() as usize;
            let user = UserSample::parse(&body[MAJOR_HEAD_BYTES..], registers);
            Some((Event::Served { time_ns, major: true }, user))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_told_by_their_length() {
        let body = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let begun = |in_kernel| Event::Begins(Begun { time_ns: 8, address: 9, instruction: Some(7), in_kernel });
        for (bytes, expected) in [
            (body(&[8]), Some(Event::Served { time_ns: 8, major: false })),
            (body(&[7, 8, 9]), Some(begun(true))),
            // A thread without registers and without a stack.
            (body(&[7, 8, 0, 0]), Some(Event::Served { time_ns: 8, major: true })),
            (body(&[7, 8, 2, 1]), Some(Event::Served { time_ns: 8, major: true })),
            (body(&[]), None),
            (body(&[7, 8]), None),
        ] {
            let found = event(Record::Sample { in_kernel: true, body: &bytes });
            assert_eq!(found.map(|(event, _)| event), expected, "{bytes:?}");
        }
        assert_eq!(event(Record::Lost), Some((Event::Lost, None)));
    }
}
