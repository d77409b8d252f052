//! Who a thread waited for: the edges of the partition, and the critical path along them.
//!
//! A thread that waits for a lock, for an object of a pool or for a result waits for whatever the other side does
//! meanwhile. The other side is known at the end of the wait: the JVM names the last owner of a monitor, and the kernel the
//! thread that woke another one. Between two hand-overs the owner is the thread that makes the second one.
//! [`Edges::resolve`] follows owners through any number of hops to what was really waited for.

mod cpus;
mod owners;
mod places;
mod turns;

use std::collections::{BTreeMap, HashMap};

use crate::intervals::Intervals;
use crate::partition::{Partition, Segment};
use crate::sources::Sources;
use crate::states::{ThreadState, Wait};
use cpus::RanInstead;
use owners::Owners;
use turns::{Turn, Turns};

/// A chain of waits longer than this is followed no further: it may be a circle.
const MOST_HOPS: usize = 8;

/// No longer than this does a call of a service keep an object of a pool: what lasts longer waits for news, in ns.
const LONGEST_CALL_NS: i64 = 60_000_000_000;

/// Waiting for one thing, with what the other side did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// What was waited for.
    pub wait: Wait,
    /// Row of the span of one that waited for it.
    pub row: Option<u32>,
    /// The time of all threads that waited for it meanwhile, in ns.
    pub waiting_ns: f64,
    /// What the other side did, at the end of the chain of waits; none where the other side is unknown.
    pub root: Option<Root>,
}

/// What was really waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Root {
    /// Who did it.
    pub tid: i64,
    /// What it did. If nothing was recorded, it is taken to have run.
    pub segment: Segment,
}

impl Root {
    /// Whether it ran, as far as is known: nothing says that it waited.
    pub fn ran(&self) -> bool {
        self.segment.state == ThreadState::Unknown && self.segment.row.is_none()
    }

    /// For how long, in ns.
    pub fn length_ns(&self) -> f64 {
        self.segment.length_ns() as f64
    }
}

/// A stretch of a wait, with its chain of other threads: the thread itself waited for the first one, each of these for the
/// next, and the last one did something else than wait for another thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Beginning of the stretch.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// At least one.
    pub hops: Vec<Root>,
}

/// Called with the threads that waited on the way, and with what was really waited for.
type Found<'f> = &'f mut dyn FnMut(&[Root], Root);

/// Everything that threads of the application waited for other threads for.
#[derive(Debug, Default)]
pub struct Edges {
    things: Vec<Thing>,
    /// Which thing the span in a row is a wait for.
    by_row: HashMap<u32, usize>,
    /// Waits of the application's threads for services, one after the other: what the objects of pools are mostly in use for.
    calls: Vec<(i64, Segment)>,
    ran_instead: RanInstead,
}

/// Something that threads wait for, one after the other.
#[derive(Debug)]
struct Thing {
    wait: Wait,
    turns: Turns,
    /// Whether the owner of any turn is known.
    has_owners: bool,
}

impl Thing {
    /// The turns during one wait for it. If its owners are unknown, the whole wait is one turn.
    fn during(&self, wait: &Segment, row: u32) -> Vec<Turn> {
        if self.has_owners {
            return self.turns.within(&Intervals::union(vec![(wait.from_ns, wait.to_ns)]));
        }
        let Segment { from_ns, to_ns, .. } = *wait;
        vec![Turn { from_ns, to_ns, owner: None, waiting_ns: wait.length_ns() as f64, row }]
    }
}

impl Edges {
    /// Finds them.
    pub fn new(sources: &Sources<'_>, partition: &Partition) -> Edges {
        let mut owners = Owners::new(sources);
        let mut by_thing: BTreeMap<owners::Key, Vec<Segment>> = BTreeMap::new();
        for (tid, recorded) in partition.recorded().filter(|(tid, _)| sources.is_application(*tid)) {
            for segment in recorded {
                let ThreadState::Blocked(wait) = segment.state else { continue };
                if let Some(row) = segment.row.filter(|_| wait.row().is_ended_by_a_thread) {
                    by_thing.entry(owners.key(sources, wait, row, tid)).or_default().push(*segment);
                }
            }
        }
        let mut edges =
            Edges { calls: calls(sources, partition), ran_instead: RanInstead::of(sources), ..Edges::default() };
        for (key, waits) in places::join(sources, &owners, by_thing) {
            for row in waits.iter().filter_map(|segment| segment.row) {
                edges.by_row.insert(row, edges.things.len());
            }
            let turns = Turns::new(&waits, |row| owners.of(sources, row));
            edges.things.push(Thing { wait: key.wait, has_owners: turns.have_owners(), turns });
        }
        edges
    }

    /// Whether no thread waited for another one.
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// The waiting in some time, divided by what the other sides did.
    pub fn resolve(&self, partition: &Partition, time: &Intervals) -> Vec<Waiting> {
        let mut pieces = Vec::new();
        for thing in &self.things {
            for turn in thing.turns.within(time) {
                self.add(partition, thing, &turn, &mut pieces);
            }
        }
        pieces
    }

