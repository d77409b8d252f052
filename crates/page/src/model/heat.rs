//! Threads over time: the samples of each thread in each column of a picture, or its state there; or both added up
//! by role, which stays small however many threads there are.

use std::ops::Range;

use arrow_array::types::{Float32Type, Int32Type, UInt8Type, UInt16Type};
use fathom_timeline::State;
use rayon::prelude::*;

use super::Answer;
use super::filled::each_filled;
use super::matching::Matching;
use super::raster::Raster;
use super::select::{self, Stretch};
use crate::columns::Columns;
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

/// Value of `state` where a cell has none.
const NO_STATE: u8 = u8::MAX;

/// A cell of the picture that is not empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) thread: u32,
    pub(crate) column: u16,
    pub(crate) value: f32,
    pub(crate) state: u8,
    /// The part of the column of which anything is known; all of it where samples alone are asked for.
    pub(crate) known: f32,
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
        .numbers::<UInt8Type>("state", cells.iter().map(|cell| cell.state))
        .numbers::<Float32Type>("known", cells.iter().map(|cell| cell.known));
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
            sums[first..]
                .iter_mut()
                .zip(&filled.amounts)
                .for_each(|(sum, ns)| *sum += ns / cell.time.length().max(1.0));
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
            .map(|(thread, sum)| Cell { thread, column: column as u16, value: sum as f32, state: NO_STATE, known: 1.0 })
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
        known: 1.0,
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
                let known = filled.known() as f32;
                cells.push(Cell { thread: of.thread, column, value: part as f32, state: state as u8, known });
            }
        },
    );
    parts.into_iter().flat_map(|(_, cells)| cells).collect()
}
