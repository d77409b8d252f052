//! A recording as the account reads it: spans by kind from one source at a time, counters as series,
//! and the range of time that the best source covers.

mod chosen;
mod contradicted;

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use fathom_evidence::detail::{PacketDrop, SystemCall, from_text};
use fathom_evidence::kinds::{counter, event, span, subject};
use fathom_evidence::system_calls::{self, SYNCS};
use fathom_evidence::tables::{Sample, Span};
use fathom_evidence::{Recording, STANDING, StrId};

use crate::grid::{BUCKET_NS, Grid, NEAR_BUCKETS};
use crate::intervals::Intervals;
use crate::threads::{is_application, role_of};
use crate::traffic::Traffic;
use crate::traffic::users::CAPTURE;

/// A counter over time, sorted by time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series(pub Vec<(i64, f64)>);

impl Series {
    /// The rises of a counter that only grows, each with the time over which it rose. A fall means
    /// that the counter began anew and is left out.
    pub fn rises(&self) -> impl Iterator<Item = (i64, i64, f64)> + '_ {
        Series::rises_of(&self.0)
    }

    /// By how much a growing counter rose in all.
    pub fn total_rise(&self) -> f64 {
        // `sum()` of an empty iterator of floats is -0.0.
        0.0 + self.rises().map(|(.., rise)| rise).sum::<f64>()
    }

    fn rises_of(points: &[(i64, f64)]) -> impl Iterator<Item = (i64, i64, f64)> + '_ {
        points.windows(2).map(|pair| (pair[0].0, pair[1].0, pair[1].1 - pair[0].1)).filter(|rise| rise.2 > 0.0)
    }

    /// By how much a growing counter rose within `from_ns..to_ns`, partial steps by their part. Looks
    /// only at the steps there: it is asked once for each second of a recording.
    pub fn rise_within(&self, from_ns: i64, to_ns: i64) -> f64 {
        let part = |from: i64, to: i64| {
            let overlap = to.min(to_ns).saturating_sub(from.max(from_ns)).max(0);
            overlap as f64 / to.saturating_sub(from).max(1) as f64
        };
        let first = self.0.partition_point(|(time, _)| *time < from_ns).saturating_sub(1);
        let end = self.0.partition_point(|(time, _)| *time < to_ns).saturating_add(1).min(self.0.len());
        let near = Series::rises_of(self.0.get(first..end).unwrap_or_default());
        near.map(|(from, to, rise)| rise * part(from, to)).sum()
    }

    /// Largest value within a time.
    pub fn max_within(&self, from_ns: i64, to_ns: i64) -> Option<f64> {
        let first = self.0.partition_point(|(time, _)| *time < from_ns);
        let within = self.0[first..].iter().take_while(|(time, _)| *time <= to_ns);
        within.map(|(_, value)| *value).max_by(f64::total_cmp)
    }

    /// The last value.
    pub fn last(&self) -> Option<f64> {
        self.0.last().map(|(_, value)| *value)
    }
}

/// A recording prepared for questions.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// The time that is accounted for.
    pub grid: Grid,
    /// How much before that is left out because it would be too much, in ns.
    pub left_out_ns: i64,
    /// From when to when anything but requests was observed, in ns.
    pub observed_ns: (i64, i64),
    /// From when to when anything in the recording is, the accounted time included, in ns.
    pub extent_ns: (i64, i64),
    spans_by_kind: HashMap<StrId, Vec<u32>>,
    /// A live recording has millions of them, and each question is about one name.
    counters_by_name: HashMap<StrId, Vec<u32>>,
    /// Which peers exchanged data.
    pub traffic: Traffic<'a>,
    /// Made when it is first asked for, as each cause asks again for each slow stretch.
    pub(crate) calls_looked_at: OnceLock<Intervals>,
}