    /// The threads that a thread waited for during `wait`, split where they changed. Time that is missing is unknown. If
    /// the last thread waited for a CPU, the thread that had the CPU ends the chain.
    pub fn chains(&self, partition: &Partition, tid: i64, wait: &Segment) -> Vec<Chain> {
        if let Some(ran) = self.ran_instead.during(wait) {
            return vec![Chain { from_ns: wait.from_ns, to_ns: wait.to_ns, hops: vec![ran] }];
        }
        let mut chains = self.waits_for_threads(partition, tid, wait);
        for chain in &mut chains {
            let ran = chain.hops.last().and_then(|last| self.ran_instead.during(&last.segment));
            chain.hops.extend(ran);
        }
        chains
    }

    fn waits_for_threads(&self, partition: &Partition, tid: i64, wait: &Segment) -> Vec<Chain> {
        let Some((row, thing)) = self.thing_of(wait) else { return Vec::new() };
        let mut chains = Vec::new();
        let mut path = vec![Root { tid, segment: *wait }];
        for turn in thing.during(wait, row) {
            self.owners_of(partition, thing, &turn, &mut path, &mut |path, last| {
                let hops = path[1..].iter().chain([&last]).copied().collect();
                chains.push(Chain { from_ns: last.segment.from_ns, to_ns: last.segment.to_ns, hops });
            });
        }
        chains
    }

    /// What a segment is a wait for, with the row that says so.
    fn thing_of(&self, segment: &Segment) -> Option<(u32, &Thing)> {
        let row = segment.row?;
        Some((row, &self.things[*self.by_row.get(&row)?]))
    }

    fn add(&self, partition: &Partition, thing: &Thing, turn: &Turn, pieces: &mut Vec<Waiting>) {
        let (wait, row) = (thing.wait, Some(turn.row));
        let mut roots = Vec::new();
        self.owners_of(partition, thing, turn, &mut Vec::new(), &mut |_, last| roots.push(last));
        let length = turn.to_ns.saturating_sub(turn.from_ns).max(1) as f64;
        let mut known_ns = 0.0;
        for root in roots {
            let ns = root.length_ns();
            known_ns += ns;
            pieces.push(Waiting { wait, row, waiting_ns: turn.waiting_ns * ns / length, root: Some(root) });
        }
        let rest = turn.waiting_ns * (1.0 - known_ns / length).max(0.0);
        if rest > 0.0 {
            pieces.push(Waiting { wait, row, waiting_ns: rest, root: None });
        }
    }

    /// The owners of a pool's objects are not recorded. The objects of a connection pool are in use by threads that wait
    /// for the service behind it: one such wait after the other, for as long as there is one.
    fn users_of_pools(&self, turn: &Turn) -> impl Iterator<Item = Root> + '_ {
        let Turn { from_ns, to_ns, .. } = *turn;
        let first = self.calls.partition_point(|(_, call)| call.to_ns <= from_ns);
        let near = self.calls[first..].iter().take_while(move |(_, call)| call.from_ns < to_ns);
        near.map(move |(tid, call)| {
            let segment = Segment { from_ns: call.from_ns.max(from_ns), to_ns: call.to_ns.min(to_ns), ..*call };
            Root { tid: *tid, segment }
        })
    }

    /// Reports what the owner of a turn did; `path` is the threads that wait for it. A thread on the path is not waited for.
    fn owners_of(&self, partition: &Partition, thing: &Thing, turn: &Turn, path: &mut Vec<Root>, found: Found<'_>) {
        match turn.owner.filter(|owner| path.iter().all(|waiting| waiting.tid != *owner)) {
            Some(owner) => self.follow(partition, owner, turn.from_ns, turn.to_ns, path, found),
            None if turn.owner.is_none() && thing.wait == Wait::Pool => {
                self.users_of_pools(turn).for_each(|root| found(path, root));
            }
            None => {}
        }
    }

    /// Reports what a thread did, and the threads that it waited for itself; `path` is the threads that wait for it.
    fn follow(
        &self,
        partition: &Partition,
        tid: i64,
        from_ns: i64,
        to_ns: i64,
        path: &mut Vec<Root>,
        found: Found<'_>,
    ) {
        for segment in partition.segments(tid, from_ns, to_ns) {
            let further = self.thing_of(&segment).filter(|_| path.len() + 1 < MOST_HOPS);
            let Some((row, thing)) = further else {
                found(path, Root { tid, segment });
                continue;
            };
            for turn in thing.during(&segment, row) {
                let cut = Segment { from_ns: turn.from_ns, to_ns: turn.to_ns, ..segment };
                let is_known = |owner: &i64| *owner != tid && path.iter().all(|waiting| waiting.tid != *owner);
                match turn.owner.filter(is_known) {
                    Some(owner) => {
                        path.push(Root { tid, segment: cut });
                        self.follow(partition, owner, turn.from_ns, turn.to_ns, path, found);
                        path.pop();
                    }
                    None => found(path, Root { tid, segment: cut }),
                }
            }
        }
    }
}

