//! Why threads of the application waited, as stacks: the reason; the thread that caused it; what that thread waited for or did,
//! and so on along the critical path; on top the code of the last of them. A flame graph of them answers for any selection.

use fathom_evidence::{Frame, FrameId, Recording, StackId, StrId};
use fathom_timeline::{Analysis, Chain, Segment, Sources, State, ThreadState, Wait};
use rustc_hash::FxHashMap;

use super::cover;
use super::joins::Joins;
use super::stacks::{Joined, Row, put_on};
use super::threads::Threads;
use crate::axis::Axis;

/// Stretches of waits are followed up to so many: a lock that thousands hand to each other has very many. The waits beyond are
/// told by what they are for.
const FOLLOWED_MAX: usize = 500_000;

/// Kinds of frames that are no code.
const WAIT: &str = "wait";
const THREAD: &str = "thread";

/// A frame of such a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    /// Waited for something with a name.
    Waited(State, StrId),
    /// Waited for an unknown reason.
    Unnamed,
    /// The thread that caused the wait.
    Thread(i64),
    /// Ran, as far as it is known.
    Ran,
}

/// A stretch of a wait.
#[derive(Debug)]
struct Stretch {
    from: i64,
    to: i64,
    thread: u32,
    /// Number of its path.
    path: u32,
    /// Row of the span whose code it ends in.
    row: Option<u32>,
}

/// Why threads waited.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    paths: Vec<Vec<Step>>,
    stretches: Vec<Stretch>,
}

/// The stretches of all waits, being gathered.
struct Gathered<'g> {
    view: &'g Sources<'g>,
    axis: &'g Axis,
    threads: &'g Threads,
    number: FxHashMap<Vec<Step>, u32>,
    stretches: Vec<Stretch>,
    /// Whether it is known of any wait who was waited for.
    has_any: bool,
}

impl Reasons {
    /// The reasons of all waits that have a name; none where it is known of no wait who was waited for.
    pub(crate) fn new(analysis: &Analysis<'_>, axis: &Axis, threads: &Threads, joins: &mut Joins) -> Reasons {
        let (view, partition, edges) = (&analysis.sources, &analysis.account.partition, analysis.edges());
        let (number, stretches) = (FxHashMap::default(), Vec::new());
        let mut gathered = Gathered { view, axis, threads, number, stretches, has_any: false };
        // A wait without a known reason may be idleness, and has no thread that caused it.
        let is_told = |wait: &Segment| match wait.state {
            ThreadState::Blocked(wait) => wait != Wait::Unnamed,
            state => state == ThreadState::Runnable,
        };
        let own = partition.recorded().filter(|(tid, _)| view.is_application(*tid));
        let named = own.flat_map(|(tid, segments)| segments.iter().map(move |wait| (tid, wait)));
        let named = named.filter(|(tid, wait)| is_told(wait) && !joins.is_idle(view.recording, *tid, wait));
        for (tid, wait) in named {
            let is_followed = gathered.stretches.len() < FOLLOWED_MAX;
            let chains = if is_followed { edges.chains(partition, tid, wait) } else { Vec::new() };
            gathered.add(tid, wait, chains);
        }
        if gathered.has_any { gathered.done() } else { Reasons::default() }
    }

    /// The stacks of all stretches, which are added to those of the recording.
    pub(crate) fn stacks(&self, recording: &mut Recording, joined: &Joined) -> Vec<StackId> {
        let bases: Vec<StackId> = self.paths.iter().map(|path| base(recording, path)).collect();
        let mut known: FxHashMap<(StackId, StackId), StackId> = FxHashMap::default();
        let stacks = self.stretches.iter().map(|stretch| {
            let code = stretch.row.map_or(StackId(0), |row| joined.of(recording, row));
            let base = bases[stretch.path as usize];
            *known.entry((base, code)).or_insert_with(|| put_on(recording, base, code))
        });
        stacks.collect()
    }

