//! What the holders of locks did while others waited for the locks.
//!
//! A thread that waits for a lock whose holder waits for a disk loses its time to the disk: what made the holder slow made
//! all of them slow. So the time of such waits goes along with what the holder did, to the cause that is given that.
//!
//! Who held a lock is known at its hand-overs: the JVM names the last owner of a monitor, and the kernel the thread that
//! woke another one. From one hand-over to the next the lock was held by the one who gave it away at the second.

mod past;

use std::collections::BTreeMap;
use std::fmt;

use fathom_evidence::StrId;
use fathom_evidence::detail::{Wait as Detail, from_text};
use fathom_timeline::{Cell, Wait, WaitSpan};

use crate::case::Case;
use past::{Givers, Past, RUNNING};

/// What a holder did.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doing {
    /// Nothing says that it waited.
    Running,
    /// It waited, and the account knows for what: a page, say.
    Known(Cell),
    /// It was off the CPU otherwise: the system call, or the kind of wait.
    Off(String),
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doing::Running => f.write_str("at work"),
            Doing::Known(cell) => cell.fmt(f),
            Doing::Off(how) => write!(f, "off its CPU ({how})"),
        }
    }
}

/// What holders did while threads waited in the slow time.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    /// In ns, by what was waited for and what the holder did.
    times: BTreeMap<(Wait, Doing), f64>,
    /// For how long holders may have run, in ns. Not every wait is recorded, so they may have waited as well.
    may_have_run_ns: f64,
}

impl Holders {
    pub(crate) fn of(case: &Case<'_>) -> Holders {
        let is_lock = |wait: Wait| matches!(wait, Wait::Lock | Wait::Permit);
        let mut holders = Holders::default();
        let (waited_ns, _) = case.excess().sums(|cell| matches!(cell, Cell::Blocked(wait) if is_lock(wait)));
        if waited_ns <= 0.0 {
            return holders;
        }
        let view = case.view();
        let waits = case.analysis.account.waits(view);
        let (locks, others): (Vec<&WaitSpan>, Vec<&WaitSpan>) = waits.iter().partition(|wait| is_lock(wait.wait));
        let (past, givers) = (Past::new(view, &others), Givers::new(view));
        let mut by_lock: BTreeMap<(StrId, u64), Vec<Turn>> = BTreeMap::new();
        for wait in locks {
            let detail: Detail = from_text(view.recording.text(wait.span.detail));
            let lock = (wait.span.name, detail.address.unwrap_or_default());
            by_lock.entry(lock).or_default().push(Turn { wait: *wait, holder: givers.of(&wait.span, &detail) });
        }
        by_lock.into_values().for_each(|turns| holders.add(case, turns, &past));
        holders
    }

    /// Adds the waits for one lock.
    fn add(&mut self, case: &Case<'_>, mut turns: Vec<Turn>, past: &Past) {
        turns.sort_by_key(Turn::to_ns);
        let mut held: Vec<Held> = Vec::with_capacity(turns.len());
        for (turn, from_ns) in turns.iter().zip(beginnings(&turns)) {
            held.push(Held::after(held.last(), turn, from_ns, past));
        }
        let is_slow = |ns: i64| case.slow.time.contains(ns);
        let ran = held.iter().filter(|turn| is_slow(turn.from_ns)).map(|turn| turn.ran_ns);
        self.may_have_run_ns += ran.sum::<f64>();
        for turn in turns.iter().filter(|turn| is_slow(turn.wait.span.time_ns)) {
            let (from_ns, to_ns) = (turn.wait.span.time_ns, turn.to_ns());
            let lost = turn.wait.lost_ns / to_ns.saturating_sub(from_ns).max(1) as f64;
            for (kind, doing) in past.kinds.iter().enumerate() {
                let ns = until(&held, to_ns, kind) - until(&held, from_ns, kind);
                *self.times.entry((turn.wait.wait, doing.clone())).or_default() += ns.max(0.0) * lost;
            }
        }
    }

