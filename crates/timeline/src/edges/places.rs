//! Which places in a program are those of one lock.
//!
//! A recorder outside the JVM sees no address of a lock, only where in the program a thread waits. A program has several
//! locks, and one may be waited for in several places: then the thread that hands it over in one place got it in another.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::owners::{Key, Owners};
use crate::partition::Segment;
use crate::sources::Sources;

/// Two places are of one lock if for this part of the waits in one of them it came from the other. Who has two locks may give one
/// away right after it got the other.
const MIN_HANDED_OVER_SHARE: f64 = 0.1;

type Things = BTreeMap<Key, Vec<Segment>>;

/// Puts the waits for one lock together.
pub(super) fn join(sources: &Sources<'_>, owners: &Owners<'_>, things: Things) -> Things {
    let mut same: BTreeMap<Key, Key> = BTreeMap::new();
    for (one, other) in of_one_lock(sources, owners, &things) {
        let (one, other) = (first(&same, one), first(&same, other));
        if one != other {
            same.insert(one.max(other), one.min(other));
        }
    }
    let mut joined = Things::new();
    for (key, waits) in things {
        joined.entry(first(&same, key)).or_default().extend(waits);
    }
    joined
}

/// The first of the places that are the same as one.
fn first(same: &BTreeMap<Key, Key>, mut key: Key) -> Key {
    while let Some(before) = same.get(&key) {
        key = *before;
    }
    key
}

fn of_one_lock(sources: &Sources<'_>, owners: &Owners<'_>, things: &Things) -> Vec<(Key, Key)> {
    let by_place: Vec<(Key, BTreeSet<u32>)> = things
        .iter()
        .filter(|(key, _)| key.is_by_place())
        .map(|(key, waits)| (*key, waits.iter().filter_map(|wait| wait.row).collect()))
        .collect();
    let ends = ends(sources, &by_place);
    let mut pairs = Vec::new();
    for (key, rows) in &by_place {
        let mut from: BTreeMap<Key, usize> = BTreeMap::new();
        let came_from = rows.iter().filter_map(|row| came_from(sources, owners, &ends, *row));
        for other in came_from.filter(|other| other != key && (other.wait, other.name) == (key.wait, key.name)) {
            *from.entry(other).or_default() += 1;
        }
        let are_many = |times: usize| times as f64 >= MIN_HANDED_OVER_SHARE * rows.len() as f64;
        pairs.extend(from.into_iter().filter(|(_, times)| are_many(*times)).map(|(other, _)| (*key, other)));
    }
    pairs
}

/// For each thread when its waits ended and in which place, in order.
type Ends = HashMap<i64, Vec<(i64, Key)>>;

fn ends(sources: &Sources<'_>, by_place: &[(Key, BTreeSet<u32>)]) -> Ends {
    let mut ends = Ends::new();
    for (key, rows) in by_place {
        for wait in rows.iter().map(|row| sources.recording.spans.row(*row as usize)) {
            ends.entry(wait.tid).or_default().push((wait.end_ns(), *key));
        }
    }
    ends.values_mut().for_each(|ends| ends.sort_unstable());
    ends
}

/// Where the thread that ended a wait had waited itself, until it got what the other went on waiting for.
fn came_from(sources: &Sources<'_>, owners: &Owners<'_>, ends: &Ends, row: u32) -> Option<Key> {
    let wait = sources.recording.spans.row(row as usize);
    let ends = ends.get(&owners.of(sources, row)?)?;
    let last = ends[..ends.partition_point(|(end, _)| *end <= wait.end_ns())].last();
    last.filter(|(end, _)| *end > wait.time_ns).map(|(_, key)| *key)
}
