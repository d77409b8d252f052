//! How words of the schema are displayed: group, title, unit. Unknown words are displayed as well.

use fathom_evidence::kinds::{self, Word, counter, event};
use fathom_timeline::State;

use super::lane::LaneKind;

/// Group of the signals that tell slow seconds.
pub(crate) const PAIN: &str = "slow";
/// Group of the account.
pub(crate) const ACCOUNT: &str = "threads";
const COLLECTOR: &str = "collector";
const STOPS: &str = "stops";
const COMPILER: &str = "compiler";
const MEMORY: &str = "memory";
const CPU: &str = "cpu";
const WAITS: &str = "waits";
const DISK: &str = "disks and files";
const NETWORK: &str = "network";
const OTHER: &str = "other";
const OWN: &str = "fathom itself";

/// Groups in the order of the page.
const GROUPS: &[&str] = &[PAIN, ACCOUNT, STOPS, COLLECTOR, COMPILER, CPU, WAITS, MEMORY, DISK, NETWORK, OTHER, OWN];

/// Beginnings of words and the group that they belong to; the first that fits counts.
const PREFIXES: &[(&str, &str)] = &[
    ("request", PAIN),
    ("own_", OWN),
    ("safepoint", STOPS),
    ("time_to_safepoint", STOPS),
    ("process_stopped", STOPS),
    ("vm_operation", STOPS),
    ("application_time", STOPS),
    ("host_stall", STOPS),
    ("gc", COLLECTOR),
    ("system_gc", COLLECTOR),
    ("collector_run", COLLECTOR),
    ("heap", COLLECTOR),
    ("young", COLLECTOR),
    ("old", COLLECTOR),
    ("allocation", COLLECTOR),
    ("page_allocation", COLLECTOR),
    ("relocation", COLLECTOR),
    ("uncommitted", COLLECTOR),
    ("code_", COMPILER),
    ("compil", COMPILER),
    ("deoptimization", COMPILER),
    ("jit_", COMPILER),
    ("class", COMPILER),
    ("metaspace", COMPILER),
    ("cgroup_memory", MEMORY),
    ("cgroup_io", DISK),
    ("cgroup", CPU),
    ("cpu", CPU),
    ("thread_cpu", CPU),
    ("thread_mode_cpu", CPU),
    ("process_cpu", CPU),
    ("machine_cpu", CPU),
    ("one_cpu", CPU),
    ("run_queue", CPU),
    ("thread_run_queue", CPU),
    ("jvm_threads_cpu", CPU),
    ("load", CPU),
    ("context_switches", CPU),
    ("tasks", CPU),
    ("interrupts", CPU),
    ("softirqs", CPU),
    ("pressure", CPU),
    ("wakeup_delay", CPU),
    ("page_fault", MEMORY),
    ("thread_minor", MEMORY),
    ("thread_major", MEMORY),
    ("thread_allocated", COLLECTOR),
    ("process_faults", MEMORY),
    ("process_memory", MEMORY),
    ("memory", MEMORY),
    ("meminfo", MEMORY),
    ("vmstat", MEMORY),
    ("resident", MEMORY),
    ("block_", DISK),
    ("disk", DISK),
    ("file_", DISK),
    ("packet", NETWORK),
    ("datagram", NETWORK),
    ("network", NETWORK),
    ("socket", NETWORK),
    ("segments", NETWORK),
    ("blocked", WAITS),
    ("system_call", WAITS),
    ("vm_thread_write", WAITS),
    ("monitor", WAITS),
    ("park", WAITS),
    ("pinned", WAITS),
    ("sleep", WAITS),
    ("native_lock", WAITS),
];

/// The group of a counter or a kind of span.
pub(crate) fn counter_group(word: &str) -> &'static str {
    PREFIXES.iter().find(|(prefix, _)| word.starts_with(prefix)).map_or(OTHER, |(_, group)| group)
}

/// Where a group stands on the page.
pub(crate) fn group_rank(group: &str) -> usize {
    GROUPS.iter().position(|known| *known == group).unwrap_or(GROUPS.len())
}

/// Where a counter stands in the schema.
pub(crate) fn counter_rank(word: &str) -> usize {
    rank(kinds::counter::ALL, word)
}

/// Where a kind of span stands in the schema.
pub(crate) fn span_rank(word: &str) -> usize {
    rank(kinds::span::ALL, word)
}

fn rank(words: &[Word], word: &str) -> usize {
    words.iter().position(|known| known.word == word).unwrap_or(words.len())
}

/// What a word means; empty for one that the schema does not have.
pub(crate) fn meaning(word: &str) -> &'static str {
    let mut all = kinds::counter::ALL.iter().chain(kinds::span::ALL).chain(kinds::event::ALL);
    all.find(|known| known.word == word).map_or("", |known| known.meaning.trim())
}

/// Ends of words that are units, and the unit of a level and of a rate with the factor to it.
const UNITS: &[(&str, &str, (&str, f64))] = &[
    ("_bytes", "bytes", ("bytes/s", 1.0)),
    ("_ns", "ns", ("cores", 1e-9)),
    ("_count", "count", ("1/s", 1.0)),
    ("_ratio", "ratio", ("ratio", 1.0)),
    ("_per_second", "1/s", ("1/s", 1.0)),
];

