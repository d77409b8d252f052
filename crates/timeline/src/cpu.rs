//! Who used the CPU: compiler, collector, the application by layer.
//!
//! Recordings differ in what they hold, so each part takes the best source there is: CPU counters
//! of threads, the compiler's own account, CPU samples, and durations as the last resort.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use fathom_evidence::StackId;
use fathom_evidence::kinds::{counter, event, role, span};
use fathom_evidence::tables::Span;

use crate::collections::{Causes, PauseCpu};
use crate::grid::{BUCKET_NS, Grid};
use crate::intervals::Intervals;
use crate::median::median;
use crate::sources::{Series, Sources};
use crate::states::{Collection, Layer, Origin, Scope, ThreadState};
use crate::stops;

/// Readings further apart than this say too little about a second, in ns.
const DENSE_NS: i64 = 2_500_000_000;

/// CPU time by state.
pub(crate) struct Cpu {
    pub(crate) states: BTreeMap<ThreadState, Vec<f64>>,
    pub(crate) process_ns: Option<Vec<f64>>,
    pub(crate) machine_ratio: Option<Vec<Option<f64>>>,
}

/// Makes the account of CPU time.
pub(crate) fn of(sources: &Sources<'_>) -> Cpu {
    let grid = sources.grid;
    let seen = Seen::new(sources);
    let threads = Threads::of(sources);
    let process_ns = process(sources, &threads);
    let compiler = compiler(sources, &threads, &seen);
    let mut states = collector(sources);
    if let Some((measured, known)) = threads.role(role::GC) {
        fit(grid, &mut states, &measured[..known.end], known.start);
    }
    let mut known = compiler.clone();
    for row in states.values() {
        add(&mut known, row, 1.0);
    }
    let running = match &process_ns {
        Some(process) => rest(process, &known),
        None => seen.application_ns.clone(),
    };
    let (application, vm) = split_vm(running, &threads);
    for (layer, row) in seen.split(grid, &application) {
        states.insert(ThreadState::Running(layer), row);
    }
    states.insert(ThreadState::Compiler, compiler);
    states.insert(ThreadState::Vm, vm);
    states.retain(|_, row| row.iter().any(|value| *value > 0.0));
    Cpu { states, process_ns, machine_ratio: machine(sources) }
}

fn add(sum: &mut [f64], row: &[f64], factor: f64) {
    sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * factor);
}

fn rest(whole: &[f64], part: &[f64]) -> Vec<f64> {
    whole.iter().zip(part).map(|(whole, part)| (whole - part).max(0.0)).collect()
}

/// Spreads a series of averages, each over the time since the reading before it.
fn spread_averages(grid: Grid, series: &Series, factor: f64, row: &mut [f64]) {
    let first = series.0.first().map(|(time, value)| (time.saturating_sub(typical_step(series)), *time, *value));
    let steps = series.0.windows(2).map(|pair| (pair[0].0, pair[1].0, pair[1].1));
    for (from, to, value) in first.into_iter().chain(steps) {
        let length = to.saturating_sub(from).clamp(0, 60 * BUCKET_NS) as f64;
        grid.spread(row, from, to, value.clamp(0.0, 1.0) * factor * length);
    }
}

fn typical_step(series: &Series) -> i64 {
    let steps = series.0.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0) as f64);
    median(steps.collect()).map_or(0, |step| step as i64)
}

/// CPU of the whole process: as the JVM reads it, or the sum over the threads that were looked at, or as others count it.
fn process(sources: &Sources<'_>, threads: &Threads) -> Option<Vec<f64>> {
    let counters = sources.counters(counter::CPU_PROCESS_RATIO);
    let mut row = sources.grid.zeros();
    let Some(cpus) = sources.cpus().filter(|_| !counters.is_empty()) else {
        let is_counted = !threads.by_role.is_empty() && !sources.counters(counter::THREAD_CPU_NS).is_empty();
        threads.by_role.values().for_each(|role| add(&mut row, role, 1.0));
        let counted = sources.counters(counter::PROCESS_CPU_NS);
        if !is_counted {
            counted.values().for_each(|series| spread_rises(sources.grid, series, &mut row));
        }
        return (is_counted || !counted.is_empty()).then_some(row);
    };
    counters.values().for_each(|series| spread_averages(sources.grid, series, cpus, &mut row));
    Some(row)
}

