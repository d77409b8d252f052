//! Puts the times of a log on the common time axis.
//!
//! A log has the wall clock, the JVM's uptime, or both. With both, the finer one gives the distances
//! and the wall clock the place. With uptime alone, the JVM's start has to come from elsewhere.

use fathom_evidence::kinds::loss;

use crate::gc_log::event::Stamp;

const MILLISECOND_NS: i64 = 1_000_000;

/// Uptime that falls by more than this means another JVM; less is lines of two threads changing places.
const RESTART_NS: i64 = 1_000 * MILLISECOND_NS;

/// A wall clock that is off by more than this from where uptime puts it was set meanwhile.
const STEP_NS: i64 = 5 * MILLISECOND_NS;

/// Where the times of a log without a wall clock come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The caller knows when the JVM started.
    StartedAt(i64),
    /// Its last line was written when the file was last changed: offset of the uptime, in ns.
    FileEnd(i64),
    /// Nothing is known; times count from the JVM's start.
    Relative,
}

/// Places stamps, in the order of the log.
#[derive(Debug)]
pub(super) struct Clock {
    anchor: Anchor,
    /// Wall clock less uptime, from lines that have both.
    offset_ns: Option<i64>,
    last_uptime_ns: i64,
    /// What is added to the uptime because the JVM was started again.
    restarts_ns: i64,
    /// Latest instant placed so far.
    pub(super) last_ns: Option<i64>,
    /// How many times the JVM was started again.
    pub(super) restarts: u64,
    /// How many instants were placed by the uptime and the anchor.
    pub(super) by_anchor: u64,
}

impl Clock {
    pub(super) fn new(anchor: Anchor) -> Clock {
        Clock { anchor, offset_ns: None, last_uptime_ns: 0, restarts_ns: 0, last_ns: None, restarts: 0, by_anchor: 0 }
    }

    /// The instant of `at`, if the log says anything about it.
    pub(super) fn place(&mut self, at: Stamp) -> Option<i64> {
        let ns = match (at.wall_ns, at.uptime_ns) {
            (Some(wall), Some(uptime)) => {
                let by_uptime = self.both(wall, uptime).saturating_add(uptime);
                if at.is_fine { by_uptime } else { wall }
            }
            (Some(wall), None) => wall,
            (None, Some(uptime)) => match (self.offset_ns, self.anchor, self.last_ns) {
                // A line with the uptime alone among lines with the wall clock alone.
                (None, Anchor::Relative, Some(last)) if self.by_anchor == 0 => last,
                _ => self.by_uptime(uptime),
            },
            (None, None) => return None,
        };
        self.last_ns = Some(self.last_ns.map_or(ns, |last| last.max(ns)));
        Some(ns)
    }

    /// When the JVM started, as far as lines with both clocks tell.
    pub(super) fn started_at_ns(&self) -> Option<i64> {
        self.offset_ns
    }

    /// Learns the offset of the uptime from a line with both.
    fn both(&mut self, wall_ns: i64, uptime_ns: i64) -> i64 {
        let offset = wall_ns.saturating_sub(uptime_ns);
        // The wall clock is cut to milliseconds, so that the largest difference is nearest to the truth.
        let kept = self.offset_ns.filter(|old| old.abs_diff(offset) <= STEP_NS.unsigned_abs());
        let best = kept.map_or(offset, |old| old.max(offset));
        self.offset_ns = Some(best);
        best
    }

    fn by_uptime(&mut self, uptime_ns: i64) -> i64 {
        if let Some(offset) = self.offset_ns {
            return offset.saturating_add(uptime_ns);
        }
        if uptime_ns < self.last_uptime_ns.saturating_sub(RESTART_NS) {
            self.restarts += 1;
            self.restarts_ns = self.restarts_ns.saturating_add(self.last_uptime_ns);
            self.last_uptime_ns = uptime_ns;
        }
        self.last_uptime_ns = self.last_uptime_ns.max(uptime_ns);
        self.by_anchor += 1;
        let origin = match self.anchor {
            Anchor::StartedAt(ns) | Anchor::FileEnd(ns) => ns,
            Anchor::Relative => 0,
        };
        origin.saturating_add(self.restarts_ns).saturating_add(uptime_ns)
    }

    /// What has to be said about the times.
    pub(super) fn losses(&self) -> Vec<(&'static str, i64, String)> {
        let mut found = Vec::new();
        if self.by_anchor > 0 && matches!(self.anchor, Anchor::FileEnd(_)) {
            found.push((
                loss::CLOCK_ESTIMATED,
                0,
                "the log has no wall-clock time: its last line was put at the file's last change, which is off by \
                 however long the file was quiet or copied later; give --started-at, or a JFR recording of the same JVM, or \
                 log with -Xlog:gc*:file=gc.log:time,uptime,level,tags"
                    .to_owned(),
            ));
        }
        if self.restarts > 0 {
            let text = format!(
                "the JVM's uptime falls back {} times: the log holds several runs without wall-clock time; each was put right after the one before",
                self.restarts
            );
            found.push((loss::CLOCK_ESTIMATED, i64::try_from(self.restarts).unwrap_or(i64::MAX), text));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(wall_ms: Option<i64>, uptime_us: Option<i64>) -> Stamp {
        Stamp {
            wall_ns: wall_ms.map(|ms| ms * MILLISECOND_NS),
            uptime_ns: uptime_us.map(|us| us * 1_000),
            is_fine: true,
        }
    }

    fn place(anchor: Anchor, stamps: &[Stamp]) -> Vec<Option<i64>> {
        let mut clock = Clock::new(anchor);
        stamps.iter().map(|at| clock.place(*at).map(|ns| ns / 1_000)).collect()
    }

    #[test]
    fn the_finer_clock_gives_distances() {
        // The second line shows that the first was written at 10_000.9 ms at least.
        let stamps = [stamp(Some(10_000), Some(500)), stamp(Some(10_001), Some(600)), stamp(Some(10_001), Some(1_400))];
        assert_eq!(place(Anchor::Relative, &stamps), [Some(10_000_000), Some(10_001_000), Some(10_001_800)]);
    }

    #[test]
    fn a_wall_clock_that_is_set_is_followed() {
        let stamps = [stamp(Some(10_000), Some(1_500)), stamp(Some(7_000), Some(2_500))];
        assert_eq!(place(Anchor::Relative, &stamps), [Some(10_000_000), Some(7_000_000)]);
    }

    #[test]
    fn uptime_alone_needs_an_anchor_and_survives_restarts() {
        let stamps = [stamp(None, Some(5_000_000)), stamp(None, Some(4_900_000)), stamp(None, Some(100))];
        assert_eq!(place(Anchor::StartedAt(1_000_000), &stamps), [Some(5_001_000), Some(4_901_000), Some(5_001_100)]);
        assert_eq!(place(Anchor::Relative, &[stamp(None, None)]), [None]);
    }
}
