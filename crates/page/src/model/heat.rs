//! Threads over time: the samples of each thread in each column of a picture, or its state there; or both added up
//! by role, which stays small however many threads there are.

use std::ops::Range;

use arrow_array::types::{Float32Type, Int32Type, UInt8Type, UInt16Type};
use fathom_timeline::{Layer, Series, State, ThreadState};
use rayon::prelude::*;

use super::Answer;
use super::matching::Matching;
use super::select::{self, Stretch};
use crate::columns::Columns;
use crate::index::cover;
use crate::index::lasting::Spread;
use crate::index::samples::{Event, Unit};
use crate::index::threads::{ROLES, ThreadSet};
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

const COLUMNS: usize = 1_000;
const COLUMNS_MAX: usize = 8_192;

/// A picture has no more cells than this, whatever the number of threads: its columns become fewer. A cell takes some 50 bytes
/// on its way into an answer, and no screen has so many.
const CELLS_MAX: usize = 2_000_000;

/// Cells whose samples are looked at together: what is known of them fits into the cache of a processor.
const CELLS_AT_ONCE: usize = 1 << 14;

/// A picture is worked on in at least so many parts.
const PARTS_MIN: usize = 16;

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
    let is_by_role = match query.text("sum") {
        None => false,
        Some("role") => true,
        Some(other) => return Err(Refused::parameter("sum", other, "role, or nothing")),
    };
    let by = query.text("by").unwrap_or("samples");
    let (columns, full) = match (by, is_by_role) {
        ("state", true) => (by_role(page, raster, threads.as_ref()), 1.0),
        ("state", false) => (table(&states(page, raster, threads.as_ref()), raster), 1.0),
        ("samples", _) => {
            let event = select::event(page, query)?;
            let which = Which { threads: threads.as_ref(), matching: Matching::of(page, query)? };
            let cells = event.map_or(Vec::new(), |event| samples(page, event, raster, &which));
            let columns = if is_by_role { samples_by_role(page, &cells, raster) } else { table(&cells, raster) };
            (columns, full(event, raster, &cells))
        }
        (other, _) => return Err(Refused::parameter("by", other, "samples or state")),
    };
    Answer::table(columns.note("full", full))
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
    let columns = Columns::default()
        .numbers::<Int32Type>("thread", cells.iter().map(|cell| cell.thread as i32))
        .numbers::<UInt16Type>("column", cells.iter().map(|cell| cell.column))
        .numbers::<Float32Type>("value", cells.iter().map(|cell| cell.value))
        .numbers::<UInt8Type>("state", cells.iter().map(|cell| cell.state));
    notes(columns, raster)
}

/// So many threads of a role were in a state in a column; or the weight of their samples, in no state.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RoleCell {
    role: u8,
    column: u16,
    state: u8,
    value: f32,
}

fn role_table(cells: &[RoleCell], raster: Raster) -> Columns {
    let columns = Columns::default()
        .numbers::<UInt8Type>("role", cells.iter().map(|cell| cell.role))
        .numbers::<UInt16Type>("column", cells.iter().map(|cell| cell.column))
        .numbers::<Float32Type>("value", cells.iter().map(|cell| cell.value))
        .numbers::<UInt8Type>("state", cells.iter().map(|cell| cell.state));
    notes(columns, raster)
}

/// How many threads of each role are in each state, but for those that wait for work.
pub(crate) fn by_role(page: &Loaded, raster: Raster, threads: Option<&ThreadSet>) -> Columns {
    const SLOTS: usize = ROLES.len() * State::ALL.len();
    let sums = each_filled(
        page,
        raster,
        threads,
        |windows| vec![0.0_f64; windows * SLOTS],
        |sums, cell, filled| {
            let role = usize::from(page.threads[cell.thread as usize].role);
            let first = cell.number * SLOTS + role * State::ALL.len();
            sums[first..].iter_mut().zip(&filled.0).for_each(|(sum, ns)| *sum += ns / cell.time.length().max(1.0));
        },
    );
    let mut cells = Vec::new();
    for (first, sums) in sums {
        for (slot, sum) in sums.into_iter().enumerate().filter(|(_, sum)| *sum > 0.0) {
            let (column, role, state) =
                (first + slot / SLOTS, slot % SLOTS / State::ALL.len(), slot % State::ALL.len());
            if state != State::Idle as usize {
                cells.push(RoleCell { role: role as u8, column: column as u16, state: state as u8, value: sum as f32 });
            }
        }
    }
    role_table(&cells, raster)
}

