//! When the whole application stood still, and why.
//!
//! The same stop may be reported as a safepoint, as a pause of the collector, and as an operation of the VM thread. Stock
//! settings record only some of these. Each stop is taken once: from its safepoint if that is known, else from another
//! report.

mod counted;

use fathom_evidence::detail::{Gc, Safepoint, VmOperation, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;

use crate::collections::{Causes, PauseCpu};
use crate::frames::begins_with;
use crate::intervals::Intervals;
use crate::sources::Sources;
use crate::states::Stop;

/// Clocks of two logs of the same JVM agree to about this much: a pause this close to a
/// safepoint belongs to it.
const SLACK_NS: i64 = 2_000_000;

/// One stretch of a stop, with one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopSpan {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// Its reason.
    pub stop: Stop,
}

impl StopSpan {
    /// Length in ns.
    pub fn duration_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// How long both are at once, in ns; below zero how far they are apart.
    fn overlap_ns(&self, other: &StopSpan) -> i64 {
        self.to_ns.min(other.to_ns).saturating_sub(self.from_ns.max(other.from_ns))
    }

    fn new(span: &Span, stop: Stop) -> StopSpan {
        StopSpan { from_ns: span.time_ns, to_ns: span.end_ns(), stop }
    }
}

/// All stops, in order of their beginning.
pub(crate) fn find(sources: &Sources<'_>, stood_still: &Intervals) -> Vec<StopSpan> {
    let causes = Causes::of(sources);
    let of_pause = |pause: Span| StopSpan::new(&pause, Stop::Collection(causes.collection(sources, &pause)));
    let mut pauses: Vec<StopSpan> = sources.spans(span::GC_PAUSE).map(of_pause).collect();
    if pauses.is_empty() {
        pauses = of_whole_collections(sources, &causes);
    }
    if pauses.is_empty() && sources.spans(span::SAFEPOINT).len() == 0 {
        pauses = counted::collections(sources);
    }
    let waits: Vec<StopSpan> =
        sources.spans(span::TIME_TO_SAFEPOINT).map(|wait| StopSpan::new(&wait, Stop::TimeToSafepoint)).collect();
    let safepoints: Vec<StopSpan> =
        sources.spans(span::SAFEPOINT).map(|safepoint| StopSpan::new(&safepoint, Stop::Operation)).collect();
    let known = extent(&safepoints);
    let mut stops = Vec::new();
    for (safepoint, whole) in sources.spans(span::SAFEPOINT).zip(&safepoints) {
        stops.extend(parts(sources, &safepoint, &of_safepoint(&pauses, whole, &known), &waits));
    }
    stops.extend(pauses.iter().chain(&waits).flat_map(|stop| beyond(&known, *stop)));
    let known = extent(safepoints.iter().chain(&pauses).chain(&waits));
    let detail = |operation: &Span| from_text::<VmOperation>(sources.recording.text(operation.detail));
    let operations = sources.spans(span::VM_OPERATION).filter(|operation| detail(operation).safepoint == Some(true));
    stops.extend(operations.flat_map(|operation| beyond(&known, StopSpan::new(&operation, Stop::Operation))));
    if !are_told(sources) {
        stops.extend(counted::safepoints(sources, &pauses));
    }
    let stops = apart(split_waiting(stops, &waiting(sources)), &looks_at_heap(sources));
    let mut stops = outside(stops, &of_process(sources), stood_still);
    stops.sort_by_key(|stop| (stop.from_ns, stop.to_ns));
    stops
}

/// Whether a source reports safepoints, or what is done at them, one by one.
fn are_told(sources: &Sources<'_>) -> bool {
    [span::SAFEPOINT, span::TIME_TO_SAFEPOINT, span::VM_OPERATION].iter().any(|kind| sources.spans(kind).len() > 0)
}

/// Phases of collections that inspect the heap on request and collect nothing, as logs name them.
const LOOKS: [&str; 2] = ["Class Histogram", "Heap Dump"];

fn looks_at_heap(sources: &Sources<'_>) -> Intervals {
    let is_look = |phase: &Span| begins_with(sources.recording.text(phase.name), &LOOKS);
    let looks = sources.spans(span::GC_PHASE).filter(is_look);
    Intervals::union(looks.map(|phase| (phase.time_ns, phase.end_ns())).collect())
}

