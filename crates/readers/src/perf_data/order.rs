//! Events in the order of their times. Knows no evidence.
//!
//! Events of one CPU are in order, but not across CPUs. perf empties the buffers of all CPUs in rounds and marks the end of a
//! round in the file: what was written before the round before the last one cannot be preceded by anything that comes later.

/// Events that wait for their turn, of some 80 bytes: two turns of 256 CPUs have as many, of buffers as large as perf makes them, and
/// a file without marks may have any number.
const WAITING_MAX: usize = 1 << 21;

/// Puts events in order, of which as few wait as may be.
#[derive(Debug)]
pub(super) struct InOrder<E> {
    waiting: Vec<(i64, E)>,
    waiting_max: usize,
    /// The latest of all, and of those before this turn.
    latest_ns: i64,
    before_ns: i64,
}

impl<E> Default for InOrder<E> {
    fn default() -> InOrder<E> {
        InOrder { waiting: Vec::new(), waiting_max: WAITING_MAX, latest_ns: i64::MIN, before_ns: i64::MIN }
    }
}

impl<E> InOrder<E> {
    /// Takes an event. True if so many wait now that some have to [go](InOrder::half).
    pub(super) fn push(&mut self, time_ns: i64, event: E) -> bool {
        self.latest_ns = self.latest_ns.max(time_ns);
        self.waiting.push((time_ns, event));
        self.waiting.len() >= self.waiting_max
    }

    /// A turn has ended: the events that no later one precedes.
    pub(super) fn turn(&mut self) -> Vec<(i64, E)> {
        let until_ns = std::mem::replace(&mut self.before_ns, self.latest_ns);
        self.sort();
        self.first(self.waiting.partition_point(|(time_ns, _)| *time_ns <= until_ns))
    }

    /// The first half, whatever may still come.
    pub(super) fn half(&mut self) -> Vec<(i64, E)> {
        self.sort();
        self.first(self.waiting.len() / 2)
    }

    /// All that are left.
    pub(super) fn rest(&mut self) -> Vec<(i64, E)> {
        self.sort();
        self.first(self.waiting.len())
    }

    /// Those of one time stay as they came.
    fn sort(&mut self) {
        self.waiting.sort_by_key(|(time_ns, _)| *time_ns);
    }

    fn first(&mut self, count: usize) -> Vec<(i64, E)> {
        let later = self.waiting.split_off(count);
        std::mem::replace(&mut self.waiting, later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(events: Vec<(i64, ())>) -> Vec<i64> {
        events.into_iter().map(|(time_ns, ())| time_ns).collect()
    }

    #[test]
    fn events_wait_for_the_end_of_the_next_turn() {
        let mut order = InOrder::default();
        let mut turn = |seen: &[i64]| {
            assert!(!seen.iter().any(|time_ns| order.push(*time_ns, ())));
            times(order.turn())
        };
        assert!(turn(&[1, 5, 2, 4]).is_empty());
        assert_eq!(turn(&[6, 9, 3, 7]), [1, 2, 3, 4, 5]);
        assert_eq!(turn(&[]), [6, 7, 9]);
        assert_eq!(turn(&[8]), [8], "later than it may come, and given all the same");
        order.push(11, ());
        order.push(10, ());
        assert_eq!(times(order.rest()), [10, 11]);
    }

    #[test]
    fn without_turns_some_wait_no_longer() {
        let mut order = InOrder { waiting_max: 4, ..InOrder::default() };
        assert!([4, 2, 3].into_iter().all(|time_ns| !order.push(time_ns, ())));
        assert!(order.push(1, ()));
        assert_eq!((times(order.half()), times(order.rest())), (vec![1, 2], vec![3, 4]));
    }
}
