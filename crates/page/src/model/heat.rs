//! Threads over time: the samples of each thread in each column of a picture, or its state there.

use arrow_array::types::{Float32Type, Int32Type, UInt8Type, UInt16Type};
use fathom_timeline::Series;
use rayon::prelude::*;

use super::Answer;
use super::select::{self, Stretch};
use crate::columns::Columns;
use crate::index::cover::{self, STATES, State};
use crate::index::samples::{Event, Unit};
use crate::index::threads::{ROLES, ThreadSet};
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

const COLUMNS: usize = 1_000;
const COLUMNS_MAX: usize = 8_192;

/// A picture has no more cells than this, whatever the number of threads: its columns become fewer.
const CELLS_MAX: usize = 8_000_000;

/// Value of `state` where a cell has none.
const NO_STATE: u8 = u8::MAX;

/// A cell of the picture that is not empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) thread: u32,
    pub(crate) column: u16,
    pub(crate) value: f32,
    pub(crate) state: u8,
}

/// The columns of a picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raster {
    pub(crate) stretch: Stretch,
    pub(crate) columns: usize,
}

impl Raster {
    /// Where a column begins.
    pub(crate) fn begin(&self, column: usize) -> i64 {
        let part = self.stretch.length() * column as f64 / self.columns as f64;
        self.stretch.from.saturating_add(part as i64)
    }

    /// Length of a column in ns.
    fn column_ns(&self) -> f64 {
        self.stretch.length() / self.columns as f64
    }
}

/// Answers `heat`.
pub(super) fn answer(page: &Loaded, query: &Query) -> Result<Answer, Refused> {
    let stretch = Stretch::of(page, query)?;
    let threads = select::threads(page, query)?;
    let wanted = query.count("columns", COLUMNS, COLUMNS_MAX, "a number of columns up to 8192")?.max(1);
    let count = threads.as_ref().map_or(page.threads.len(), |set| set.iter().count());
    let raster = Raster { stretch, columns: wanted.min(CELLS_MAX / count.max(1)).max(1) };
    let (cells, full) = match query.text("by").unwrap_or("samples") {
        "state" => (states(page, raster, threads.as_ref()), 1.0),
        "samples" => {
            let event = select::event(page, query)?;
            let cells = event.map_or(Vec::new(), |event| samples(page, event, raster, threads.as_ref()));
            let full = full(event, raster, &cells);
            (cells, full)
        }
        other => return Err(Refused::parameter("by", other, "samples or state")),
    };
    Answer::table(table(&cells, raster).note("full", full))
}

/// The weight of a cell whose thread was busy all the time, or the greatest where weights are no time.
fn full(event: Option<&Event>, raster: Raster, cells: &[Cell]) -> f64 {
    match event.map(|event| event.unit) {
        Some(Unit::Nanoseconds) => raster.column_ns(),
        _ => cells.iter().map(|cell| f64::from(cell.value)).fold(0.0, f64::max),
    }
}

/// Cells as a table.
pub(crate) fn table(cells: &[Cell], raster: Raster) -> Columns {
    Columns::default()
        .numbers::<Int32Type>("thread", cells.iter().map(|cell| cell.thread as i32))
        .numbers::<UInt16Type>("column", cells.iter().map(|cell| cell.column))
        .numbers::<Float32Type>("value", cells.iter().map(|cell| cell.value))
        .numbers::<UInt8Type>("state", cells.iter().map(|cell| cell.state))
        .note("columns", raster.columns)
        .note("column_ns", raster.column_ns())
        .note("from", raster.stretch.from)
        .note("to", raster.stretch.to)
}