/// Weights of samples added up by the role of their thread.
fn samples_by_role(page: &Loaded, cells: &[Cell], raster: Raster) -> Columns {
    let mut sums = vec![0.0_f64; ROLES.len() * raster.columns];
    for cell in cells {
        let role = usize::from(page.threads[cell.thread as usize].role);
        sums[role * raster.columns + usize::from(cell.column)] += f64::from(cell.value);
    }
    let filled = sums.into_iter().enumerate().filter(|(_, sum)| *sum > 0.0);
    let cells: Vec<RoleCell> = filled
        .map(|(index, sum)| {
            let (role, column) = ((index / raster.columns) as u8, (index % raster.columns) as u16);
            RoleCell { role, column, state: NO_STATE, value: sum as f32 }
        })
        .collect();
    role_table(&cells, raster)
}

/// What is said of a picture as a whole.
fn notes(columns: Columns, raster: Raster) -> Columns {
    columns
        .note("columns", raster.columns)
        .note("column_ns", raster.column_ns())
        .note("from", raster.stretch.from)
        .note("to", raster.stretch.to)
}

/// Which rows of an event count.
struct Which<'w> {
    threads: Option<&'w ThreadSet>,
    matching: Option<Matching>,
}

impl Which<'_> {
    fn has(&self, event: &Event, row: usize) -> bool {
        self.threads.is_none_or(|set| set.contains(event.thread[row]))
            && self.matching.as_ref().is_none_or(|matching| matching.has(event.node[row]))
    }
}

/// The weight of each thread's samples in each column.
fn samples(page: &Loaded, event: &Event, raster: Raster, which: &Which<'_>) -> Vec<Cell> {
    if event.is_lasting() {
        return lasting(page, event, raster, which);
    }
    let of_column = |column: usize| {
        let mut sums = vec![0.0_f64; page.threads.len()];
        let to = if column + 1 == raster.columns { raster.stretch.to } else { raster.begin(column + 1) };
        for index in event.within(raster.begin(column), to).filter(|index| which.has(event, *index)) {
            if let Some(sum) = sums.get_mut(event.thread[index] as usize) {
                *sum += event.weight(index);
            }
        }
        let cells = (0..).zip(sums).filter(|(_, sum)| *sum > 0.0);
        cells
            .map(|(thread, sum)| Cell { thread, column: column as u16, value: sum as f32, state: NO_STATE })
            .collect::<Vec<Cell>>()
    };
    (0..raster.columns).into_par_iter().flat_map_iter(of_column).collect()
}

/// How much of each column each thread spends in something that lasts: one thread after the other, so that what is in memory
/// beside the cells does not grow with the number of threads.
fn lasting(page: &Loaded, event: &Event, raster: Raster, which: &Which<'_>) -> Vec<Cell> {
    let rows = event.lasting(raster.stretch.from, raster.stretch.to).filter(|(row, _)| which.has(event, *row));
    let is_thread = |thread: u32| (thread as usize) < page.threads.len();
    let mut rows: Vec<(u32, Range<i64>)> =
        rows.map(|(row, time)| (event.thread[row], time)).filter(|(thread, _)| is_thread(*thread)).collect();
    rows.sort_by_key(|(thread, _)| *thread);
    rows.chunk_by(|a, b| a.0 == b.0).flat_map(|rows| lasting_of(rows, raster)).collect()
}

/// The cells of one thread.
fn lasting_of(rows: &[(u32, Range<i64>)], raster: Raster) -> impl Iterator<Item = Cell> {
    let column_of = |time: i64| {
        let part = time.saturating_sub(raster.stretch.from) as f64 / raster.column_ns();
        (part as usize).min(raster.columns - 1)
    };
    let mut spread = Spread::over(raster.columns);
    for (_, time) in rows {
        let cells = (column_of(time.start), column_of(time.end.saturating_sub(1)));
        spread.add(time, cells, |column| raster.begin(column));
    }
    let thread = rows.first().map_or(0, |row| row.0);
    let cell = move |(column, value): (usize, f64)| Cell {
        thread,
        column: column as u16,
        value: value as f32,
        state: NO_STATE,
    };
    spread.filled(move |_| raster.column_ns()).map(cell)
}

/// The largest known state of each thread in each column, waiting for work only where there is nothing else.
pub(crate) fn states(page: &Loaded, raster: Raster, threads: Option<&ThreadSet>) -> Vec<Cell> {
    let parts = each_filled(
        page,
        raster,
        threads,
        |_| Vec::new(),
        |cells: &mut Vec<Cell>, of, filled| {
            if let Some((state, part)) = filled.largest(of.time) {
                let column = (of.first + of.number) as u16;
                cells.push(Cell { thread: of.thread, column, value: part as f32, state: state as u8 });
            }
        },
    );
    parts.into_iter().flat_map(|(_, cells)| cells).collect()
}

