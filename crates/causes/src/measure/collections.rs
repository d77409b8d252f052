//! Garbage collections: how many, what they found, how fast memory was allocated.

use fathom_evidence::detail::Gc;
use fathom_evidence::kinds::{counter, event, span};
use fathom_evidence::tables::Span;
use fathom_timeline::{
    Collection, Intervals, NOTICED_NS, Origin, Scope, Series, SignalKind, Stop, ThreadState, Wait, used_share,
};

use crate::cause::{Claim, Finding, ThreadTime};
use crate::comparison::Comparison;
use crate::explanation::{Evidence, Missing};
use crate::measure::median;
use crate::period::Period;

/// Pauses of one scope and origin on one period.
pub fn stops(comparison: &Comparison<'_>, select: impl Fn(Collection) -> bool) -> Vec<(i64, i64)> {
    let chosen = comparison.slow_stops().filter(|stop| matches!(stop.stop, Stop::Collection(c) if select(c)));
    chosen.map(|stop| (stop.from_ns, stop.duration_ns())).collect()
}

/// Whether a collection was caused by a lack of memory and is young or concurrent.
pub fn is_ordinary(collection: Collection) -> bool {
    collection.origin == Origin::Allocation && matches!(collection.scope, Scope::Young | Scope::Concurrent)
}

/// Whether a collection was caused by a lack of memory and stopped everything for the whole heap.
pub fn is_full(collection: Collection) -> bool {
    collection.origin == Origin::Allocation && collection.scope == Scope::Full
}

/// A stop that users of any service notice by itself, in ns: shorter ones matter by how often they come.
const LONG_STOP_NS: i64 = 500_000_000;

/// Whether one of some stops (beginning and length) says enough alone.
pub fn is_long(stops: &[(i64, i64)]) -> bool {
    stops.iter().any(|(_, length_ns)| *length_ns >= LONG_STOP_NS)
}

/// Whether stops of the slow time (beginning and length) are noticed: those of one slow stretch are together as long as one
/// that is noticed by itself, or it is known that users felt them. Over hours any stops add up to that.
pub fn are_noticed(comparison: &Comparison<'_>, stops: &[(i64, i64)]) -> bool {
    let stopped =
        Intervals::union(stops.iter().map(|(from_ns, length)| (*from_ns, from_ns.saturating_add(*length))).collect());
    let is_long = |(from_ns, to_ns)| stopped.within_ns(from_ns, to_ns) >= LONG_STOP_NS;
    are_felt(comparison) || comparison.slow.time.iter().any(is_long)
}

/// Stops that take less of the time than this are met by fewer than one request in a hundred: what users call slow does not show them.
pub const MET_BY_FEW: f64 = 0.01;

/// Whether stops (beginning and length) come again and again, so that one request in a hundred meets one, and are together as long as one
/// that is noticed by itself.
pub fn are_met_by_many(comparison: &Comparison<'_>, stops: &[(i64, i64)]) -> bool {
    let total_ns = stops.iter().fold(0_i64, |sum, (_, length_ns)| sum.saturating_add(*length_ns));
    let grid = comparison.sources().grid;
    let recorded_ns = grid.end_ns().saturating_sub(grid.start_ns) as f64;
    stops.len() >= MIN_FOR_RATE && total_ns >= LONG_STOP_NS && total_ns as f64 >= MET_BY_FEW * recorded_ns
}

/// Whether stops of the slow time (beginning and length) are too few and each too short to be noticed, as far as is known.
pub fn are_minor(comparison: &Comparison<'_>, stops: &[(i64, i64)]) -> bool {
    !are_noticed(comparison, stops) && stops.iter().all(|(_, length_ns)| (*length_ns as f64) < NOTICED_NS)
}

/// Whether users are known to have felt slowness: requests were measured exactly, or a person says so. Without that, what
/// is below the floor of its signal is not known to harm users.
pub fn are_felt(comparison: &Comparison<'_>) -> bool {
    let is_said = comparison.slowdown.signals.contains(&SignalKind::Given);
    comparison.is_slow() && (is_said || comparison.analysis.account.exact_requests().is_some())
}

