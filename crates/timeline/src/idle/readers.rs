//! Threads that were only ever seen reading from one socket.
//!
//! Two kinds of threads look like this. One only reads what a broker or a server sends, and is idle in that read for the rest
//! of the time. The other is a batch that sends one request after another. What the thread does after the read would show which
//! it is, but that was not seen of these threads or similar ones. What a thread did before its first read was its start.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use fathom_evidence::kinds::span;
use fathom_evidence::{Recording, StackId, StrId};

use super::stem;
use crate::sources::Sources;

/// Where a thread reads.
struct Reads {
    first_ns: i64,
    /// The place and the peer; none if there are several, or if they are not known.
    at: Option<(StackId, StrId)>,
}

/// Those of a recording.
pub(crate) fn only_readers(sources: &Sources<'_>) -> HashSet<i64> {
    let recording = sources.recording;
    let reads = reads(sources);
    let is_later = |tid: i64, time_ns: i64| reads.get(&tid).is_none_or(|reads| time_ns > reads.first_ns);
    let running = sources.running_event().into_iter().flat_map(|event| sources.samples(event));
    let is_own =
        |tid: i64, time_ns: i64, stack: StackId| is_later(tid, time_ns) && !is_of_the_recorder(recording, stack);
    let ran = running.filter(|sample| is_own(sample.tid, sample.time_ns, sample.stack_id)).map(|sample| sample.tid);
    let read = recording.strings.find(span::SOCKET_READ);
    let others = recording.spans.rows().filter(|other| Some(other.kind) != read);
    let others = others.filter(|other| is_own(other.tid, other.time_ns, other.stack_id));
    let unclear = reads.iter().filter(|(_, reads)| reads.at.is_none()).map(|(tid, _)| *tid);
    let seen_otherwise: HashSet<i64> = ran.chain(others.map(|other| other.tid)).chain(unclear).collect();
    let seen_otherwise: BTreeSet<String> = seen_otherwise.iter().map(|tid| stem(recording, *tid)).collect();
    reads.into_keys().filter(|tid| !seen_otherwise.contains(&stem(recording, *tid))).collect()
}

/// Whether a thread was in the code with which the JVM's recorder writes an event: it is there after each read that it records.
fn is_of_the_recorder(recording: &Recording, stack: StackId) -> bool {
    let leaf = recording.stacks.leaf_to_root(stack).next();
    leaf.is_some_and(|leaf| recording.text(leaf.symbol).starts_with("jdk.jfr."))
}

/// The reads of threads of the application. What a virtual thread runs is sampled on its carrier.
fn reads(sources: &Sources<'_>) -> BTreeMap<i64, Reads> {
    let mut by_thread: BTreeMap<i64, Reads> = BTreeMap::new();
    for read in sources.spans(span::SOCKET_READ).filter(|read| read.tid > 0 && sources.is_application(read.tid)) {
        let at = (read.stack_id != StackId(0)).then_some((read.stack_id, read.name));
        let reads = by_thread.entry(read.tid).or_insert(Reads { first_ns: read.time_ns, at });
        reads.first_ns = reads.first_ns.min(read.time_ns);
        reads.at = reads.at.filter(|known| Some(*known) == at);
    }
    by_thread
}