/// Use of the machine's CPUs: as the JVM reads it, or as the kernel counts it.
fn machine(sources: &Sources<'_>) -> Option<Vec<Option<f64>>> {
    let counters = sources.counters(counter::CPU_MACHINE_RATIO);
    let (used, all) = match counters.values().next() {
        Some(series) => read_by_the_jvm(sources.grid, series),
        None => (in_modes(sources, |mode| !is_unused(mode)), in_modes(sources, |_| true)),
    };
    let ratios = used.iter().zip(&all).map(|(used, all)| (*all > 0.0).then(|| used / all));
    all.iter().any(|ns| *ns > 0.0).then(|| ratios.collect())
}

/// Time in use, and all time that was read.
fn read_by_the_jvm(grid: Grid, series: &Series) -> (Vec<f64>, Vec<f64>) {
    let (mut used, mut all) = (grid.zeros(), grid.zeros());
    spread_averages(grid, series, 1.0, &mut used);
    let always = Series(series.0.iter().map(|(time_ns, _)| (*time_ns, 1.0)).collect());
    spread_averages(grid, &always, 1.0, &mut all);
    (used, all)
}

/// CPU time of the machine in the modes that `select` chooses, as the kernel counts it. What guests use
/// stands under `user` as well and is left out.
fn in_modes(sources: &Sources<'_>, select: impl Fn(&str) -> bool) -> Vec<f64> {
    let mut row = sources.grid.zeros();
    for ((mode, _), series) in sources.counters(counter::MACHINE_CPU_NS) {
        let mode = sources.recording.text(mode);
        if !mode.starts_with("guest") && select(mode) {
            spread_rises(sources.grid, &series, &mut row);
        }
    }
    row
}

/// Modes in which a CPU does nothing for this machine.
fn is_unused(mode: &str) -> bool {
    matches!(mode, "idle" | "iowait" | "steal")
}

/// Time that the hypervisor took from CPUs while the application had them: the stolen time in the
/// part that the application has of what the CPUs did. `None` where the kernel's count was not read.
pub(crate) fn stolen(sources: &Sources<'_>, application_ns: &[f64]) -> Option<Vec<f64>> {
    if sources.counters(counter::MACHINE_CPU_NS).is_empty() {
        return None;
    }
    let (stolen, used) = (in_modes(sources, |mode| mode == "steal"), in_modes(sources, |mode| !is_unused(mode)));
    let parts = stolen.iter().zip(&used).zip(application_ns);
    let share = |used: f64, own: f64| if used > 0.0 { (own / used).min(1.0) } else { 0.0 };
    Some(parts.map(|((stolen, used), own)| stolen * share(*used, *own)).collect())
}

/// CPU of threads by role, in the buckets in which it was read often enough.
struct Threads {
    by_role: BTreeMap<&'static str, Vec<f64>>,
    known: Range<usize>,
}

impl Threads {
    /// As the kernel counts it, or as the JVM does.
    fn of(sources: &Sources<'_>) -> Threads {
        let counted = by_role(sources, counter::THREAD_CPU_NS, |series, row| spread_rises(sources.grid, series, row));
        if !counted.is_empty() {
            return Threads { by_role: counted, known: sources.threads_read(counter::THREAD_CPU_NS) };
        }
        let known = 0..sources.grid.len;
        let Some(cpus) = sources.cpus() else { return Threads { by_role: counted, known } };
        let spread = |series: &Series, row: &mut [f64]| spread_averages(sources.grid, series, cpus, row);
        Threads { by_role: by_role(sources, counter::CPU_THREAD_RATIO, spread), known }
    }

    /// The CPU of a role with the buckets for which it holds.
    fn role(&self, role: &str) -> Option<(&[f64], Range<usize>)> {
        Some((self.by_role.get(role)?, self.known.clone()))
    }
}

/// Sums a counter of threads over the threads of each role, if it was read often enough.
fn by_role(
    sources: &Sources<'_>,
    name: &str,
    spread: impl Fn(&Series, &mut [f64]),
) -> BTreeMap<&'static str, Vec<f64>> {
    let mut by_role: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let counters = sources.counters(name);
    let dense = counters.values().filter(|series| series.0.len() > 2).map(typical_step).min();
    if dense.is_none_or(|step| step > DENSE_NS) {
        return by_role;
    }
    for ((_, tid), series) in counters {
        let role = match sources.role(tid) {
            role::COMPILER => role::COMPILER,
            role::GC => role::GC,
            role::VM => role::VM,
            _ => role::JAVA,
        };
        spread(&series, by_role.entry(role).or_insert_with(|| sources.grid.zeros()));
    }
    by_role
}

