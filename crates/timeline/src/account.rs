//! Thread time per state and second.

use std::collections::BTreeMap;
use std::ops::Range;

use fathom_evidence::kinds::{counter, span};

use crate::cpu;
use crate::grid::{BUCKET_NS, Grid};
use crate::intervals::Intervals;
use crate::looks;
use crate::partition::{Partition, Segment};
use crate::requests::quality::{self, Flaw};
use crate::requests::{Lateness, Requests};
use crate::short_waits;
use crate::sources::{Series, Sources};
use crate::startup::{self, Startup};
use crate::states::{Known, ThreadState, Wait};
use crate::stood_still::StoodStill;
use crate::stops::{self, StopSpan};
use crate::traffic::unsent::Unsent;

/// What the threads did, bucket by bucket.
#[derive(Debug, Clone)]
pub struct Account {
    /// The buckets.
    pub grid: Grid,
    /// Thread time in ns per bucket: sums of the partition, and amounts whose placement is unknown. A stop counts once
    /// here, however many threads it stopped.
    pub states: BTreeMap<ThreadState, Vec<f64>>,
    /// How far the time of a state may be off by chance, as a variance in ns² per bucket: of waits that are known from looks.
    pub(crate) variance: BTreeMap<ThreadState, Vec<f64>>,
    /// What each thread did when.
    pub partition: Partition,
    /// Every stop: disjoint, ascending.
    pub stops: Vec<StopSpan>,
    /// The same as a set of time.
    pub stopped: Intervals,
    /// When the whole machine stood still.
    pub stood_still: StoodStill,
    /// CPU of the whole process in ns per bucket, if it was recorded.
    pub process_cpu_ns: Option<Vec<f64>>,
    /// CPU of the machine as a share of all CPUs, if it was recorded; `None` in buckets for which it was not.
    pub machine_ratio: Option<Vec<Option<f64>>>,
    /// Threads of the application that the recording knows.
    pub threads: usize,
    /// CPUs that the JVM may use.
    pub cpus: Option<f64>,
    /// Requests, if a latency file was given or they were measured at sockets.
    pub requests: Option<Requests>,
    /// Why quick requests do not say that the service was well, if they do not.
    pub requests_flaw: Option<Flaw>,
    /// By how much they were late, where that is known.
    pub lateness: Option<Lateness>,
    /// Buckets in which a recorder looked at the running process.
    pub observed: Range<usize>,
    /// Buckets for which it was read how long threads waited for a CPU.
    waits_for_cpu_read: Range<usize>,
    /// Buckets for which it was recorded what threads waited for.
    pub waits_read: Range<usize>,
    /// The same, plus earlier buckets for which only long waits were kept.
    waits_seen: Range<usize>,
    /// Buckets for which more than requests was recorded.
    pub(crate) recorded: Range<usize>,
    /// The part of each bucket for which more than requests was recorded: buckets at the ends are recorded in part.
    pub(crate) covered: Vec<f64>,
    /// Buckets in which Fathom itself acted on the JVM (loaded an agent, started its recorder): what
    /// happened then is no disease of the service.
    pub disturbed: Vec<bool>,
    /// Buckets in which the program had nothing to do: they say nothing about how it is when it has.
    pub(crate) idle: Vec<bool>,
    /// Buckets for which it was recorded how long threads waited for files.
    files_read: Range<usize>,
    /// How much of the beginning belongs to the JVM's start.
    pub startup: Startup,
}