/// The weight of each thread's samples in each column.
fn samples(page: &Loaded, event: &Event, raster: Raster, threads: Option<&ThreadSet>) -> Vec<Cell> {
    let of_column = |column: usize| {
        let mut sums = vec![0.0_f64; page.threads.len()];
        let to = if column + 1 == raster.columns { raster.stretch.to } else { raster.begin(column + 1) };
        for index in event.within(raster.begin(column), to) {
            if let Some(sum) = sums.get_mut(event.thread[index] as usize) {
                *sum += event.weight(index);
            }
        }
        let cells =
            (0..).zip(sums).filter(|(thread, sum)| *sum > 0.0 && threads.is_none_or(|set| set.contains(*thread)));
        cells
            .map(|(thread, sum)| Cell { thread, column: column as u16, value: sum as f32, state: NO_STATE })
            .collect::<Vec<Cell>>()
    };
    (0..raster.columns).into_par_iter().flat_map_iter(of_column).collect()
}

/// The largest known state of each thread in each column, waiting for work only where there is nothing else.
pub(crate) fn states(page: &Loaded, raster: Raster, threads: Option<&ThreadSet>) -> Vec<Cell> {
    let numbers: Vec<u32> =
        (0..page.threads.len() as u32).filter(|n| threads.is_none_or(|set| set.contains(*n))).collect();
    let layers = Layers::new(page);
    let of_column = |column: usize| {
        let to = if column + 1 == raster.columns { raster.stretch.to } else { raster.begin(column + 1) };
        let window = Window { from: raster.begin(column), to };
        let seen = layers.seen(page, window);
        let stops = window.stops(page);
        let cell = |thread: u32| {
            let of = Filled::new(page, thread, window, &stops, seen.as_deref());
            let (state, part) = of.largest(window)?;
            Some(Cell { thread, column: column as u16, value: part as f32, state: state as u8 })
        };
        numbers.iter().filter_map(|thread| cell(*thread)).collect::<Vec<Cell>>()
    };
    (0..raster.columns).into_par_iter().flat_map_iter(of_column).collect()
}

type Amounts = [f64; STATES.len()];

/// The time of one column.
#[derive(Debug, Clone, Copy)]
struct Window {
    from: i64,
    to: i64,
}

impl Window {
    fn length(self) -> f64 {
        self.to.saturating_sub(self.from) as f64
    }

    /// Whether a counter was read before and after this time.
    fn is_within(self, series: &Series) -> bool {
        let read = |point: Option<&(i64, f64)>| point.map(|point| point.0);
        read(series.0.first()).is_some_and(|first| first <= self.from)
            && read(series.0.last()).is_some_and(|last| last >= self.to)
    }

    /// Adds what `segments` have within this time.
    fn add(self, segments: &[(i64, i64, State)], mut amount: impl FnMut(i64, i64, State)) {
        let first = segments.partition_point(|segment| segment.1 <= self.from);
        for (from, to, state) in segments[first..].iter().take_while(|segment| segment.0 < self.to) {
            amount((*from).max(self.from), (*to).min(self.to), *state);
        }
    }

    /// How long the application was stopped, by reason.
    fn stops(self, page: &Loaded) -> Amounts {
        let mut amounts = [0.0; STATES.len()];
        self.add(&page.cover.stops, |from, to, state| amounts[state as usize] += (to - from) as f64);
        amounts
    }
}

/// What samples say of the code that ran.
struct Layers<'p> {
    event: Option<&'p Event>,
    /// State of a thread that runs code of each place.
    of_place: Vec<State>,
}