impl<'a> Sources<'a> {
    /// Chooses sources. `None` when the recording holds nothing with a time.
    pub fn new(recording: &'a Recording) -> Option<Sources<'a>> {
        let (from_ns, to_ns) = accounted_range(recording)?;
        let mut spans_by_kind = chosen::spans(recording, (from_ns, to_ns));
        contradicted::leave_out(recording, &mut spans_by_kind);
        let counters_by_name = chosen::counters(recording, (from_ns, to_ns));
        let grid = Grid::covering(from_ns, with_last_stop(recording, (from_ns, to_ns)));
        let extent_ns = (grid.start_ns, grid.end_ns().max(to_ns));
        let observed_ns = observed_range(recording)?;
        let rows = |kind| {
            recording.strings.find(kind).and_then(|kind| spans_by_kind.get(&kind)).map_or(&[][..], Vec::as_slice)
        };
        let parks = rows(span::PARK).iter().chain(rows(span::SAMPLED_WAIT));
        let parks = parks.map(|row| recording.spans.row(*row as usize));
        let traffic = Traffic::of(recording, rows(span::REQUEST), parks);
        Some(Sources {
            recording,
            grid,
            left_out_ns: grid.start_ns.saturating_sub(from_ns),
            observed_ns,
            extent_ns,
            spans_by_kind,
            counters_by_name,
            traffic,
            calls_looked_at: OnceLock::new(),
        })
    }

    /// From which length on looks at threads saw waits all the time, in ns: as the recorder says, else the shortest wait that was seen.
    /// `fathom watch` looks for long ones only. Shorter ones may not have been seen.
    pub fn shortest_sampled_wait_ns(&self) -> Option<i64> {
        let said = self.counters(counter::WAITS_SAMPLED_FROM_NS).into_values().next().unwrap_or_default().0;
        let said_to_ns = said.last().map_or(i64::MIN, |(time_ns, _)| *time_ns);
        if said_to_ns >= self.observed_ns.1.saturating_sub(2 * BUCKET_NS) {
            return said.iter().map(|(_, from_ns)| *from_ns as i64).max();
        }
        let waits = self.spans(span::SAMPLED_WAIT).filter(|wait| self.recording.text(wait.source) != STANDING);
        waits.filter(|wait| wait.time_ns > said_to_ns).map(|wait| wait.duration_ns).min()
    }

    /// Spans of a kind, in order of their beginning, each time of it from one source.
    pub fn spans(&self, kind: &str) -> impl ExactSizeIterator<Item = Span> + '_ {
        self.rows(kind).iter().map(|index| self.recording.spans.row(*index as usize))
    }

    /// Their rows in the table.
    pub fn rows(&self, kind: &str) -> &[u32] {
        let indexes = self.recording.strings.find(kind).and_then(|kind| self.spans_by_kind.get(&kind));
        indexes.map_or(&[][..], Vec::as_slice)
    }

    /// Spans of a kind that overlap a set of time, in order of their beginning.
    pub fn spans_in<'v>(&'v self, kind: &str, time: &'v Intervals) -> impl Iterator<Item = Span> + 'v {
        let (first, last) = time.extent().unwrap_or((0, 0));
        let rows = self.rows(kind);
        let end = rows.partition_point(|row| self.recording.spans.time_ns[*row as usize] < last);
        let spans = rows[..end].iter().map(|row| self.recording.spans.row(*row as usize));
        spans.filter(move |span| span.end_ns() >= first && time.touches(span.time_ns, span.end_ns()))
    }