impl Account {
    /// The waits of the application's threads: what the account's waiting is the sum of.
    pub fn waits<'v>(&'v self, sources: &'v Sources<'_>) -> impl Iterator<Item = (i64, &'v Segment)> + 'v {
        let own = self.partition.recorded().filter(|(tid, _)| sources.is_application(*tid));
        own.flat_map(|(tid, recorded)| recorded.iter().map(move |segment| (tid, segment)))
            .filter(|(_, segment)| matches!(segment.state, ThreadState::Blocked(_)))
    }

    /// Makes the account of all its sources.
    pub fn new(sources: &Sources<'_>) -> Account {
        let grid = sources.grid;
        let stood_still = StoodStill::of(sources);
        let stops = stops::disjoint(stops::find(sources, &stood_still.surely));
        let stopped = Intervals::union(stops.iter().map(|stop| (stop.from_ns, stop.to_ns)).collect());
        let partition = Partition::new(sources, &stops);
        let mut states = BTreeMap::new();
        let mut add = |state: ThreadState, from_ns: i64, to_ns: i64| {
            let row: &mut Vec<f64> = states.entry(state).or_insert_with(|| grid.zeros());
            grid.spread(row, from_ns, to_ns, to_ns.saturating_sub(from_ns) as f64);
        };
        stops.iter().for_each(|stop| add(ThreadState::Stopped(stop.stop), stop.from_ns, stop.to_ns));
        for (tid, recorded) in partition.recorded().filter(|(tid, _)| sources.is_application(*tid)) {
            debug_assert!(tid != 0, "the process is no thread");
            let waits = recorded.iter().filter(|segment| matches!(segment.state, ThreadState::Blocked(_)));
            waits.for_each(|wait| add(wait.state, wait.from_ns, wait.to_ns));
        }
        add_unsent(sources, &mut states);
        states.extend(short_waits::of(sources));
        let cpu = cpu::of(sources);
        states.extend(cpu.states);
        states.extend(cpu::runnable(sources).map(|row| (ThreadState::Runnable, row)));
        let running = sum_of(grid, &states, |state| matches!(state, ThreadState::Running(_)));
        states.extend(cpu::stolen(sources, &running).map(|row| (ThreadState::Stolen, row)));
        let startup = startup::find(sources, states.get(&ThreadState::Compiler));
        let requests = Requests::of(sources);
        let requests_flaw = quality::flaw(sources, requests.as_ref(), &stops);
        let is_own = |tid: i64| tid != 0 && sources.is_application(tid);
        let idle = idle(sources, requests.as_ref().filter(|_| are_work(requests_flaw)), &states);
        Account {
            grid,
            states,
            variance: looks::variance(sources, &partition),
            partition,
            stops,
            stopped,
            stood_still,
            process_cpu_ns: cpu.process_ns,
            machine_ratio: cpu.machine_ratio,
            threads: sources.recording.threads.iter().filter(|(tid, _)| is_own(*tid)).count(),
            cpus: sources.cpus(),
            idle,
            requests,
            requests_flaw,
            lateness: None,
            observed: sources.observed(),
            waits_read: sources.waits_read(),
            waits_seen: sources.waits_seen(),
            waits_for_cpu_read: sources.threads_read(counter::THREAD_RUN_QUEUE_NS),
            recorded: sources.recorded(),
            covered: sources.covered(),
            disturbed: disturbed(sources),
            files_read: sources.files_read(),
            startup,
        }
    }

    /// The part of its CPUs that the process uses, by bucket, where that was measured.
    pub fn process_use(&self) -> Option<Vec<f64>> {
        let whole_ns = self.cpus? * BUCKET_NS as f64;
        Some(self.process_cpu_ns.as_ref()?.iter().map(|ns| ns / whole_ns).collect())
    }

    /// The requests, where they are the work of the process and not a few, which may be health checks beside it.
    pub fn requests_as_work(&self) -> Option<&Requests> {
        self.requests.as_ref().filter(|_| are_work(self.requests_flaw))
    }

    /// The requests, where that all of them were answered quickly says that the service was well. Slow ones are slow by any measure.
    pub fn exact_requests(&self) -> Option<&Requests> {
        self.requests.as_ref().filter(|_| self.requests_flaw.is_none())
    }

    /// The buckets for which a kind of time is known. What only the kernel sees is known while a recorder ran. Everything
    /// else is known for as long as the JVM kept it.
    pub(crate) fn known(&self, state: ThreadState) -> Range<usize> {
        let buckets = match state.row().known {
            Known::Recorded => &self.recorded,
            Known::Waits => &self.waits_seen,
            Known::Files => &self.files_read,
            Known::WaitsForCpu => &self.waits_for_cpu_read,
            Known::Observed => &self.observed,
        };
        buckets.clone()
    }

    /// Thread time of the states that `select` chooses, per bucket, in ns.
    pub fn sum(&self, select: impl Fn(ThreadState) -> bool) -> Vec<f64> {
        sum_of(self.grid, &self.states, select)
    }

    /// What chance may have added to such a sum, per bucket, in ns.
    pub(crate) fn chance(&self, select: impl Fn(ThreadState) -> bool) -> Vec<f64> {
        sum_of(self.grid, &self.variance, select).into_iter().map(looks::chance).collect()
    }

    /// How many threads of the application were at work at once, on average over some buckets
    /// and outside stops; at least one. A stop costs each of them its length.
    pub fn concurrency(&self, buckets: impl Iterator<Item = usize> + Clone) -> f64 {
        let total = |select: fn(&ThreadState) -> bool| -> f64 {
            let rows = self.states.iter().filter(|(state, _)| select(state)).map(|(_, row)| row);
            rows.map(|row| buckets.clone().map(|index| row[index]).sum::<f64>()).sum()
        };
        let busy = total(|state| match state {
            ThreadState::Running(_) | ThreadState::Runnable | ThreadState::Stolen => true,
            ThreadState::Blocked(wait) => *wait != Wait::Unnamed,
            _ => false,
        });
        let stopped = total(|state| matches!(state, ThreadState::Stopped(_)));
        let length = buckets.clone().count() as f64 * BUCKET_NS as f64;
        (busy / (length - stopped).max(length / 20.0)).max(1.0)
    }
}

fn are_work(flaw: Option<Flaw>) -> bool {
    flaw.is_none_or(Flaw::leaves_the_work)
}

