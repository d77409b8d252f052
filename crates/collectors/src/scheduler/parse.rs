//! What the programs send and keep, as bytes to structs. The layouts are those of `scheduler.bpf.c`.

use super::kinds::KINDS;
use crate::bpf::{halves, words};

const FRAMES: usize = 32;
const HEAD_WORDS: usize = 9;
const REGISTERS: usize = 34;
/// Kinds of blocked waits, and the run queue's.
const SUMS: usize = KINDS.len() + 1;

/// A wait that took long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LongWait {
    /// On the monotonic clock.
    pub(super) began_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) tid: u32,
    /// Index into the kinds; beyond them the run queue.
    pub(super) kind: usize,
    /// State as the kernel's bits.
    pub(super) state: u32,
    /// Negative when it was in none.
    pub(super) system_call: i32,
    /// Who woke it; of a wait for a CPU, who ran longest on it; 0 is the idle thread.
    pub(super) other_tid: u32,
    pub(super) other_tgid: u32,
    /// Name of who ran; empty when that is not known.
    pub(super) other: String,
    pub(super) cpu: u32,
    pub(super) preempted: bool,
    /// Kernel stack, leaf first.
    pub(super) frames: Vec<u64>,
}

impl LongWait {
    /// Reads one event of the ring; `None` when it is shorter than one.
    pub(super) fn parse(bytes: &[u8]) -> Option<LongWait> {
        let mut all = words(bytes.get(..(HEAD_WORDS + FRAMES) * 8)?);
        let mut next = || all.next().unwrap_or(0);
        let (began_ns, duration_ns) = (next() as i64, next() as i64);
        let ((tid, kind), (state, system_call)) = (halves(next()), halves(next()));
        let (other_tid, other_tgid) = halves(next());
        let name: Vec<u8> =
            [next(), next()].into_iter().flat_map(u64::to_ne_bytes).take_while(|byte| *byte != 0).collect();
        let ((cpu, preempted), (frames, _)) = (halves(next()), halves(next()));
        Some(LongWait {
            began_ns,
            duration_ns,
            tid,
            kind: kind as usize,
            state,
            system_call: system_call as i32,
            other_tid,
            other_tgid,
            other: String::from_utf8_lossy(&name).into_owned(),
            cpu,
            preempted: preempted != 0,
            frames: all.take((frames as usize).min(FRAMES)).collect(),
        })
    }
}

/// A wait that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfinished {
    pub(super) wait: LongWait,
    /// The thread's in user mode, as the kernel keeps them for a debugger.
    pub(super) registers: [u64; REGISTERS],
}

impl Unfinished {
    /// Reads one event of the ring; `None` when it is of a wait that has ended.
    pub(super) fn parse(bytes: &[u8]) -> Option<Unfinished> {
        let mut all = words(bytes.get((HEAD_WORDS + FRAMES) * 8..)?.get(..REGISTERS * 8)?);
        Some(Unfinished { wait: LongWait::parse(bytes)?, registers: [(); REGISTERS].map(|()| all.next().unwrap_or(0)) })
    }

    /// The part of it that was observed.
    pub(super) fn since(mut self, at_ns: i64) -> Unfinished {
        let end_ns = self.wait.began_ns.saturating_add(self.wait.duration_ns);
        self.wait.began_ns = self.wait.began_ns.max(at_ns);
        self.wait.duration_ns = end_ns.saturating_sub(self.wait.began_ns).max(0);
        self
    }
}

/// How often and how long a thread waited.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) time_ns: u64,
}

/// By kind; the run queue's last.
pub(super) type Sums = [Sum; SUMS];

/// One thread's waits since the recording began.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waits {
    /// When the wait began in which it is; 0 when it is in none, or is runnable.
    pub(super) blocked_since_ns: u64,
    /// Kind of that wait.
    pub(super) kind: usize,
    /// Its thread runs no more.
    pub(super) has_ended: bool,
    /// By kind; the run queue's last.
    pub(super) sums: Sums,
}

/// Words of a row of the table `threads`: the thread, the wait in which it is, its sums.
pub(super) const THREAD_WORDS: usize = 1 + 5 + 2 * SUMS;

