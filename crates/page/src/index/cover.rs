//! The state of each thread at each instant, as far as it is known.
//!
//! Intervals that are known exactly (stops, waits, faults) are cut so that none overlaps another, the more specific
//! one first. Running and waiting for a CPU are amounts between two readings of the kernel's counters, or what
//! samples stand for; they fill what the intervals leave. The rest is unknown and stays so.

use fathom_evidence::kinds::{counter, frame, role, span};
use fathom_evidence::tables::Span;
use fathom_timeline::{Analysis, Intervals, Series, Stop, View, Wait};
use rustc_hash::{FxHashMap, FxHashSet};

use super::spans::extent;
use super::threads::{ROLES, Threads};
use crate::axis::Axis;

/// What a thread does at an instant. Of two that are told of the same instant the first here is it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum State {
    PageFault,
    Lock,
    Permit,
    Service,
    File,
    AllocationStall,
    Kernel,
    Runnable,
    Compiler,
    Idle,
    ToSafepoint,
    Collection,
    Operation,
    RunningJava,
    RunningInterpreted,
    RunningNative,
    RunningVm,
    RunningKernel,
    Running,
    Collector,
    Jvm,
}

/// Every state in the order of its number: id, title, colour on the page.
pub(crate) const STATES: &[(State, &str, &str, &str)] = &[
    (State::PageFault, "page_fault", "waiting for a page of memory", "blocked"),
    (State::Lock, "lock", "waiting for a lock", "blocked"),
    (State::Permit, "permit", "waiting for a permit of a semaphore", "blocked"),
    (State::Service, "service", "waiting for another service", "blocked"),
    (State::File, "file", "waiting for a file", "blocked"),
    (State::AllocationStall, "allocation_stall", "waiting for the collector to free memory", "blocked"),
    (State::Kernel, "kernel_wait", "in a wait of the kernel that nothing ends", "blocked"),
    (State::Runnable, "runnable", "waiting for a CPU", "runnable"),
    (State::Compiler, "compiler", "compiling", "compiler"),
    (State::Idle, "idle", "waiting for work, or for what is not told", "idle"),
    (State::ToSafepoint, "to_safepoint", "waiting for all threads to stop", "stopped"),
    (State::Collection, "collection", "stopped by the collector", "stopped"),
    (State::Operation, "operation", "stopped by an operation of the VM thread", "stopped"),
    (State::RunningJava, "java", "running compiled Java", "java"),
    (State::RunningInterpreted, "interpreted", "running interpreted Java", "interpreted"),
    (State::RunningNative, "native", "running native code", "native"),
    (State::RunningVm, "vm", "running code of the JVM", "vm"),
    (State::RunningKernel, "kernel", "running in the kernel", "kernel"),
    (State::Running, "running", "running, code not sampled", "java"),
    (State::Collector, "collector", "collecting", "gc"),
    (State::Jvm, "jvm", "running as a thread of the JVM", "vm"),
];

/// What is known of one thread.
#[derive(Debug, Default)]
pub(crate) struct OfThread {
    /// Beginning, end and state; disjoint, ascending.
    pub(crate) segments: Vec<(i64, i64, State)>,
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
    /// The same as a set of time.
    pub(crate) stopped: Intervals,
}

impl Cover {
    pub(crate) fn new(analysis: &Analysis<'_>, axis: &Axis, threads: &Threads) -> Cover {
        let view = &analysis.view;
        let mut of_threads: Vec<OfThread> = (0..threads.len()).map(|_| OfThread::default()).collect();
        add_counters(view, axis, threads, &mut of_threads);
        let told = intervals(analysis, axis, threads, &of_threads);
        for (number, told) in told {
            if let Some(of) = of_threads.get_mut(number as usize) {
                of.segments = disjoint(told);
            }
        }
        let stops = analysis.account.stops.iter().map(|stop| {
            let state = match stop.stop {
                Stop::TimeToSafepoint => State::ToSafepoint,
                Stop::Collection(_) | Stop::WaitingCollector(_) => State::Collection,
                Stop::Operation => State::Operation,
            };
            (axis.at(stop.from_ns), axis.at(stop.to_ns), state)
        });
        let stops = disjoint(stops.collect());
        let stopped = Intervals::union(stops.iter().map(|(from, to, _)| (*from, *to)).collect());
        Cover { threads: of_threads, stops, stopped }
    }

    /// Whether any state is known.
    pub(crate) fn has_any(&self) -> bool {
        let knows = |of: &OfThread| !of.segments.is_empty() || of.cpu.is_some() || of.queue.is_some();
        !self.stops.is_empty() || self.threads.iter().any(knows)
    }
}

