//! Whether a thread that waits has nothing to do, derived from what it and its like do at other times.
//!
//! A worker runs a loop: it waits for work in one branch and does the work in another. So threads of one kind are put
//! together, the loop is what all their stacks have in common, and the idle branch is the one in which they do nothing but
//! wait. No framework is named here, only the waiting primitives of the JDK and the kernel's objects (`paths`). Unknown
//! remain: threads that were seen in one place only, truncated stacks, and places deep in the application's code.

mod paths;
mod readers;
mod tree;

use std::collections::HashMap;
use std::collections::btree_map::{BTreeMap, Entry};

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};

use crate::sources::Sources;
use paths::{Path, Paths};
pub(crate) use readers::only_readers;
use tree::Tree;

/// What a place is in which a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A loop of the JDK's own, with nothing of the application below it: there is no work.
    Jdk,
    /// A worker waits there for work.
    Idle,
    /// Work waits there.
    Work,
    /// The only place in which the threads were ever seen: whether it is their work is unknown.
    Only,
    /// It is not known.
    Unknown,
}

/// Kinds of spans in which a thread waits for another one, or for time to pass.
const WAITS: [&str; 6] =
    [span::PARK, span::MONITOR_WAIT, span::SLEEP, span::SAMPLED_WAIT, span::BLOCKED, span::FILE_READ];

/// The places in which the application's threads wait.
#[derive(Debug, Default)]
pub(crate) struct Places(HashMap<(i64, StackId), Place>);

impl Places {
    /// Those of a recording. A wait for a mutex is never idleness.
    pub(crate) fn of(sources: &Sources<'_>, is_for_a_mutex: fn(&Recording, &Span) -> bool) -> Places {
        let mut paths = Paths::default();
        let seen = seen(sources, is_for_a_mutex, &mut paths);
        let mut places = HashMap::new();
        for threads in clusters(sources.recording, &paths, &seen) {
            let mut tree = Tree::default();
            for thread in threads.iter().map(|tid| &seen[tid]) {
                thread.waits.iter().for_each(|(path, ns)| tree.add_wait(path, *ns));
                thread.ran.iter().for_each(|(path, count)| tree.add_samples(path, *count));
            }
            let place_of = tree.places(&paths);
            for tid in &threads {
                let stacks = seen[tid].stacks.iter();
                places.extend(stacks.map(|(stack, path)| ((*tid, *stack), place_of(path))));
            }
        }
        Places(places)
    }

    /// What the place is in which a thread waits; none where its stack is not known, or cut.
    pub(crate) fn place(&self, tid: i64, stack: StackId) -> Option<Place> {
        self.0.get(&(tid, stack)).copied()
    }
}

/// What a thread was seen at.
#[derive(Debug, Default)]
struct Seen {
    /// Whole stacks of waits.
    stacks: BTreeMap<StackId, Path>,
    /// Their paths, and for how long.
    waits: BTreeMap<Path, i64>,
    /// Paths of the samples of running code, and how many.
    ran: BTreeMap<Path, usize>,
}

fn seen(
    sources: &Sources<'_>,
    is_for_a_mutex: fn(&Recording, &Span) -> bool,
    paths: &mut Paths,
) -> BTreeMap<i64, Seen> {
    let recording = sources.recording;
    let mut seen: BTreeMap<i64, Seen> = BTreeMap::new();
    let waits = WAITS.into_iter().flat_map(|kind| sources.spans(kind));
    for wait in waits.filter(|wait| sources.is_application(wait.tid) && !is_for_a_mutex(recording, wait)) {
        let thread = seen.entry(wait.tid).or_default();
        let path = match thread.stacks.entry(wait.stack_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => match paths.of_wait(recording, &wait) {
                Some(path) => new.insert(path),
                None => continue,
            },
        };
        match thread.waits.get_mut(path) {
            Some(ns) => *ns = ns.saturating_add(wait.duration_ns.max(0)),
            None => drop(thread.waits.insert(path.clone(), wait.duration_ns.max(0))),
        }
    }
    // Of millions of samples there are few stacks.
    let mut ran: BTreeMap<(i64, StackId), usize> = BTreeMap::new();
    for sample in sources.running_event().into_iter().flat_map(|event| sources.samples(event)) {
        if seen.contains_key(&sample.tid) {
            *ran.entry((sample.tid, sample.stack_id)).or_default() += 1;
        }
    }
    for ((tid, stack), count) in ran {
        let path = paths.whole(recording, stack);
        if let Some((thread, path)) = seen.get_mut(&tid).zip(path) {
            *thread.ran.entry(path).or_default() += count;
        }
    }
    seen
}

