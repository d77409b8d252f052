//! What the programs send and keep, as bytes to structs. The layouts are those of `page_faults.bpf.c`.

use super::Fault;
use crate::bpf::{UserState, halves, words};

const KERNEL_FRAMES: usize = 48;
const HEAD_WORDS: usize = 6;
const USER_AT: usize = (HEAD_WORDS + KERNEL_FRAMES) * 8;

/// A fault that took long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlowFault<'a> {
    /// On the monotonic clock.
    pub(super) began_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) address: u64,
    /// Time of it that the thread was off the CPU.
    pub(super) off_cpu_ns: i64,
    pub(super) tid: u32,
    pub(super) major: bool,
    /// The kernel touched the address for the thread, in a system call.
    pub(super) in_kernel: bool,
    /// Of the longest time off the CPU, leaf first.
    pub(super) kernel: Vec<u64>,
    pub(super) user: UserState<'a>,
}

impl SlowFault<'_> {
    /// What everybody who sees a fault knows of it.
    pub(super) fn fault(&self) -> Fault {
        let SlowFault { began_ns, duration_ns, address, major, in_kernel, .. } = *self;
        let (instruction, off_cpu_ns) = (Some(self.user.instruction()), Some(self.off_cpu_ns));
        Fault { began_ns, duration_ns, address, instruction, in_kernel, major, off_cpu_ns }
    }

    /// Reads one event of the ring; `None` when it is shorter than one.
    pub(super) fn parse(bytes: &[u8]) -> Option<SlowFault<'_>> {
        let user = UserState::parse(bytes.get(USER_AT..)?)?;
        let mut all = words(&bytes[..USER_AT]);
        let mut next = || all.next().unwrap_or(0);
        let (began_ns, duration_ns, address) = (next() as i64, next() as i64, next());
        let off_cpu_ns = next() as i64;
        let ((tid, major), (in_kernel, frames)) = (halves(next()), halves(next()));
        let kernel = all.take((frames as usize).min(KERNEL_FRAMES)).collect();
        Some(SlowFault {
            began_ns,
            duration_ns,
            address,
            off_cpu_ns,
            tid,
            major: major != 0,
            in_kernel: in_kernel != 0,
            kernel,
            user,
        })
    }
}

/// The faults of one thread since the recording began.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThreadFaults {
    pub(super) minor: u64,
    pub(super) major: u64,
    pub(super) unserved: u64,
    pub(super) time_ns: u64,
    /// At the page of the thread's fault before.
    pub(super) repeated: u64,
    /// Time of the faults that had to be repeated.
    pub(super) in_vain_ns: u64,
}

/// Words of a row of the table `threads`, whose key comes first.
pub(super) const THREAD_WORDS: usize = 19;

impl ThreadFaults {
    /// Reads a row of the table `threads`: behind key, beginning and address of the current fault are the counts.
    pub(super) fn parse(row: [u64; THREAD_WORDS]) -> ThreadFaults {
        let [_, _, _, minor, major, unserved, time_ns, repeated, in_vain_ns, ..] = row;
        ThreadFaults { minor, major, unserved, time_ns, repeated, in_vain_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(frames: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = [10_u64, 20, 30, 40].into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.extend([7, 1, 0, frames].into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend((1..=KERNEL_FRAMES as u64).flat_map(u64::to_ne_bytes));
        bytes.resize(USER_AT + UserState::BYTES, 0);
        bytes
    }

    #[test]
    fn an_event_is_read_and_its_counts_are_bounded() {
        for (frames, expected) in [(0, 0), (3, 3), (48, 48), (49, 48), (u32::MAX, 48)] {
            let bytes = event(frames);
            let fault = SlowFault::parse(&bytes).unwrap();
            assert_eq!((fault.began_ns, fault.duration_ns, fault.address), (10, 20, 30));
            assert_eq!((fault.off_cpu_ns, fault.tid), (40, 7));
            assert_eq!((fault.major, fault.in_kernel, fault.kernel.len()), (true, false, expected));
        }
    }

    #[test]
    fn short_bytes_are_no_event() {
        let bytes = event(1);
        for len in [0, 1, 8, USER_AT - 1, USER_AT, bytes.len() - 1] {
            assert_eq!(SlowFault::parse(&bytes[..len]), None, "{len} bytes");
        }
    }

    #[test]
    fn a_thread_is_read() {
        let expected = ThreadFaults { minor: 3, major: 4, unserved: 5, time_ns: 6, repeated: 7, in_vain_ns: 8 };
        assert_eq!(ThreadFaults::parse(std::array::from_fn(|word| word as u64)), expected);
    }
}
