//! What each collection is, from its name, its cause and its number.

use std::collections::{BTreeMap, HashMap, HashSet};

use fathom_evidence::detail::{Gc, from_text};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;

use crate::median::median;
use crate::scopes::{Scopes, is_said_to_be_full};
use crate::sources::Sources;
use crate::states::{Collection, Origin};

/// Why each collection was started.
pub(crate) struct Causes {
    by_id: Numbered,
    /// Beginnings of full collections that have no cause in the log and came at regular intervals.
    by_clock: HashSet<i64>,
    scopes: Scopes,
}

impl Causes {
    /// Reads them from everything that has both.
    pub(crate) fn of(sources: &Sources<'_>) -> Causes {
        Causes {
            by_id: Numbered::of(sources),
            by_clock: by_clock(&unexplained_full(sources)),
            scopes: Scopes::of(sources),
        }
    }

    /// What the collection is that a pause or phase belongs to.
    pub(crate) fn collection(&self, sources: &Sources<'_>, part: &Span) -> Collection {
        let detail: Gc = from_text(sources.recording.text(part.detail));
        let name = sources.recording.text(part.name);
        let by_id = || detail.gc_id.and_then(|id| self.by_id.origin(id, part.time_ns));
        let by_clock = || self.by_clock.contains(&part.time_ns).then_some(Origin::Explicit);
        let own = detail.cause.as_deref().map(Origin::of_cause);
        let own = if is_for_classes(&detail) { Some(Origin::Metaspace) } else { own };
        let origin = own.or_else(by_clock).or_else(by_id).unwrap_or_else(|| Origin::of_name(name));
        let when = (part.time_ns, part.end_ns());
        Collection { scope: self.scopes.of_pause(detail.scope.as_deref().unwrap_or(""), name, when), origin }
    }
}

/// One report of a collection, in ns and in order of its beginning.
#[derive(Debug, Clone, Copy)]
struct Told {
    from_ns: i64,
    to_ns: i64,
    origin: Option<Origin>,
}

/// Collections by their numbers, with their times: a JVM that was started again begins to count anew.
#[derive(Default)]
struct Numbered(HashMap<u64, Vec<Told>>);

/// Reports with the same number are of one collection if no more than this is between them, in ns: sources place it a
/// little differently, and a restarted JVM takes longer until it has counted as far.
const SAME_COLLECTION_NS: i64 = 1_000_000_000;

impl Numbered {
    fn of(sources: &Sources<'_>) -> Numbered {
        let mut all = Numbered::default();
        for kind in [span::GC, span::GC_PAUSE] {
            for gc in sources.spans(kind) {
                let detail: Gc = from_text(sources.recording.text(gc.detail));
                let origin = detail.cause.as_deref().map(Origin::of_cause);
                let told = Told { from_ns: gc.time_ns, to_ns: gc.end_ns(), origin };
                if let Some(id) = detail.gc_id {
                    all.0.entry(id).or_default().push(told);
                }
            }
        }
        all.0.values_mut().for_each(join);
        all
    }

    /// Why the collection `id` that is nearest to `time_ns` was started.
    fn origin(&self, id: u64, time_ns: i64) -> Option<Origin> {
        let own = self.nearest(id, time_ns).and_then(|told| told.origin);
        // G1 gives a concurrent cycle the number after the pause that starts it, and no cause.
        own.or_else(|| self.nearest(id.checked_sub(1)?, time_ns)?.origin)
    }

    fn nearest(&self, id: u64, time_ns: i64) -> Option<&Told> {
        let all = self.0.get(&id)?;
        let next = all.partition_point(|told| told.from_ns <= time_ns);
        let around = all.get(next.saturating_sub(1)..all.len().min(next + 1))?;
        around.iter().min_by_key(|told| (told.from_ns.saturating_sub(time_ns)).max(time_ns.saturating_sub(told.to_ns)))
    }
}

/// Merges the reports of the same collection. The last one that gives a cause is believed.
fn join(all: &mut Vec<Told>) {
    all.sort_by_key(|told| told.from_ns);
    all.dedup_by(|next, kept| {
        let is_same = next.from_ns <= kept.to_ns.saturating_add(SAME_COLLECTION_NS);
        if is_same {
            *kept = Told { to_ns: kept.to_ns.max(next.to_ns), origin: next.origin.or(kept.origin), ..*kept };
        }
        is_same
    });
}

