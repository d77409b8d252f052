//! How long requests took over time: counts by length and start time, and the quantiles of each part of the time.

use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt8Type, UInt16Type};

use super::Answer;
use super::raster::Raster;
use super::select::Stretch;
use crate::columns::Columns;
use crate::index::requests::{Port, Taken};
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;

const COLUMNS: usize = 300;
const COLUMNS_MAX: usize = 4_096;

/// Lengths are divided into this many steps per doubling.
const STEPS: f64 = 4.0;

/// Answers `latency`.
pub(super) fn answer(page: &Loaded, query: &Query) -> Result<Answer, Refused> {
    let stretch = Stretch::of(page, query)?;
    let columns = query.count("columns", COLUMNS, COLUMNS_MAX, "a number of columns up to 4096")?.max(1);
    let raster = Raster { stretch, columns };
    let name = query.text("port").unwrap_or("");
    let none = Port::default();
    let port = match page.requests.of(name) {
        Some(port) => port,
        None if name.is_empty() => &none,
        None => return Err(Refused::not_there("port", name)),
    };
    match query.text("as").unwrap_or("cells") {
        "cells" => Answer::table(cells(port, raster)),
        "lines" => Answer::table(lines(port, raster)),
        other => Err(Refused::parameter("as", other, "cells or lines")),
    }
}

/// How many requests of which length began in which column.
pub(crate) fn cells(port: &Port, raster: Raster) -> Columns {
    let (mut column, mut step, mut count) = (Vec::new(), Vec::new(), Vec::new());
    each_column(port, raster, |number, requests| {
        let mut sums = [0.0_f64; 256];
        requests.iter().for_each(|request| sums[step_of(request.length_ns)] += request.weight);
        for (place, sum) in sums.iter().enumerate().filter(|(_, sum)| **sum > 0.0) {
            column.push(number as u16);
            step.push(place as u8);
            count.push(*sum as f32);
        }
    });
    Columns::default()
        .numbers::<UInt16Type>("column", column)
        .numbers::<UInt8Type>("step", step)
        .numbers::<Float32Type>("count", count)
        .note("columns", raster.columns)
        .note("from", raster.stretch.from)
        .note("to", raster.stretch.to)
        .note("steps_per_doubling", STEPS)
}

/// The step that a length falls into: it begins with 2^(step / 4) ns.
fn step_of(length_ns: i64) -> usize {
    ((length_ns.max(1) as f64).log2() * STEPS).floor().clamp(0.0, 255.0) as usize
}

/// Number, median, 99th percentile and maximum of each column in which a request began.
pub(crate) fn lines(port: &Port, raster: Raster) -> Columns {
    let mut rows: Vec<(i64, f64, [i64; 3])> = Vec::new();
    each_column(port, raster, |number, requests| {
        requests.sort_by_key(|request| request.length_ns);
        let count: f64 = requests.iter().map(|request| request.weight).sum();
        let longest = requests.last().map_or(0, |request| request.length_ns);
        rows.push((raster.begin(number), count, [quantile(requests, 0.5), quantile(requests, 0.99), longest]));
    });
    let lengths = |place: usize| rows.iter().map(move |row| row.2[place]);
    Columns::default()
        .numbers::<Int64Type>("t", rows.iter().map(|row| row.0))
        .numbers::<Float64Type>("count", rows.iter().map(|row| row.1))
        .numbers::<Int64Type>("p50", lengths(0))
        .numbers::<Int64Type>("p99", lengths(1))
        .numbers::<Int64Type>("max", lengths(2))
        .note("column_ns", raster.stretch.length() / raster.columns as f64)
}

/// The quantile of requests in order of their length, as the account counts it.
fn quantile(requests: &[Taken], q: f64) -> i64 {
    fathom_timeline::quantile(requests.iter().map(|request| (request.length_ns, request.weight)), q).unwrap_or(0)
}

/// The requests of each column that has any.
fn each_column(port: &Port, raster: Raster, mut see: impl FnMut(usize, &mut Vec<Taken>)) {
    let mut requests: Vec<Taken> = Vec::new();
    for number in 0..raster.columns {
        let to = if number + 1 == raster.columns { raster.stretch.to } else { raster.begin(number + 1) };
        requests.clear();
        requests.extend(port.within(raster.begin(number), to));
        if !requests.is_empty() {
            see(number, &mut requests);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_fall_into_quarters_of_a_doubling() {
        assert_eq!([0, 1, 2, 3, 4, 1 << 20, i64::MAX].map(step_of), [0, 0, 4, 6, 8, 80, 252]);
    }

    #[test]
    fn a_row_counts_as_many_times_as_it_stands_for() {
        let taken = |length_ns, weight| Taken { length_ns, weight };
        assert_eq!(quantile(&[taken(1, 1.0), taken(2, 1.0), taken(9, 1.0)], 0.5), 2);
        assert_eq!(quantile(&[taken(1, 99.0), taken(9, 1.0)], 0.99), 1);
        assert_eq!(quantile(&[taken(1, 9.0), taken(9, 1.0)], 0.99), 9);
        assert_eq!(quantile(&[], 0.5), 0);
    }
}