/// Waits of the application's threads for services: whichever began first, and the next one when that is over.
fn calls(sources: &Sources<'_>, partition: &Partition) -> Vec<(i64, Segment)> {
    let own = partition.recorded().filter(|(tid, _)| sources.is_application(*tid));
    let of_thread = |(tid, recorded): (i64, &[Segment])| {
        let calls = recorded.iter().filter(|segment| segment.state == ThreadState::Blocked(Wait::Socket));
        calls.map(|call| (tid, *call)).collect::<Vec<_>>()
    };
    let mut calls: Vec<(i64, Segment)> = own.flat_map(of_thread).collect();
    calls.sort_by_key(|(tid, call)| (call.from_ns, *tid));
    let mut at = i64::MIN;
    let next = |(tid, call): (i64, Segment)| {
        let from_ns = call.from_ns.max(at);
        let to_ns = call.to_ns.min(call.from_ns.saturating_add(LONGEST_CALL_NS));
        at = at.max(to_ns);
        (from_ns < to_ns).then_some((tid, Segment { from_ns, to_ns, ..call }))
    };
    calls.into_iter().filter_map(next).collect()
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::kinds::span;
    use fathom_evidence::tables::Span;

    use super::*;
    use crate::scaffold::stack;

    const MS: i64 = 1_000_000;

    /// A thread that parked below a method.
    fn add_park(recording: &mut Recording, from_ns: i64, duration_ns: i64, tid: i64, method: &str) {
        let stack_id = stack(recording, &[method]);
        let kind = recording.strings.intern(span::PARK);
        recording.spans.push(Span { time_ns: from_ns, duration_ns, tid, kind, stack_id, ..Span::default() });
    }

    #[test]
    fn what_a_pool_is_in_use_for_is_told_once_for_all_who_wait() {
        let (waiters, calls, length) = (200, 1_000, 700 * MS);
        let mut recording = Recording::default();
        (1..=waiters + 1).for_each(|tid| recording.add_thread(tid, &format!("handler-{tid}")));
        for call in 0..calls {
            let detail = r#"{"host":"db","port":5432}"#;
            recording.add_span(call * MS, MS, waiters + 1, span::SOCKET_READ, "db:5432", detail, "jfr");
        }
        for tid in 1..=waiters {
            add_park(&mut recording, tid * MS, length, tid, "com.zaxxer.hikari.util.ConcurrentBag.borrow");
        }
        let sources = Sources::new(&recording).unwrap();
        let partition = Partition::new(&sources, &[]);
        let edges = Edges::new(&sources, &partition);
        let pieces = edges.resolve(&partition, &Intervals::union(vec![(0, i64::MAX)]));
        assert!(pieces.len() as i64 <= 2 * waiters + calls, "{}", pieces.len());
        let on_the_service: f64 =
            pieces.iter().filter(|piece| piece.root.is_some()).map(|piece| piece.waiting_ns).sum();
        let all = (waiters * length) as f64;
        assert!((on_the_service / all - 1.0).abs() < 1e-6, "{on_the_service} of {all}");
    }

    /// Everybody waits from 0 on in one of two places, and each wakes the next: first the one without a wait, who has what they wait for.
    #[test]
    fn places_are_of_one_lock_if_it_goes_from_one_to_the_other() {
        const PLACES: [&str; 2] = ["shop.A.add", "shop.B.add"];
        for (hand_overs, expected) in [
            // At 10 ms thread 9 gives it to 1, at 20 ms 1 gives it to 2.
            (&[(10, 1, 9, 0), (20, 2, 1, 1)][..], 1),
            (&[(10, 1, 9, 0), (20, 2, 8, 1)], 2),
            (&[(10, 1, 9, 0), (20, 2, 1, 0)], 1),
        ] {
            let mut recording = Recording::default();
            (1..10).for_each(|tid| recording.add_thread(tid, &format!("handler-{tid}")));
            for (end, tid, waker, place) in hand_overs {
                add_lock_wait(&mut recording, end * MS, *tid, *waker, PLACES[*place]);
            }
            let sources = Sources::new(&recording).unwrap();
            let edges = Edges::new(&sources, &Partition::new(&sources, &[]));
            assert_eq!(edges.things.len(), expected, "{hand_overs:?}");
        }
    }

    fn add_lock_wait(recording: &mut Recording, duration_ns: i64, tid: i64, waker: i64, method: &str) {
        let stack_id = stack(recording, &["java.util.concurrent.locks.ReentrantLock.lock", method]);
        let [kind, name] = [span::BLOCKED, "futex"].map(|text| recording.strings.intern(text));
        let detail = recording.strings.intern(&format!("{{\"waker_tid\":{waker}}}"));
        recording.spans.push(Span { time_ns: 0, duration_ns, tid, kind, name, stack_id, detail, ..Span::default() });
    }
}