/// Full collections without a reported cause that the heap did not need: JDK 6 and 7 print no cause. In order.
fn unexplained_full(sources: &Sources<'_>) -> Vec<(i64, i64)> {
    let is_unexplained = |pause: &Span| {
        let detail: Gc = from_text(sources.recording.text(pause.detail));
        let is_full = is_said_to_be_full(detail.scope.as_deref().unwrap_or(""), sources.recording.text(pause.name));
        is_full && detail.cause.is_none() && had_room(&detail)
    };
    sources.spans(span::GC_PAUSE).filter(is_unexplained).map(|pause| (pause.time_ns, pause.end_ns())).collect()
}

/// Whether a full collection came because the permanent generation had no room left: it was full before, and fuller than the
/// heap, and the log gives no cause, or only what CMS was at. Its size in a log is what is committed, which grows when it must: beside an
/// old generation that is full even afterwards it says nothing.
fn is_for_classes(detail: &Gc) -> bool {
    let is_given = detail.cause.as_deref().is_some_and(|cause| !TROUBLES.contains(&cause));
    let permanent = used_share(detail.permanent_before_bytes, detail.permanent_capacity_bytes);
    let has_room =
        used_share(detail.old_after_bytes, detail.old_capacity_bytes).is_none_or(|left| left < OLD_GENERATION_FULL);
    let is_full = detail.scope.as_deref() == Some("full") && !is_given && has_room;
    is_full && permanent.is_some_and(|used| used >= PERMANENT_FULL && used >= used_before(detail).unwrap_or(0.0))
}

/// Occupancy after a full collection from which the old generation has no room to work with: nothing is freed to speak of, and the
/// next full collection comes at once. Below it the heap is too small for what is allocated, not for what lives.
pub const OLD_GENERATION_FULL: f64 = 0.85;

/// From this part in use on the permanent generation has no room for the next class with what it needs.
const PERMANENT_FULL: f64 = 0.98;

/// What went wrong in a collection, where the log has no cause of it.
const TROUBLES: &[&str] = &["concurrent mode failure", "promotion failed"];

/// The part of the old generation, or of the heap, in use before: the fuller of both.
fn used_before(detail: &Gc) -> Option<f64> {
    let old = used_share(detail.old_before_bytes, detail.old_capacity_bytes);
    let heap = used_share(detail.heap_before_bytes, detail.heap_committed_bytes);
    old.into_iter().chain(heap).max_by(f64::total_cmp)
}

/// The part of a size that is used, as far as both are known.
pub fn used_share(used: Option<u64>, size: Option<u64>) -> Option<f64> {
    Some(used? as f64 / size.filter(|size| *size > 0)? as f64)
}

/// Whether there was plenty of room when a collection began.
fn had_room(detail: &Gc) -> bool {
    let old = used_share(detail.old_before_bytes, detail.old_capacity_bytes);
    let used = old.or_else(|| used_share(detail.heap_before_bytes, detail.heap_committed_bytes));
    used.is_some_and(|used| used < PLENTY_USED)
}

/// The part of the old generation in use below which no collector runs a full collection of its own accord.
const PLENTY_USED: f64 = 0.6;

/// RMI's distributed collector asks for a full collection when there was none for this long, in ns.
const RMI_PERIOD_NS: i64 = 3_600_000_000_000;

/// So many full collections that are equally far apart are no chance; of RMI's own period fewer will do.
const GAPS_OF_A_CLOCK: usize = 4;
const GAPS_OF_RMI: usize = 2;

/// A shorter period looks the same as work that recurs, in ns.
const SHORTEST_PERIOD_NS: i64 = 30_000_000_000;

/// Beginnings of those of `pauses` that came by a clock: as long after the end of the one before, or before the next,
/// as most of them. Each sets the clock anew when it is over.
fn by_clock(pauses: &[(i64, i64)]) -> HashSet<i64> {
    let gaps: Vec<i64> = pauses.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].1)).collect();
    let median = median(gaps.iter().map(|gap| *gap as f64).collect()).unwrap_or(0.0) as i64;
    let is_near = |gap: i64, period: i64| gap.abs_diff(period) <= (period / 100).unsigned_abs();
    let fits = |gap: &i64| is_near(*gap, median);
    let needed = if is_near(median, RMI_PERIOD_NS) { GAPS_OF_RMI } else { GAPS_OF_A_CLOCK };
    if median < SHORTEST_PERIOD_NS || gaps.iter().filter(|gap| fits(gap)).count() < needed {
        return HashSet::new();
    }
    let beside = |(index, gap): (usize, &i64)| fits(gap).then(|| [pauses[index].0, pauses[index + 1].0]);
    gaps.iter().enumerate().filter_map(beside).flatten().collect()
}

/// JFR reports the CPU time of a collection right after it, in ns.
const REPORT_DELAY_NS: i64 = 5_000_000;

