//! How much of the time that threads wait for files goes to the queue of a block device, and how much
//! to the device.

use std::collections::{BTreeMap, HashMap};

use fathom_evidence::detail::{BlockRequest, SystemCall, from_text};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::system_calls::{self, SYNCS};
use fathom_evidence::tables::Span;
use fathom_timeline::{Intervals, Sources, ThreadState, Wait};

use crate::cause::{Claim, Finding, Support, ThreadTime};
use crate::comparison::Comparison;
use crate::format;
use crate::measure::lengths::Lengths;
use crate::measure::waits_below;
use crate::period::Period;

/// One of the two places where a request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Until the first issue to the driver: for a request structure, or in the scheduler's queue.
    Queue,
    /// From the first issue to completion: the driver and the device, and whatever queues below.
    Device,
}

/// Whether requests were recorded.
pub(crate) fn is_recorded(comparison: &Comparison<'_>) -> bool {
    comparison.has_source("block") || comparison.sources().spans(span::BLOCK_REQUEST).len() > 0
}

/// Time of a place for each device, over the requests that began in a period.
fn means(period: &Period<'_>, place: Place) -> HashMap<String, Lengths> {
    let mut means: HashMap<String, Lengths> = HashMap::new();
    for request in period.spans(span::BLOCK_REQUEST) {
        let (from, to) = stage(&request, &period.detail(&request), place);
        let mean = means.entry(period.sources.recording.text(request.name).to_owned()).or_default();
        mean.add(to.saturating_sub(from).max(0), 1.0);
    }
    means
}

/// From when to when a request was at a place.
fn stage(request: &Span, detail: &BlockRequest, place: Place) -> (i64, i64) {
    let end = request.end_ns();
    let issued = end.saturating_sub(detail.d2c_ns.unwrap_or(0).max(0)).max(request.time_ns);
    match place {
        Place::Queue => (request.time_ns, issued),
        Place::Device => (issued, end),
    }
}

/// The application's waits for files and pages that begin in a period's time.
pub(crate) fn victims<'a>(
    comparison: &'a Comparison<'_>,
    period: &'a Period<'_>,
) -> impl Iterator<Item = (Wait, Span)> + 'a {
    const WAITS: &[(&str, Wait)] = &[
        (span::FILE_READ, Wait::File),
        (span::FILE_WRITE, Wait::File),
        (span::FILE_FORCE, Wait::File),
        (span::SYSTEM_CALL, Wait::File),
        (span::PAGE_FAULT, Wait::PageFault),
        (span::SAMPLED_WAIT, Wait::File),
    ];
    let of_kind = move |(kind, wait): &(&str, Wait)| {
        let wait = *wait;
        period.spans(kind).filter(|span| is_victim(comparison, span)).map(move |span| (wait, span)).collect::<Vec<_>>()
    };
    WAITS.iter().flat_map(of_kind)
}

/// Claims for some time of each of some waits.
pub(crate) fn claims_of(waits: impl Iterator<Item = (Wait, i64, Intervals)>) -> Vec<Claim> {
    let stretches = |(wait, tid, time): (Wait, i64, Intervals)| {
        time.iter().map(|(from_ns, to_ns)| ((wait, tid), from_ns, to_ns)).collect::<Vec<_>>()
    };
    let mut times: BTreeMap<Wait, ThreadTime> = BTreeMap::new();
    for ((wait, tid), time) in Intervals::by_key(waits.flat_map(stretches)) {
        times.entry(wait).or_default().insert(tid, time);
    }
    times.into_iter().map(|(wait, time)| Claim::during(ThreadState::Blocked(wait), time)).collect()
}

/// The application's waiting for files and pages in the slow time while some request was at the place. What threads waited
/// for that others held counts as well: a lock's owner may be waiting for a disk.
fn claims(comparison: &Comparison<'_>, place: Place) -> Vec<Claim> {
    let lives = RequestIntervals::at(comparison.sources(), Some(place));
    let told = victims(comparison, &comparison.slow)
        .map(|(wait, victim)| (wait, victim.tid, lives.within(comparison.sources(), &victim)));
    claims_of(told).into_iter().chain(brief(comparison, &lives)).collect()
}