impl Waits {
    /// Reads a row of the table `threads`, whose key comes first.
    pub(super) fn parse(row: [u64; THREAD_WORDS]) -> Waits {
        let mut all = row.into_iter().skip(1);
        let mut next = || all.next().unwrap_or(0);
        let (left_ns, runnable_ns, _state, (kind, preempted)) = (next(), next(), next(), halves(next()));
        let (_waker, ended) = halves(next());
        let is_blocked = runnable_ns == 0 && preempted == 0;
        Waits {
            blocked_since_ns: if is_blocked { left_ns } else { 0 },
            kind: kind as usize,
            has_ended: ended != 0,
            sums: [(); SUMS].map(|()| Sum { count: next(), time_ns: next() }),
        }
    }

    /// With the wait in which the thread is, as if it ended now.
    pub(super) fn until(mut self, now_ns: u64) -> Waits {
        if let (true, Some(sum)) = (self.blocked_since_ns > 0, self.sums.get_mut(self.kind)) {
            sum.count += 1;
            sum.time_ns += now_ns.saturating_sub(self.blocked_since_ns);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(frames: u32, name: &[u8; 16]) -> Vec<u8> {
        let mut bytes: Vec<u8> = [10_u64, 20].into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.extend([7, 2, 1, -1_i32 as u32, 8, 9].into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend(name);
        bytes.extend([3, 1, frames, 0].into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend((1..=FRAMES as u64).flat_map(u64::to_ne_bytes));
        bytes
    }

    #[test]
    fn an_event_is_read_and_its_counts_are_bounded() {
        for (frames, name, expected_frames, expected_name) in [
            (0, b"java\0garbage....", 0, "java"),
            (2, b"sixteen letters!", 2, "sixteen letters!"),
            (33, b"\xff\0..............", 32, "\u{fffd}"),
            (u32::MAX, &[0; 16], 32, ""),
        ] {
            let wait = LongWait::parse(&event(frames, name)).unwrap();
            assert_eq!((wait.began_ns, wait.duration_ns, wait.tid, wait.kind), (10, 20, 7, 2));
            assert_eq!((wait.state, wait.system_call, wait.other_tid, wait.other_tgid), (1, -1, 8, 9));
            assert_eq!((wait.cpu, wait.preempted), (3, true));
            assert_eq!((wait.frames.len(), wait.other.as_str()), (expected_frames, expected_name));
        }
        assert_eq!(LongWait::parse(&event(0, &[0; 16])[1..]), None);
    }

    #[test]
    fn a_wait_that_goes_on_has_registers() {
        let mut bytes = event(2, &[0; 16]);
        assert_eq!(Unfinished::parse(&bytes), None);
        bytes.extend((1..=REGISTERS as u64).flat_map(u64::to_ne_bytes));
        let unfinished = Unfinished::parse(&bytes).unwrap();
        assert_eq!((unfinished.wait.tid, unfinished.registers[0], unfinished.registers[33]), (7, 1, 34));
        assert_eq!(Unfinished::parse(&bytes[..bytes.len() - 1]), None);
        for (at_ns, expected) in [(5, (10, 20)), (25, (25, 5)), (40, (40, 0))] {
            let wait = unfinished.clone().since(at_ns).wait;
            assert_eq!((wait.began_ns, wait.duration_ns), expected);
        }
    }

    #[test]
    fn waits_go_on_until_now() {
        let value = |left: u64, runnable: u64, kind: u32, preempted: u32| {
            let mut words = [7, left, runnable, 0].into_iter().chain([u64::from(preempted) << 32 | u64::from(kind), 0]);
            let mut sums = 1..=2 * SUMS as u64;
            std::array::from_fn(|_| words.next().or_else(|| sums.next()).unwrap())
        };
        for (row, kind, time_ns) in [
            (value(0, 0, 1, 0), 1, 4),
            (value(100, 0, 1, 0), 1, 54),
            (value(100, 120, 1, 0), 1, 4),
            (value(100, 100, 1, 1), 1, 4),
            (value(100, 0, 1000, 0), 1, 4),
            (value(200, 0, 1, 0), 1, 4),
        ] {
            assert_eq!(Waits::parse(row).until(150).sums[kind].time_ns, time_ns, "{row:?}");
        }
    }
}
