//! Profiles of other tools: what the real ones give, against the figures of their own tools.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fathom_evidence::kinds::loss;
use fathom_evidence::{FrameId, Recording, Table};
use fathom_readers::{LoadError, LoadOptions, reader};

fn testdata(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(format)
}

fn load_with(format: &str, name: &str, options: &LoadOptions) -> Result<Recording, LoadError> {
    reader(format).unwrap().load(&[testdata(format).join(name)], options)
}

fn load(format: &str, name: &str) -> Result<Recording, LoadError> {
    load_with(format, name, &LoadOptions::default())
}

fn losses(recording: &Recording) -> Vec<&str> {
    recording.losses.rows().map(|row| recording.text(row.kind)).collect()
}

/// A profile without times, where it is wanted.
fn untimed(format: &str, name: &str) -> Recording {
    load_with(format, name, &LoadOptions { takes_untimed: true, ..LoadOptions::default() }).unwrap()
}

/// Sums of CPU time, bytes and rows, with the events that they are of.
fn sums(recording: &Recording) -> (i64, i64, usize, Vec<&str>) {
    let mut events: Vec<&str> = recording.samples.rows().map(|row| recording.text(row.event)).collect();
    events.sort_unstable();
    events.dedup();
    let samples = &recording.samples;
    (samples.weight_ns.iter().sum(), samples.size_bytes.iter().sum(), samples.len(), events)
}

/// The figures of `go tool pprof -raw`.
#[test]
fn pprof_has_the_sums_of_its_own_tool() {
    let recording = untimed("pprof", "cpu.pb.gz");
    assert_eq!(sums(&recording), (2_010_000_000, 0, 164, vec!["cpu_untimed"]));
    assert_eq!(recording.time_range_ns(), Some((1_795_943_047_763_882_696, 1_795_943_049_765_991_530)));
    assert_eq!(sums(&untimed("pprof", "goroutine.pb.gz")).3, ["goroutine_untimed"]);
    assert_eq!(sums(&untimed("pprof", "mutex.pb.gz")).3, ["delay_untimed"]);
    let allocs = sums(&untimed("pprof", "allocs.pb.gz")).3.join(" ");
    assert_eq!(allocs, "allocation_untimed inuse_space_untimed");
}

#[test]
fn collapsed_stacks_have_layers_and_threads_as_far_as_they_say() {
    let recording = untimed("collapsed", "cpu-threads.txt.gz");
    assert_eq!(sums(&recording), (0, 0, 271, vec!["sampled_untimed"]));
    let names: Vec<&str> = recording.threads.iter().map(|(_, thread)| recording.text(thread.name)).collect();
    assert!(["sorter-1", "sorter-2", "writer-1"].iter().all(|name| names.contains(name)), "{names:?}");
    let frames = (0..recording.stacks.frame_count()).map(|id| recording.stacks.frame(FrameId(id as u32)));
    let sort = frames.filter(|frame| recording.text(frame.symbol) == "java.util.DualPivotQuicksort.sort");
    let mut layers: Vec<&str> = sort.map(|frame| recording.text(frame.kind)).collect();
    layers.sort_unstable();
    assert_eq!(layers, ["c1", "compiled", "interpreted"]);
    assert_eq!(sums(&untimed("collapsed", "cpu-plain.txt")).2, 155);
}

#[test]
fn weights_of_speedscope() {
    assert_eq!(sums(&untimed("speedscope", "py-spy.json.gz")), (3_240_000_000, 0, 162, vec!["sampled_untimed"]));
    let exported = untimed("speedscope", "fathom-export.json.gz");
    let recorded = load("perf_script", "jdk17.txt").unwrap();
    let (ns, _, rows, events) = sums(&exported);
    assert_eq!((ns, rows, events), (sums(&recorded).0, recorded.samples.len(), vec!["cpu_untimed"]));
}

/// A profile that samply made of perf.data has another time than the recording.
#[test]
fn profiles_of_firefox() {
    let clock_offsets = vec![("samply-import.json.gz".into(), -4_000_000_000)];
    let options = LoadOptions { clock_offsets, ..LoadOptions::default() };
    let recording = load_with("firefox", "samply-import.json.gz", &options).unwrap();
    assert_eq!(sums(&recording), (1_888_887_000, 0, 187, vec!["cpu"]));
    assert_eq!(losses(&recording), [loss::NAMES_MISSING]);
    let stacks = recording.samples.stack_id.iter().flat_map(|stack| recording.stacks.leaf_to_root(*stack));
    let kinds: BTreeSet<&str> = stacks.map(|frame| recording.text(frame.kind)).collect();
    assert!(["compiled", "interpreted", "vm", "native", "kernel"].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    let exported = load("firefox", "fathom-export.json.gz").unwrap();
    let recorded = load("perf_script", "jdk17.txt").unwrap();
    let near = |of: &Recording| of.samples.time_ns.iter().map(|ns| ns / 1_000_000).collect::<Vec<_>>();
    let (mut found, mut expected) = (near(&exported), near(&recorded));
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn profiles_without_times_explain_nothing() {
    for (format, name) in [("pprof", "cpu.pb.gz"), ("collapsed", "cpu-plain.txt"), ("speedscope", "py-spy.json.gz")] {
        let error = load(format, name).unwrap_err().to_string();
        assert!(error.contains("cannot tell slow time from quiet time") && !error.contains('\n'), "{error}");
    }
}
