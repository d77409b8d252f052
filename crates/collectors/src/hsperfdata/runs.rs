//! Runs of collectors, from the instants at which each was last entered and left.
//!
//! The counters give these instants as time since the JVM started, and that start is known only roughly. Each look
//! narrows it down: an instant that is new now lies between the last look and this one.

use fathom_evidence::Recording;
use fathom_evidence::detail::{Gc, to_text};
use fathom_evidence::kinds::span;

use super::SOURCE;
use super::pauses::{self, Pause};
use super::watch::{Ticks, collectors};
use crate::jvm_counters::Counters;

/// What is known of one collector.
#[derive(Debug)]
struct Collector {
    index: usize,
    name: String,
    entered: i64,
    left: i64,
    count: i64,
    /// How long all its runs took.
    time: i64,
    /// Why it runs, as long as it does: afterwards it may be too late to ask.
    cause: Option<String>,
}

/// The collectors of a JVM.
#[derive(Debug, Default)]
pub(super) struct Runs {
    collectors: Vec<Collector>,
    start: Bounds,
    last_look_ns: i64,
    /// Runs of which only the number is known.
    pub(super) unseen: i64,
}

impl Runs {
    /// Begins with the runs that are over; they are not told again.
    pub(super) fn of(counters: &Counters, now_ns: i64) -> Runs {
        let known = collectors(counters).map(|(index, name)| Collector::of(counters, index, name));
        Runs { collectors: known.collect(), start: Bounds::default(), last_look_ns: now_ns, unseen: 0 }
    }

    /// Adds the runs that ended since the last look; whether any did.
    pub(super) fn look(&mut self, counters: &Counters, ticks: Ticks, now_ns: i64, found: &mut Recording) -> bool {
        let mut has_ended = false;
        for before in &mut self.collectors {
            let now = Collector::of(counters, before.index, std::mem::take(&mut before.name));
            for (old, new) in [(before.entered, now.entered), (before.left, now.left)] {
                if new > old {
                    self.start.narrow(self.last_look_ns, now_ns, ticks.duration_ns(new));
                }
            }
            let ended = now.ended().saturating_sub(before.ended()).max(0);
            let seen = now.last_run(before);
            let told = || pauses::cause(counters, "sun.gc.lastCause");
            let cause = if ended > 0 { told().or_else(|| before.cause.take()) } else { None };
            let mut next_ns = now_ns;
            if let Some((entered, left)) = seen {
                let from_ns = self.start.wall_ns(ticks.duration_ns(entered));
                let duration_ns = ticks.duration_ns(left.saturating_sub(entered));
                next_ns = add(&now, cause.clone(), counters, (from_ns, duration_ns), now_ns, found);
            }
            let unseen = (ended - i64::from(seen.is_some())).max(0);
            if unseen > 0 {
                let seen_ticks = seen.map_or(0, |(entered, left)| left.saturating_sub(entered));
                let ran_ns = ticks.duration_ns(now.time.saturating_sub(before.time).saturating_sub(seen_ticks));
                // One of them may have been running at the last look.
                let was_running = before.is_running() && self.start.is_known();
                let since_ns = was_running.then(|| self.start.wall_ns(ticks.duration_ns(before.entered)));
                let since_ns = since_ns.unwrap_or(self.last_look_ns).min(next_ns);
                let from_ns = since_ns.max(next_ns.saturating_sub(ran_ns));
                let pause = Pause { collector: &now.name, from_ns, to_ns: next_ns, cause, runs: unseen };
                pause.write(counters, found);
            }
            has_ended |= ended > 0;
            self.unseen = self.unseen.saturating_add(unseen);
            *before = now;
        }
        self.last_look_ns = now_ns;
        has_ended
    }

    /// Adds the runs that are not over, as long as they are by now.
    pub(super) fn finish(&mut self, counters: &Counters, ticks: Ticks, now_ns: i64, found: &mut Recording) {
        for collector in self.collectors.iter().filter(|collector| collector.is_running()) {
            let from_ns = self.start.wall_ns(ticks.duration_ns(collector.entered));
            // A run that had begun before the first look cannot be placed.
            if self.start.is_known() && from_ns < now_ns {
                add(collector, collector.cause.clone(), counters, (from_ns, now_ns - from_ns), now_ns, found);
            }
        }
    }
}

impl Collector {
    fn of(counters: &Counters, index: usize, name: String) -> Collector {
        let number = |what: &str| counters.number(&format!("sun.gc.collector.{index}.{what}")).unwrap_or_default();
        let (entered, left) = (number("lastEntryTime"), number("lastExitTime"));
        let cause = if entered > left { pauses::cause(counters, "sun.gc.cause") } else { None };
        Collector { index, name, entered, left, count: number("invocations"), time: number("time"), cause }
    }

    fn is_running(&self) -> bool {
        self.entered > self.left
    }