impl<'p> Layers<'p> {
    fn new(page: &'p Loaded) -> Layers<'p> {
        let state = |place: &crate::index::tree::Place| cover::of_frame(page.recording.text(place.kind));
        let event = page.events.iter().find(|event| event.is_on_cpu() && event.unit == Unit::Nanoseconds);
        Layers { event, of_place: page.tree.places.iter().map(state).collect() }
    }

    /// Time that the samples of each thread stand for, by state.
    fn seen(&self, page: &Loaded, window: Window) -> Option<Vec<Amounts>> {
        let event = self.event?;
        let range = event.within(window.from, window.to);
        if range.is_empty() {
            return None;
        }
        let mut seen = vec![[0.0; STATES.len()]; page.threads.len()];
        for index in range {
            if let Some(amounts) = seen.get_mut(event.thread[index] as usize) {
                let state = self.of_place[page.tree.place[event.node[index] as usize] as usize];
                amounts[state as usize] += event.weight(index);
            }
        }
        Some(seen)
    }
}

/// The states of one thread in one column.
struct Filled(Amounts);

impl Filled {
    fn new(page: &Loaded, thread: u32, window: Window, stops: &Amounts, seen: Option<&[Amounts]>) -> Filled {
        let mut amounts = [0.0; STATES.len()];
        let of = &page.cover.threads[thread as usize];
        let role = ROLES[usize::from(page.threads[thread as usize].role)];
        let own = cover::of_role(role);
        let stopped = &page.cover.stopped;
        let mut idle_in_stops = 0.0;
        window.add(&of.segments, |from, to, state| {
            let in_stops = if own.is_none() { stopped.within_ns(from, to) as f64 } else { 0.0 };
            let is_idle = state == State::Idle;
            idle_in_stops += if is_idle { in_stops } else { 0.0 };
            amounts[state as usize] += (to - from) as f64 - if is_idle { 0.0 } else { in_stops };
        });
        if own.is_none() {
            add_stops(&mut amounts, stops, idle_in_stops);
        }
        let mut filled = Filled(amounts);
        filled.add_queue(page, thread, window);
        filled.add_running(page, thread, window, own, seen.map(|seen| &seen[thread as usize]));
        filled
    }

    fn left(&self, window: Window) -> f64 {
        (window.length() - self.0.iter().sum::<f64>()).max(0.0)
    }

    /// Waiting for CPUs that was counted beyond the waits that were told one by one.
    fn add_queue(&mut self, page: &Loaded, thread: u32, window: Window) {
        let Some(queue) = &page.cover.threads[thread as usize].queue else { return };
        let told = self.0[State::Runnable as usize];
        let counted = queue.rise_within(window.from, window.to) - told;
        self.0[State::Runnable as usize] += counted.clamp(0.0, self.left(window));
    }

    /// Running fills what is left: as counted, else as sampled; samples say which code.
    fn add_running(&mut self, page: &Loaded, thread: u32, window: Window, own: Option<State>, seen: Option<&Amounts>) {
        let sampled: f64 = seen.map_or(0.0, |seen| seen.iter().sum());
        let running = match &page.cover.threads[thread as usize].cpu {
            Some(cpu) if window.is_within(cpu) => cpu.rise_within(window.from, window.to),
            // Readings that begin or end within the column say too little of it.
            Some(cpu) => cpu.rise_within(window.from, window.to).max(sampled),
            None => sampled,
        };
        let running = running.clamp(0.0, self.left(window));
        match (own, seen) {
            (Some(own), _) => self.0[own as usize] += running,
            (None, Some(seen)) if sampled > 0.0 => {
                self.0.iter_mut().zip(seen).for_each(|(amount, seen)| *amount += running * seen / sampled);
            }
            (None, _) => self.0[State::Running as usize] += running,
        }
    }

    /// The state that has most of the column, with its part of it.
    fn largest(&self, window: Window) -> Option<(State, f64)> {
        let known = STATES.iter().zip(&self.0).filter(|(state, ns)| state.0 != State::Idle && **ns > 0.0);
        let found = known.max_by(|a, b| a.1.total_cmp(b.1)).map(|(state, ns)| (state.0, *ns));
        let idle = self.0[State::Idle as usize];
        let (state, ns) = found.or((idle > 0.0).then_some((State::Idle, idle)))?;
        Some((state, (ns / window.length().max(1.0)).min(1.0)))
    }
}

/// Stops of the application, but for the time that the thread had nothing to do anyway.
fn add_stops(amounts: &mut Amounts, stops: &Amounts, idle_ns: f64) {
    let all: f64 = stops.iter().sum();
    if all > 0.0 {
        let part = ((all - idle_ns) / all).max(0.0);
        amounts.iter_mut().zip(stops).for_each(|(amount, stop)| *amount += stop * part);
    }
}