/// CPU time and waiting for CPUs as they were counted.
fn add_counters(view: &View<'_>, axis: &Axis, threads: &Threads, of_threads: &mut [OfThread]) {
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
fn add_shares(view: &View<'_>, axis: &Axis, threads: &Threads, of_threads: &mut [OfThread]) {
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

type Told = FxHashMap<u32, Vec<(i64, i64, State)>>;

/// What spans say of single threads.
fn intervals(analysis: &Analysis<'_>, axis: &Axis, threads: &Threads, of_threads: &[OfThread]) -> Told {
    let view = &analysis.view;
    let mut told = Told::default();
    let mut seen: FxHashSet<(i64, i64, i64)> = FxHashSet::default();
    let mut add = |span: &Span, state: State| {
        let number = threads.number(span.tid);
        let (from, to) = extent(axis, span);
        if threads.get(number).is_some() && from < to {
            told.entry(number).or_default().push((from, to, state));
        }
    };
    for wait in analysis.account.waits(view) {
        seen.insert((wait.span.tid, wait.span.time_ns, wait.span.duration_ns));
        add(&wait.span, of_wait(wait.wait));
    }
    for (kind, state) in OTHERS {
        for span in view.spans(kind).filter(|span| !seen.contains(&(span.tid, span.time_ns, span.duration_ns))) {
            add(&span, *state);
        }
    }
    for span in view.spans(span::BLOCKED) {
        add(&span, of_blocked(view.recording.text(span.name)));
    }
    let compilers = ROLES.iter().position(|known| *known == role::COMPILER);
    for span in view.spans(span::COMPILATION) {
        let number = threads.number(span.tid);
        let thread = threads.get(number).filter(|thread| Some(usize::from(thread.role)) == compilers);
        // Where CPU time was counted it says better how long the compiler ran.
        if thread.is_some() && of_threads.get(number as usize).is_some_and(|of| of.cpu.is_none()) {
            add(&span, State::Compiler);
        }
    }
    told
}

/// Kinds of spans whose state does not depend on more.
const OTHERS: &[(&str, State)] = &[
    (span::PAGE_FAULT, State::PageFault),
    (span::RUN_QUEUE_WAIT, State::Runnable),
    (span::NATIVE_LOCK, State::Lock),
    (span::PARK, State::Idle),
    (span::MONITOR_WAIT, State::Idle),
    (span::SLEEP, State::Idle),
    (span::SOCKET_READ, State::Idle),
    (span::SOCKET_WRITE, State::Idle),
];

fn of_wait(wait: Wait) -> State {
    match wait {
        Wait::Lock => State::Lock,
        Wait::Permit => State::Permit,
        Wait::Socket => State::Service,
        Wait::File => State::File,
        Wait::AllocationStall => State::AllocationStall,
        Wait::PageFault => State::PageFault,
    }
}

fn of_blocked(kind_of_wait: &str) -> State {
    match kind_of_wait {
        "page_fault" => State::PageFault,
        "uninterruptible" => State::Kernel,
        _ => State::Idle,
    }
}

/// The state of a thread of the application whose code has a frame of this kind on top.
pub(crate) fn of_frame(kind: &str) -> State {
    match kind {
        frame::INTERPRETED => State::RunningInterpreted,
        frame::NATIVE => State::RunningNative,
        frame::VM => State::RunningVm,
        frame::KERNEL => State::RunningKernel,
        _ => State::RunningJava,
    }
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

/// Cuts intervals so that none overlaps another: of those told of an instant the first state is it.
fn disjoint(told: Vec<(i64, i64, State)>) -> Vec<(i64, i64, State)> {
    let mut edges: Vec<(i64, bool, State)> = Vec::with_capacity(told.len() * 2);
    for (from, to, state) in told.into_iter().filter(|(from, to, _)| from < to) {
        edges.push((from, true, state));
        edges.push((to, false, state));
    }
    edges.sort_unstable_by_key(|edge| edge.0);
    let mut open = vec![0_u32; STATES.len()];
    let mut segments: Vec<(i64, i64, State)> = Vec::new();
    let mut since = i64::MIN;
    for (time, begins, state) in edges {
        let now = open.iter().position(|count| *count > 0).map(|index| STATES[index].0);
        if let Some(now) = now.filter(|_| since < time) {
            extend(&mut segments, (since, time, now));
        }
        since = time;
        let count = &mut open[state as usize];
        *count = if begins { *count + 1 } else { count.saturating_sub(1) };
    }
    segments
}

/// Adds a segment, or makes the last one longer where it goes on.
fn extend(segments: &mut Vec<(i64, i64, State)>, new: (i64, i64, State)) {
    match segments.last_mut() {
        Some(last) if last.1 == new.0 && last.2 == new.2 => last.1 = new.1,
        _ => segments.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_numbered_as_they_stand() {
        assert!(STATES.iter().enumerate().all(|(number, state)| state.0 as usize == number));
    }

    #[test]
    fn every_instant_has_one_state() {
        use State::{Idle, Lock, PageFault};
        for (told, expected) in [
            (vec![], vec![]),
            (vec![(0, 10, Idle), (3, 5, PageFault)], vec![(0, 3, Idle), (3, 5, PageFault), (5, 10, Idle)]),
            (vec![(0, 4, Lock), (4, 8, Lock), (9, 9, Idle)], vec![(0, 8, Lock)]),
            (vec![(0, 6, Lock), (2, 8, Lock), (1, 9, Idle)], vec![(0, 8, Lock), (8, 9, Idle)]),
            (vec![(i64::MIN, i64::MAX, Idle)], vec![(i64::MIN, i64::MAX, Idle)]),
        ] {
            assert_eq!(disjoint(told), expected);
        }
    }
}