/// Unit of a lane of the counter `word`, and the factor from its values to that unit. Time per second is a number
/// of threads or cores.
pub(crate) fn unit(word: &str, kind: LaneKind) -> (&'static str, f64) {
    let found = UNITS.iter().find(|(ending, _, _)| word.ends_with(ending));
    match (found, kind) {
        (Some((_, level, _)), LaneKind::Counter) => (level, 1.0),
        (Some(("_ns", _, (_, factor))), LaneKind::Rate) if !word.contains("cpu") => ("threads", *factor),
        (Some((_, _, rate)), LaneKind::Rate) => *rate,
        (None, LaneKind::Counter) => ("", 1.0),
        (None, LaneKind::Rate) => ("1/s", 1.0),
    }
}

/// Counters and signals of which the word is no name that people use.
const TITLES: &[(&str, &str)] = &[
    (counter::COMPILE_COUNT, "compilations"),
    (counter::COMPILE_CODE_BYTES, "compiled code"),
    (counter::SYSTEM_CALLS_BYTES, "bytes of system calls"),
    (counter::CPU_PROCESS_RATIO, "process CPU"),
    (counter::CPU_MACHINE_RATIO, "machine CPU"),
    (counter::CPU_THREAD_RATIO, "thread CPU"),
    ("input_output", "I/O waits"),
    ("locks", "lock waits"),
    ("permits", "semaphore waits"),
    ("below_java", "CPU below Java"),
    ("collecting", "GC threads"),
    ("interpreting", "interpreted Java"),
];

/// Parts of words that people write in another way.
const SPELLED: &[(&str, &str)] = &[("gc", "GC"), ("cpu", "CPU"), ("jit", "JIT"), ("jvm", "JVM"), ("vm", "VM")];

/// What events of spans and of waits begin with.
const SPANS_OF: &str = "spans/";
const WAITS_OF: &str = "waits/";

/// The event that says of all waits who was waited for, and what that one did.
pub(crate) const WHY: &str = "waits/why";

/// Events whose word says too little by itself.
const EVENTS: &[(&str, &str)] = &[
    (event::EXECUTION, "executing Java"),
    (event::WALL, "wall clock"),
    (event::NATIVE, "in native methods"),
    (event::ALLOCATION_SAMPLED, "allocation, picked at random"),
    (event::LIVE_OBJECT, "live objects"),
    (event::PAGE_FAULT, "page faults"),
    (event::MALLOC, "native memory"),
    (event::UNINTERRUPTIBLE, "uninterruptible waits"),
];

/// The name of a word; of most it is the word without underscores and unit.
pub(crate) fn title(word: &str) -> String {
    if let Some((_, title)) = TITLES.iter().find(|(known, _)| *known == word) {
        return (*title).to_owned();
    }
    let bare = UNITS.iter().find_map(|(ending, _, _)| word.strip_suffix(ending)).unwrap_or(word);
    let spelled = |part| SPELLED.iter().find(|(plain, _)| *plain == part).map_or(part, |(_, spelled)| *spelled);
    bare.split('_').map(spelled).collect::<Vec<&str>>().join(" ")
}

/// An event as people call it.
pub(crate) fn event_title(word: &str) -> String {
    if word == WHY {
        return "why threads waited: for whom, and what that one did".to_owned();
    }
    if let Some(wait) = word.strip_prefix(WAITS_OF) {
        let known = State::ALL.iter().map(|state| state.row()).find(|row| row.id == wait);
        return known.map_or(wait, |row| row.title).to_owned();
    }
    let word = word.strip_prefix(SPANS_OF).unwrap_or(word);
    EVENTS.iter().find(|(known, _)| *known == word).map_or_else(|| title(word), |(_, title)| (*title).to_owned())
}

/// What an event means.
pub(crate) fn event_meaning(word: &str) -> &'static str {
    match word.strip_prefix(SPANS_OF) {
        None if word == WHY => {
            "Threads of the application that waited, with those who had what they waited for, and what these did: the critical path."
        }
        Some(kind) => meaning(kind),
        None if word.starts_with(WAITS_OF) => {
            "Threads of the application that waited, as the account has it: not for work."
        }
        None => meaning(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_readable() {
        for (word, kind, expected) in [
            ("heap_used_bytes", LaneKind::Counter, ("collector", "heap used", "bytes")),
            ("thread_cpu_ns", LaneKind::Rate, ("cpu", "thread CPU", "cores")),
            ("blocked_ns", LaneKind::Rate, ("waits", "blocked", "threads")),
            ("disk_bytes", LaneKind::Rate, ("disks and files", "disk", "bytes/s")),
            ("compile_count", LaneKind::Rate, ("compiler", "compilations", "1/s")),
            ("gc_policy", LaneKind::Counter, ("collector", "GC policy", "")),
            ("unheard_of", LaneKind::Counter, ("other", "unheard of", "")),
        ] {
            assert_eq!((counter_group(word), title(word).as_str(), unit(word, kind).0), expected);
        }
    }

    #[test]
    fn every_group_has_its_place() {
        assert!(PREFIXES.iter().all(|(_, group)| GROUPS.contains(group)));
    }
}
