//! What the slow time has more of than the baseline.

use crate::account::Account;
use crate::cells::{Cell, Layer};
use crate::grid::BUCKET_NS;
use crate::pain::Pain;

/// One kind of thread time, slow against baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellExcess {
    /// Which kind.
    pub cell: Cell,
    /// In the slow time, in ns of thread time.
    pub slow_ns: f64,
    /// What the baseline has in as much time, in ns.
    pub baseline_ns: f64,
    /// Whether it is lost time in this slowdown.
    pub counts: bool,
}

impl CellExcess {
    /// By how much it grew; negative when it shrank.
    pub fn excess_ns(&self) -> f64 {
        self.slow_ns - self.baseline_ns
    }

    /// The part that is to be explained.
    pub fn lost_ns(&self) -> f64 {
        if self.counts { self.excess_ns().max(0.0) } else { 0.0 }
    }
}

/// The account's answer: what grew, what shrank.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Excess {
    /// Every kind of thread time.
    pub cells: Vec<CellExcess>,
    /// Length of the slow time, in ns.
    pub slow_ns: f64,
    /// Length of the baseline, in ns; 0 when there is none.
    pub baseline_ns: f64,
    /// Threads of the application at work at once in the slow time; each stop counts that often.
    pub concurrency: f64,
}

impl Excess {
    /// All that is to be explained, in ns of thread time.
    pub fn lost_ns(&self) -> f64 {
        self.cells.iter().map(CellExcess::lost_ns).sum()
    }

    /// The excess of one kind of time; zero when there was none of it.
    pub fn of(&self, cell: Cell) -> Option<&CellExcess> {
        self.cells.iter().find(|excess| excess.cell == cell)
    }

    /// Sums over the kinds that `select` chooses: slow, baseline.
    pub fn sums(&self, select: impl Fn(Cell) -> bool) -> (f64, f64) {
        let chosen = self.cells.iter().filter(|excess| select(excess.cell));
        chosen.fold((0.0, 0.0), |sum, excess| (sum.0 + excess.slow_ns, sum.1 + excess.baseline_ns))
    }
}

/// Compares the slow seconds with quiet ones of the same or another recording. Where there are
/// none the comparison is with no loss at all.
pub(crate) fn compare(account: &Account, pain: &Pain, reference: &Account, baseline: &[bool]) -> Excess {
    let slow_count = pain.slow_buckets().count() as f64;
    if slow_count == 0.0 {
        return Excess::default();
    }
    let quiet: Vec<usize> = baseline.iter().enumerate().filter(|(_, is)| **is).map(|(index, _)| index).collect();
    let concurrency = account.concurrency(pain.slow_buckets());
    let mut names: Vec<Cell> = account.cells.keys().chain(reference.cells.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    let cells = names.into_iter().map(|cell| {
        let weight = if matches!(cell, Cell::Stopped(_)) { concurrency } else { 1.0 };
        let known = |account: &Account, index: &usize| account.known(cell).contains(index);
        let slow: Vec<usize> = pain.slow_buckets().filter(|index| known(account, index)).collect();
        let quiet: Vec<usize> = quiet.iter().copied().filter(|index| known(reference, index)).collect();
        let slow_ns = weight * total(account, cell, slow.iter().copied());
        let baseline_ns = if quiet.is_empty() {
            ideal(cell, slow_ns)
        } else {
            weight * total(reference, cell, quiet.iter().copied()) / quiet.len() as f64 * slow.len() as f64
        };
        CellExcess { cell, slow_ns, baseline_ns, counts: pain.counts(cell) }
    });
    Excess {
        cells: cells.collect(),
        slow_ns: slow_count * BUCKET_NS as f64,
        baseline_ns: quiet.len() as f64 * BUCKET_NS as f64,
        concurrency,
    }
}

fn total(account: &Account, cell: Cell, buckets: impl Iterator<Item = usize>) -> f64 {
    account.cells.get(&cell).map_or(0.0, |row| buckets.map(|index| row[index]).sum())
}

/// Without a baseline: a loss should not be there at all, work is taken as it is.
fn ideal(cell: Cell, slow_ns: f64) -> f64 {
    let is_work = matches!(cell, Cell::Running(layer) if layer != Layer::Interpreted);
    if is_work || cell == Cell::Vm { slow_ns } else { 0.0 }
}