/// Collections for lack of memory stopped the application, it is unknown whether they were full ones, and their stops are
/// longer than all others: they neither accuse nor acquit.
pub fn of_unknown_kind(comparison: &Comparison<'_>) -> Option<Finding> {
    let stopped_ns = |select: fn(Collection) -> bool| -> f64 {
        stops(comparison, select).iter().map(|(_, length_ns)| *length_ns as f64).sum()
    };
    let unknown_ns = stopped_ns(|c| c.origin == Origin::Allocation && c.scope == Scope::Unknown);
    let is_most = unknown_ns > stopped_ns(|collection| is_full(collection) || is_ordinary(collection));
    let says = "collections stopped the application, but whether they were young or full ones was not recorded";
    is_most.then(|| Finding::unknown(says, Missing::GC_LOG))
}

/// The collection that a kind of time belongs to, whether the collector worked or waited in it. For
/// causes that are about there being such collections at all; one that is about their work takes
/// the working part only.
pub fn collection_of(state: ThreadState) -> Option<Collection> {
    match state {
        ThreadState::Stopped(Stop::Collection(collection) | Stop::WaitingCollector(collection))
        | ThreadState::Collector(collection) => Some(collection),
        _ => None,
    }
}

/// Fewer pauses, or threads that waited for memory, than this are no rate.
pub const MIN_FOR_RATE: usize = 3;

/// Growth of the allocation rate, and of the number of collections, that the collector feels. Less is within what load does by
/// itself.
pub const MIN_RATE_RATIO: f64 = 1.5;

/// Share of the time in ordinary collections that is too much whatever it was before.
pub const HEAVY: f64 = 0.10;

/// With this much of the heap in use after collections, one that is twice as large leaves room for three times as much between
/// two of them: it is the heap, and not the rate, that brings them.
pub const CROWDED: f64 = 0.5;

/// Share of the time that ordinary collections stopped the application, and threads of it waited for memory.
pub fn ordinary_share(comparison: &Comparison<'_>, period: &Period<'_>) -> f64 {
    let stops = comparison.analysis.account.stops.iter();
    let ordinary = stops.filter(|stop| matches!(stop.stop, Stop::Collection(collection) if is_ordinary(collection)));
    let stopped_ns: f64 = ordinary.map(|stop| period.time.within_ns(stop.from_ns, stop.to_ns) as f64).sum();
    let stalled = comparison.excess_threads(|state| state == ThreadState::Blocked(Wait::AllocationStall));
    stopped_ns / 1e9 / period.seconds() + stalled.max(0.0)
}

/// Heap occupancy around one pause, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Occupancy {
    before: f64,
    after: f64,
}

/// The time to count collections in. The slow seconds of a log are those that have a pause, so that counting in them
/// finds more pauses than before whatever happens: seconds around them count too, so many that several collections
/// come in them when nothing changes.
#[derive(Debug)]
pub struct Eras<'a> {
    /// Around the slow time.
    pub slow: Period<'a>,
    /// What of the baseline is apart from that, if that is enough to count in.
    pub baseline: Option<Period<'a>>,
}

/// Collections that come in the time that is added on each side of a slow stretch.
const CYCLES_AROUND: f64 = 5.0;

/// No more than this is added, in ns: with less than one collection a minute nothing presses.
const AROUND_MAX_NS: f64 = 300e9;

/// As many pauses would have come in the baseline era, had they come as often as in the slow one: fewer of them are then a
/// difference, and none is one too.
const MIN_EXPECTED_PAUSES: f64 = 5.0;

impl<'a> Eras<'a> {
    /// The eras of a comparison.
    pub fn of(comparison: &Comparison<'a>) -> Eras<'a> {
        let sources = comparison.sources();
        let grid = sources.grid;
        let whole = Period::new(sources, Intervals::union(vec![(grid.start_ns, grid.end_ns())]));
        let starts: Vec<i64> = whole.young_pauses().map(|(pause, _)| pause.time_ns).collect();
        let gaps = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64).collect();
        let around_ns = median(gaps).map_or(0.0, |gap| (gap * CYCLES_AROUND).min(AROUND_MAX_NS)) as i64;
        let widen = |(from, to): (i64, i64)| {
            (from.saturating_sub(around_ns).max(grid.start_ns), to.saturating_add(around_ns).min(grid.end_ns()))
        };
        let slow = Period::new(sources, Intervals::union(comparison.slow.time.iter().map(widen).collect()));
        let baseline = comparison.baseline.as_ref().map(|baseline| match std::ptr::eq(baseline.sources, sources) {
            true => Period::new(sources, baseline.time.subtract(&slow.time)),
            false => Period::new(baseline.sources, baseline.time.clone()),
        });
        let per_second = slow.young_pauses().count() as f64 / slow.seconds();
        Eras { baseline: baseline.filter(|baseline| baseline.seconds() * per_second >= MIN_EXPECTED_PAUSES), slow }
    }

