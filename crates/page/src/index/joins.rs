//! Threads that only wait for another thread to end, from the first second to the last: mostly `main`. They wait as
//! much when nothing is slow, and among waits they would hide all others. Threads that answer requests never count.

use fathom_evidence::kinds::role;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{Analysis, Segment, ThreadState, Wait};
use rustc_hash::{FxHashMap, FxHashSet};

/// Below it a thread waits for the end of another one.
const JOIN: &str = "java.lang.Thread.join";

/// A thread that waits for less of its time than this has other things to do.
const NEARLY_ALL: f64 = 0.95;

/// Waits for the ends of threads that are no one's loss.
#[derive(Debug, Default)]
pub(crate) struct Joins {
    idle: FxHashSet<i64>,
    stacks: FxHashMap<StackId, bool>,
}

impl Joins {
    pub(crate) fn new(analysis: &Analysis<'_>) -> Joins {
        let (view, mut joins) = (&analysis.sources, Joins::default());
        let grid = view.grid;
        let mut waited: FxHashMap<i64, i64> = FxHashMap::default();
        for (tid, segment) in analysis.account.waits(view) {
            if joins.is_join(view.recording, segment) {
                let (from_ns, to_ns) = (segment.from_ns.max(grid.start_ns), segment.to_ns.min(grid.end_ns()));
                *waited.entry(tid).or_default() += to_ns.saturating_sub(from_ns).max(0);
            }
        }
        let all_ns = grid.end_ns().saturating_sub(grid.start_ns) as f64;
        // Who waits for a thread that it started has a request to answer.
        let is_idle = |tid: i64, ns: i64| ns as f64 >= NEARLY_ALL * all_ns && view.role(tid) != role::HANDLER;
        joins.idle = waited.into_iter().filter(|(tid, ns)| is_idle(*tid, *ns)).map(|(tid, _)| tid).collect();
        joins
    }

    /// Whether a wait is one of them.
    pub(super) fn is_idle(&mut self, recording: &Recording, tid: i64, wait: &Segment) -> bool {
        self.idle.contains(&tid) && self.is_join(recording, wait)
    }

    fn is_join(&mut self, recording: &Recording, wait: &Segment) -> bool {
        let Some(row) = wait.row.filter(|_| wait.state == ThreadState::Blocked(Wait::Task)) else { return false };
        let stack = recording.spans.stack_id[row as usize];
        let has_join = || recording.stacks.leaf_to_root(stack).any(|frame| recording.text(frame.symbol) == JOIN);
        *self.stacks.entry(stack).or_insert_with(has_join)
    }
}