/// Takes such phases out of the collections: they are operations of their own.
fn apart(stops: Vec<StopSpan>, looks: &Intervals) -> Vec<StopSpan> {
    let parts = |stop: StopSpan| {
        let is_collection = matches!(stop.stop, Stop::Collection(_) | Stop::WaitingCollector(_));
        if !is_collection || looks.within_ns(stop.from_ns, stop.to_ns) == 0 {
            return vec![stop];
        }
        let own = looks.gaps(stop.from_ns, stop.to_ns).into_iter();
        let own = own.map(|(from_ns, to_ns)| StopSpan { from_ns, to_ns, ..stop });
        let within = looks.clip(stop.from_ns, stop.to_ns);
        let looks = within.iter().map(|(from_ns, to_ns)| StopSpan { from_ns, to_ns, stop: Stop::Operation });
        own.chain(looks).collect()
    };
    stops.into_iter().flat_map(parts).collect()
}

/// When the whole process had been stopped from outside.
pub(crate) fn of_process(sources: &Sources<'_>) -> Intervals {
    Intervals::union(sources.spans(span::PROCESS_STOPPED).map(|stop| (stop.time_ns, stop.end_ns())).collect())
}

/// While the process or the machine was stopped nothing of it went on, whatever the JVM was at.
fn outside(mut stops: Vec<StopSpan>, process: &Intervals, machine: &Intervals) -> Vec<StopSpan> {
    for (from_outside, stop) in [(process, Stop::Process), (machine, Stop::Machine)] {
        let parts = |stop: StopSpan| {
            let gaps = from_outside.gaps(stop.from_ns, stop.to_ns).into_iter();
            gaps.map(move |(from_ns, to_ns)| StopSpan { from_ns, to_ns, ..stop })
        };
        let whole = from_outside.iter().map(|(from_ns, to_ns)| StopSpan { from_ns, to_ns, stop });
        stops = stops.iter().copied().flat_map(parts).chain(whole).collect();
    }
    stops
}

/// Collections that are recorded only as a whole: each stopped the application for the sum of its pauses. The stop is
/// placed at its beginning, as far as that is possible.
fn of_whole_collections(sources: &Sources<'_>, causes: &Causes) -> Vec<StopSpan> {
    let stop = |gc: Span| {
        let detail: Gc = from_text(sources.recording.text(gc.detail));
        let paused_ns =
            i64::try_from(detail.sum_of_pauses_ns.unwrap_or(0)).unwrap_or(i64::MAX).min(gc.duration_ns.max(0));
        let to_ns = gc.time_ns.saturating_add(paused_ns);
        StopSpan { from_ns: gc.time_ns, to_ns, stop: Stop::Collection(causes.collection(sources, &gc)) }
    };
    sources.spans(span::GC).map(stop).collect()
}

/// Stops as they are reported may overlap by rounding: what began first keeps its time.
pub(crate) fn disjoint(stops: Vec<StopSpan>) -> Vec<StopSpan> {
    let mut end = i64::MIN;
    let apart = stops.into_iter().filter_map(|stop| {
        let from_ns = stop.from_ns.max(end);
        end = end.max(stop.to_ns);
        (from_ns < stop.to_ns).then_some(StopSpan { from_ns, ..stop })
    });
    apart.collect()
}

/// Pauses shorter than this are not judged by their CPU time: logs give it in steps of 10 ms.
const LONG_PAUSE_NS: i64 = 50_000_000;

/// A collector at work uses one CPU or more; with less than this part of one it mostly waited.
const WORKING: f64 = 0.5;

/// Long pauses in which the collector mostly waited, with the part of their time that it worked.
fn waiting(sources: &Sources<'_>) -> Vec<(i64, i64, f64)> {
    let cpu = PauseCpu::of(sources);
    let long = sources.spans(span::GC_PAUSE).filter(|pause| pause.duration_ns >= LONG_PAUSE_NS);
    let worked = long.filter_map(|pause| {
        let part = cpu.ns(sources, &pause)? / pause.duration_ns as f64;
        (part < WORKING).then_some((pause.time_ns, pause.end_ns(), part.max(0.0)))
    });
    worked.collect()
}

/// The length of such a pause is not the collector's doing.
fn split_waiting(stops: Vec<StopSpan>, waiting: &[(i64, i64, f64)]) -> Vec<StopSpan> {
    let mut split = Vec::with_capacity(stops.len());
    for stop in stops {
        let next = waiting.partition_point(|(_, to, _)| *to < stop.from_ns);
        let found = waiting.get(next).filter(|(from, _, _)| *from <= stop.to_ns);
        let (Stop::Collection(collection), Some((_, _, part))) = (stop.stop, found) else {
            split.push(stop);
            continue;
        };
        let worked_ns = (stop.duration_ns() as f64 * part) as i64;
        let middle = stop.from_ns.saturating_add(worked_ns);
        split.push(StopSpan { to_ns: middle, ..stop });
        split.push(StopSpan { from_ns: middle, to_ns: stop.to_ns, stop: Stop::WaitingCollector(collection) });
    }
    split
}

