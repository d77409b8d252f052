//! Profiles of other tools: the results for real files, compared with the figures of those tools.

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

/// Both were written by OpenTelemetry's own classes.
#[test]
fn json_of_opentelemetry_is_the_same_profile() {
    let (json, expected) = (load("otlp", "python.json.gz").unwrap(), load("otlp", "python.pb.gz").unwrap());
    let said = |recording: &Recording| {
        let row = |row: fathom_evidence::tables::Sample| {
            let frames =
                recording.stacks.leaf_to_root(row.stack_id).map(|frame| recording.text(frame.symbol).to_owned());
            (row.time_ns, row.tid, row.weight_ns, frames.collect::<Vec<_>>())
        };
        recording.samples.rows().map(row).collect::<Vec<_>>()
    };
    assert_eq!(said(&json), said(&expected));
    assert_eq!((json.samples.len(), losses(&json)), (134, losses(&expected)));
}

#[test]
fn profiles_of_opentelemetry() {
    let recording = load("otlp", "python.pb.gz").unwrap();
    assert_eq!(sums(&recording), (134 * 20_000_000, 0, 134, vec!["cpu"]));
    let names: Vec<&str> = recording.threads.iter().map(|(_, thread)| recording.text(thread.name)).collect();
    assert_eq!(names, ["sort", "join"]);
    assert_eq!(losses(&recording), [] as [&str; 0]);
    let (exported, recorded) =
        (load("otlp", "fathom-export.pb.gz").unwrap(), load("perf_script", "jdk17.txt").unwrap());
    assert_eq!(sums(&exported), sums(&recorded));
    assert_eq!(stacks(&exported), stacks(&recorded));
}

/// Each sample with its time, thread and frames, as text: numbers of threads and names are different in each recording.
fn stacks(recording: &Recording) -> Vec<String> {
    let of = |stack| {
        let frames = recording.stacks.leaf_to_root(stack);
        let frame = |frame: fathom_evidence::Frame| {
            [frame.symbol, frame.kind].map(|id| recording.text(id).to_owned()).join("/")
        };
        frames.map(frame).collect::<Vec<_>>().join("<")
    };
    let rows = recording.samples.rows();
    let mut found: Vec<String> = rows.map(|row| format!("{} {} {}", row.time_ns, row.tid, of(row.stack_id))).collect();
    found.sort();
    found
}

#[test]
fn samples_of_perfetto() {
    let recording = load("perfetto", "linux-perf.pftrace.gz").unwrap();
    assert_eq!(sums(&recording), (125 * 20_408_163, 0, 125, vec!["cpu"]));
    assert_eq!(losses(&recording), [] as [&str; 0]);
    let (from_ns, to_ns) = recording.time_range_ns().unwrap();
    // perf record was called in second 1795945169.
    assert_eq!((from_ns / 1_000_000_000, to_ns - from_ns), (1_795_945_169, 3_936_413_000));
    let (exported, recorded) =
        (load("perfetto", "fathom-export.pftrace.gz").unwrap(), load("perf_script", "jdk17.txt").unwrap());
    assert_eq!((sums(&exported).2, sums(&exported).3), (recorded.samples.len(), vec!["sampled"]));
    assert_eq!(exported.samples.time_ns, recorded.samples.time_ns);
}

#[test]
fn profiles_without_times_explain_nothing() {
    for (format, name) in [("pprof", "cpu.pb.gz"), ("collapsed", "cpu-plain.txt"), ("speedscope", "py-spy.json.gz")] {
        let error = load(format, name).unwrap_err().to_string();
        assert!(error.contains("cannot tell slow time from quiet time") && !error.contains('\n'), "{error}");
    }
}
