//! Turns the samples of thread dumps into waits with a length. Knows no evidence.
//!
//! A dump represents half of the time to the dumps before and after it, but not more than [`STANDS_FOR_MAX_NS`] on each
//! side. That gives the right sum of waiting whether a thread waited once or a thousand times. It is reported as *one*
//! wait only if a thread was found in it again without having used a CPU in between.

use std::collections::HashMap;

use crate::thread_dump::dump::{Thread, Waited};

/// Further from a look than this nothing is said by it: dumps of an hour apart do not tell what was in between, in ns.
const STANDS_FOR_MAX_NS: i64 = 10_000_000_000;

/// What one look stands for if there is no other, in ns.
const ALONE_NS: i64 = 1_000_000_000;

/// From when to when each of some looks stands for, given their times in order.
pub(super) fn stands_for(times_ns: &[i64]) -> Vec<(i64, i64)> {
    if let [only] = times_ns {
        return vec![(only.saturating_sub(ALONE_NS), *only)];
    }
    let middle = |a: i64, b: i64| a.midpoint(b);
    let of = |index: usize| {
        let at = times_ns[index];
        let from = index.checked_sub(1).map_or(at, |before| middle(times_ns[before], at));
        let to = times_ns.get(index + 1).map_or(at, |after| middle(at, *after));
        (from.max(at.saturating_sub(STANDS_FOR_MAX_NS)), to.min(at.saturating_add(STANDS_FOR_MAX_NS)))
    };
    (0..times_ns.len()).map(of).collect()
}

/// A wait of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wait<S> {
    pub(super) tid: i64,
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    /// How many looks found the thread in it.
    pub(super) looks: u32,
    pub(super) waited: Waited,
    pub(super) owner: Option<String>,
    pub(super) stack: S,
    pub(super) is_deadlocked: bool,
    cpu_ns: Option<i64>,
    /// Of which dump it was seen last.
    seen: usize,
}

/// Puts looks together, dump by dump.
#[derive(Debug)]
pub(super) struct Waits<S> {
    open: HashMap<i64, Wait<S>>,
}

impl<S: PartialEq + Clone> Waits<S> {
    pub(super) fn new() -> Waits<S> {
        Waits { open: HashMap::new() }
    }

    /// Takes what dump number `index` says of a thread that waits; gives the thread's wait before, if it is another one.
    pub(super) fn see(
        &mut self,
        (index, stands_for): (usize, (i64, i64)),
        (tid, thread): (i64, &Thread),
        (owner, stack): (Option<String>, S),
    ) -> Option<Wait<S>> {
        let waited = thread.waits_for.clone()?;
        let (from_ns, to_ns) = stands_for;
        let seen = Wait {
            tid,
            from_ns,
            to_ns,
            looks: 1,
            waited,
            owner,
            stack,
            is_deadlocked: thread.is_deadlocked,
            cpu_ns: thread.cpu_ns,
            seen: index,
        };
        match self.open.get_mut(&tid) {
            Some(open) if open.goes_on_in(&seen) => {
                open.add(seen);
                None
            }
            _ => self.open.insert(tid, seen),
        }
    }

    /// What is left.
    pub(super) fn end(self) -> impl Iterator<Item = Wait<S>> {
        let mut left: Vec<Wait<S>> = self.open.into_values().collect();
        left.sort_by_key(|wait| wait.tid);
        left.into_iter()
    }
}

impl<S: PartialEq> Wait<S> {
    /// Whether the thread was in the same wait all the time: found in it by dumps that follow each other, without CPU in between.
    fn goes_on_in(&self, next: &Wait<S>) -> bool {
        let is_known = self.cpu_ns.is_some() && self.cpu_ns == next.cpu_ns;
        next.seen == self.seen + 1
            && (is_known || next.is_deadlocked && self.is_deadlocked)
            && self.waited == next.waited
            && self.stack == next.stack
    }

    fn add(&mut self, next: Wait<S>) {
        self.to_ns = next.to_ns;
        self.looks = self.looks.saturating_add(1);
        self.owner = next.owner.or(self.owner.take());
        self.is_deadlocked |= next.is_deadlocked;
        self.seen = next.seen;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_dump::dump::How;

    const S: i64 = 1_000_000_000;

    #[test]
    fn looks_stand_for_the_time_around_them() {
        assert_eq!(stands_for(&[]), []);
        assert_eq!(stands_for(&[5 * S]), [(4 * S, 5 * S)]);
        assert_eq!(stands_for(&[0, 4 * S, 10 * S]), [(0, 2 * S), (2 * S, 7 * S), (7 * S, 10 * S)]);
        assert_eq!(stands_for(&[0, 3_600 * S]), [(0, 10 * S), (3_590 * S, 3_600 * S)]);
    }

    /// The waits of one thread that some dumps, four seconds apart, find at an address with this much CPU used; 0 is no wait.
    fn waits(seen: &[(u64, Option<i64>)]) -> Vec<(i64, i64, u32)> {
        let times: Vec<i64> = (0..seen.len() as i64).map(|index| index * 4 * S).collect();
        let stands_for = stands_for(&times);
        let mut waits = Waits::new();
        let mut found = Vec::new();
        for (index, (address, cpu_ns)) in seen.iter().enumerate() {
            let waited = Waited { how: How::Enter, address: Some(*address), class: "a.Lock".to_owned() };
            let waits_for = Some(waited).filter(|_| *address != 0);
            let thread = Thread { waits_for, cpu_ns: *cpu_ns, ..Thread::default() };
            found.extend(waits.see((index, stands_for[index]), (7, &thread), (None, 0)));
        }
        found.extend(waits.end());
        found.iter().map(|wait| (wait.from_ns / S, wait.to_ns / S, wait.looks)).collect()
    }

    #[test]
    fn one_wait_is_one_only_without_cpu_in_between() {
        assert_eq!(waits(&[(1, Some(5)), (1, Some(5)), (1, Some(5))]), [(0, 8, 3)]);
        assert_eq!(waits(&[(1, Some(5)), (1, Some(6)), (1, Some(6))]), [(0, 2, 1), (2, 8, 2)]);
        assert_eq!(waits(&[(1, Some(5)), (0, Some(5)), (1, Some(5))]), [(0, 2, 1), (6, 8, 1)]);
        assert_eq!(waits(&[(1, Some(5)), (2, Some(5))]), [(0, 2, 1), (2, 4, 1)]);
        assert_eq!(waits(&[(1, None), (1, None)]), [(0, 2, 1), (2, 4, 1)]);
    }
}
