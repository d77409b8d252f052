//! Files of `/proc` that loops wrote: the results for real files.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss};
use fathom_readers::{LoadOptions, load_file};

fn load(name: &str) -> Recording {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/proc_files");
    load_file(&folder.join(name), &LoadOptions::default()).unwrap()
}

fn losses(recording: &Recording) -> Vec<&str> {
    recording.losses.rows().map(|row| recording.text(row.kind)).collect()
}

/// The sum over all threads of what a counter came to.
fn comes_to(recording: &Recording, name: &str) -> f64 {
    let mut last = std::collections::BTreeMap::new();
    for row in recording.counters.rows().filter(|row| recording.text(row.name) == name) {
        last.insert(row.tid, row.value);
    }
    last.values().sum()
}

/// Two threads compute from second 6 to 12 of a JVM whose files were read from second 1 on.
#[test]
fn files_of_proc_have_what_the_collectors_have() {
    let values = |recording: &Recording, name: &str, instance: &str| {
        let of = |row: &fathom_evidence::tables::Counter| {
            recording.text(row.name) == name && recording.text(row.instance) == instance
        };
        recording.counters.rows().filter(of).map(|row| row.value).collect::<Vec<f64>>()
    };
    let rise = |values: &[f64]| values[values.len() - 1] - values[0];
    let by_loop = load("loop.txt.gz");
    assert_eq!(by_loop.fact("jvm", "pid"), Some("338"));
    for (name, instance) in [
        (counter::MEMINFO_BYTES, "MemFree"),
        (counter::VMSTAT_COUNT, "pgfault"),
        (counter::RESIDENT_BYTES, ""),
        (counter::PROCESS_THREADS_COUNT, ""),
        (counter::PRESSURE_NS, "memory full"),
    ] {
        assert_eq!(values(&by_loop, name, instance).len(), 13, "{name} {instance}");
    }
    assert!(values(&by_loop, counter::MEMINFO_BYTES, "MemFree").iter().all(|bytes| (1e9..25e9).contains(bytes)));
    assert!(by_loop.threads.is_empty() && values(&by_loop, counter::THREAD_CPU_NS, "").is_empty());
    // Which pressure is which is assumed; the first thread's schedstat says nothing of the others.
    assert_eq!(losses(&by_loop), [loss::UNIT_ASSUMED, loss::REFUSED]);

    let by_headings = load("headings.txt.gz");
    let cpu_ns = rise(&values(&by_headings, counter::PROCESS_CPU_NS, "user"));
    // 26 ticks at first, 247 in the end.
    assert_eq!(cpu_ns, 2.21e9);
    assert!(losses(&by_headings).is_empty(), "{:?}", losses(&by_headings));

    let by_name = load("named.txt.gz");
    let of_threads = comes_to(&by_name, counter::THREAD_CPU_NS);
    // The process had 254 ticks in the end.
    assert!((of_threads - 2.54e9).abs() < 0.1e9, "{of_threads}");
    assert_eq!(values(&by_name, counter::MACHINE_CPU_NS, "user").len(), 13);
    assert!(values(&by_name, counter::DISK_REQUESTS_COUNT, "loop0 read").len() == 13);
    assert!(losses(&by_name).is_empty(), "{:?}", losses(&by_name));
}