    /// Rows of the spans of each kind, likewise chosen and ordered.
    pub fn span_rows(&self) -> impl Iterator<Item = (StrId, &[u32])> + '_ {
        self.spans_by_kind.iter().map(|(kind, rows)| (*kind, rows.as_slice()))
    }

    /// Rows of the counters of each name, from the source that has most of them.
    pub fn counter_rows(&self) -> impl Iterator<Item = (StrId, &[u32])> + '_ {
        self.counters_by_name.iter().map(|(name, rows)| (*name, rows.as_slice()))
    }

    /// Samples of an event.
    pub fn samples(&self, event: &str) -> impl Iterator<Item = Sample> + '_ {
        let event = self.recording.strings.find(event);
        event.into_iter().flat_map(|event| self.recording.samples.of_event(event))
    }

    /// The event of the samples that say what ran, if there are any: those of the CPU, else those that JFR makes of a few threads.
    pub fn running_event(&self) -> Option<&'static str> {
        [event::CPU, event::EXECUTION].into_iter().find(|event| self.samples(event).next().is_some())
    }

    /// All instances of a counter with their thread, each as a series. Two sources may count the same
    /// thing: the numbers are those of the source that has most of them.
    pub fn counters(&self, name: &str) -> BTreeMap<(StrId, i64), Series> {
        // In order, so that sums over them are the same to the last digit each time.
        let mut found: BTreeMap<(StrId, i64), Series> = BTreeMap::new();
        let indexes = self.recording.strings.find(name).and_then(|name| self.counters_by_name.get(&name));
        for index in indexes.into_iter().flatten() {
            let row = self.recording.counters.row(*index as usize);
            found.entry((row.instance, row.tid)).or_default().0.push((row.time_ns, row.value));
        }
        found.values_mut().for_each(|series| series.0.sort_by_key(|point| point.0));
        found
    }

    /// Whether a counter was recorded.
    pub fn has_counter(&self, name: &str) -> bool {
        self.recording.strings.find(name).is_some_and(|name| self.counters_by_name.contains_key(&name))
    }

    /// When a counter was read first, of whatever instance.
    pub(crate) fn counted_from_ns(&self, name: &str) -> Option<i64> {
        let rows = self.counters_by_name.get(&self.recording.strings.find(name)?)?;
        rows.iter().map(|index| self.recording.counters.time_ns[*index as usize]).min()
    }

    /// One instance of a counter of the whole process.
    pub fn counter(&self, name: &str, instance: &str) -> Series {
        let Some(instance) = self.recording.strings.find(instance) else { return Series::default() };
        self.counters(name).remove(&(instance, 0)).unwrap_or_default()
    }

    /// The sum over all instances of a counter, each with the value that it last had.
    pub fn counter_sum(&self, name: &str) -> Series {
        let instances: Vec<Series> = self.counters(name).into_values().collect();
        let mut changes: Vec<(i64, usize, f64)> = Vec::new();
        for (instance, series) in instances.iter().enumerate() {
            changes.extend(series.0.iter().map(|(time, value)| (*time, instance, *value)));
        }
        changes.sort_by_key(|change| change.0);
        let mut now = vec![None; instances.len()];
        let mut sums = Vec::with_capacity(changes.len());
        for (time, instance, value) in changes {
            now[instance] = Some(value);
            // Until every instance has been seen the sum would be too small.
            if now.iter().all(Option::is_some) {
                sums.push((time, now.iter().flatten().sum()));
            }
        }
        Series(sums)
    }

    /// The role of a thread; the application's when unknown.
    pub fn role(&self, tid: i64) -> &str {
        role_of(self.recording, tid)
    }

    /// Whether a thread belongs to the application.
    pub fn is_application(&self, tid: i64) -> bool {
        is_application(self.recording, tid)
    }

    /// Whether a system call is on a file: not on a socket, a pipe, or something without a name, whose
    /// waits may be for work. A file that is closed after each write has no path any more when the recorder looks for it.
    pub fn is_of_a_file(&self, call: &Span) -> bool {
        if system_calls::is(self.recording.text(call.name), SYNCS) {
            return true;
        }
        let detail: SystemCall = from_text(self.recording.text(call.detail));
        detail.path.is_some_and(|path| path.starts_with('/') && !path.starts_with("/dev/"))
    }

    /// Whether a system call is on a pipe, at whose other end another process is.
    pub(crate) fn is_of_a_pipe(&self, call: &Span) -> bool {
        let detail: SystemCall = from_text(self.recording.text(call.detail));
        detail.path.is_some_and(|path| path.starts_with("pipe:"))
    }

    /// Losses of datagrams at sockets of the process: from when to when, and how many. The kernel's own
    /// count per socket is exact; when they were lost is known better from the drops themselves.
    pub fn lost_datagrams(&self) -> Vec<(i64, i64, f64)> {
        let counted: Vec<(i64, i64, f64)> =
            self.counters(counter::SOCKET_DROPS_COUNT).values().flat_map(Series::rises).collect();
        let dropped: Vec<(i64, i64, f64)> =
            self.spans(span::PACKET_DROP).filter_map(|drop| self.lost_in(&drop)).collect();
        let total = |losses: &[(i64, i64, f64)]| losses.iter().map(|loss| loss.2).sum::<f64>();
        if total(&dropped) > 0.0 && total(&dropped) >= total(&counted) { dropped } else { counted }
    }

    /// Attempts to connect to the process that its listening sockets dropped: from when to when, and how many.
    pub fn refused_connections(&self) -> Vec<(i64, i64, f64)> {
        self.counters(counter::SOCKET_ACCEPT_DROPS_COUNT).values().flat_map(Series::rises).collect()
    }

    /// A drop of datagrams as a loss; segments of TCP come again.
    fn lost_in(&self, drop: &Span) -> Option<(i64, i64, f64)> {
        let is_datagram = self.recording.text(drop.name).starts_with("udp");
        let detail: PacketDrop = from_text(self.recording.text(drop.detail));
        let end = drop.end_ns();
        is_datagram.then(|| (drop.time_ns, end, detail.count.unwrap_or(1) as f64))
    }

    /// CPUs that the JVM may use.
    pub fn cpus(&self) -> Option<f64> {
        let cpus: f64 = self.recording.fact(subject::HOST, "cpus")?.parse().ok()?;
        (1.0..=65_536.0).contains(&cpus).then_some(cpus)
    }

    /// A numeric flag of the JVM.
    pub fn flag(&self, name: &str) -> Option<f64> {
        self.recording.fact(subject::FLAG, name)?.parse().ok()
    }

    /// When the JVM started.
    pub fn jvm_started_at_ns(&self) -> Option<i64> {
        self.recording.fact(subject::JVM, "started_at_ns")?.parse().ok()
    }

    /// The size limit of the whole code cache, in bytes.
    pub fn code_cache_reserved_bytes(&self) -> Option<f64> {
        let counted = self.counter_sum(counter::CODE_CACHE_RESERVED_BYTES).last();
        self.flag("ReservedCodeCacheSize").or(counted).filter(|bytes| *bytes > 0.0)
    }
}

