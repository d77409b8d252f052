//! What the JFR reader leaves out when only verdicts are wanted, on the recordings in `testdata/jfr`.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_evidence::tables::Sample;
use fathom_evidence::{Recording, StackId, Table, kinds};
use fathom_readers::{LoadOptions, load_file};

/// Every recording, read in whole and for verdicts.
fn both() -> impl Iterator<Item = (PathBuf, Recording, Recording)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/jfr");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.to_string_lossy().contains(".jfr")).filter_map(|path| {
        let read = |for_verdicts| load_file(&path, &LoadOptions { for_verdicts, ..LoadOptions::default() });
        let (all, less) = (read(false).ok()?, read(true).unwrap());
        Some((path, all, less))
    })
}

fn is_of_bytes(recording: &Recording, sample: &Sample) -> bool {
    use kinds::event::{ALLOCATION, ALLOCATION_SAMPLED, LIVE_OBJECT, MALLOC};
    [ALLOCATION, ALLOCATION_SAMPLED, LIVE_OBJECT, MALLOC].contains(&recording.text(sample.event))
}

/// Bytes by event, thread and the instant for which they count.
fn bytes(recording: &Recording) -> BTreeMap<(&str, i64, i64), i64> {
    let mut sums = BTreeMap::new();
    for sample in recording.samples.rows().filter(|sample| is_of_bytes(recording, sample)) {
        let key = (recording.text(sample.event), sample.tid, sample.counts_at_ns());
        *sums.entry(key).or_default() += sample.size_bytes;
    }
    sums
}

fn stack(recording: &Recording, id: StackId) -> Vec<&str> {
    recording.stacks.leaf_to_root(id).map(|frame| recording.text(frame.symbol)).collect()
}

/// The other samples and the spans: time, thread, what it is, and the stack.
fn others(recording: &Recording) -> Vec<(i64, i64, &str, Vec<&str>)> {
    let samples = recording.samples.rows().filter(|sample| !is_of_bytes(recording, sample));
    let samples = samples.map(|row| (row.time_ns, row.tid, recording.text(row.event), stack(recording, row.stack_id)));
    let spans = recording.spans.rows();
    samples
        .chain(spans.map(|row| (row.time_ns, row.tid, recording.text(row.kind), stack(recording, row.stack_id))))
        .collect()
}

fn losses(recording: &Recording) -> Vec<&str> {
    recording.losses.rows().map(|row| recording.text(row.says)).collect()
}

#[test]
fn only_the_places_and_instants_of_bytes_are_left_out() {
    let (mut files, mut rows) = (0, (0, 0));
    for (path, all, less) in both() {
        assert_eq!(bytes(&less), bytes(&all), "{}", path.display());
        assert_eq!(others(&less), others(&all), "{}", path.display());
        assert_eq!(less.time_range_ns(), all.time_range_ns(), "{}", path.display());
        assert_eq!(losses(&less), losses(&all), "{}", path.display());
        files += 1;
        rows = (rows.0 + less.samples.len(), rows.1 + all.samples.len());
    }
    assert!(files >= 10 && rows.0 < rows.1, "{files} {rows:?}");
}
