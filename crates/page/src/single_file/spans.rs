//! The spans of the file: the longest of each kind, and for the others their number and length over time.

use std::cmp::Reverse;

use arrow_array::types::{Int64Type, UInt32Type};

use crate::columns::Columns;
use crate::index::spans::{Kind, duration};
use crate::loaded::Loaded;

/// What of the spans is in the file.
pub(super) struct Chosen {
    /// The rows that are there themselves, in order of time.
    pub(super) rows: Vec<u32>,
    /// All kinds, by name.
    pub(super) kinds: Vec<Held>,
    /// The spans that are not there themselves.
    left: Vec<Cell>,
    column_ns: i64,
    from: i64,
}

/// How many spans of a kind there are, and how many of them, the longest, are in the file.
pub(super) struct Held {
    pub(super) kind: String,
    pub(super) total: usize,
    pub(super) total_ns: f64,
    pub(super) held: usize,
}

/// Spans of a kind that began in one column of the time.
#[derive(Default)]
struct Cell {
    /// Place of the kind.
    kind: usize,
    column: u32,
    count: u32,
    total_ns: i64,
    longest_ns: i64,
}

impl Chosen {
    /// At most `max` spans, each kind with its fair part; what is left out is counted in so many columns.
    pub(super) fn new(page: &Loaded, max: usize, columns: usize) -> Chosen {
        let (from, to) = page.axis.extent;
        let columns = i64::try_from(columns.max(1)).unwrap_or(i64::MAX);
        let column_ns = to.saturating_sub(from).saturating_add(1).div_euclid(columns).saturating_add(1);
        let mut chosen = Chosen { rows: Vec::new(), kinds: Vec::new(), left: Vec::new(), column_ns, from };
        for (kind, part) in page.spans.kinds.iter().zip(fair_parts(&page.spans.kinds, max)) {
            chosen.take(page, kind, part);
        }
        chosen.rows.sort_by_key(|row| (page.recording.spans.time_ns[*row as usize], *row));
        chosen
    }

    fn take(&mut self, page: &Loaded, kind: &Kind, part: usize) {
        let mut rows = kind.rows.clone();
        let total_ns = rows.iter().map(|row| duration(&page.recording, *row) as f64).sum();
        if rows.len() > part {
            rows.sort_by_key(|row| Reverse(duration(&page.recording, *row)));
            let place = self.kinds.len();
            self.count(page, place, rows.split_off(part));
        }
        let (held, total) = (rows.len(), kind.rows.len());
        self.kinds.push(Held { kind: kind.word.clone(), total, total_ns, held });
        self.rows.extend(rows);
    }

    fn count(&mut self, page: &Loaded, kind: usize, mut rows: Vec<u32>) {
        let begin = |row: u32| page.axis.at(page.recording.spans.time_ns[row as usize]);
        rows.sort_by_key(|row| begin(*row));
        for row in rows {
            let column = begin(row).saturating_sub(self.from).div_euclid(self.column_ns);
            let column = u32::try_from(column).unwrap_or(0);
            if self.left.last().is_none_or(|cell| (cell.kind, cell.column) != (kind, column)) {
                self.left.push(Cell { kind, column, ..Cell::default() });
            }
            if let Some(cell) = self.left.last_mut() {
                cell.count = cell.count.saturating_add(1);
                cell.total_ns = cell.total_ns.saturating_add(duration(&page.recording, row));
                cell.longest_ns = cell.longest_ns.max(duration(&page.recording, row));
            }
        }
    }

    /// The table of what is left out.
    pub(super) fn density(&self) -> Columns {
        let begin = |cell: &Cell| self.from.saturating_add(i64::from(cell.column).saturating_mul(self.column_ns));
        Columns::default()
            .words("kind", self.left.iter().map(|cell| self.kinds[cell.kind].kind.as_str()))
            .numbers::<Int64Type>("t", self.left.iter().map(begin))
            .numbers::<UInt32Type>("count", self.left.iter().map(|cell| cell.count))
            .numbers::<Int64Type>("total_ns", self.left.iter().map(|cell| cell.total_ns))
            .numbers::<Int64Type>("longest_ns", self.left.iter().map(|cell| cell.longest_ns))
            .note("column_ns", self.column_ns)
    }
}

/// How many spans of each kind are kept: those with few leave their part to those with many.
fn fair_parts(kinds: &[Kind], max: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    order.sort_by_key(|index| kinds[*index].rows.len());
    let mut parts = vec![0; kinds.len()];
    let mut left = max;
    for (rank, index) in order.iter().enumerate() {
        parts[*index] = kinds[*index].rows.len().min(left / (kinds.len() - rank));
        left -= parts[*index];
    }
    parts
}