/// Spreads what a growing counter rose by, each step over its time.
pub(crate) fn spread_rises(grid: Grid, series: &Series, row: &mut [f64]) {
    series.rises().for_each(|(from, to, rise)| grid.spread(row, from, to, rise));
}

/// Time for which threads of the application could have run but had no CPU, if the kernel's count
/// of it was read.
pub(crate) fn runnable(sources: &Sources<'_>) -> Option<Vec<f64>> {
    let mut waits =
        by_role(sources, counter::THREAD_RUN_QUEUE_NS, |series, row| spread_rises(sources.grid, series, row));
    waits.remove(role::JAVA)
}

/// CPU of the compiler threads.
fn compiler(sources: &Sources<'_>, threads: &Threads, seen: &Seen) -> Vec<f64> {
    let mut row = told_by_the_compiler(sources, seen);
    if let Some((measured, known)) = threads.role(role::COMPILER) {
        row[known.clone()].copy_from_slice(&measured[known]);
    }
    row
}

/// The same without the counters of its threads.
fn told_by_the_compiler(sources: &Sources<'_>, seen: &Seen) -> Vec<f64> {
    let mut row = sources.grid.zeros();
    let compiling = sources.counter(counter::COMPILE_TIME_NS, "");
    if compiling.0.len() > 1 {
        spread_rises(sources.grid, &compiling, &mut row);
    } else if seen.compiler_ns.iter().any(|ns| *ns > 0.0) {
        row.clone_from(&seen.compiler_ns);
    } else {
        for compilation in sources.spans(span::COMPILATION) {
            let end = compilation.end_ns();
            sources.grid.spread(&mut row, compilation.time_ns, end, compilation.duration_ns as f64);
        }
    }
    row
}

/// CPU of the collector's threads by kind of collection. In pauses: as reported or, failing that, all its workers for the
/// whole pause. Concurrently: one thread per concurrent phase, which is a lower bound.
fn collector(sources: &Sources<'_>) -> BTreeMap<ThreadState, Vec<f64>> {
    let grid = sources.grid;
    let mut states: BTreeMap<ThreadState, Vec<f64>> = BTreeMap::new();
    let mut charge = |collection: Collection, from: i64, to: i64, ns: f64| {
        let row = states.entry(ThreadState::Collector(collection)).or_insert_with(|| grid.zeros());
        grid.spread(row, from, to, ns);
    };
    let causes = Causes::of(sources);
    let pause_cpu = PauseCpu::of(sources);
    let stopped = stops::of_process(sources);
    for pause in sources.spans(span::GC_PAUSE) {
        let collection = causes.collection(sources, &pause);
        let end = pause.end_ns();
        // While the process was stopped no worker ran.
        let ran_ns = pause.duration_ns.saturating_sub(stopped.within_ns(pause.time_ns, end)).max(0);
        let ns = pause_cpu.ns(sources, &pause).unwrap_or_else(|| ran_ns as f64 * workers(sources));
        charge(collection, pause.time_ns, end, ns.min(pause.duration_ns as f64 * 1_024.0));
    }
    for (origin, phases) in concurrent_phases(sources, &causes) {
        for (from, to) in phases.iter() {
            charge(Collection { scope: Scope::Concurrent, origin }, from, to, to.saturating_sub(from) as f64);
        }
    }
    states
}

/// Scales the collector's states to what its threads really used. What was used while no collection was reported is
/// concurrent upkeep.
fn fit(grid: Grid, states: &mut BTreeMap<ThreadState, Vec<f64>>, measured: &[f64], from_bucket: usize) {
    let upkeep = ThreadState::Collector(Collection { scope: Scope::Concurrent, origin: Origin::Allocation });
    for (index, measured) in measured.iter().enumerate().skip(from_bucket) {
        let told: f64 = states.values().map(|row| row[index]).sum();
        match told > 0.0 {
            true => states.values_mut().for_each(|row| row[index] *= measured / told),
            false => states.entry(upkeep).or_insert_with(|| grid.zeros())[index] = *measured,
        }
    }
}

