//! Seconds as columns, fractions of a second as rows: shows what happens at the same moment of each second, or once.

use arrow_array::types::{Float32Type, UInt8Type, UInt32Type};

use super::Answer;
use super::select::{self, Stretch};
use crate::columns::Columns;
use crate::index::lasting::Spread;
use crate::index::samples::{Event, Unit};
use crate::index::threads::ThreadSet;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

const ROWS: usize = 50;
const ROWS_MAX: usize = 250;
const SECOND_NS: i64 = 1_000_000_000;

/// A picture has no more seconds than this.
const SECONDS_MAX: i64 = 100_000;

/// A picture has no more cells than this: over more seconds its rows become fewer.
const CELLS_MAX: i64 = 2_000_000;

/// Answers `subsecond`.
pub(super) fn answer(page: &Loaded, query: &Query) -> Result<Answer, Refused> {
    let rows = query.count("rows", ROWS, ROWS_MAX, "a number of rows up to 250")?.max(1);
    let stretch = Stretch::of(page, query)?.covered(page);
    let threads = select::threads(page, query)?;
    let event = select::event(page, query)?;
    // The origin is a whole second.
    let first = stretch.from.div_euclid(SECOND_NS) * SECOND_NS;
    let seconds = stretch.to.saturating_sub(first).saturating_add(SECOND_NS - 1) / SECOND_NS;
    if seconds > SECONDS_MAX {
        return Err(Refused::parameter("to", &stretch.to.to_string(), "a stretch of at most 100000 seconds"));
    }
    let grid = Grid::over(first, seconds, rows as i64);
    let cells = event.map_or(Vec::new(), |event| match event.is_lasting() {
        true => lasting(event, stretch, threads.as_ref(), grid),
        false => samples(event, stretch, threads.as_ref(), grid),
    });
    let full = match event.map(|event| event.unit) {
        Some(Unit::Nanoseconds) => grid.row_ns as f64,
        _ => cells.iter().map(|cell| cell.2).fold(0.0, f64::max),
    };
    Answer::table(
        Columns::default()
            .numbers::<UInt32Type>("second", cells.iter().map(|cell| cell.0))
            .numbers::<UInt8Type>("row", cells.iter().map(|cell| cell.1))
            .numbers::<Float32Type>("weight", cells.iter().map(|cell| cell.2 as f32))
            .note("first", first)
            .note("rows", grid.rows)
            .note("seconds", seconds)
            .note("full", full),
    )
}

/// Second, row, weight.
type Cell = (u32, u8, f64);

/// Seconds and their parts.
#[derive(Clone, Copy)]
struct Grid {
    first: i64,
    row_ns: i64,
    rows: i64,
}

impl Grid {
    /// So many rows for each second, or as many as there may be.
    fn over(first: i64, seconds: i64, rows: i64) -> Grid {
        let rows = rows.min(CELLS_MAX / seconds.max(1)).max(1);
        Grid { first, row_ns: SECOND_NS / rows, rows }
    }

    /// The cell of an instant, counted from the first one.
    fn cell(self, time: i64) -> usize {
        let offset = (time - self.first).max(0);
        (offset / SECOND_NS * self.rows + (offset % SECOND_NS / self.row_ns).min(self.rows - 1)) as usize
    }

    /// Where a cell begins.
    fn begin(self, cell: usize) -> i64 {
        let (second, row) = (cell as i64 / self.rows, cell as i64 % self.rows);
        self.first + second * SECOND_NS + row * self.row_ns
    }

    /// Its second, row, and a weight.
    fn named(self, cell: usize, weight: f64) -> Cell {
        ((cell as i64 / self.rows) as u32, (cell as i64 % self.rows) as u8, weight)
    }
}

fn samples(event: &Event, stretch: Stretch, threads: Option<&ThreadSet>, grid: Grid) -> Vec<Cell> {
    let mut cells: Vec<(usize, f64)> = Vec::new();
    let is_chosen = |index: &usize| threads.is_none_or(|set| set.contains(event.thread[*index]));
    for index in event.within(stretch.from, stretch.to).filter(is_chosen) {
        let cell = grid.cell(event.time[index]);
        // Samples are in order of time, so that those of a cell follow each other.
        match cells.last_mut() {
            Some(last) if last.0 == cell => last.1 += event.weight(index),
            _ => cells.push((cell, event.weight(index))),
        }
    }
    cells.into_iter().map(|(cell, weight)| grid.named(cell, weight)).collect()
}

/// What lasts has a part of each cell that it touches.
fn lasting(event: &Event, stretch: Stretch, threads: Option<&ThreadSet>, grid: Grid) -> Vec<Cell> {
    let mut spread = Spread::over(grid.cell(stretch.to) + 1);
    let is_chosen = |row: usize| threads.is_none_or(|set| set.contains(event.thread[row]));
    for (_, time) in event.lasting(stretch.from, stretch.to).filter(|(row, _)| is_chosen(*row)) {
        let cells = (grid.cell(time.start), grid.cell(time.end - 1));
        spread.add(&time, cells, |cell| grid.begin(cell));
    }
    let length = |cell: usize| (grid.begin(cell + 1) - grid.begin(cell)) as f64;
    spread.filled(length).map(|(cell, weight)| grid.named(cell, weight)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_a_day_rows_become_fewer() {
        for (seconds, wanted, expected) in [(3_600, 250, 250), (86_400, 50, 23), (SECONDS_MAX, 250, 20), (0, 7, 7)] {
            let grid = Grid::over(0, seconds, wanted);
            assert_eq!(grid.rows, expected);
            assert!(seconds * grid.rows <= CELLS_MAX);
            assert_eq!(grid.cell(grid.begin(5)), 5);
        }
    }
}