    /// What of the excess of waits for locks goes along with a kind of time of the application, in ns. A holder that ran did
    /// what the application's running is made of.
    pub(crate) fn along_with(&self, case: &Case<'_>, cell: Cell) -> Vec<(Cell, f64)> {
        let (doing, part) = match cell {
            Cell::Running(_) => (Doing::Running, self.part_of_running(case, cell)),
            cell => (Doing::Known(cell), 1.0),
        };
        let chosen = self.times.iter().filter(|((_, what), _)| *what == doing);
        let along = chosen.map(|((wait, _), ns)| {
            let excess = case.excess().of(Cell::Blocked(*wait));
            let grown = excess.map_or(0.0, |excess| excess.lost_ns() / excess.slow_ns.max(1.0));
            (Cell::Blocked(*wait), ns * part * grown)
        });
        along.filter(|(_, ns)| *ns > 0.0).collect()
    }

    /// The part of a layer in what holders may have run: all of them together ran no more than the application did.
    fn part_of_running(&self, case: &Case<'_>, layer: Cell) -> f64 {
        let (all, _) = case.excess().sums(|cell| matches!(cell, Cell::Running(_)));
        case.excess().of(layer).map_or(0.0, |excess| excess.slow_ns / all.max(self.may_have_run_ns).max(1.0))
    }

    /// What holders waited for most themselves, and for how long while others waited for them, in ns.
    pub(crate) fn most_waited_for(&self) -> Option<(&Doing, f64)> {
        let mut sums: BTreeMap<&Doing, f64> = BTreeMap::new();
        for ((_, doing), ns) in self.times.iter().filter(|((_, doing), _)| *doing != Doing::Running) {
            *sums.entry(doing).or_default() += ns;
        }
        sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, ns)| *ns > 0.0)
    }
}

/// One wait for a lock and who held it at its end, if that is known.
struct Turn {
    wait: WaitSpan,
    holder: Option<i64>,
}

impl Turn {
    fn to_ns(&self) -> i64 {
        self.wait.span.end_ns()
    }
}

/// From when on whoever gave the lock away at the end of each turn is known to have held it: since the turn before, but not
/// from before somebody waited.
fn beginnings(turns: &[Turn]) -> Vec<i64> {
    let mut first_waits: Vec<i64> = turns.iter().map(|turn| turn.wait.span.time_ns).collect();
    for index in (1..first_waits.len()).rev() {
        first_waits[index - 1] = first_waits[index - 1].min(first_waits[index]);
    }
    let before = std::iter::once(i64::MIN).chain(turns.iter().map(Turn::to_ns));
    first_waits.into_iter().zip(before).map(|(waiting, before)| waiting.max(before)).collect()
}

/// What was done with a lock in a turn and in all before it.
struct Held {
    from_ns: i64,
    to_ns: i64,
    /// In ns, by kind.
    sums: Vec<f64>,
    /// For how long the holder may have run in this turn.
    ran_ns: f64,
}

impl Held {
    fn after(last: Option<&Held>, turn: &Turn, from_ns: i64, past: &Past) -> Held {
        let to_ns = turn.to_ns();
        let mut sums = last.map_or_else(|| vec![0.0; past.kinds.len()], |last| last.sums.clone());
        let now = turn.holder.map_or_else(Vec::new, |holder| past.of(holder, from_ns, to_ns));
        sums.iter_mut().zip(&now).for_each(|(sum, now)| *sum += now);
        Held { from_ns, to_ns, sums, ran_ns: now.get(RUNNING).copied().unwrap_or(0.0) }
    }
}

/// What was done with a lock of a kind until a time, in ns.
fn until(held: &[Held], at_ns: i64, kind: usize) -> f64 {
    let turn = held.partition_point(|held| held.to_ns <= at_ns);
    let before = turn.checked_sub(1).map_or(0.0, |last| held[last].sums[kind]);
    let Some(now) = held.get(turn) else { return before };
    let length = now.to_ns.saturating_sub(now.from_ns).max(1) as f64;
    let part = at_ns.saturating_sub(now.from_ns).max(0) as f64 / length;
    before + part.min(1.0) * (now.sums[kind] - before)
}