/// Short waits with a known sum only: as far as application threads had more own requests at the place than before.
fn brief(comparison: &Comparison<'_>, lives: &RequestIntervals) -> Option<Claim> {
    let state = ThreadState::Blocked(Wait::FileBriefly);
    let own = lives.own.iter().filter(|(tid, _)| comparison.sources().is_application(**tid));
    let of =
        |period: &Period<'_>| own.clone().map(|(_, time)| time.intersect(&period.time).total_ns() as f64).sum::<f64>();
    let (slow, baseline) = comparison.both_looked_at(|period| of(period) / period.seconds());
    let grown_ns = (slow - baseline.unwrap_or(0.0)) * comparison.slow.seconds();
    let ns = grown_ns.min(comparison.grown_ns(state));
    (ns > 0.0).then(|| Claim::part(state, ns))
}

/// Whether the wait is one of the application for a file or a page; other system calls may wait for work.
fn is_victim(comparison: &Comparison<'_>, wait: &Span) -> bool {
    let is_of_a_file = || match comparison.recording().text(wait.kind) {
        span::SYSTEM_CALL => comparison.sources().is_of_a_file(wait),
        span::SAMPLED_WAIT => waits_below::is_at_a_file(comparison.recording(), wait),
        _ => true,
    };
    comparison.sources().is_application(wait.tid) && is_of_a_file()
}

/// When requests of each thread were under way, and when any write was.
#[derive(Debug)]
pub(crate) struct RequestIntervals {
    own: ThreadTime,
    writes: Intervals,
}

impl RequestIntervals {
    /// From queueing to completion.
    pub(crate) fn of(sources: &Sources<'_>) -> RequestIntervals {
        RequestIntervals::at(sources, None)
    }

    /// At one place only.
    fn at(sources: &Sources<'_>, place: Option<Place>) -> RequestIntervals {
        let (mut own, mut writes) = (Vec::new(), Vec::new());
        for request in sources.spans(span::BLOCK_REQUEST) {
            let detail: BlockRequest = from_text(sources.recording.text(request.detail));
            let whole = (request.time_ns, request.end_ns());
            let time = place.map_or(whole, |place| stage(&request, &detail, place));
            own.push((request.tid, time.0, time.1));
            if detail.operation.is_some_and(|operation| !operation.starts_with("read")) {
                writes.push(time);
            }
        }
        RequestIntervals { own: Intervals::by_key(own), writes: Intervals::union(writes) }
    }

    /// The part of a wait in which some request of the waiting thread was in flight. If it had none of its own, or forced a
    /// file to disk, a write of any thread counts (a journal's, say).
    pub(crate) fn within(&self, sources: &Sources<'_>, wait: &Span) -> Intervals {
        let (from, to) = (wait.time_ns, wait.end_ns());
        let own = self.own.get(&wait.tid).map(|times| times.clip(from, to)).unwrap_or_default();
        match own.is_empty() || is_force(sources, wait) {
            true => Intervals::union(own.iter().chain(self.writes.overlapping(from, to)).collect()),
            false => own,
        }
    }
}

/// Whether a thread waits until what was written is on the disk: others write for it.
pub(crate) fn is_force(sources: &Sources<'_>, wait: &Span) -> bool {
    match sources.recording.text(wait.kind) {
        span::FILE_FORCE => true,
        span::SYSTEM_CALL => system_calls::is(sources.recording.text(wait.name), SYNCS),
        _ => false,
    }
}

/// `; most of it for /data/journal`: the file that was waited for most, where the recorder names files.
pub(crate) fn most_of_it(period: &Period<'_>, waits: impl Iterator<Item = (Span, i64)>) -> String {
    let recording = period.sources.recording;
    let mut files: BTreeMap<String, i64> = BTreeMap::new();
    for (wait, ns) in waits {
        let file = match recording.text(wait.kind) {
            span::SYSTEM_CALL => period.detail::<SystemCall>(&wait).path.unwrap_or_default(),
            _ => recording.text(wait.name).to_owned(),
        };
        let sum = files.entry(file).or_default();
        *sum = sum.saturating_add(ns);
    }
    let most = files.into_iter().max_by_key(|(_, ns)| *ns).map(|(file, _)| file);
    most.filter(|file| !file.is_empty()).map_or_else(String::new, |file| format!("; most of it for {file}"))
}