    /// The rows of their event; `stacks` are those of all stretches.
    pub(super) fn rows(&self, stacks: &[StackId], node: impl Fn(StackId) -> u32) -> Vec<Row> {
        let rows = self.stretches.iter().zip(stacks).map(|(stretch, stack)| Row {
            time: stretch.from,
            length: stretch.to.saturating_sub(stretch.from),
            thread: stretch.thread,
            node: node(*stack),
        });
        rows.collect()
    }
}

impl Gathered<'_> {
    /// A wait, cut by the threads that it waited for; in the rest of it that thread is not known.
    fn add(&mut self, tid: i64, wait: &Segment, mut chains: Vec<Chain>) {
        let own = self.step(wait);
        chains.sort_by_key(|chain| chain.from_ns);
        self.has_any |= !chains.is_empty();
        let mut at = wait.from_ns;
        for chain in chains {
            let Some(last) = chain.hops.last() else { continue };
            let hops = chain.hops.iter().flat_map(|hop| [Step::Thread(hop.tid), self.step(&hop.segment)]);
            let path = std::iter::once(own).chain(hops).collect();
            self.push(tid, (at, chain.from_ns), vec![own], wait.row);
            self.push(tid, (chain.from_ns.max(at), chain.to_ns), path, last.segment.row);
            at = at.max(chain.to_ns);
        }
        self.push(tid, (at, wait.to_ns), vec![own], wait.row);
    }

    fn push(&mut self, tid: i64, (from_ns, to_ns): (i64, i64), path: Vec<Step>, row: Option<u32>) {
        if from_ns < to_ns {
            let next = self.number.len() as u32;
            let path = *self.number.entry(path).or_insert(next);
            let (from, to, thread) = (self.axis.at(from_ns), self.axis.at(to_ns), self.threads.number(tid));
            self.stretches.push(Stretch { from, to, thread, path, row });
        }
    }

    fn step(&self, segment: &Segment) -> Step {
        match segment.state {
            ThreadState::Blocked(Wait::Unnamed) => Step::Unnamed,
            ThreadState::Unknown if segment.row.is_none() => Step::Ran,
            ThreadState::Blocked(_) => {
                let name = segment.row.map(|row| self.view.recording.spans.name[row as usize]);
                Step::Waited(cover::of_segment(self.view, segment), name.unwrap_or_default())
            }
            _ => Step::Waited(cover::of_segment(self.view, segment), StrId(0)),
        }
    }

    fn done(self) -> Reasons {
        let mut paths = vec![Vec::new(); self.number.len()];
        for (path, number) in self.number {
            paths[number as usize] = path;
        }
        Reasons { paths, stretches: self.stretches }
    }
}

/// The stack of a path, without code.
fn base(recording: &mut Recording, path: &[Step]) -> StackId {
    let frames: Vec<FrameId> = path.iter().map(|step| frame(recording, *step)).collect();
    recording.stacks.intern_from_root(frames)
}

fn frame(recording: &mut Recording, step: Step) -> FrameId {
    let (text, kind) = match step {
        Step::Waited(state, name) => (waited(state.row().title, recording.text(name)), WAIT),
        Step::Unnamed => ("waiting, for what is not told".to_owned(), WAIT),
        Step::Ran => ("running, as far as is known".to_owned(), WAIT),
        Step::Thread(tid) => (name_of(recording, tid), THREAD),
    };
    let (symbol, kind) = (recording.strings.intern(&text), recording.strings.intern(kind));
    recording.stacks.intern_frame(Frame { symbol, kind, ..Frame::default() })
}

fn waited(what: &str, name: &str) -> String {
    if name.is_empty() { what.to_owned() } else { format!("{what}: {name}") }
}

fn name_of(recording: &Recording, tid: i64) -> String {
    let name = recording.threads.get(tid).map_or("", |thread| recording.text(thread.name));
    if name.is_empty() { format!("thread {tid}") } else { name.to_owned() }
}
