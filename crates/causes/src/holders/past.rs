//! What each thread waited for in the past, and who gave it its locks.

use std::collections::HashMap;

use fathom_evidence::detail::{Blocked, Wait as Detail, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_timeline::{Cell, View, WaitSpan, Wakers};

use super::Doing;

/// Index of a kind of doing.
pub(super) type Kind = usize;

/// That nothing says that a thread waited.
pub(super) const RUNNING: Kind = 0;

/// A thread has some twenty ways to wait; a damaged recording may have any number.
const MOST_KINDS: usize = 64;

/// From when to when a thread did something.
type Piece = (i64, i64, Kind);

/// What every thread waited for, and when.
pub(super) struct Past {
    /// All that was done.
    pub(super) kinds: Vec<Doing>,
    /// In order and without overlaps.
    by_thread: HashMap<i64, Vec<Piece>>,
}

impl Past {
    /// Of what overlaps the first of these counts: what the kernel interrupted a thread with, what the account knows
    /// otherwise, and that a thread was off its CPU.
    pub(super) fn new(view: &View<'_>, waits: &[&WaitSpan]) -> Past {
        let mut past = Past { kinds: vec![Doing::Running], by_thread: HashMap::new() };
        let is_interruption = |wait: &&&WaitSpan| view.recording.text(wait.span.kind) == span::PAGE_FAULT;
        let (faults, others): (Vec<&WaitSpan>, Vec<&WaitSpan>) = waits.iter().partition(is_interruption);
        let known = |wait: &&WaitSpan| (wait.span, Doing::Known(Cell::Blocked(wait.wait)));
        let runnable = view.spans(span::RUN_QUEUE_WAIT).map(|wait| (wait, Doing::Known(Cell::Runnable)));
        past.add(faults.iter().map(known).chain(runnable));
        past.add(others.iter().map(known));
        past.add(view.spans(span::BLOCKED).map(|wait| (wait, off(view, &wait))));
        past
    }

    fn add(&mut self, waits: impl Iterator<Item = (Span, Doing)>) {
        let mut by_thread: HashMap<i64, Vec<Piece>> = HashMap::new();
        for (wait, doing) in waits {
            let kind = self.kind(doing);
            by_thread.entry(wait.tid).or_default().push((wait.time_ns, wait.end_ns(), kind));
        }
        for (tid, mut pieces) in by_thread {
            pieces.sort_unstable();
            let taken = self.by_thread.entry(tid).or_default();
            let new = minus(&apart(pieces), taken);
            taken.extend(new);
            taken.sort_unstable();
        }
    }

    fn kind(&mut self, doing: Doing) -> Kind {
        let known = self.kinds.iter().position(|known| *known == doing);
        known
            .or_else(|| (self.kinds.len() < MOST_KINDS).then(|| self.kinds.push(doing)).map(|()| self.kinds.len() - 1))
            .unwrap_or(RUNNING)
    }

    /// What a thread did between two times, in ns by kind.
    pub(super) fn of(&self, tid: i64, from_ns: i64, to_ns: i64) -> Vec<f64> {
        let mut times = vec![0.0; self.kinds.len()];
        let pieces = self.by_thread.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = pieces.partition_point(|(_, to, _)| *to <= from_ns);
        for (from, to, kind) in pieces[first..].iter().take_while(|(from, ..)| *from < to_ns) {
            times[*kind] += (*to).min(to_ns).saturating_sub((*from).max(from_ns)) as f64;
        }
        let waited: f64 = times.iter().sum();
        times[RUNNING] = (to_ns.saturating_sub(from_ns) as f64 - waited).max(0.0);
        times
    }
}

/// How a thread was off its CPU: in which system call, or in which kind of wait.
fn off(view: &View<'_>, wait: &Span) -> Doing {
    let detail: Blocked = from_text(view.recording.text(wait.detail));
    let call = detail.system_call.filter(|call| !call.is_empty());
    Doing::Off(call.unwrap_or_else(|| view.recording.text(wait.name).to_owned()))
}

/// Pieces in order without overlaps: what began first keeps its time.
fn apart(sorted: Vec<Piece>) -> Vec<Piece> {
    let mut end = i64::MIN;
    let apart = sorted.into_iter().filter_map(|(from, to, kind)| {
        let from = from.max(end);
        end = end.max(to);
        (from < to).then_some((from, to, kind))
    });
    apart.collect()
}

/// What is left of pieces beside those that are taken; both are in order and without overlaps.
fn minus(pieces: &[Piece], taken: &[Piece]) -> Vec<Piece> {
    let mut left = Vec::new();
    let mut next = 0;
    for (from, to, kind) in pieces {
        let mut at = *from;
        next += taken[next..].partition_point(|piece| piece.1 <= at);
        for (begins, ends, _) in taken[next..].iter().take_while(|piece| piece.0 < *to) {
            left.push((at, *begins, *kind));
            at = *ends;
        }
        left.push((at, *to, *kind));
    }
    left.retain(|(from, to, _)| from < to);
    left
}

/// Who held a lock when a wait for it ended: who woke the waiting thread, or whom the JVM names.
pub(super) struct Givers<'a> {
    wakers: Wakers,
    /// Threads by name; none where several have the same.
    by_name: HashMap<&'a str, Option<i64>>,
}

impl<'a> Givers<'a> {
    pub(super) fn new(view: &'a View<'a>) -> Givers<'a> {
        let mut by_name: HashMap<&str, Option<i64>> = HashMap::new();
        for (tid, thread) in view.recording.threads.iter() {
            let name = view.recording.text(thread.name);
            by_name.entry(name).and_modify(|tid| *tid = None).or_insert(Some(tid));
        }
        Givers { wakers: Wakers::of(view.recording), by_name }
    }

    pub(super) fn of(&self, wait: &Span, detail: &Detail) -> Option<i64> {
        let named = || *self.by_name.get(detail.previous_owner.as_deref()?)?;
        self.wakers.of_wait(wait).or_else(named).filter(|holder| *holder != wait.tid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_out_of_what_is_taken() {
        for (pieces, taken, left) in [
            (vec![], vec![(0, 9, 1)], vec![]),
            (vec![(0, 9, 2)], vec![], vec![(0, 9, 2)]),
            (vec![(0, 9, 2)], vec![(0, 9, 1)], vec![]),
            (vec![(0, 9, 2)], vec![(2, 3, 1), (5, 20, 1)], vec![(0, 2, 2), (3, 5, 2)]),
            (vec![(0, 4, 2), (6, 9, 3)], vec![(3, 7, 1)], vec![(0, 3, 2), (7, 9, 3)]),
        ] {
            assert_eq!(minus(&pieces, &taken), left, "{pieces:?} without {taken:?}");
        }
        assert_eq!(apart(vec![(0, 5, 1), (1, 2, 2), (4, 8, 3)]), [(0, 5, 1), (5, 8, 3)]);
    }
}