    /// A quantity of each era.
    pub fn both(&self, measure: impl Fn(&Period<'_>) -> f64) -> (f64, Option<f64>) {
        (measure(&self.slow), self.baseline.as_ref().map(measure))
    }
}

/// Allocation rate on one period, in bytes per second: what the heap grew by between collections,
/// else what the allocation samples stand for. `None` when neither was recorded.
pub fn allocation_rate(period: &Period<'_>) -> Option<f64> {
    let grown = growth_between_collections(period);
    grown.or_else(|| sampled(period))
}

/// Sizes of the young generation and of the heap before collections of the slow time, in bytes: the medians.
pub fn sizes(comparison: &Comparison<'_>) -> Option<(f64, f64)> {
    let of = |select: fn(&Gc) -> Option<u64>| {
        median(comparison.slow.young_pauses().filter_map(|(_, detail)| Some(select(&detail)? as f64)).collect())
    };
    let young = |gc: &Gc| {
        let rest = || gc.heap_before_bytes?.checked_sub(gc.old_before_bytes?);
        gc.young_before_bytes.max(gc.young_capacity_bytes).or_else(rest)
    };
    Some((of(young)?, of(|gc| gc.heap_committed_bytes)?))
}

/// That rate as evidence.
pub fn allocation_evidence(comparison: &Comparison<'_>, rate: (f64, Option<f64>)) -> Evidence {
    comparison.evidence("allocation rate", rate, "bytes/s", "spans").of(&[span::GC_PAUSE])
}

/// How often threads had to wait for memory in the slow time, as evidence.
pub fn stalls_evidence(comparison: &Comparison<'_>, stalls: usize) -> Evidence {
    let says = "waits of threads for memory";
    comparison.evidence(says, (stalls as f64, None), "count", "spans").of(&[span::ALLOCATION_STALL])
}

/// The heap grows evenly between two collections as far as one can tell: each side gets its part
/// of the growth, wherever the pause falls that measures it.
fn growth_between_collections(period: &Period<'_>) -> Option<f64> {
    let pauses = occupancies(period);
    let mut bytes = 0.0;
    let mut covered_ns = 0;
    for pair in pauses.windows(2) {
        let (from, to) = (pair[0].0, pair[1].0);
        let within_ns = period.time.within_ns(from, to);
        let growth = (pair[1].1.before - pair[0].1.after).max(0.0);
        bytes += growth * (within_ns as f64 / to.saturating_sub(from).max(1) as f64);
        covered_ns += within_ns;
    }
    (covered_ns > 0).then(|| bytes / (covered_ns as f64 / 1e9))
}

/// Occupancy around each pause of the whole recording, in order.
fn occupancies(period: &Period<'_>) -> Vec<(i64, Occupancy)> {
    let of_pause = |pause: Span| {
        let detail: Gc = period.detail(&pause);
        let occupancy = Occupancy { before: detail.heap_before_bytes? as f64, after: detail.heap_after_bytes? as f64 };
        Some((pause.time_ns, occupancy))
    };
    let told: Vec<_> = period.sources.spans(span::GC_PAUSE).filter_map(of_pause).collect();
    if told.is_empty() { counted_occupancies(period) } else { told }
}

/// The same from the counters that some sources have instead.
fn counted_occupancies(period: &Period<'_>) -> Vec<(i64, Occupancy)> {
    let before = period.sources.counter(counter::HEAP_USED_BYTES, "before_gc").0;
    let after = period.sources.counter(counter::HEAP_USED_BYTES, "after_gc").0;
    let mut next = after.iter().peekable();
    let mut pairs = Vec::new();
    for (time, before) in before {
        while next.next_if(|(after_time, _)| *after_time < time).is_some() {}
        if let Some((_, after)) = next.peek() {
            pairs.push((time, Occupancy { before, after: *after }));
        }
    }
    pairs
}

fn sampled(period: &Period<'_>) -> Option<f64> {
    period.sources.samples(event::ALLOCATION).next()?;
    let bytes: f64 = period.samples(event::ALLOCATION).map(|sample| sample.size_bytes.max(0) as f64).sum();
    Some(bytes / period.seconds())
}

/// Occupancy of the old generation after the full collections of the slow time, as a share of its
/// size; of the whole heap where the source does not tell them apart. The median of all.
pub fn old_occupancy_after_full(comparison: &Comparison<'_>) -> Option<f64> {
    let mut shares: Vec<f64> = left_by_full(comparison).map(|(_, share)| share).collect();
    if shares.is_empty() {
        shares = counted_old_occupancy(comparison);
    }
    median(shares)
}

/// The same of each of them, where their pauses tell.
fn left_by_full<'c>(comparison: &'c Comparison<'_>) -> impl Iterator<Item = (Span, f64)> + use<'c> {
    full_pauses(comparison).filter_map(|(pause, detail)| {
        let old = used_share(detail.old_after_bytes, detail.old_capacity_bytes);
        let left = old.or_else(|| used_share(detail.heap_after_bytes, largest_heap(comparison, &detail)));
        Some((pause, left?))
    })
}

/// Those of them that left the old generation as full as `is_meant` says: how many, and their stops as claims. Of hours of them the middle
/// says what most did, and excludes nothing for the others.
pub fn full_ones_that_left(comparison: &Comparison<'_>, is_meant: impl Fn(f64) -> bool) -> (usize, Vec<Claim>) {
    let meant = left_by_full(comparison).filter(|(_, share)| is_meant(*share));
    let times: Vec<(i64, i64)> = meant.map(|(pause, _)| (pause.time_ns, pause.end_ns())).collect();
    let count = times.len();
    let stops = comparison.excess().states.iter().map(|excess| excess.state);
    let stops = stops.filter(|state| matches!(state, ThreadState::Stopped(Stop::Collection(of)) if is_full(*of)));
    let time = ThreadTime::from([(0, Intervals::union(times))]);
    (count, stops.map(|state| Claim::during(state, time.clone())).collect())
}

/// What the full collections of the recording left of the old generation in use, as a share of its size: the median. It says what lives,
/// also of a time without one, and where they are weeks apart.
pub fn left_by_full_ones(comparison: &Comparison<'_>) -> Option<f64> {
    let recording = comparison.recording();
    let pauses = recording.spans.rows().filter(|row| recording.text(row.kind) == span::GC_PAUSE);
    let pauses = pauses.map(|pause| comparison.slow.detail::<Gc>(&pause));
    let full = pauses.filter(|detail| detail.scope.as_deref() == Some("full"));
    median(full.filter_map(|detail| used_share(detail.old_after_bytes, detail.old_capacity_bytes)).collect())
}

/// Whether the collector says of the slow time that it had no room to copy or to promote to: it fell short of memory, whatever of it lives.
pub fn found_no_room(comparison: &Comparison<'_>) -> bool {
    let recording = comparison.recording();
    let mut troubles = recording.logs.rows().filter(|row| recording.text(row.class) == "gc_trouble");
    troubles.any(|row| comparison.slow.time.touches(row.time_ns.saturating_sub(1), row.time_ns))
}

/// The full collections of the slow time with what they found and left.
pub fn full_pauses<'c>(comparison: &'c Comparison<'_>) -> impl Iterator<Item = (Span, Gc)> + use<'c> {
    let full = stops(comparison, is_full);
    // A young pause may begin within the slack of a full one, and says nothing of what that left.
    let is_of_a_full_one = |(pause, detail): &(Span, Gc)| match detail.scope.as_deref() {
        Some(scope) => scope == "full",
        None => comparison.recording().text(pause.name).contains("Full"),
    };
    comparison.slow.pauses().filter(is_of_a_full_one).filter(move |(pause, _)| {
        // One that begins with a look at the heap has its stop behind that.
        let is_its = |(from, length): &(i64, i64)| {
            let to_ns = from.saturating_add(*length);
            let is_near = pause.time_ns.saturating_add(SAME_PAUSE_NS) >= *from
                && pause.time_ns <= to_ns.saturating_add(SAME_PAUSE_NS);
            is_near || (pause.time_ns < to_ns && pause.end_ns() > *from)
        };
        full.iter().any(is_its)
    })
}

/// Logs and events place the same pause within this of each other, in ns.
pub(crate) const SAME_PAUSE_NS: i64 = 5_000_000;

/// The heap may still grow: its limit counts, where it is known.
fn largest_heap(comparison: &Comparison<'_>, detail: &Gc) -> Option<u64> {
    let limit = comparison.sources().flag("MaxHeapSize").map(|bytes| bytes as u64);
    limit.max(detail.heap_committed_bytes)
}

fn counted_old_occupancy(comparison: &Comparison<'_>) -> Vec<f64> {
    let sources = comparison.sources();
    let used = sources.counter(counter::OLD_USED_BYTES, "after_gc");
    let size = sources.counter(counter::OLD_CAPACITY_BYTES, "after_gc").last().filter(|size| *size > 0.0);
    match size {
        Some(size) if !used.0.is_empty() => shares_in_slow_time(comparison, &used, size),
        _ => counted_heap_occupancy(comparison),
    }
}

fn heap_shares(comparison: &Comparison<'_>) -> Vec<f64> {
    let cycles = Cycles::of(&comparison.slow);
    let told = comparison.slow.pauses().filter_map(|(pause, detail)| {
        let after = if is_mark(&detail) { cycles.left_after(pause.time_ns) } else { detail.heap_after_bytes };
        used_share(after, largest_heap(comparison, &detail))
    });
    let told: Vec<f64> = told.collect();
    if told.is_empty() { counted_heap_occupancy(comparison) } else { told }
}

/// Whether a pause is one of those that mark: what is in use then is what the cycle has not freed yet.
fn is_mark(detail: &Gc) -> bool {
    begins_cycle(detail) || matches!(detail.scope.as_deref(), Some("mark_end" | "remark" | "cleanup"))
}

fn begins_cycle(detail: &Gc) -> bool {
    detail.scope.as_deref() == Some("mark_start")
}

/// What was in use after the pauses of the whole recording, in order.
struct Cycles(Vec<(i64, Gc)>);

impl Cycles {
    fn of(period: &Period<'_>) -> Cycles {
        Cycles(period.sources.spans(span::GC_PAUSE).map(|pause| (pause.time_ns, period.detail(&pause))).collect())
    }