/// The time that the account covers. If something observed the running JVM (a profiler, a recorder, collectors), it is that
/// time, as a GC log may cover days before it. Otherwise it is everything but requests. Requests around it are added.
fn accounted_range(recording: &Recording) -> Option<(i64, i64)> {
    let (from_ns, to_ns) = observed_range(recording)?;
    let Some((first_ns, last_ns)) = range_of_requests(recording) else { return Some((from_ns, to_ns)) };
    // As far as slow seconds of the look are compared with others: a file of requests may hold days.
    let around_ns = to_ns.saturating_sub(from_ns).saturating_mul(REQUESTS_AROUND).max(NEAR_BUCKETS as i64 * BUCKET_NS);
    let reach = |ns: i64| ns.clamp(from_ns.saturating_sub(around_ns), to_ns.saturating_add(around_ns));
    Some((from_ns.min(reach(first_ns)), to_ns.max(reach(last_ns))))
}

/// The same without the requests.
fn observed_range(recording: &Recording) -> Option<(i64, i64)> {
    let of_jvm = || looked_range(recording).or_else(|| range_of_jvm(recording));
    of_jvm().or_else(|| range_beside_messages(recording)).or_else(|| recording.time_range_ns())
}

/// Sources that are logs or captures of packets, which may cover days, or single looks whose time is mostly that of a file.
const LOGS: [&str; 6] = ["gc_log", "gc_log_read_along", APP_LOG, LATENCY, "jcmd_output", CAPTURE];

/// The source of messages of the application.
const APP_LOG: &str = "app_log";

/// The source of requests that others measured.
const LATENCY: &str = "latency";

/// The time of all but messages of the application, and counts of requests by the second, where there are any.
fn range_beside_messages(recording: &Recording) -> Option<(i64, i64)> {
    let logs = [APP_LOG, LATENCY].map(|log| recording.strings.find(log));
    logs.iter().any(Option::is_some).then_some(())?;
    let counters = recording.counters.rows().filter(|row| !logs.contains(&Some(row.source))).map(|row| row.time_ns);
    let spans = recording.spans.rows().flat_map(|span| [span.time_ns, span.end_ns()]);
    extent(counters.chain(spans))
}

/// Requests are looked at for as many times the length of the recording before and after it, and for five minutes at least: a second of
/// tracing within an illness says nothing of how quick requests were before it.
const REQUESTS_AROUND: i64 = 2;

