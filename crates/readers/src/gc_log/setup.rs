//! How the JVM and its collector are set up, from the first lines of a log.

use fathom_evidence::Recording;
use fathom_evidence::kinds::subject;

use crate::cursor::Cursor;
use crate::gc_log::event::Family;

/// The `source` column of everything that comes from a log.
pub(super) const SOURCE: &str = "gc_log";

/// Properties of `gc,init` that other sources have too, under the names these have.
const KNOWN: &[(&str, &str, &str)] = &[
    ("Version", subject::JVM, "version"),
    ("CPUs", subject::HOST, "cpus"),
    ("Memory", subject::HOST, "memory_bytes"),
    ("Heap Min Capacity", subject::GC, "heap_min_bytes"),
    ("Heap Initial Capacity", subject::GC, "heap_initial_bytes"),
    ("Heap Max Capacity", subject::GC, "heap_max_bytes"),
    ("Parallel Workers", subject::GC, "parallel_threads"),
    ("Concurrent Workers", subject::GC, "concurrent_threads"),
];

/// Adds a fact, sizes in bytes.
pub(super) fn fact(recording: &mut Recording, key: &str, value: &str) {
    if key == "CommandLine flags" {
        return value.split_whitespace().for_each(|flag| self::flag(recording, flag));
    }
    let known = KNOWN.iter().find(|(logged, _, _)| *logged == key);
    let (subject, key) = known.map_or((subject::GC, key), |(_, subject, key)| (subject, key));
    let value = if key.ends_with("_bytes") { bytes(value) } else { value.to_owned() };
    let value = if key == "cpus" { value.split(' ').next().unwrap_or("").to_owned() } else { value };
    recording.add_fact(subject, key, &value, SOURCE);
}

/// The collector, if `value` is a list of flags that selects one.
pub(super) fn family(value: &[u8]) -> Option<Family> {
    const FLAGS: &[(&[u8], Family)] = &[
        (b"-XX:+UseSerialGC", Family::Serial),
        (b"-XX:+UseParallelGC", Family::Parallel),
        (b"-XX:+UseParallelOldGC", Family::Parallel),
        (b"-XX:+UseConcMarkSweepGC", Family::Cms),
        (b"-XX:+UseG1GC", Family::G1),
        (b"-XX:+UseShenandoahGC", Family::Shenandoah),
    ];
    let is_set = |flag: &[u8]| value.split(|byte| *byte == b' ').any(|word| word == flag);
    FLAGS.iter().find(|(flag, _)| is_set(flag)).map(|(_, family)| *family)
}

fn bytes(value: &str) -> String {
    Cursor(value.as_bytes()).size().map_or(value.to_owned(), |bytes| bytes.to_string())
}

/// `-XX:MaxHeapSize=67108864`, `-XX:+UseSerialGC`
fn flag(recording: &mut Recording, flag: &str) {
    let Some(flag) = flag.strip_prefix("-XX:") else { return };
    let (key, value) = match (flag.strip_prefix('+'), flag.strip_prefix('-'), flag.split_once('=')) {
        (Some(key), _, _) => (key, "true"),
        (_, Some(key), _) => (key, "false"),
        (_, _, Some((key, value))) => (key, value),
        _ => return,
    };
    recording.add_fact(subject::FLAG, key, value, SOURCE);
}
