//! Files of perf: the counts equal those of `perf script`.

#![allow(clippy::unwrap_used)]

use std::io::Read;
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

/// A file of perf whose records are others; what follows them moves.
fn with_records(file: &[u8], change: impl Fn(Vec<&[u8]>) -> Vec<u8>) -> Vec<u8> {
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let [start, length] = [word(40), word(48)].map(|word| word as usize);
    let (mut rest, mut records) = (&file[start..start + length], Vec::new());
    while !rest.is_empty() {
        let (record, behind) = rest.split_at(usize::from(u16::from_le_bytes([rest[6], rest[7]])));
        records.push(record);
        rest = behind;
    }
    let changed = change(records);
    let features = (0..4).map(|nth| word(72 + 8 * nth).count_ones()).sum::<u32>() as usize;
    let moved = |nth: usize| if nth.is_multiple_of(2) { (changed.len() - length) as u64 } else { 0 };
    let places: Vec<u64> = (0..2 * features).map(|nth| word(start + length + 8 * nth) + moved(nth)).collect();
    let mut all = file[..start].to_vec();
    all[48..56].copy_from_slice(&(changed.len() as u64).to_le_bytes());
    all.extend(changed);
    all.extend(places.into_iter().flat_map(u64::to_le_bytes));
    all.extend(&file[start + length + 16 * features..]);
    all
}

/// The records with a mark of perf after each few, and how the samples among them are ordered.
fn with_marks(records: Vec<&[u8]>, sort: impl Fn(&mut Vec<&[u8]>)) -> Vec<u8> {
    const MARK: [u8; 8] = [68, 0, 0, 0, 0, 0, 8, 0];
    let is_sample = |record: &&[u8]| record[0] == 9;
    let (mut samples, others): (Vec<&[u8]>, Vec<&[u8]>) = records.into_iter().partition(is_sample);
    sort(&mut samples);
    let marked = samples.chunks(40).flat_map(|some| some.iter().copied().chain([&MARK[..]]));
    others.into_iter().filter(|record| record[0] != 68).chain(marked).flatten().copied().collect()
}

/// perf marks how far all CPUs were read. What it wrote in order is the same with marks as without, and what comes later than it may makes
/// no wait longer.
#[test]
fn marks_of_perf_change_nothing() {
    for (name, time_at) in [("system-calls", 24), ("switches", 32)] {
        let file = unpacked(name);
        let time = |record: &&[u8]| u64::from_le_bytes(record[time_at..time_at + 8].try_into().unwrap());
        let of = |sort: &dyn Fn(&mut Vec<&[u8]>)| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("perf.data");
            std::fs::write(&path, with_records(&file, |records| with_marks(records, sort))).unwrap();
            reader("perf_data").unwrap().load(&[path], &LoadOptions::default()).unwrap()
        };
        let (expected, in_order) =
            (load(&format!("{name}.data.gz")).unwrap(), of(&|samples| samples.sort_by_key(time)));
        assert_eq!(spans(&in_order), spans(&expected), "{name}");
        assert_eq!(comes_to(&in_order, counter::SYSTEM_CALLS_NS), comes_to(&expected, counter::SYSTEM_CALLS_NS));
        let turned = of(&|samples| {
            samples.sort_by_key(time);
            let third = samples.len() / 3;
            samples.rotate_left(third);
        });
        assert!(turned.losses.rows().any(|row| turned.text(row.says).contains("come long after later ones")), "{name}");
        assert!(spans(&turned).iter().all(|span| spans(&expected).contains(span)), "{name}");
    }
}

/// Beginning, length and thread of each.
fn spans(recording: &Recording) -> Vec<(i64, i64, i64)> {
    let mut all: Vec<_> = recording.spans.rows().map(|row| (row.time_ns, row.duration_ns, row.tid)).collect();
    all.sort_unstable();
    all
}

fn unpacked(name: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/perf_data").join(format!("{name}.data.gz"));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}
