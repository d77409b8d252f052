//! The state of each thread at each instant: the account's partition of thread time, as the page draws it.
//!
//! Running and waiting for a CPU are amounts between two readings of the kernel's counters, or times that samples
//! represent. They fill what the partition leaves unknown; the rest stays unknown.

use fathom_evidence::kinds::{counter, role, span};
use fathom_timeline::{Analysis, Segment, Series, Sources, State, ThreadState, Wait};
use rustc_hash::FxHashMap;

use super::spans::extent;
use super::threads::{ROLES, Threads};
use crate::axis::Axis;

/// What is known of one thread.
#[derive(Debug, Default)]
pub(crate) struct OfThread {
    /// Beginning, end and state outside stops; disjoint, ascending.
    pub(crate) segments: Vec<(i64, i64, State)>,
    /// From when to when it lived, as far as that is known.
    pub(crate) life: (i64, i64),
    /// Whether it stands still when the application does: not a thread of the JVM or of another program.
    pub(crate) stops: bool,
    /// CPU time since some beginning, if it was counted.
    pub(crate) cpu: Option<Series>,
    /// Time without a CPU since some beginning, if it was counted.
    pub(crate) queue: Option<Series>,
}

/// What is known of all threads.
#[derive(Debug, Default)]
pub(crate) struct Cover {
    pub(crate) threads: Vec<OfThread>,
    /// Stops of the application: disjoint, ascending.
    pub(crate) stops: Vec<(i64, i64, State)>,
}

impl Cover {
    pub(crate) fn new(analysis: &Analysis<'_>, axis: &Axis, threads: &Threads) -> Cover {
        let view = &analysis.sources;
        let mut of_threads: Vec<OfThread> = (0..threads.len()).map(|_| OfThread::default()).collect();
        add_counters(view, axis, threads, &mut of_threads);
        add_partition(analysis, axis, threads, &mut of_threads);
        add_compilations(view, axis, threads, &mut of_threads);
        let stops = analysis.account.stops.iter();
        let stops =
            stops.map(|stop| (axis.at(stop.from_ns), axis.at(stop.to_ns), ThreadState::Stopped(stop.stop).state()));
        Cover { threads: of_threads, stops: stops.collect() }
    }

    /// Whether any state is known.
    pub(crate) fn has_any(&self) -> bool {
        let knows = |of: &OfThread| !of.segments.is_empty() || of.cpu.is_some() || of.queue.is_some();
        !self.stops.is_empty() || self.threads.iter().any(knows)
    }
}

/// CPU time and waiting for CPUs as they were counted.
fn add_counters(view: &Sources<'_>, axis: &Axis, threads: &Threads, of_threads: &mut [OfThread]) {
    let relative = |series: Series| Series(series.0.into_iter().map(|(time, value)| (axis.at(time), value)).collect());
    let mut each = |name: &str, put: &dyn Fn(&mut OfThread, Series)| {
        for ((_, tid), series) in view.counters(name) {
            if let Some(of) = of_threads.get_mut(threads.number(tid) as usize) {
                put(of, relative(series));
            }
        }
    };
    each(counter::THREAD_CPU_NS, &|of, series| of.cpu = Some(series));
    each(counter::THREAD_RUN_QUEUE_NS, &|of, series| of.queue = Some(series));
    if view.counters(counter::THREAD_CPU_NS).is_empty() {
        add_shares(view, axis, threads, of_threads);
    }
}

