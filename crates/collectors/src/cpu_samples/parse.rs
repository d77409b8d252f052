//! What the program sends, as bytes to structs. The layout is that of `cpu_samples.bpf.c`.

use crate::bpf::{UserState, halves, words};

const KERNEL_FRAMES: usize = 48;
const HEAD_WORDS: usize = 3;
const USER_AT: usize = (HEAD_WORDS + KERNEL_FRAMES) * 8;

/// A thread that ran on a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    /// On the monotonic clock.
    pub(super) time_ns: i64,
    pub(super) tid: u32,
    pub(super) cpu: u32,
    /// Leaf first; none when the thread ran in user mode.
    pub(super) kernel: Vec<u64>,
    pub(super) user: UserState<'a>,
}

impl Sample<'_> {
    /// Bytes of the kernel's struct.
    pub(super) const BYTES: usize = USER_AT + UserState::BYTES;

    /// Reads one event of the ring; `None` when it is shorter than one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Sample<'_>> {
        let user = UserState::parse(bytes.get(USER_AT..)?)?;
        let mut all = words(&bytes[..USER_AT]);
        let mut next = || all.next().unwrap_or(0);
        let (time_ns, (tid, cpu)) = (next() as i64, halves(next()));
        let frames = usize::try_from(next()).unwrap_or(usize::MAX);
        let kernel = all.take(frames.min(KERNEL_FRAMES)).collect();
        Some(Sample { time_ns, tid, cpu, kernel, user })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_and_short_ones_are_none() {
        let mut bytes: Vec<u8> = [5_u64, 7 | 3 << 32, 2].into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.extend((1..=KERNEL_FRAMES as u64).flat_map(u64::to_ne_bytes));
        bytes.resize(Sample::BYTES, 0);
        let sample = Sample::parse(&bytes).unwrap();
        assert_eq!((sample.time_ns, sample.tid, sample.cpu, sample.kernel), (5, 7, 3, vec![1, 2]));
        bytes[16] = 0xff;
        assert_eq!(Sample::parse(&bytes).unwrap().kernel.len(), KERNEL_FRAMES);
        assert_eq!(Sample::parse(&bytes[..Sample::BYTES - 1]), None);
    }
}