/// When the running JVM was observed: samples, and everything that is neither read from a log nor a request. Spans alone do
/// not count, because it is unknown how long there were none.
fn looked_range(recording: &Recording) -> Option<(i64, i64)> {
    let logs = LOGS.map(|log| recording.strings.find(log));
    let request = recording.strings.find(span::REQUEST);
    let counters = recording.counters.rows().filter(|row| !logs.contains(&Some(row.source))).map(|row| row.time_ns);
    let looks = extent(counters.chain(recording.samples.time_ns.iter().copied()))?;
    let seen = recording.spans.rows().filter(|span| !logs.contains(&Some(span.source)) && Some(span.kind) != request);
    // A span whose end was recorded may have begun long before the recording.
    let seen = seen.fold(looks, |(from, to), span| (from.min(span.end_ns()), to.max(span.time_ns)));
    // A second of margin: a counter is read at the end of the second it speaks of.
    let from_ns = looks.0.saturating_sub(COUNTER_NS).min(seen.0);
    let to_ns = if seen.1.saturating_sub(looks.1) > COUNTER_NS { seen.1 } else { looks.1 };
    Some((from_ns, stopped_until_ns(recording, to_ns)))
}

/// The recorder reads no counter while the application is stopped. A stop that began while it was recorded counts as
/// observed until its end, which is known. A damaged stop has no end.
fn stopped_until_ns(recording: &Recording, to_ns: i64) -> i64 {
    const LONGEST_NS: i64 = 3_600_000_000_000;
    let began_ns = to_ns.saturating_add(COUNTER_NS);
    let last = stops(recording).filter(|stop| stop.time_ns <= began_ns && stop.duration_ns <= LONGEST_NS);
    last.map(|stop| stop.end_ns()).fold(to_ns, i64::max)
}

/// The end of the accounted time, and with it of the last second: less than half of one is left out, but not where the application
/// stood still in it for a tenth of a second.
fn with_last_stop(recording: &Recording, (from_ns, to_ns): (i64, i64)) -> i64 {
    let rest_ns = to_ns.saturating_sub(from_ns).max(0) % BUCKET_NS;
    let rest_from_ns = to_ns.saturating_sub(rest_ns);
    let in_rest_ns = |stop: &Span| stop.end_ns().min(to_ns).saturating_sub(stop.time_ns.max(rest_from_ns));
    let is_told = stops(recording).any(|stop| in_rest_ns(&stop) >= BUCKET_NS / 10);
    if is_told { rest_from_ns.saturating_add(BUCKET_NS) } else { to_ns }
}

/// What says that the whole application stood still.
fn stops(recording: &Recording) -> impl Iterator<Item = Span> + '_ {
    let kinds = [span::GC_PAUSE, span::SAFEPOINT, span::TIME_TO_SAFEPOINT].map(|kind| recording.strings.find(kind));
    recording.spans.rows().filter(move |span| kinds.contains(&Some(span.kind)))
}

/// Counters are read as often as this or oftener, in ns.
const COUNTER_NS: i64 = 1_000_000_000;

/// The first and the last of some instants, if they are not one.
fn extent(times: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    let (from, to) = times.fold((i64::MAX, i64::MIN), |(from, to), time| (from.min(time), to.max(time)));
    (to > from).then_some((from, to))
}

/// When requests were under way, if any are known.
fn range_of_requests(recording: &Recording) -> Option<(i64, i64)> {
    let kind = recording.strings.find(span::REQUEST)?;
    let requests = recording.spans.rows().filter(|span| span.kind == kind);
    extent(requests.flat_map(|request| [request.time_ns, request.end_ns()]))
}

/// The time that spans of the JVM cover: requests may be known for days before and after. What Fathom did is no look at it.
fn range_of_jvm(recording: &Recording) -> Option<(i64, i64)> {
    let request = recording.strings.find(span::REQUEST)?;
    let of_fathom = [span::OWN_ACTION, span::NOT_RECORDED].map(|kind| recording.strings.find(kind));
    let own = || recording.spans.rows().filter(|span| span.kind != request && !of_fathom.contains(&Some(span.kind)));
    let from = own().map(|span| span.time_ns).min()?;
    Some((from, own().map(|span| span.end_ns()).max()?))
}