/// Which thread in which column.
struct Of {
    thread: u32,
    /// The first column of its part of the picture, and which one after it.
    first: usize,
    number: usize,
    time: Time,
}

/// What every thread did in every column, a few columns at a time: `start` makes what a part of so many columns becomes,
/// `add` adds a thread's column to it. Gives the parts, each with its first column.
fn each_filled<A: Send>(
    page: &Loaded,
    raster: Raster,
    threads: Option<&ThreadSet>,
    start: impl Fn(usize) -> A + Sync,
    add: impl Fn(&mut A, &Of, &Filled) + Sync,
) -> Vec<(usize, A)> {
    let numbers: Vec<u32> =
        (0..page.threads.len() as u32).filter(|n| threads.is_none_or(|set| set.contains(*n))).collect();
    let layers = Layers::new(page);
    // A thread's segments are found once for a few columns; what its samples say of them stays in the cache.
    let at_once = (CELLS_AT_ONCE / page.threads.len().max(1)).clamp(1, raster.columns.div_ceil(PARTS_MIN));
    let of_columns = |first: usize| {
        let windows: Vec<Window> =
            (first..raster.columns.min(first + at_once)).map(|column| Window::of(page, raster, column)).collect();
        let seen = layers.seen(page, &windows);
        let mut all = start(windows.len());
        for thread in &numbers {
            each_column(page, *thread, &windows, &seen, |number, filled| {
                add(&mut all, &Of { thread: *thread, first, number, time: windows[number].time }, filled);
            });
        }
        (first, all)
    };
    (0..raster.columns.div_ceil(at_once)).into_par_iter().map(|part| of_columns(part * at_once)).collect()
}

/// What one thread did in each of some columns.
fn each_column(page: &Loaded, thread: u32, windows: &[Window], seen: &Seen, mut add: impl FnMut(usize, &Filled)) {
    let mut segments = page.cover.threads[thread as usize].segments.as_slice();
    if let Some(window) = windows.first() {
        segments = &segments[segments.partition_point(|segment| segment.1 <= window.time.from)..];
    }
    for (number, window) in windows.iter().enumerate() {
        let over = segments.iter().take_while(|segment| segment.1 <= window.time.from).count();
        segments = &segments[over..];
        add(number, &Filled::new(page, thread, window, segments, seen.of(number, thread)));
    }
}

type Amounts = [f64; State::ALL.len()];

/// The time of one column.
#[derive(Debug, Clone, Copy)]
struct Time {
    from: i64,
    to: i64,
}

impl Time {
    fn length(self) -> f64 {
        self.to.saturating_sub(self.from) as f64
    }

    /// Whether a counter was read before and after this time.
    fn is_within(self, series: &Series) -> bool {
        let read = |point: Option<&(i64, f64)>| point.map(|point| point.0);
        read(series.0.first()).is_some_and(|first| first <= self.from)
            && read(series.0.last()).is_some_and(|last| last >= self.to)
    }

    /// Adds the stops of the application within this time.
    fn add_stops(self, stops: &[(i64, i64, State)], amounts: &mut Amounts) {
        let first = stops.partition_point(|segment| segment.1 <= self.from);
        self.add(&stops[first..], |from, to, state| amounts[state as usize] += to.saturating_sub(from).max(0) as f64);
    }

    /// Adds what `segments`, of which the first ends after the beginning of this time, have within it.
    fn add(self, segments: &[(i64, i64, State)], mut amount: impl FnMut(i64, i64, State)) {
        for (from, to, state) in segments.iter().take_while(|segment| segment.0 < self.to) {
            amount((*from).max(self.from), (*to).min(self.to), *state);
        }
    }
}

/// One column: its time, and whether the application was stopped in it.
#[derive(Debug)]
struct Window {
    time: Time,
    is_stopped: bool,
}

impl Window {
    fn of(page: &Loaded, raster: Raster, column: usize) -> Window {
        let to = if column + 1 == raster.columns { raster.stretch.to } else { raster.begin(column + 1) };
        let time = Time { from: raster.begin(column), to };
        let first = page.cover.stops.partition_point(|segment| segment.1 <= time.from);
        let is_stopped = page.cover.stops.get(first).is_some_and(|segment| segment.0 < time.to);
        Window { time, is_stopped }
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
        let state = |place: &crate::index::tree::Place| {
            ThreadState::Running(Layer::of_frame(page.recording.text(place.kind))).state()
        };
        let event = page.events.iter().find(|event| event.is_on_cpu() && event.unit == Unit::Nanoseconds);
        Layers { event, of_place: page.tree.places.iter().map(state).collect() }
    }

