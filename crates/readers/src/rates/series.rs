//! Rows of many numbers, all of them as long as there is room, and further apart where a table is long: a month of seconds would fill the memory.
//!
//! Rows of a sum between two others may be left out, because the rise between these stays the same. The value when a
//! number began to rise, and its final value, are always kept.

use fathom_evidence::tables::{Counter, Counters};
use fathom_evidence::{StrId, Table};
use rustc_hash::FxHashMap;

pub(super) const SECOND_NS: i64 = 1_000_000_000;

/// So many rows are kept: almost two days of vmstat's seconds, in 80 MB.
const ROWS_MAX: usize = 1 << 21;

/// Rows further apart say nothing any more.
const STEP_MAX_NS: i64 = 86_400 * SECOND_NS;

/// Which number.
pub(crate) type Id = usize;

/// Name, instance, thread.
type Key = (StrId, StrId, i64);

/// One number.
#[derive(Debug)]
struct One {
    key: Key,
    source: StrId,
    /// When its last row was.
    row_ns: Option<i64>,
    held: Option<(i64, f64)>,
}

/// Writes rows of numbers.
#[derive(Debug)]
pub(super) struct Series {
    all: Vec<One>,
    ids: FxHashMap<Key, Id>,
    /// Rows of a number are this far apart; 0 while all are kept.
    step_ns: i64,
    rows_max: usize,
    left_out: i64,
}

impl Default for Series {
    fn default() -> Series {
        Series { all: Vec::new(), ids: FxHashMap::default(), step_ns: 0, rows_max: ROWS_MAX, left_out: 0 }
    }
}

impl Series {
    pub(super) fn id(&mut self, key: Key, source: StrId) -> Id {
        *self.ids.entry(key).or_insert_with(|| {
            self.all.push(One { key, source, row_ns: None, held: None });
            self.all.len() - 1
        })
    }

    /// Takes what a number is at an instant.
    pub(super) fn row(&mut self, counters: &mut Counters, id: Id, time_ns: i64, value: f64) {
        let Some(one) = self.all.get_mut(id) else { return };
        let since_ns = one.row_ns.map_or(i64::MAX, |row_ns| time_ns.saturating_sub(row_ns));
        if (0..self.step_ns).contains(&since_ns) {
            self.left_out += i64::from(one.held.replace((time_ns, value)).is_some());
            return;
        }
        let before = one.held.take();
        let ends_a_rest = before.filter(|(held_ns, _)| time_ns.saturating_sub(*held_ns) > self.step_ns);
        self.left_out += i64::from(before.is_some() && ends_a_rest.is_none());
        one.row_ns = Some(time_ns);
        ends_a_rest.into_iter().chain([(time_ns, value)]).for_each(|row| push(counters, one, row));
        if counters.len() >= self.rows_max {
            self.thin(counters);
        }
    }

    /// How many rows were left out, and how far apart those are that were not, if any was.
    pub(super) fn finish(self, counters: &mut Counters) -> Option<(i64, i64)> {
        for one in &self.all {
            one.held.into_iter().for_each(|row| push(counters, one, row));
        }
        (self.left_out > 0).then_some((self.left_out, self.step_ns))
    }

    /// Leaves out rows that were written, until there is room again.
    fn thin(&mut self, counters: &mut Counters) {
        let wanted = self.rows_max / 2;
        while counters.len() > wanted && self.step_ns < STEP_MAX_NS {
            self.step_ns = self.step_ns.saturating_mul(2).max(2 * SECOND_NS);
            let before = counters.len();
            counters.retain(&kept(counters, self.step_ns));
            self.left_out += (before - counters.len()) as i64;
        }
        // What are that many numbers needs the room.
        self.rows_max = self.rows_max.max(counters.len().saturating_mul(2));
    }
}

fn push(counters: &mut Counters, one: &One, (time_ns, value): (i64, f64)) {
    let (name, instance, tid) = one.key;
    counters.push(Counter { time_ns, name, instance, tid, value, source: one.source });
}

