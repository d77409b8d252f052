//! Thread time per state and second.

use std::collections::BTreeMap;
use std::ops::Range;

use fathom_evidence::kinds::span;

use crate::cells::{Cell, Wait};
use crate::cpu;
use crate::grid::{BUCKET_NS, Grid};
use crate::intervals::Intervals;
use crate::startup::{self, Startup};
use crate::stops::{self, StopSpan};
use crate::view::View;
use crate::waits::{self, WaitSpan};

/// Requests of the service, from a latency file.
#[derive(Debug, Clone, PartialEq)]
pub struct Requests {
    /// Requests that began in each bucket.
    pub count: Vec<f64>,
    /// 99th percentile of their latency, in ns; `None` where there was no request.
    pub p99_ns: Vec<Option<f64>>,
}

/// What the threads did, bucket by bucket.
#[derive(Debug, Clone)]
pub struct Account {
    /// The buckets.
    pub grid: Grid,
    /// Thread time in ns per bucket. Stops count once here, however many threads they stopped.
    pub cells: BTreeMap<Cell, Vec<f64>>,
    /// Every stop.
    pub stops: Vec<StopSpan>,
    /// The same as a set of time.
    pub stopped: Intervals,
    /// CPU of the whole process in ns per bucket, if it was recorded.
    pub process_cpu_ns: Option<Vec<f64>>,
    /// CPU of the machine as a share of all CPUs, if it was recorded.
    pub machine_ratio: Option<Vec<f64>>,
    /// CPUs that the JVM may use.
    pub cpus: Option<f64>,
    /// Requests, if a latency file was given.
    pub requests: Option<Requests>,
    /// Buckets in which a recorder looked at the running process.
    pub observed: Range<usize>,
    /// Buckets in which Fathom itself acted on the JVM (loaded an agent, started its recorder): what
    /// happened then is no disease of the service.
    pub(crate) disturbed: Vec<bool>,
    /// Whether waits for files are those that the kernel saw.
    files_are_observed: bool,
    /// How much of the beginning belongs to the JVM's start.
    pub startup: Startup,
}

impl Account {
    /// The waits of the application's threads that the account is made of.
    pub fn waits(&self, view: &View<'_>) -> Vec<WaitSpan> {
        waits::find(view, &self.stopped)
    }

    /// Makes the account of everything in the view.
    pub fn new(view: &View<'_>) -> Account {
        let grid = view.grid;
        let stops = stops::find(view);
        let stopped = Intervals::union(stops.iter().map(|stop| (stop.from_ns, stop.to_ns)).collect());
        let mut cells = BTreeMap::new();
        add_stops(grid, &mut cells, &stops);
        for wait in waits::find(view, &stopped) {
            let row = cells.entry(Cell::Blocked(wait.wait)).or_insert_with(|| grid.zeros());
            let end = wait.span.end_ns();
            grid.spread(row, wait.span.time_ns, end, wait.lost_ns);
        }
        let cpu = cpu::of(view);
        cells.extend(cpu.cells);
        cells.extend(cpu::runnable(view).map(|row| (Cell::Runnable, row)));
        let running = sum_of(grid, &cells, |cell| matches!(cell, Cell::Running(_)));
        cells.extend(cpu::stolen(view, &running).map(|row| (Cell::Stolen, row)));
        let startup = startup::find(view, cells.get(&Cell::Compiler));
        Account {
            grid,
            cells,
            stops,
            stopped,
            process_cpu_ns: cpu.process_ns,
            machine_ratio: cpu.machine_ratio,
            cpus: view.cpus(),
            requests: requests(view),
            observed: view.observed(),
            disturbed: disturbed(view),
            files_are_observed: view.spans(span::SYSTEM_CALL).len() > 0,
            startup,
        }
    }