    /// The least in use between a mark and the beginning of the next cycle: what its own one left. Where no pause in between
    /// tells, what that next one found.
    fn left_after(&self, mark_ns: i64) -> Option<u64> {
        let later = &self.0[self.0.partition_point(|(time_ns, _)| *time_ns <= mark_ns)..];
        let (own, next) = later.split_at(later.iter().position(|(_, gc)| begins_cycle(gc)).unwrap_or(later.len()));
        let freed = own.iter().filter(|(_, gc)| !is_mark(gc)).filter_map(|(_, gc)| gc.heap_after_bytes).min();
        freed.or_else(|| next.first()?.1.heap_after_bytes)
    }
}

fn counted_heap_occupancy(comparison: &Comparison<'_>) -> Vec<f64> {
    let Some(limit) = comparison.sources().flag("MaxHeapSize").filter(|limit| *limit > 0.0) else { return Vec::new() };
    shares_in_slow_time(comparison, &comparison.sources().counter(counter::HEAP_USED_BYTES, "after_gc"), limit)
}

fn shares_in_slow_time(comparison: &Comparison<'_>, used: &Series, size: f64) -> Vec<f64> {
    used.0.iter().filter(|(time, _)| comparison.slow.time.contains(*time)).map(|(_, bytes)| bytes / size).collect()
}

/// Occupancy of the heap after the collections of the slow time, as a share of its limit: the median.
pub fn heap_occupancy_after(comparison: &Comparison<'_>) -> Option<f64> {
    median(heap_shares(comparison))
}