    /// Runs that are over: a run is counted when it begins.
    fn ended(&self) -> i64 {
        self.count.saturating_sub(i64::from(self.is_running()))
    }

    /// Beginning and end of the last run that ended since `before`, if both are known.
    fn last_run(&self, before: &Collector) -> Option<(i64, i64)> {
        // Where the next has begun the beginning is gone, unless it was seen while the run lasted.
        let is_same = before.is_running() && self.ended().saturating_sub(before.ended()) == 1;
        let entered = if self.is_running() { is_same.then_some(before.entered)? } else { self.entered };
        (self.left > before.left && entered < self.left).then_some((entered, self.left))
    }
}

/// Adds a run, and the pause that it is. When it began.
fn add(
    collector: &Collector,
    cause: Option<String>,
    counters: &Counters,
    (from_ns, duration_ns): (i64, i64),
    now_ns: i64,
    found: &mut Recording,
) -> i64 {
    let from_ns = from_ns.min(now_ns.saturating_sub(duration_ns));
    let detail = Gc { cause: cause.clone(), ..Gc::default() };
    found.add_span(from_ns, duration_ns, 0, span::COLLECTOR_RUN, &collector.name, &to_text(&detail), SOURCE);
    let to_ns = from_ns.saturating_add(duration_ns);
    Pause { collector: &collector.name, from_ns, to_ns, cause, runs: 1 }.write(counters, found);
    from_ns
}

/// When the JVM's clock began, between two instants.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    from_ns: i64,
    to_ns: i64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { from_ns: i64::MIN, to_ns: i64::MAX }
    }
}

impl Bounds {
    /// An instant of the JVM's clock lay between two of ours.
    fn narrow(&mut self, after_ns: i64, before_ns: i64, jvm_ns: i64) {
        let from_ns = self.from_ns.max(after_ns.saturating_sub(jvm_ns));
        let to_ns = self.to_ns.min(before_ns.saturating_sub(jvm_ns));
        // Clocks drift: when both cannot be true any more, the newer is.
        *self = match from_ns <= to_ns {
            true => Bounds { from_ns, to_ns },
            false => Bounds { from_ns: after_ns.saturating_sub(jvm_ns), to_ns: before_ns.saturating_sub(jvm_ns) },
        };
    }

    fn is_known(self) -> bool {
        self.to_ns != i64::MAX
    }

    fn wall_ns(self, jvm_ns: i64) -> i64 {
        self.from_ns.saturating_add(self.to_ns.saturating_sub(self.from_ns) / 2).saturating_add(jvm_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collector(entered: i64, left: i64, count: i64) -> Collector {
        Collector { index: 0, name: String::new(), entered, left, count, time: 0, cause: None }
    }

    #[test]
    fn the_last_run() {
        for (before, now, expected, ended) in [
            ((10, 12, 1), (10, 12, 1), None, 0),
            ((10, 12, 1), (20, 23, 2), Some((20, 23)), 1),
            ((10, 12, 1), (20, 12, 2), None, 0),
            ((20, 12, 2), (20, 23, 2), Some((20, 23)), 1),
            // Its end was seen, but the next has begun.
            ((20, 12, 2), (30, 23, 3), Some((20, 23)), 1),
            ((10, 12, 1), (30, 23, 3), None, 1),
            // Several between two looks.
            ((10, 12, 1), (50, 52, 5), Some((50, 52)), 4),
            ((20, 12, 2), (60, 52, 6), None, 4),
            ((0, 0, 0), (5, 6, 1), Some((5, 6)), 1),
            // Nonsense does no harm.
            ((i64::MAX, i64::MIN, i64::MAX), (i64::MIN, i64::MAX, i64::MIN), Some((i64::MIN, i64::MAX)), -1),
        ] {
            let (before, now) = (collector(before.0, before.1, before.2), collector(now.0, now.1, now.2));
            assert_eq!(now.last_run(&before), expected, "{before:?} {now:?}");
            if ended >= 0 {
                assert_eq!(now.ended() - before.ended(), ended, "{before:?} {now:?}");
            }
        }
    }

    #[test]
    fn each_instant_narrows_down_when_the_clock_began() {
        let mut bounds = Bounds::default();
        assert!(!bounds.is_known());
        let start = 1_000;
        for (after, before, instant) in [(1_400, 1_420, 415), (1_500, 1_520, 502), (1_600, 1_620, 618)] {
            bounds.narrow(after, before, instant);
            assert!((bounds.from_ns..=bounds.to_ns).contains(&start), "{bounds:?}");
        }
        assert!(bounds.to_ns - bounds.from_ns <= 16, "{bounds:?}");
        bounds.narrow(9_000, 9_020, 7_000);
        assert_eq!((bounds.from_ns, bounds.to_ns), (2_000, 2_020), "a clock that was set");
        bounds.narrow(i64::MIN, i64::MAX, i64::MIN);
    }
}