    /// The buckets for which a kind of time is known: what only the kernel sees is known while
    /// somebody looked, everything else for as long as the JVM kept it.
    pub(crate) fn known(&self, cell: Cell) -> Range<usize> {
        let is_observed = match cell {
            Cell::Runnable | Cell::Stolen | Cell::Blocked(Wait::PageFault) => true,
            Cell::Blocked(Wait::File) => self.files_are_observed,
            _ => false,
        };
        if is_observed { self.observed.clone() } else { 0..self.grid.len }
    }

    /// Thread time of the cells that `select` chooses, per bucket, in ns.
    pub fn sum(&self, select: impl Fn(Cell) -> bool) -> Vec<f64> {
        sum_of(self.grid, &self.cells, select)
    }

    /// How many threads of the application were at work at once, on average over some buckets
    /// and outside stops; at least one. A stop costs each of them its length.
    pub fn concurrency(&self, buckets: impl Iterator<Item = usize> + Clone) -> f64 {
        let total = |row: &[f64]| buckets.clone().map(|index| row[index]).sum::<f64>();
        let busy = total(
            &self.sum(|cell| matches!(cell, Cell::Running(_) | Cell::Runnable | Cell::Stolen | Cell::Blocked(_))),
        );
        let stopped = total(&self.sum(|cell| matches!(cell, Cell::Stopped(_))));
        let length = buckets.clone().count() as f64 * BUCKET_NS as f64;
        (busy / (length - stopped).max(length / 20.0)).max(1.0)
    }
}

fn sum_of(grid: Grid, cells: &BTreeMap<Cell, Vec<f64>>, select: impl Fn(Cell) -> bool) -> Vec<f64> {
    let mut sum = grid.zeros();
    for row in cells.iter().filter(|(cell, _)| select(**cell)).map(|(_, row)| row) {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sum
}

fn add_stops(grid: Grid, cells: &mut BTreeMap<Cell, Vec<f64>>, stops: &[StopSpan]) {
    for stop in stops {
        let row = cells.entry(Cell::Stopped(stop.stop)).or_insert_with(|| grid.zeros());
        grid.spread(row, stop.from_ns, stop.to_ns, stop.duration_ns() as f64);
    }
    // Reported stops may overlap by rounding; a second has no more than a second of them.
    let whole = BUCKET_NS as f64;
    for index in 0..grid.len {
        let is_stop = |cell: &Cell| matches!(cell, Cell::Stopped(_));
        let total: f64 = cells.iter().filter(|(cell, _)| is_stop(cell)).map(|(_, row)| row[index]).sum();
        if total > whole {
            let rows = cells.iter_mut().filter(|(cell, _)| is_stop(cell));
            rows.for_each(|(_, row)| row[index] *= whole / total);
        }
    }
}

fn disturbed(view: &View<'_>) -> Vec<bool> {
    let mut disturbed = vec![false; view.grid.len];
    for action in view.spans(span::OWN_ACTION) {
        let end = action.end_ns();
        let first = view.grid.bucket_of(action.time_ns);
        let last = view.grid.bucket_of(end).or(first.map(|_| view.grid.len - 1));
        if let (Some(first), Some(last)) = (first, last) {
            disturbed[first..=last].fill(true);
        }
    }
    disturbed
}

fn requests(view: &View<'_>) -> Option<Requests> {
    let mut latencies: Vec<Vec<i64>> = vec![Vec::new(); view.grid.len];
    for request in view.spans(span::REQUEST) {
        if let Some(bucket) = view.grid.bucket_of(request.time_ns) {
            latencies[bucket].push(request.duration_ns);
        }
    }
    latencies.iter().any(|bucket| !bucket.is_empty()).then(|| Requests {
        count: latencies.iter().map(|bucket| bucket.len() as f64).collect(),
        p99_ns: latencies.iter_mut().map(|bucket| quantile(bucket, 0.99)).collect(),
    })
}

/// The quantile of unsorted values.
fn quantile(values: &mut [i64], q: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let index = (last as f64 * q).round() as usize;
    Some(*values.select_nth_unstable(index).1 as f64)
}
