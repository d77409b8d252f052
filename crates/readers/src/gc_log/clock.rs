//! Puts the times of a log on the common time axis.
//!
//! A log has the wall clock, the JVM's uptime, or both. With both, the finer one gives the distances and the wall clock
//! gives the place. With uptime alone, the JVM's start has to come from another source.

use fathom_evidence::kinds::loss;

use crate::gc_log::event::Stamp;

const MILLISECOND_NS: i64 = 1_000_000;

/// Time that is left before each pause of a log without any time.
const UNDATED_GAP_NS: i64 = 1_000 * MILLISECOND_NS;

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
    /// Latest instant placed so far.
    pub(super) last_ns: Option<i64>,
    /// How many instants were placed by the uptime and the anchor.
    pub(super) by_anchor: u64,
    /// How many pauses have no time in the log.
    pub(super) undated: u64,
    /// End of the last of them.
    undated_end_ns: Option<i64>,
    /// Whether anything in the log has a time.
    has_times: bool,
}

impl Clock {
    pub(super) fn new(anchor: Anchor) -> Clock {
        Clock {
            anchor,
            offset_ns: None,
            last_ns: None,
            by_anchor: 0,
            undated: 0,
            undated_end_ns: None,
            has_times: false,
        }
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
                _ => self.by_uptime(at.earlier_runs_ns.saturating_add(uptime)),
            },
            (None, None) => return None,
        };
        self.has_times = true;
        self.last_ns = Some(self.last_ns.map_or(ns, |last| last.max(ns)));
        Some(ns)
    }

    /// Whether nothing tells what date an uptime is, so far.
    pub(super) fn lacks_uptime(&self) -> bool {
        self.offset_ns.is_none() && self.anchor == Anchor::Relative && self.by_anchor == 0
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
        self.by_anchor += 1;
        self.origin_ns().saturating_add(uptime_ns)
    }

    fn origin_ns(&self) -> i64 {
        match self.anchor {
            Anchor::StartedAt(ns) | Anchor::FileEnd(ns) => ns,
            Anchor::Relative => 0,
        }
    }

    /// Where a pause goes whose lines have no time: after what was before it. In a log without any time a second is
    /// left before each, so that each is seen by itself and many short ones do not look like one long one.
    pub(super) fn place_undated(&mut self, duration_ns: i64) -> i64 {
        let before = if self.has_times { 0 } else { UNDATED_GAP_NS };
        let start = match (self.undated_end_ns, self.last_ns) {
            (Some(end), Some(last)) => end.max(last).saturating_add(before),
            (end, last) => end.or(last).unwrap_or_else(|| self.origin_ns()).saturating_add(before),
        };
        self.undated += 1;
        self.undated_end_ns = Some(start.saturating_add(duration_ns));
        self.last_ns = Some(self.last_ns.map_or(start, |last| last.max(start)));
        start
    }

    /// The end of all that was placed.
    pub(super) fn end_ns(&self) -> Option<i64> {
        self.last_ns.max(self.undated_end_ns)
    }

    /// Whether the log has pauses and no time at all, so that nothing in it tells how often they came.
    pub(super) fn is_undated(&self) -> bool {
        self.undated > 0 && !self.has_times
    }

    /// What has to be said about the times.
    pub(super) fn losses(&self, restarts: u64) -> Vec<(&'static str, i64, String)> {
        let mut found = Vec::new();
        if self.undated > 0 {
            found.push((loss::CLOCK_ESTIMATED, count(self.undated), self.says_undated()));
        }
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
        if restarts > 0 && self.by_anchor > 0 {
            let text = format!(
                "the JVM's uptime falls back {restarts} times: the log holds several runs without wall-clock time; each was put right after the one before",
            );
            found.push((loss::CLOCK_ESTIMATED, count(restarts), text));
        }
        found
    }

    fn says_undated(&self) -> String {
        let placed = match self.has_times {
            true => "they were put after what stands before them",
            false => {
                "they were put one after the other with a second between them, so that their lengths are right and how often they came is not known"
            }
        };
        format!(
            "{} pauses have no time in the log: {placed}; log with -Xlog:gc*,safepoint:file=gc.log:time,uptime,level,tags (JDK 8: -XX:+PrintGCDateStamps)",
            self.undated
        )
    }
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(wall_ms: Option<i64>, uptime_us: Option<i64>) -> Stamp {
        Stamp {
            wall_ns: wall_ms.map(|ms| ms * MILLISECOND_NS),
            uptime_ns: uptime_us.map(|us| us * 1_000),
            is_fine: true,
            ..Stamp::default()
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
        let again = Stamp { earlier_runs_ns: 5_000_000_000, ..stamp(None, Some(100)) };
        let stamps = [stamp(None, Some(5_000_000)), stamp(None, Some(1_900_000)), again];
        assert_eq!(place(Anchor::StartedAt(1_000_000), &stamps), [Some(5_001_000), Some(1_901_000), Some(5_001_100)]);
        assert_eq!(place(Anchor::Relative, &[stamp(None, None)]), [None]);
    }

    #[test]
    fn pauses_without_a_time_follow_each_other() {
        const S: i64 = 1_000_000_000;
        let mut clock = Clock::new(Anchor::StartedAt(100 * S));
        assert_eq!([15, 14, 15].map(|s| clock.place_undated(s * S) / S), [101, 117, 132]);
        assert!(clock.is_undated() && clock.losses(0).len() == 1);
        // Among others that have one they stay where they stand.
        let mut clock = Clock::new(Anchor::StartedAt(0));
        clock.place(stamp(None, Some(7_000_000)));
        assert_eq!([2, 3].map(|s| clock.place_undated(s * S) / S), [7, 9]);
        assert!(!clock.is_undated());
    }
}
