//! Files of perf: counts are those of `perf script`.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use fathom_evidence::kinds::{counter, loss, span};
use fathom_evidence::{Recording, Table};
use fathom_readers::{LoadError, LoadOptions, reader};

fn load(name: &str) -> Result<Recording, LoadError> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/perf_data").join(name);
    reader("perf_data").unwrap().load(&[file], &LoadOptions::default())
}

/// The names of a sample's stack, innermost first.
fn symbols(recording: &Recording, row: &fathom_evidence::tables::Sample) -> Vec<String> {
    let frames = recording.stacks.leaf_to_root(row.stack_id);
    frames.map(|frame| recording.text(frame.symbol).to_owned()).collect()
}

/// The sum over all threads and instances of what a counter came to.
fn comes_to(recording: &Recording, name: &str) -> f64 {
    let mut last = std::collections::BTreeMap::new();
    for row in recording.counters.rows().filter(|row| recording.text(row.name) == name) {
        last.insert((row.instance, row.tid), row.value);
    }
    last.values().sum()
}

/// Counts are those after `perf inject -j`.
#[test]
fn names_of_a_jitdump() {
    let recording = load("jitdump.data.gz").unwrap();
    let innermost =
        |row: &fathom_evidence::tables::Sample| symbols(&recording, row).into_iter().next().unwrap_or_default();
    for (begins, expected) in [("JS:*sum ", 104), ("JS:*work7 ", 14), ("JS:*work0 ", 11)] {
        let count = recording.samples.rows().filter(|row| innermost(row).starts_with(begins)).count();
        assert_eq!(count, expected, "{begins}");
    }
}

/// perf prints each sample once for each event of the group: here it is one of the event that made it.
#[test]
fn samples_of_a_group() {
    let recording = load("group.data.gz").unwrap();
    let lost = recording.losses.rows().filter(|row| recording.text(row.kind) != loss::NAMES_MISSING).count();
    assert_eq!((recording.samples.len(), lost), (219, 0));
}

/// Counts are those that `perf script` prints.
#[test]
fn samples_of_perf_data() {
    for (name, on_cpu, faults, from_s) in [
        ("realtime", 55, 0, 1_795_823_253),
        ("monotonic", 31, 0, 1_795_823_256),
        ("packed", 58, 0, 1_795_823_259),
        ("pipe", 61, 0, 1_795_823_261),
    ] {
        let recording = load(&format!("{name}.data.gz")).unwrap();
        let count = |word: &str| recording.samples.rows().filter(|row| recording.text(row.event) == word).count();
        assert_eq!((count("cpu"), count("page_fault")), (on_cpu, faults), "{name}");
        assert!(
            recording.samples.time_ns.iter().all(|ns| (from_s..from_s + 4).contains(&(ns / 1_000_000_000))),
            "{name}"
        );
        let in_java =
            recording.samples.rows().filter(|row| symbols(&recording, row).contains(&"Busy.sum".to_owned())).count();
        assert!(in_java * 10 > on_cpu * 8, "{name}: {in_java}");
    }
}

/// Counts are those of `perf script`, by ends that have a beginning.
#[test]
fn system_calls_of_perf_data() {
    for (name, all, calls) in [
        ("system-calls", 1_334, &[("futex", 475), ("openat", 169), ("newfstatat", 169), ("close", 169)][..]),
        ("named-calls", 964, &[("futex", 507), ("openat", 181)]),
    ] {
        let recording = load(&format!("{name}.data.gz")).unwrap();
        let count = comes_to(&recording, counter::SYSTEM_CALLS_COUNT);
        assert!((count - f64::from(all)).abs() <= 2.0, "{name}: {count}");
        assert!(comes_to(&recording, counter::SYSTEM_CALLS_NS) > 0.0);
        for (call, expected) in calls {
            let rows = recording.counters.rows().filter(|row| {
                recording.text(row.name) == counter::SYSTEM_CALLS_COUNT && recording.text(row.instance) == *call
            });
            let mut last = std::collections::BTreeMap::new();
            for row in rows {
                last.insert(row.tid, row.value);
            }
            let found: f64 = last.values().sum();
            assert!((found - f64::from(*expected)).abs() <= 2.0, "{name}: {found} of {call}");
        }
        // The other side answers after 20 ms.
        let reads: Vec<i64> = recording
            .spans
            .rows()
            .filter(|row| recording.text(row.kind) == span::SYSTEM_CALL && recording.text(row.name) == "read")
            .map(|row| row.duration_ns / 1_000_000)
            .collect();
        assert!(reads.len() > 20 && reads.iter().all(|ms| (5..60).contains(ms)), "{name}: {reads:?}");
    }
}

#[test]
fn waits_of_perf_data() {
    let recording = load("switches.data.gz").unwrap();
    let parks: Vec<i64> = recording
        .spans
        .rows()
        .filter(|row| recording.text(row.kind) == span::BLOCKED)
        .map(|row| row.duration_ns)
        .collect();
    // It parks for 20 ms and then works for some.
    let of_20_ms = parks.iter().filter(|ns| (19_500_000..30_000_000).contains(*ns)).count();
    assert!((20..50).contains(&of_20_ms), "{parks:?}");
}
