//! Kinds of waits, and how many long waits of each kind are kept.

use fathom_evidence::system_calls;

/// What a thread waits for, by the number that the programs use.
pub(super) const KINDS: [&str; 7] = ["page_fault", "uninterruptible", "futex", "poll", "sleep", "read_write", "other"];

/// Number of a kind.
pub(super) fn number(kind: &str) -> u8 {
    KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len() - 1) as u8
}

/// Number of the kind of a system call's interruptible wait.
pub(super) fn of_call(name: &str) -> u8 {
    number(system_calls::wait(name).unwrap_or("other"))
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
    fn what_is_waited_for_in_a_call_has_a_number() {
        for wait in system_calls::names().filter_map(system_calls::wait) {
            assert_eq!(KINDS[number(wait) as usize], wait);
        }
        assert_eq!((of_call("fsync"), of_call("mmap")), (number("read_write"), number("other")));
    }
}