/// Threads of one kind: those whose names differ in numbers only, and of these the ones in whose stacks the same, or a part of the
/// same, is common to all. A bare `Thread.run` says nothing.
fn clusters(recording: &Recording, paths: &Paths, seen: &BTreeMap<i64, Seen>) -> Vec<Vec<i64>> {
    let mut by_stem: BTreeMap<String, Vec<(Path, i64)>> = BTreeMap::new();
    for (tid, thread) in seen {
        let common = common(thread.waits.keys().chain(thread.ran.keys()));
        by_stem.entry(stem(recording, *tid)).or_default().push((common, *tid));
    }
    let mut clusters: Vec<Vec<i64>> = Vec::new();
    for mut threads in by_stem.into_values() {
        // The shorter ones come first, and those that go on from one come after it.
        threads.sort();
        let mut loop_of: Option<Path> = None;
        for (path, tid) in threads {
            let joins = loop_of.as_ref().is_some_and(|first| path.starts_with(first) && !paths.is_bare(first));
            match clusters.last_mut().filter(|_| joins) {
                Some(cluster) => cluster.push(tid),
                None => {
                    clusters.push(vec![tid]);
                    loop_of = Some(path);
                }
            }
        }
    }
    clusters
}

/// A thread's name without its numbers.
fn stem(recording: &Recording, tid: i64) -> String {
    let name = recording.threads.get(tid).map_or("", |thread| recording.text(thread.name));
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// What some paths have in common, from the root on.
fn common<'p>(mut paths: impl Iterator<Item = &'p Path>) -> Path {
    let Some(first) = paths.next() else { return Path::default() };
    let mut length = first.len();
    for path in paths {
        length = first.iter().zip(path).take(length).take_while(|(one, other)| one == other).count();
    }
    first[..length].to_vec()
}

#[cfg(test)]
mod tests {
    use fathom_evidence::kinds::event;
    use fathom_evidence::tables::Sample;

    use super::*;
    use crate::scaffold;

    const PARK: &str = "jdk.internal.misc.Unsafe.park java.util.concurrent.locks.LockSupport.park";

    /// A recording of one pool; each line is `wait` or `ran`, and a stack from its leaf on.
    fn recording(lines: &[(i64, &str, &str)]) -> Recording {
        let mut recording = Recording::default();
        for (index, (tid, what, stack)) in lines.iter().enumerate() {
            recording.add_thread(*tid, &format!("worker-{tid}"));
            let stack_id = scaffold::stack(&mut recording, &stack.split(' ').collect::<Vec<_>>());
            let time_ns = index as i64 * 1_000_000_000;
            if *what == "wait" {
                recording.add_span(time_ns, 900_000_000, *tid, span::PARK, "", "", "jfr");
                *recording.spans.stack_id.last_mut().unwrap() = stack_id;
            } else {
                let event = recording.strings.intern(event::CPU);
                recording.samples.push(Sample { time_ns, tid: *tid, event, stack_id, ..Sample::default() });
            }
        }
        recording
    }

    fn places(lines: &[(i64, &str, &str)]) -> Vec<Option<Place>> {
        let recording = recording(lines);
        let places = Places::of(&Sources::new(&recording).unwrap(), |_, _| false);
        let waits = recording.spans.rows().map(|wait| places.place(wait.tid, wait.stack_id));
        waits.collect()
    }

    #[test]
    fn the_branch_in_which_workers_only_wait_is_the_idle_one() {
        let take = format!(
            "{PARK} java.util.concurrent.Semaphore.acquire hbase.Handler.getCall hbase.Handler.run java.lang.Thread.run"
        );
        let pool = format!(
            "{PARK} db.Pool.borrow db.Client.query shop.Orders.get hbase.Call.run hbase.Handler.run java.lang.Thread.run"
        );
        let work = "shop.Orders.price shop.Orders.get hbase.Call.run hbase.Handler.run java.lang.Thread.run";
        let lines = [(1, "wait", take.as_str()), (1, "ran", work), (2, "wait", pool.as_str()), (2, "ran", work)];
        assert_eq!(places(&lines), [Some(Place::Idle), Some(Place::Work)]);
    }

    #[test]
    fn threads_that_were_seen_in_one_place_only_are_unknown_unless_it_is_the_jdks_own() {
        let own = format!("{PARK} shop.Cart.total shop.Main.run java.lang.Thread.run");
        let jdk = format!(
            "{PARK} java.util.concurrent.LinkedBlockingQueue.take java.util.concurrent.ThreadPoolExecutor.getTask java.lang.Thread.run"
        );
        assert_eq!(places(&[(1, "wait", own.as_str())]), [Some(Place::Only)]);
        assert_eq!(places(&[(1, "wait", jdk.as_str())]), [Some(Place::Jdk)]);
    }

    #[test]
    fn what_is_cut_or_no_waiting_primitive_is_unknown() {
        let cut = format!("{PARK} java.util.concurrent.LinkedBlockingQueue.take shop.Main.handle");
        assert_eq!(places(&[(1, "wait", cut.as_str())]), [None]);
        assert_eq!(places(&[(1, "wait", "shop.Cart.total java.lang.Thread.run")]), [None]);
    }
}
