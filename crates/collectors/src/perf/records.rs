//! The records of a ring, as bytes to structs.

use crate::words::{halves, words};

const HEADER_BYTES: usize = 8;
const LOST: u32 = 2;
const SAMPLE: u32 = 9;

/// Of the header: where the CPU was.
const MODE_MASK: u16 = 7;
const MODE_KERNEL: u16 = 1;

/// A record of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// An event, with all that was asked for.
    Sample {
        /// Whether it came while the kernel worked.
        in_kernel: bool,
        /// What its attributes asked for.
        body: &'a [u8],
    },
    /// Here is where there was no room for some.
    Lost,
}

/// Splits what came out of a ring. Ends at a header that cannot be one.
pub(crate) fn records(mut bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        loop {
            let (header, _) = bytes.split_at_checked(HEADER_BYTES)?;
            let (kind, rest) = halves(words(header).next()?);
            let halves_of_rest = rest.to_ne_bytes();
            let misc = u16::from_ne_bytes([halves_of_rest[0], halves_of_rest[1]]);
            let size = usize::from(u16::from_ne_bytes([halves_of_rest[2], halves_of_rest[3]]));
            let body = bytes.get(HEADER_BYTES..size)?;
            bytes = &bytes[size..];
            match kind {
                SAMPLE => return Some(Record::Sample { in_kernel: misc & MODE_MASK == MODE_KERNEL, body }),
                LOST => return Some(Record::Lost),
                _ => {}
            }
        }
    })
}

/// A thread in user mode, as an event takes it along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserSample<'a> {
    /// One value for each register that was asked for; none of a thread of the kernel.
    pub(crate) registers: &'a [u8],
    /// Memory from the stack pointer on.
    pub(crate) stack: &'a [u8],
}

impl UserSample<'_> {
    /// Reads `REGS_USER` of `registers` registers and `STACK_USER`; `None` when bytes are missing.
    pub(crate) fn parse(bytes: &[u8], registers: usize) -> Option<UserSample<'_>> {
        let number = |bytes: &[u8]| words(bytes.get(..8)?).next();
        let abi = number(bytes)?;
        let registers = if abi == 0 { 0 } else { registers * 8 };
        let rest = bytes.get(8 + registers..)?;
        let copied = usize::try_from(number(rest)?).ok()?;
        let stack = rest.get(8..)?.get(..copied)?;
        // How much of it was there to be copied stands behind it.
        let there = if copied == 0 { 0 } else { number(&rest[8 + copied..])? };
        let stack = &stack[..copied.min(usize::try_from(there).unwrap_or(usize::MAX))];
        Some(UserSample { registers: &bytes[8..8 + registers], stack })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend((HEADER_BYTES as u16 + body.len() as u16).to_ne_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn records_are_told_apart_and_others_passed_over() {
        let lost = [3_u64, 41].map(u64::to_ne_bytes).concat();
        let bytes = [
            record(SAMPLE, 2, &[1; 16]),
            record(14, 0, &[2; 24]),
            record(LOST, 0, &lost),
            record(SAMPLE, 1 | 1 << 14, &[]),
        ]
        .concat();
        let expected = [
            Record::Sample { in_kernel: false, body: &[1; 16] },
            Record::Lost,
            Record::Sample { in_kernel: true, body: &[] },
        ];
        assert_eq!(records(&bytes).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_cannot_be_a_record_ends_it() {
        let whole = record(SAMPLE, 2, &[1; 8]);
        for size in [0_u16, 7, 17, u16::MAX] {
            let mut damaged = whole.clone();
            damaged[6..8].copy_from_slice(&size.to_ne_bytes());
            assert_eq!(records(&[whole.clone(), damaged].concat()).count(), 1, "{size}");
        }
        for len in 0..whole.len() {
            assert_eq!(records(&whole[..len]).count(), 0, "{len}");
        }
    }

    #[test]
    fn registers_and_stacks_are_believed_as_far_as_there_are_bytes() {
        let sample = |abi: u64, registers: &[u64], copied: u64, there: u64| {
            let mut bytes: Vec<u8> =
                [abi].iter().chain(registers).chain([&copied]).flat_map(|n| n.to_ne_bytes()).collect();
            bytes.extend(vec![7; copied.min(64) as usize]);
            bytes.extend(there.to_ne_bytes());
            bytes
        };
        for (bytes, expected) in [
            (sample(2, &[1, 2], 16, 16), Some((16, 16))),
            (sample(2, &[1, 2], 16, 5), Some((16, 5))),
            (sample(2, &[1, 2], 16, u64::MAX), Some((16, 16))),
            (sample(2, &[1, 2], 0, 0), Some((16, 0))),
            (sample(0, &[], 0, 0), Some((0, 0))),
            (sample(2, &[1, 2], u64::MAX, 0), None),
            (sample(2, &[1], 8, 8), None),
            (Vec::new(), None),
        ] {
            let found = UserSample::parse(&bytes, 2).map(|user| (user.registers.len(), user.stack.len()));
            assert_eq!(found, expected, "{bytes:?}");
        }
    }
}