/// The time to reach a safepoint, and what was done at it: `pauses` are its own.
fn parts(sources: &Sources<'_>, safepoint: &Span, pauses: &[StopSpan], waits: &[StopSpan]) -> Vec<StopSpan> {
    let whole = StopSpan::new(safepoint, Stop::Operation);
    let detail: Safepoint = from_text(sources.recording.text(safepoint.detail));
    let logged_ns = detail.time_to_safepoint_ns.and_then(|ns| i64::try_from(ns).ok());
    let wait_ns = logged_ns.or_else(|| overlapping(waits, &whole).map(|wait| wait.duration_ns()));
    let reached_ns = whole.from_ns.saturating_add(wait_ns.unwrap_or(0)).clamp(whole.from_ns, whole.to_ns);
    let mut parts = vec![StopSpan { to_ns: reached_ns, stop: Stop::TimeToSafepoint, ..whole }];
    let is_named = !sources.recording.text(safepoint.name).is_empty();
    parts.extend(done(StopSpan { from_ns: reached_ns, ..whole }, pauses, is_named));
    parts
}

/// The pauses that may be those of a safepoint: one beside it only if it is in no other.
fn of_safepoint(pauses: &[StopSpan], safepoint: &StopSpan, safepoints: &Intervals) -> Vec<StopSpan> {
    let is_own =
        |pause: &&StopSpan| pause.overlap_ns(safepoint) > 0 || safepoints.within_ns(pause.from_ns, pause.to_ns) == 0;
    near(pauses, safepoint).filter(is_own).copied().collect()
}

/// What was done at a safepoint. A collection is all of it if it took most of the time. A longer operation, say a heap
/// dump, has one within it. If the operation has no name it is the collection, which may have taken long to be reached.
fn done(at_safepoint: StopSpan, pauses: &[StopSpan], is_named: bool) -> Vec<StopSpan> {
    let cut = |pause: &StopSpan| StopSpan {
        from_ns: pause.from_ns.max(at_safepoint.from_ns),
        to_ns: pause.to_ns.min(at_safepoint.to_ns),
        ..*pause
    };
    let within: Vec<StopSpan> = pauses.iter().map(cut).filter(|pause| pause.from_ns < pause.to_ns).collect();
    let collected = extent(&within);
    let is_most = !is_named || collected.total_ns().saturating_add(SLACK_NS) >= at_safepoint.duration_ns() / 2;
    match overlapping(pauses, &at_safepoint).filter(|_| is_most) {
        Some(pause) => vec![StopSpan { stop: pause.stop, ..at_safepoint }],
        None => within.into_iter().chain(beyond(&collected, at_safepoint)).collect(),
    }
}

/// The part of a stop that no known stop covers. A short one next to a long one does not cover the long one.
fn beyond(known: &Intervals, stop: StopSpan) -> Vec<StopSpan> {
    let (from, to) = (stop.from_ns.saturating_sub(SLACK_NS), stop.to_ns.saturating_add(SLACK_NS));
    if known.within_ns(from, to) == 0 {
        return vec![stop];
    }
    let gaps = known.gaps(stop.from_ns, stop.to_ns).into_iter().filter(|(from, to)| to - from > SLACK_NS);
    gaps.map(|(from_ns, to_ns)| StopSpan { from_ns, to_ns, ..stop }).collect()
}

/// The stop of `list` (in order, disjoint) that overlaps `stop` most clearly.
fn overlapping<'l>(list: &'l [StopSpan], stop: &StopSpan) -> Option<&'l StopSpan> {
    near(list, stop).max_by_key(|other| other.overlap_ns(stop))
}

/// The stops of `list` (in order, disjoint) that overlap `stop`, or would if the clocks agreed.
fn near<'l>(list: &'l [StopSpan], stop: &StopSpan) -> impl Iterator<Item = &'l StopSpan> {
    let (from, to) = (stop.from_ns.saturating_sub(SLACK_NS), stop.to_ns.saturating_add(SLACK_NS));
    let first = list.partition_point(|other| other.to_ns < from);
    list[first..].iter().take_while(move |other| other.from_ns < to)
}

/// The time of some stops.
fn extent<'s>(stops: impl IntoIterator<Item = &'s StopSpan>) -> Intervals {
    Intervals::union(stops.into_iter().map(|stop| (stop.from_ns, stop.to_ns)).collect())
}