fn workers(sources: &Sources<'_>) -> f64 {
    let serial = sources.flag("ParallelGCThreads").filter(|threads| *threads >= 1.0);
    serial.unwrap_or(1.0).min(sources.cpus().unwrap_or(1.0))
}

fn concurrent_phases(sources: &Sources<'_>, causes: &Causes) -> BTreeMap<Origin, Intervals> {
    let origin = |phase: &Span| causes.collection(sources, phase).origin;
    let phases = sources.spans(span::GC_CONCURRENT);
    Intervals::by_key(phases.map(|phase| (origin(&phase), phase.time_ns, phase.end_ns())))
}

/// Threads of the JVM that are neither compiler nor collector, where their CPU is known apart.
fn split_vm(running: Vec<f64>, threads: &Threads) -> (Vec<f64>, Vec<f64>) {
    let mut vm = vec![0.0; running.len()];
    let mut application = running;
    if let Some((own, known)) = threads.role(role::JAVA) {
        for index in known {
            vm[index] = (application[index] - own[index]).max(0.0);
            application[index] -= vm[index];
        }
    }
    (application, vm)
}

/// What samples of running threads say.
struct Seen {
    /// Time that the samples of the application's threads stand for, by layer.
    layers: BTreeMap<Layer, Vec<f64>>,
    /// The same for all layers.
    application_ns: Vec<f64>,
    /// The same for compiler threads.
    compiler_ns: Vec<f64>,
    /// Whether the samples were taken by CPU time, so that they are a fair picture of all of it.
    is_fair: bool,
}

/// JFR looks at this many running Java threads per period; with more, each sample stands for more.
const THREADS_PER_PERIOD: f64 = 5.0;

impl Seen {
    /// CPU samples where there are any; else the samples of executing Java threads.
    fn new(sources: &Sources<'_>) -> Seen {
        let event = sources.running_event();
        let is_fair = event == Some(event::CPU);
        let zeros = || sources.grid.zeros();
        let mut seen = Seen { layers: BTreeMap::new(), application_ns: zeros(), compiler_ns: zeros(), is_fair };
        let mut layer_of: HashMap<StackId, Layer> = HashMap::new();
        for sample in event.into_iter().flat_map(|event| sources.samples(event)) {
            let Some(bucket) = sources.grid.bucket_of(sample.time_ns) else { continue };
            let weight = sample.weight_ns.max(0) as f64;
            if sources.is_application(sample.tid) {
                let layer = *layer_of
                    .entry(sample.stack_id)
                    .or_insert_with(|| Layer::of_stack(sources.recording, sample.stack_id));
                seen.layers.entry(layer).or_insert_with(zeros)[bucket] += weight;
                seen.application_ns[bucket] += weight;
            } else if sources.role(sample.tid) == role::COMPILER {
                seen.compiler_ns[bucket] += weight;
            }
        }
        seen
    }

    /// Divides the CPU of the application by the layers that were seen. Few samples fall into a
    /// second, so the seconds around it count too. CPU that no sample stands for is taken as
    /// compiled Java: loops without a safepoint poll hide from the sampler.
    fn split(&self, grid: Grid, application: &[f64]) -> BTreeMap<Layer, Vec<f64>> {
        const WINDOW_BUCKETS: usize = 2;
        let mut split: BTreeMap<Layer, Vec<f64>> = BTreeMap::new();
        for (index, ns) in application.iter().enumerate() {
            let near = index.saturating_sub(WINDOW_BUCKETS)..(index + WINDOW_BUCKETS + 1).min(grid.len);
            let mean = |row: &Vec<f64>| row[near.clone()].iter().sum::<f64>() / near.len() as f64;
            let seen: f64 = self.layers.values().map(mean).sum();
            let scale = if seen > 0.0 { self.scale(*ns, seen) } else { 0.0 };
            for (layer, row) in &self.layers {
                split.entry(*layer).or_insert_with(|| grid.zeros())[index] += mean(row) * scale;
            }
            let unseen = (ns - seen * scale).max(0.0);
            split.entry(Layer::Java).or_insert_with(|| grid.zeros())[index] += unseen;
        }
        split
    }

    /// What a nanosecond of samples stands for.
    fn scale(&self, ns: f64, seen: f64) -> f64 {
        let whole = ns / seen;
        let busy_threads = ns / BUCKET_NS as f64;
        if self.is_fair { whole } else { whole.min((busy_threads / THREADS_PER_PERIOD).max(1.0)) }
    }
}
