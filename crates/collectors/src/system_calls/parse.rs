//! What the programs send and keep, as bytes to structs. The layouts are those of `system_calls.bpf.c`.

use crate::bpf::{UserState, halves, words};

const HEAD_WORDS: usize = 11;

/// A call that took long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlowCall<'a> {
    /// On the monotonic clock.
    pub(super) began_ns: i64,
    pub(super) duration_ns: i64,
    pub(super) result: i64,
    pub(super) arguments: [u64; 6],
    pub(super) stack_pointer: u64,
    pub(super) tid: u32,
    pub(super) number: u32,
    /// Not taken when the call waited for a peer.
    pub(super) user: Option<UserState<'a>>,
}

impl SlowCall<'_> {
    /// Reads one event of the ring; `None` when it is shorter than one.
    pub(super) fn parse(bytes: &[u8]) -> Option<SlowCall<'_>> {
        let (head, rest) = bytes.split_at_checked(HEAD_WORDS * 8)?;
        let mut all = words(head);
        let mut next = || all.next().unwrap_or(0);
        let (began_ns, duration_ns, result) = (next() as i64, next() as i64, next() as i64);
        let arguments = [(); 6].map(|()| next());
        let stack_pointer = next();
        let (tid, number) = halves(next());
        let user = UserState::parse(rest);
        Some(SlowCall { began_ns, duration_ns, result, arguments, stack_pointer, tid, number, user })
    }
}

/// One thread's calls of one kind since the recording began.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) time_ns: u64,
    pub(super) bytes: u64,
    pub(super) errors: u64,
}

/// Words of a row of the table `sums`.
pub(super) const SUM_WORDS: usize = 5;

/// Thread and number of the call, and their sum, from a row of the table `sums`.
pub(super) fn sum([call, count, time_ns, bytes, errors]: [u64; SUM_WORDS]) -> ((u32, u32), Sum) {
    (halves(call), Sum { count, time_ns, bytes, errors })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(user_bytes: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            [10, 20, -11_i64 as u64, 1, 2, 3, 4, 5, 6, 9].into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.extend([7_u32, 8].into_iter().flat_map(u32::to_ne_bytes));
        bytes.resize(bytes.len() + user_bytes, 0);
        bytes
    }

    #[test]
    fn events_with_and_without_a_stack() {
        for (user_bytes, has_user) in [(0, false), (100, false), (UserState::BYTES, true)] {
            let bytes = event(user_bytes);
            let call = SlowCall::parse(&bytes).unwrap();
            assert_eq!((call.began_ns, call.duration_ns, call.result), (10, 20, -11));
            assert_eq!((call.arguments, call.stack_pointer, call.tid, call.number), ([1, 2, 3, 4, 5, 6], 9, 7, 8));
            assert_eq!(call.user.is_some(), has_user);
        }
        for len in [0, 1, 87] {
            assert_eq!(SlowCall::parse(&event(0)[..len]), None, "{len} bytes");
        }
    }

    #[test]
    fn sums_are_read() {
        let expected = Sum { count: 3, time_ns: 4, bytes: 5, errors: 6 };
        assert_eq!(sum([8 << 32 | 7, 3, 4, 5, 6]), ((7, 8), expected));
    }
}