/// A stage of a request counts as slow from this multiple of its baseline; normal changes of load stay below it.
pub(crate) const MIN_STAGE_RATIO: f64 = 2.0;

/// Up to this multiple of its baseline a stage takes as long as before: means of a few hundred requests vary by as much.
pub(crate) const UNCHANGED_WITHIN: f64 = 1.2;

/// With nothing to compare with a stage counts as slow from this: a seek of a disk that turns takes as long, and a write through to
/// flash a tenth of it. What is quicker may be how the device always is.
pub(crate) const LONG_FOR_ANY_DISK_NS: f64 = 10e6;

/// How a cause words what it finds.
#[derive(Debug)]
pub struct Words {
    /// When no thread waited so.
    pub absent: &'static str,
    /// What threads do; the requests follow.
    pub waiting: &'static str,
    /// What the mean is of.
    pub mean: &'static str,
}

/// Looks for time that threads lost while their requests were at a place.
pub fn decide(comparison: &Comparison<'_>, place: Place, words: &Words) -> Finding {
    if !is_recorded(comparison) {
        return Finding::needs_kernel("block requests were not recorded");
    }
    let Some((name, mean, baseline)) = worst(comparison, place) else {
        return Finding::absent(words.absent);
    };
    if let Some(baseline) = baseline.filter(|baseline| mean.mean_ns() < UNCHANGED_WITHIN * baseline.mean_ns()) {
        let unchanged = format::no_longer(mean.mean_ns(), baseline.mean_ns());
        return Finding::absent(format!("{}, {unchanged}", says(&name, mean, None)));
    }
    let claims = claims(comparison, place);
    if claims.is_empty() {
        return none_waited(comparison, words, &says(&name, mean, baseline));
    }
    if baseline.is_none() && mean.mean_ns() < LONG_FOR_ANY_DISK_NS {
        let says = format!("{}; how long they took before was not recorded", says(&name, mean, None));
        return Finding::unknown(&says, "fathom explain … --baseline RECORDING");
    }
    let support = match baseline {
        Some(baseline) if mean.mean_ns() < MIN_STAGE_RATIO * baseline.mean_ns() => Support::Weak,
        Some(_) => Support::Observed,
        None => Support::Consistent,
    };
    let text = format!("{}: {}", words.waiting, says(&name, mean, baseline));
    let evidence = comparison
        .evidence(words.mean, (mean.mean_ns(), baseline.map(|mean| mean.mean_ns())), "ns", "spans")
        .of(&[span::BLOCK_REQUEST]);
    Finding { claims, ..Finding::new(support, text) }.with(evidence)
}

/// Requests took long, and no thread was seen to wait for them: that acquits if waits of native code were recorded as well.
fn none_waited(comparison: &Comparison<'_>, words: &Words, requests: &str) -> Finding {
    let sources = comparison.sources();
    let is_seen = sources.has_counter(counter::SYSTEM_CALLS_COUNT) || sources.spans(span::SYSTEM_CALL).len() > 0;
    match is_seen || comparison.has_source("system_calls") {
        true => Finding::absent(words.absent),
        false => Finding::needs_kernel(&format!("{requests}; which threads waited for files was not recorded")),
    }
}

/// The device whose requests lost most time at the place in the slow time, with its baseline.
fn worst(comparison: &Comparison<'_>, place: Place) -> Option<(String, Lengths, Option<Lengths>)> {
    let slow = means(&comparison.slow, place);
    let (name, mean) = slow.into_iter().max_by(|a, b| a.1.total_ns.total_cmp(&b.1.total_ns).then(b.0.cmp(&a.0)))?;
    let baseline = comparison.baseline.as_ref().and_then(|baseline| means(baseline, place).remove(&name));
    Some((name, mean, baseline))
}

/// `4,096 requests to vda, 41 ms each instead of 2 ms`.
fn says(name: &str, mean: Lengths, baseline: Option<Lengths>) -> String {
    let before = format::instead_of(baseline.map(|mean| mean.mean_ns()));
    format!(
        "{} to {name}, {} each{before}",
        format::count(mean.count as usize, "request"),
        format::time(mean.mean_ns())
    )
}