/// Adds the time for which answers stood in the kernel: the last of each, as they end when they have left.
fn add_unsent(sources: &Sources<'_>, states: &mut BTreeMap<ThreadState, Vec<f64>>) {
    for request in sources.traffic.measured_requests() {
        let Some(Unsent { hold, ns }) = request.unsent else { continue };
        let row = states.entry(ThreadState::Unsent(hold)).or_insert_with(|| sources.grid.zeros());
        let from_ns = request.to_ns.saturating_sub(ns).max(request.from_ns);
        let amount = request.to_ns.saturating_sub(from_ns) as f64 * request.weight;
        sources.grid.spread(row, from_ns, request.to_ns, amount);
    }
}

fn sum_of(grid: Grid, states: &BTreeMap<ThreadState, Vec<f64>>, select: impl Fn(ThreadState) -> bool) -> Vec<f64> {
    let mut sum = grid.zeros();
    for row in states.iter().filter(|(state, _)| select(**state)).map(|(_, row)| row) {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sum
}

/// Where a program does less than a fiftieth of what it does when it is busy (in the tenth busiest second) it is idle: no request
/// comes, or, where those are not known, hardly any code runs, or, where that is not known either (a log of the collector), hardly
/// anything is allocated. Where nothing waits either, what runs may be more of it, if it is no more than a JVM needs for itself.
fn idle(sources: &Sources<'_>, requests: Option<&Requests>, states: &BTreeMap<ThreadState, Vec<f64>>) -> Vec<bool> {
    const IDLE_SHARE: f64 = 0.02;
    let hardly_any = |work: &[f64]| {
        let busy = busy(work);
        work.iter().map(|work| *work < IDLE_SHARE * busy).collect()
    };
    if let Some(requests) = requests {
        let idle: Vec<bool> = hardly_any(&requests.count);
        return idle.iter().enumerate().map(|(index, idle)| *idle && !requests.is_hung(index)).collect();
    }
    let grid = sources.grid;
    if !states.keys().any(|state| matches!(state, ThreadState::Running(_))) {
        return hardly_any(&allocated(sources));
    }
    let running = sum_of(grid, states, |state| matches!(state, ThreadState::Running(_)));
    let waiting = sum_of(grid, states, |state| matches!(state, ThreadState::Blocked(wait) if wait != Wait::Unnamed));
    let busy = busy(&running);
    let is_idle = |(running, waiting): (&f64, &f64)| {
        *running < IDLE_SHARE * busy || *waiting == 0.0 && *running < HOUSEKEEPING_NS.min(HOUSEKEEPING_SHARE * busy)
    };
    running.iter().zip(&waiting).map(is_idle).collect()
}

/// Bytes allocated, bucket by bucket, as the heap filled up from one collection to the next.
fn allocated(sources: &Sources<'_>) -> Vec<f64> {
    let mut bytes = sources.grid.zeros();
    let around_collections = sources.counters(counter::HEAP_USED_BYTES).into_values();
    let mut used: Vec<(i64, f64)> = around_collections.flat_map(|series| series.0).collect();
    used.sort_by_key(|point| point.0);
    for (from_ns, to_ns, rise) in Series(used).rises() {
        sources.grid.spread(&mut bytes, from_ns, to_ns, rise);
    }
    bytes
}

/// What a JVM uses of a CPU in a second for its own timers, counters and recorders while nothing is asked of it, in ns.
const HOUSEKEEPING_NS: f64 = 5e6;

/// A small service may use as little when it is at work: then it uses a good part of what it does when it is busy.
const HOUSEKEEPING_SHARE: f64 = 0.1;

/// What is done in a busy second: the tenth busiest.
fn busy(work: &[f64]) -> f64 {
    const BUSIEST: usize = 10;
    let mut sorted = work.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    sorted.get(BUSIEST.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// What a recorder has the JVM do when it is loaded takes no longer than this on a busy machine, in ns. An action that lasts longer was
/// held up itself: what happens in the rest of it is not Fathom's doing.
const OWN_WORK_NS: i64 = 3 * BUCKET_NS;

fn disturbed(sources: &Sources<'_>) -> Vec<bool> {
    let mut disturbed = vec![false; sources.grid.len];
    let stopped = stops::of_process(sources);
    for action in sources.spans(span::OWN_ACTION) {
        let end = action.end_ns().min(action.time_ns.saturating_add(OWN_WORK_NS));
        let first = sources.grid.bucket_of(action.time_ns);
        let last = sources.grid.bucket_of(end).or(first.map(|_| sources.grid.len - 1));
        if let (Some(first), Some(last)) = (first, last) {
            disturbed[first..=last].fill(true);
        }
    }
    let collected =
        Intervals::union(sources.spans(span::GC_PAUSE).map(|pause| (pause.time_ns, pause.end_ns())).collect());
    for (index, is) in disturbed.iter_mut().enumerate().filter(|(_, is)| **is) {
        let (from_ns, to_ns) = (sources.grid.start_of(index), sources.grid.start_of(index + 1));
        // A process that is stopped is made no slower by a question. A collection is not made by one either: where collections
        // take most of the time, what remains for the action is less than what they took.
        let is_mostly_collected = 2 * collected.within_ns(from_ns, to_ns) > to_ns - from_ns;
        *is = stopped.within_ns(from_ns, to_ns) == 0 && !is_mostly_collected;
    }
    disturbed
}