/// CPU time of the collector in its pauses.
pub(crate) struct PauseCpu {
    /// What was reported apart from the pauses, by time.
    reported: Vec<(i64, f64)>,
}

impl PauseCpu {
    /// Reads what there is.
    pub(crate) fn of(sources: &Sources<'_>) -> PauseCpu {
        let mut sums: BTreeMap<i64, f64> = BTreeMap::new();
        for series in sources.counters(counter::GC_CPU_NS).into_values() {
            for (time, ns) in series.0 {
                *sums.entry(time).or_default() += ns;
            }
        }
        PauseCpu { reported: sums.into_iter().collect() }
    }

    /// CPU time of all the collector's threads in one pause, in ns, if it is known.
    pub(crate) fn ns(&self, sources: &Sources<'_>, pause: &Span) -> Option<f64> {
        let detail: Gc = from_text(sources.recording.text(pause.detail));
        let own = detail.user_ns.map(|user| user.saturating_add(detail.system_ns.unwrap_or(0)) as f64);
        own.or_else(|| {
            let end = pause.end_ns().saturating_add(REPORT_DELAY_NS);
            let next = self.reported.partition_point(|(time, _)| *time < pause.time_ns);
            self.reported.get(next).filter(|(time, _)| *time <= end).map(|(_, ns)| *ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beginnings in seconds; each takes two.
    fn clocked(seconds: &[i64]) -> Vec<i64> {
        let pauses: Vec<(i64, i64)> = seconds.iter().map(|at| (at * 1_000_000_000, (at + 2) * 1_000_000_000)).collect();
        let mut found: Vec<i64> = by_clock(&pauses).into_iter().map(|ns| ns / 1_000_000_000).collect();
        found.sort_unstable();
        found
    }

    /// Origin of the collection of a number at a second, of collections `(number, from and to in s, cause)`.
    fn origins(told: &[(u64, i64, i64, &str)], asked: &[(u64, i64)]) -> Vec<Option<Origin>> {
        let mut all = Numbered::default();
        for (id, from_s, to_s, cause) in told {
            let origin = (!cause.is_empty()).then(|| Origin::of_cause(cause));
            let told = Told { from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000, origin };
            all.0.entry(*id).or_default().push(told);
        }
        all.0.values_mut().for_each(join);
        asked.iter().map(|(id, second)| all.origin(*id, second.saturating_mul(1_000_000_000))).collect()
    }

    #[test]
    fn numbers_begin_again_when_a_jvm_does() {
        const EXPLICIT: Option<Origin> = Some(Origin::Explicit);
        let first = [(0, 10, 11, "System.gc()"), (1, 12, 13, "System.gc()")];
        let second = [(0, 600, 601, ""), (1, 602, 640, ""), (1, 610, 611, "")];
        let asked = [(0, 10), (1, 12), (2, 14), (0, 600), (1, 602), (1, 630), (2, 650)];
        let both = origins(&[&first[..], &second[..]].concat(), &asked);
        assert_eq!(both, [EXPLICIT, EXPLICIT, EXPLICIT, None, None, None, None]);
        // A concurrent cycle is what the pause before it is; its own pauses give no cause.
        let cycle = [(7, 20, 21, "System.gc()"), (8, 21, 50, ""), (8, 40, 41, "")];
        assert_eq!(origins(&cycle, &[(8, 21), (8, 40), (8, 55), (9, 56)]), [EXPLICIT, EXPLICIT, EXPLICIT, None]);
        // A recorder that gives the cause of the whole, and pauses without one.
        let parts = [(3, 20, 30, "Metadata GC Threshold"), (3, 20, 21, ""), (3, 29, 30, "")];
        assert_eq!(origins(&parts, &[(3, 29)]), [Some(Origin::Metaspace)]);
        assert_eq!(origins(&[], &[(0, 0), (u64::MAX, i64::MAX)]), [None, None]);
    }

    #[test]
    fn collections_that_come_by_a_clock() {
        assert_eq!(clocked(&[23, 3_625, 7_227, 10_829]), [23, 3_625, 7_227, 10_829]);
        // One that came for another reason sets the clock anew.
        assert_eq!(clocked(&[23, 3_625, 5_000, 8_602, 12_204]), [23, 3_625, 5_000, 8_602, 12_204]);
        assert_eq!(clocked(&[10, 310, 610, 910, 1_210, 1_300]), [10, 310, 610, 910, 1_210]);
        for by_chance in
            [&[][..], &[5], &[5, 3_607], &[10, 310, 610], &[1, 4, 7, 10, 13, 16], &[10, 200, 900, 1_000, 1_700]]
        {
            assert!(clocked(by_chance).is_empty(), "{by_chance:?}");
        }
    }
}
