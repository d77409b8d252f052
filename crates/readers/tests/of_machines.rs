//! Numbers that tools keep for a long time: they are read as what they count.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss};
use fathom_readers::{LoadError, LoadOptions, reader};

/// Files in the folder of a format, loaded together.
fn load(format: &str, names: &[&str]) -> Result<Recording, LoadError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(format);
    let files: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    reader(format).unwrap().load(&files, &LoadOptions::default())
}

fn losses(recording: &Recording) -> Vec<&str> {
    recording.losses.rows().map(|row| recording.text(row.kind)).collect()
}

/// The sum over all instances of what a counter came to.
fn comes_to(recording: &Recording, name: &str) -> f64 {
    let mut last = std::collections::BTreeMap::new();
    for row in recording.counters.rows().filter(|row| recording.text(row.name) == name) {
        last.insert(row.instance, row.value);
    }
    last.values().sum()
}

/// Counters rose by what their last values are more than their first.
#[test]
fn series_of_prometheus() {
    let jvm = load("prometheus", &["jvm.json.gz"]).unwrap();
    assert_eq!(losses(&jvm), [loss::NOT_UNDERSTOOD]);
    let pauses: Vec<i64> = jvm.spans.rows().map(|row| row.duration_ns).collect();
    // The time of pauses is in ms, so that it stands still where they are short.
    assert!((300..=319).contains(&pauses.len()), "{}", pauses.len());
    assert!((pauses.iter().sum::<i64>() - 552_000_000).abs() < 1_000);
    for (name, expected) in [
        (counter::GC_RUNS_COUNT, 319.0),
        (counter::REQUESTS_COUNT, 1_120.0 - 37.0),
        (counter::PROCESS_CPU_NS, 8_930e6 - 1_300e6),
        (counter::GC_TIME_NS, 552e6),
    ] {
        let is = comes_to(&jvm, name);
        assert!((is - expected).abs() < 1e3, "{name}: {is} and not {expected}");
    }
    // Asked for each second and scraped each two.
    let times: std::collections::BTreeSet<i64> =
        jvm.counters.rows().filter(|row| row.value > 0.0).map(|row| row.time_ns / 1_000_000_000).collect();
    let steps: Vec<i64> = times.iter().zip(times.iter().skip(1)).map(|(from, to)| to - from).collect();
    assert!(steps.iter().filter(|step| **step == 2).count() >= 28, "{steps:?}");
    let client = load("prometheus", &["client.json.gz"]).unwrap();
    assert_eq!(losses(&client), [loss::NOT_UNDERSTOOD]);
    assert_eq!(comes_to(&client, counter::GC_RUNS_COUNT) as i64, 324);
    let node = load("prometheus", &["node.json.gz"]).unwrap();
    assert_eq!(losses(&node), [loss::NOT_UNDERSTOOD]);
    let rows = || node.counters.rows().filter(|row| node.text(row.name) == counter::MACHINE_CPU_NS);
    let (from, to) = (rows().map(|row| row.time_ns).min().unwrap(), rows().map(|row| row.time_ns).max().unwrap());
    let all = comes_to(&node, counter::MACHINE_CPU_NS) / (to - from) as f64;
    assert!((1.9..2.1).contains(&all), "{all} CPUs");
}

/// Answers that overlap are read once, whatever their order.
#[test]
fn the_same_answer_twice() {
    let (once, twice) =
        (load("prometheus", &["jvm.json.gz"]).unwrap(), load("prometheus", &["jvm.json.gz"; 2]).unwrap());
    assert_eq!(once.row_counts().counters, twice.row_counts().counters);
    assert_eq!(comes_to(&once, counter::REQUESTS_COUNT), comes_to(&twice, counter::REQUESTS_COUNT));
}

/// sar's own file, as it is and as sadf prints it: to the hundredths that sadf rounds to, and for whole seconds as it has them.
#[test]
fn sars_own_file_is_what_sadf_tells() {
    let (own, told) = (load("sysstat", &["sa29.gz"]).unwrap(), load("sysstat", &["sa29.json.gz"]).unwrap());
    for name in [counter::MACHINE_CPU_NS, counter::ONE_CPU_NS, counter::VMSTAT_COUNT, counter::CONTEXT_SWITCHES_COUNT] {
        let (own, told) = (comes_to(&own, name), comes_to(&told, name));
        assert!(own > 0.0 && (own - told).abs() < 0.02 * told, "{name}: {own} and {told}");
    }
    for (name, instance) in [
        (counter::MEMINFO_BYTES, "MemFree"),
        (counter::MEMINFO_BYTES, "Cached"),
        (counter::MEMINFO_BYTES, "MemAvailable"),
        (counter::MEMINFO_BYTES, "Dirty"),
        (counter::TASKS_COUNT, "runnable"),
        (counter::LOAD_COUNT, "5 min"),
    ] {
        let last = |recording: &Recording| {
            let rows = recording.counters.rows();
            let is = |row: &fathom_evidence::tables::Counter| {
                recording.text(row.name) == name && recording.text(row.instance) == instance
            };
            rows.filter(is).map(|row| (row.time_ns, (row.value * 100.0).round())).next_back()
        };
        assert!(
            last(&own).is_some() && last(&own) == last(&told),
            "{name} {instance}: {:?}",
            (last(&own), last(&told))
        );
    }
}
