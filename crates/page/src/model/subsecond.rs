//! Seconds as columns, fractions of a second as rows: what happens each second at the same moment, or once, is seen.

use arrow_array::types::{Float32Type, UInt8Type, UInt32Type};

use super::Answer;
use super::select::{self, Stretch};
use crate::columns::Columns;
use crate::index::samples::Unit;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

const ROWS: usize = 50;
const ROWS_MAX: usize = 250;
const SECOND_NS: i64 = 1_000_000_000;

/// A picture has no more seconds than this.
const SECONDS_MAX: i64 = 100_000;

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
    let row_ns = SECOND_NS / rows as i64;
    let mut cells: Vec<(u32, u8, f64)> = Vec::new();
    let samples = event.map(|event| event.within(stretch.from, stretch.to)).unwrap_or_default();
    for index in samples {
        let Some(event) = event.filter(|event| threads.as_ref().is_none_or(|set| set.contains(event.thread[index])))
        else {
            continue;
        };
        let offset = event.time[index] - first;
        let row = (offset % SECOND_NS / row_ns).min(rows as i64 - 1);
        let (second, row) = ((offset / SECOND_NS) as u32, row as u8);
        // Samples are in order of time, so that those of a cell follow each other.
        match cells.last_mut() {
            Some(cell) if (cell.0, cell.1) == (second, row) => cell.2 += event.weight(index),
            _ => cells.push((second, row, event.weight(index))),
        }
    }
    let full = match event.map(|event| event.unit) {
        Some(Unit::Nanoseconds) => row_ns as f64,
        _ => cells.iter().map(|cell| cell.2).fold(0.0, f64::max),
    };
    Answer::table(
        Columns::default()
            .numbers::<UInt32Type>("second", cells.iter().map(|cell| cell.0))
            .numbers::<UInt8Type>("row", cells.iter().map(|cell| cell.1))
            .numbers::<Float32Type>("weight", cells.iter().map(|cell| cell.2 as f32))
            .note("first", first)
            .note("rows", rows)
            .note("seconds", seconds)
            .note("full", full),
    )
}