    /// Time that the samples of each thread stand for in neighbouring columns.
    fn seen(&self, page: &Loaded, windows: &[Window]) -> Seen {
        let threads = page.threads.len();
        let none = Seen { threads, amounts: Vec::new() };
        let (Some(event), Some(first), Some(last)) = (self.event, windows.first(), windows.last()) else { return none };
        if event.within(first.time.from, last.time.to).is_empty() {
            return none;
        }
        let mut amounts = vec![[0.0; LAYERS]; windows.len() * threads];
        for (window, amounts) in windows.iter().zip(amounts.chunks_mut(threads.max(1))) {
            for index in event.within(window.time.from, window.time.to) {
                if let Some(amounts) = amounts.get_mut(event.thread[index] as usize) {
                    let state = self.of_place[page.tree.place[event.node[index] as usize] as usize];
                    amounts[state as usize - FIRST_LAYER] += event.weight(index);
                }
            }
        }
        Seen { threads, amounts }
    }
}

/// The states of running that samples tell apart are neighbours.
const FIRST_LAYER: usize = State::Java as usize;
const LAYERS: usize = State::Kernel as usize - FIRST_LAYER + 1;

type OfLayers = [f64; LAYERS];

/// Time that samples stand for, by column, thread and layer of code.
struct Seen {
    threads: usize,
    amounts: Vec<OfLayers>,
}

impl Seen {
    fn of(&self, number: usize, thread: u32) -> OfLayers {
        self.amounts.get(number * self.threads + thread as usize).copied().unwrap_or_default()
    }
}

/// The states of one thread in one column.
struct Filled(Amounts);

impl Filled {
    fn new(page: &Loaded, thread: u32, window: &Window, segments: &[(i64, i64, State)], seen: OfLayers) -> Filled {
        let mut amounts = [0.0; State::ALL.len()];
        let own = cover::of_role(ROLES[usize::from(page.threads[thread as usize].role)]);
        window.time.add(segments, |from, to, state| amounts[state as usize] += (to - from) as f64);
        if let Some((begin, end)) = page.cover.threads[thread as usize].stops_within.filter(|_| window.is_stopped) {
            let lived = Time { from: window.time.from.max(begin), to: window.time.to.min(end) };
            lived.add_stops(&page.cover.stops, &mut amounts);
        }
        let mut filled = Filled(amounts);
        filled.add_queue(page, thread, window.time);
        filled.add_running(page, thread, window.time, own, &seen);
        filled
    }

    fn left(&self, time: Time) -> f64 {
        (time.length() - self.0.iter().sum::<f64>()).max(0.0)
    }

    /// Waiting for CPUs that was counted beyond the waits that were told one by one.
    fn add_queue(&mut self, page: &Loaded, thread: u32, time: Time) {
        let Some(queue) = &page.cover.threads[thread as usize].queue else { return };
        let told = self.0[State::Runnable as usize];
        let counted = queue.rise_within(time.from, time.to) - told;
        self.0[State::Runnable as usize] += counted.clamp(0.0, self.left(time));
    }

    /// Running fills what is left: as counted, else as sampled; samples say which code.
    fn add_running(&mut self, page: &Loaded, thread: u32, time: Time, own: Option<State>, seen: &OfLayers) {
        let sampled: f64 = seen.iter().sum();
        let running = match &page.cover.threads[thread as usize].cpu {
            Some(cpu) if time.is_within(cpu) => cpu.rise_within(time.from, time.to),
            // Readings that begin or end within the column say too little of it.
            Some(cpu) => cpu.rise_within(time.from, time.to).max(sampled),
            None => sampled,
        };
        let running = running.clamp(0.0, self.left(time));
        match own {
            Some(own) => self.0[own as usize] += running,
            None if sampled > 0.0 => {
                let layers = self.0[FIRST_LAYER..].iter_mut().zip(seen);
                layers.for_each(|(amount, seen)| *amount += running * seen / sampled);
            }
            None => self.0[State::Running as usize] += running,
        }
    }

    /// The state that has most of the column, with its part of it.
    fn largest(&self, time: Time) -> Option<(State, f64)> {
        let known = State::ALL.iter().zip(&self.0).filter(|(state, ns)| **state != State::Idle && **ns > 0.0);
        let found = known.max_by(|a, b| a.1.total_cmp(b.1)).map(|(state, ns)| (*state, *ns));
        let idle = self.0[State::Idle as usize];
        let (state, ns) = found.or((idle > 0.0).then_some((State::Idle, idle)))?;
        Some((state, (ns / time.length().max(1.0)).min(1.0)))
    }
}