/// Which rows stay when those of a number are to be a step apart: its first and last one, and the ends of a rest.
fn kept(counters: &Counters, step_ns: i64) -> Vec<bool> {
    let mut keep = vec![false; counters.len()];
    // The last row that stays, and the row behind it that may not.
    let mut last: FxHashMap<Key, (i64, Option<usize>)> = FxHashMap::default();
    for (at, time_ns) in counters.time_ns.iter().copied().enumerate() {
        let key = (counters.name[at], counters.instance[at], counters.tid[at]);
        let (row_ns, held) = last.entry(key).or_insert((i64::MIN, None));
        let since_ns = time_ns.saturating_sub(*row_ns);
        if (0..step_ns).contains(&since_ns) {
            *held = Some(at);
            continue;
        }
        let ends_a_rest = held.take().filter(|held| time_ns.saturating_sub(counters.time_ns[*held]) > step_ns);
        ends_a_rest.into_iter().chain([at]).for_each(|at| keep[at] = true);
        *row_ns = time_ns;
    }
    last.into_values().filter_map(|(_, held)| held).for_each(|held| keep[held] = true);
    keep
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (StrId(1), StrId(2), 0);

    /// Seconds and sums; and how many rows were left out, and how far apart the others are.
    type Rows = (Vec<(i64, f64)>, Option<(i64, i64)>);

    /// Rows of a sum that rises by one in each second of some.
    fn rows_of(rows_max: usize, rises: impl Iterator<Item = i64>) -> Rows {
        let (mut series, mut counters) = (Series { rows_max, ..Series::default() }, Counters::default());
        let id = series.id(KEY, StrId(3));
        let (mut ended, mut total) = (i64::MIN, 0.0);
        for second in rises {
            if ended != second {
                series.row(&mut counters, id, second * SECOND_NS, total);
            }
            (ended, total) = (second + 1, total + 1.0);
            series.row(&mut counters, id, ended * SECOND_NS, total);
        }
        let left_out = series.finish(&mut counters);
        (counters.rows().map(|row| (row.time_ns / SECOND_NS, row.value)).collect(), left_out)
    }

    #[test]
    fn a_short_table_is_kept_whole() {
        let (rows, left_out) = rows_of(1_000, 0..900);
        assert_eq!((rows.len(), left_out), (901, None));
    }

    #[test]
    fn a_long_table_has_rows_further_apart() {
        let (rows, left_out) = rows_of(1_000, 0..100_000);
        let (count, step_ns) = left_out.unwrap();
        assert!(rows.len() < 1_000 && count as usize + rows.len() == 100_001, "{} {count}", rows.len());
        assert!(rows.iter().all(|(second, value)| *second as f64 == *value), "each is one of the table's own");
        assert_eq!((rows[0], rows[rows.len() - 1]), ((0, 0.0), (100_000, 100_000.0)));
        assert!(rows.windows(2).all(|pair| pair[1].0 - pair[0].0 <= 2 * step_ns / SECOND_NS));
    }

    #[test]
    fn a_rest_stays_one() {
        let (rows, left_out) = rows_of(1_000, (0..3_000).chain(50_000..53_000));
        assert!(left_out.is_some());
        let rest = rows.windows(2).find(|pair| pair[1].0 == 50_000).unwrap();
        assert_eq!(rest, [(3_000, 3_000.0), (50_000, 3_000.0)]);
    }

    #[test]
    fn many_numbers_are_kept_although_there_is_no_room() {
        let (mut series, mut counters) = (Series { rows_max: 100, ..Series::default() }, Counters::default());
        for number in 0..1_000 {
            let id = series.id((StrId(1), StrId(number), 0), StrId(3));
            series.row(&mut counters, id, 7, 1.0);
        }
        assert_eq!((counters.len(), series.finish(&mut counters)), (1_000, None));
    }
}
