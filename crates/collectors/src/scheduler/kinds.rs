//! Kinds of waits, and how many long ones of each are kept.

/// What a thread waits for, by the number that the programs use.
pub(super) const KINDS: [&str; 7] = ["page_fault", "uninterruptible", "futex", "poll", "sleep", "read_write", "other"];

/// The kind of each system call's interruptible wait; a call that is not listed is `other`.
pub(super) const CALLS_OF_KINDS: &[(&str, &[&str])] = &[
    ("futex", &["futex", "futex_wait", "futex_waitv"]),
    (
        "poll",
        &[
            "epoll_wait",
            "epoll_pwait",
            "epoll_pwait2",
            "poll",
            "ppoll",
            "select",
            "pselect6",
            "accept",
            "accept4",
            "rt_sigtimedwait",
            "rt_sigsuspend",
            "pause",
            "wait4",
            "waitid",
            "io_getevents",
            "io_pgetevents",
            "io_uring_enter",
        ],
    ),
    ("sleep", &["nanosleep", "clock_nanosleep"]),
    (
        "read_write",
        &[
            "read",
            "readv",
            "pread64",
            "preadv",
            "preadv2",
            "recvfrom",
            "recvmsg",
            "recvmmsg",
            "write",
            "writev",
            "pwrite64",
            "pwritev",
            "pwritev2",
            "sendto",
            "sendmsg",
            "sendmmsg",
            "sendfile",
            "splice",
            "connect",
            "fsync",
            "fdatasync",
            "msync",
            "sync_file_range",
            "fallocate",
            "copy_file_range",
        ],
    ),
];

/// Number of a kind.
pub(super) fn number(kind: &str) -> u8 {
    KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len() - 1) as u8
}

/// Long waits of a kind that are kept each second, about.
const WANTED_PER_SECOND: u64 = 100;

/// From which length on waits of one kind are kept: as ordered, or longer while too many pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    ordered_ns: u64,
    now_ns: u64,
    seen: u64,
}

impl Limit {
    pub(super) fn of(ordered_ns: u64) -> Limit {
        Limit { ordered_ns, now_ns: ordered_ns, seen: 0 }
    }

    /// One wait has passed.
    pub(super) fn add(&mut self) {
        self.seen += 1;
    }

    /// A second has gone by; whether the limit changed.
    pub(super) fn adapt(&mut self) -> bool {
        let before = self.now_ns;
        let seen = std::mem::take(&mut self.seen);
        if seen > WANTED_PER_SECOND {
            self.now_ns = self.now_ns.saturating_mul(2);
        } else if seen < WANTED_PER_SECOND / 4 {
            self.now_ns = (self.now_ns / 2).max(self.ordered_ns);
        }
        self.now_ns != before
    }

    pub(super) fn ordered_ns(&self) -> u64 {
        self.ordered_ns
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::calls::tests::check_names;

    #[test]
    fn limits_rise_with_the_flood_and_fall_after_it() {
        let mut limit = Limit::of(5);
        for (seen, expected) in [(0, 5), (100, 5), (101, 10), (5000, 20), (60, 20), (24, 10), (0, 5), (0, 5)] {
            (0..seen).for_each(|_| limit.add());
            let before = limit.now_ns();
            assert_eq!(limit.adapt(), before != expected, "{seen}");
            assert_eq!(limit.now_ns(), expected, "{seen}");
        }
    }

    #[test]
    fn kinds_and_calls_are_known() {
        check_names(CALLS_OF_KINDS.iter().flat_map(|(_, names)| *names));
        for (kind, _) in CALLS_OF_KINDS {
            assert_eq!(KINDS[number(kind) as usize], *kind);
        }
    }
}