/// CPU time of threads as the JVM tells it: shares of all CPUs, for user and system time apart.
fn add_shares(view: &Sources<'_>, axis: &Axis, threads: &Threads, of_threads: &mut [OfThread]) {
    let Some(cpus) = view.cpus() else { return };
    let mut by_thread: FxHashMap<i64, Vec<(i64, i64, f64)>> = FxHashMap::default();
    for ((_, tid), series) in view.counters(counter::CPU_THREAD_RATIO) {
        let steps = series.0.windows(2).map(|pair| (axis.at(pair[0].0), axis.at(pair[1].0), pair[1].1));
        by_thread.entry(tid).or_default().extend(steps);
    }
    for (tid, mut steps) in by_thread {
        steps.sort_by_key(|step| step.1);
        let Some(of) = of_threads.get_mut(threads.number(tid) as usize) else { continue };
        let mut sum = 0.0;
        let mut points: Vec<(i64, f64)> = steps.first().map(|step| (step.0, 0.0)).into_iter().collect();
        for (from, to, share) in steps {
            sum += share.clamp(0.0, 1.0) * cpus * to.saturating_sub(from) as f64;
            points.push((to, sum));
        }
        of.cpu = Some(Series(points));
    }
}

/// Adds what the partition knows about each thread.
fn add_partition(analysis: &Analysis<'_>, axis: &Axis, threads: &Threads, of_threads: &mut [OfThread]) {
    let (view, partition) = (&analysis.sources, &analysis.account.partition);
    for (tid, recorded) in partition.recorded() {
        let Some(of) = of_threads.get_mut(threads.number(tid) as usize) else { continue };
        for segment in recorded {
            extend(&mut of.segments, (axis.at(segment.from_ns), axis.at(segment.to_ns), of_segment(view, segment)));
        }
    }
    for thread in threads.iter() {
        let number = threads.number(thread.tid) as usize;
        let life = partition.life(thread.tid).unwrap_or(view.extent_ns);
        of_threads[number].life = (axis.at(life.0), axis.at(life.1));
        of_threads[number].stops = matches!(view.role(thread.tid), role::JAVA | role::HANDLER);
    }
}

/// Where CPU time was counted it says better how long a compiler ran.
fn add_compilations(view: &Sources<'_>, axis: &Axis, threads: &Threads, of_threads: &mut [OfThread]) {
    let compilers = ROLES.iter().position(|known| *known == role::COMPILER);
    for compilation in view.spans(span::COMPILATION) {
        let number = threads.number(compilation.tid);
        let thread = threads.get(number).filter(|thread| Some(usize::from(thread.role)) == compilers);
        let (from, to) = extent(axis, &compilation);
        if let Some(of) = thread.and_then(|_| of_threads.get_mut(number as usize)).filter(|of| of.cpu.is_none()) {
            let begin = of.segments.last().map_or(from, |last| last.1.max(from));
            if begin < to {
                extend(&mut of.segments, (begin, to, State::Compiler));
            }
        }
    }
}

/// The state of a segment of the partition; what may be idleness is shown as that.
pub(crate) fn of_segment(view: &Sources<'_>, segment: &Segment) -> State {
    match segment.state {
        ThreadState::Unknown if is_uninterruptible(view, segment) => State::KernelWait,
        ThreadState::Blocked(Wait::Unnamed) => State::Idle,
        state @ (ThreadState::Blocked(_) | ThreadState::Runnable | ThreadState::Stopped(_)) => state.state(),
        _ => State::Idle,
    }
}

/// Whether it was in a wait of the kernel that no signal ends.
fn is_uninterruptible(view: &Sources<'_>, segment: &Segment) -> bool {
    let name = segment.row.map(|row| view.recording.text(view.recording.spans.name[row as usize]));
    name == Some("uninterruptible")
}

/// The state of a thread that runs, if its role says more than its code.
pub(crate) fn of_role(role: &str) -> Option<State> {
    match role {
        role::COMPILER => Some(State::Compiler),
        role::GC => Some(State::Collector),
        role::VM => Some(State::Jvm),
        _ => None,
    }
}

/// Adds a segment, or makes the last one longer where it goes on.
fn extend(segments: &mut Vec<(i64, i64, State)>, new: (i64, i64, State)) {
    match segments.last_mut() {
        Some(last) if last.1 == new.0 && last.2 == new.2 => last.1 = new.1,
        _ => segments.push(new),
    }
}
