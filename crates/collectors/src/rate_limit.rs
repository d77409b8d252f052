//! How often something possibly expensive is read: as often as wanted while it is cheap, and never for more than a
//! small share of the time.

use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;

use crate::clock::thread_cpu_ns;

/// A reading is followed by at least this many times its usual length without one: a quarter of a
/// percent of a core.
const REST: i64 = 400;

/// The last reading's part of what is usual, as one in so many: one that is long for other reasons puts off little.
const PART_OF_LAST: i64 = 4;

/// It is reported when there are fewer readings than one in this many of those that were wanted.
const TOLD: i64 = 2;

/// A reading that has begun.
#[derive(Debug)]
pub(crate) struct Reading {
    began_ns: i64,
    began_cpu_ns: i64,
}

/// When something is to be read next.
#[derive(Debug)]
pub(crate) struct RateLimit {
    period_ns: i64,
    rest: i64,
    due_ns: i64,
    /// How long a reading takes, the last ones most; none before the first.
    usual_ns: Option<i64>,
    /// Sum and number of the readings' lengths.
    took_ns: i64,
    readings: i64,
}

impl RateLimit {
    /// Something to be read each `period`, the first time at once.
    pub(crate) fn every(period: Duration) -> RateLimit {
        let period_ns = period.as_nanos() as i64;
        RateLimit { period_ns, rest: REST, due_ns: i64::MIN, usual_ns: None, took_ns: 0, readings: 0 }
    }

    /// Something that is worth more than other things: so many times of what they may cost.
    pub(crate) fn worth(self, times: i64) -> RateLimit {
        RateLimit { rest: self.rest / times, ..self }
    }

    /// Something that is worth less: so many times less than other things may cost.
    pub(crate) fn less(self, times: i64) -> RateLimit {
        RateLimit { rest: self.rest * times, ..self }
    }

    /// Begins a reading if it is time; to be given back to [`RateLimit::end`].
    pub(crate) fn begin(&self, now_ns: i64) -> Option<Reading> {
        self.is_due(now_ns).then(|| Reading { began_ns: now_ns, began_cpu_ns: thread_cpu_ns() })
    }

    /// Notes that a reading is over, with the CPU time that it took this thread.
    pub(crate) fn end(&mut self, reading: Reading) {
        self.done(reading.began_ns, thread_cpu_ns() - reading.began_cpu_ns);
    }

    /// Whether it is time. A look that comes a little early counts, or the next one would be late.
    pub(crate) fn is_due(&self, now_ns: i64) -> bool {
        now_ns >= self.due_ns.saturating_sub(self.period_ns / 20)
    }

    /// Notes a reading that began at `began_ns` and took `took_ns`.
    pub(crate) fn done(&mut self, began_ns: i64, took_ns: i64) {
        let before_ns = self.usual_ns.unwrap_or(took_ns);
        let usual_ns = before_ns.saturating_add(took_ns.saturating_sub(before_ns) / PART_OF_LAST);
        let rest_ns = usual_ns.saturating_mul(self.rest);
        self.usual_ns = Some(usual_ns);
        self.took_ns = self.took_ns.saturating_add(took_ns);
        self.readings += 1;
        self.due_ns = began_ns.saturating_add(self.period_ns.max(rest_ns));
    }

    /// Puts off what is due before `at_ns`.
    pub(crate) fn not_before(&mut self, at_ns: i64) {
        self.due_ns = self.due_ns.max(at_ns);
    }

    /// Makes the reading due, for the last look.
    pub(crate) fn due_now(&mut self) {
        self.due_ns = i64::MIN;
    }

    /// Tells that there are fewer readings than wanted, if it came to that on the whole: a single one
    /// may be long for other reasons.
    pub(crate) fn tell(&self, found: &mut Recording, source: &'static str, what: &str) {
        let mean_ns = self.took_ns / self.readings.max(1);
        let period_ns = mean_ns.saturating_mul(self.rest);
        if period_ns > self.period_ns.saturating_mul(TOLD) {
            let (took_ms, period_s) = (mean_ns as f64 / 1e6, period_ns as f64 / 1e9);
            let says = format!("reading {what} took {took_ms:.1} ms, so it was read only each {period_s:.1} s");
            found.add_loss(source, loss::LIMIT, 0, &says);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dear_readings_become_rare() {
        let ms = 1_000_000;
        for (took_ns, next_ns, is_told) in
            [(0, 1000 * ms, false), (2 * ms, 1000 * ms, false), (20 * ms, 8000 * ms, true), (i64::MAX, i64::MAX, true)]
        {
            let mut limit = RateLimit::every(Duration::from_secs(1));
            assert!(limit.is_due(0));
            limit.done(0, took_ns);
            assert!(!limit.is_due(next_ns - 100 * ms), "{took_ns}");
            assert!(limit.is_due(next_ns), "{took_ns}");
            let mut found = Recording::default();
            limit.tell(&mut found, "test", "a file");
            assert_eq!(found.losses.rows().len() == 1, is_told, "{took_ns}");
        }
    }

    #[test]
    fn one_long_reading_puts_off_little() {
        let ms = 1_000_000;
        let mut limit = RateLimit::every(Duration::from_millis(100));
        (0..20).for_each(|nth| limit.done(nth * 100 * ms, ms / 20));
        limit.done(2_000 * ms, ms);
        assert!(limit.is_due(2_120 * ms) && !limit.is_due(2_090 * ms));
        // As soon as they are all like that they are rare.
        (0..20).for_each(|_| limit.done(3_000 * ms, ms));
        assert!(!limit.is_due(3_300 * ms) && limit.is_due(3_400 * ms));
    }

    #[test]
    fn what_is_worth_more_may_cost_more() {
        let ms = 1_000_000;
        let mut limit = RateLimit::every(Duration::from_millis(100)).worth(4);
        limit.done(0, ms);
        assert!(limit.is_due(100 * ms));
    }
}
