//! The JFR reader against recordings of real JVMs and of async-profiler in `testdata/jfr`.
//!
//! What the JDK's own tool says about each of them was written down by `testdata/jfr/expect.py`.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fathom_evidence::tables::{Sample, Span};
use fathom_evidence::{Recording, StackId, StrId, Table, kinds};
use fathom_readers::{LoadOptions, load_file};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/jfr")
}

fn load(file: &str) -> Recording {
    load_file(&folder().join(file), &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Every recording that the JDK's tool reads, with what the tool says.
fn expectations() -> Vec<(String, Recording, Value)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".expected.json").map(str::to_owned)
        else {
            continue;
        };
        let expected = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let plain = format!("{name}.jfr");
        let file = if folder().join(&plain).exists() { plain } else { format!("{name}.jfr.gz") };
        all.push((name, load(&file), expected));
    }
    assert!(all.len() >= 10, "the recordings are missing");
    all
}

/// Which events make the rows with a word: `(table, word, events)`.
const ROWS: &[(&str, &str, &[&str])] = &[
    ("samples", "execution|cpu|page_fault", &["jdk.ExecutionSample", "jdk.CPUTimeSample"]),
    ("samples", "native", &["jdk.NativeMethodSample"]),
    ("samples", "wall", &["profiler.WallClockSample"]),
    ("samples", "malloc", &["profiler.Malloc"]),
    (
        "samples",
        "allocation",
        &["jdk.ObjectAllocationSample", "jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB"],
    ),
    ("spans", "gc", &["jdk.GarbageCollection"]),
    ("spans", "gc_pause", &["jdk.GCPhasePause"]),
    ("spans", "gc_phase", &["jdk.GCPhasePauseLevel1", "jdk.GCPhasePauseLevel2", "jdk.GCPhasePauseLevel3"]),
    (
        "spans",
        "gc_concurrent",
        &[
            "jdk.GCPhaseConcurrent",
            "jdk.GCPhaseConcurrentLevel1",
            "jdk.GCPhaseConcurrentLevel2",
            "jdk.ZYoungGarbageCollection",
            "jdk.ZOldGarbageCollection",
        ],
    ),
    ("spans", "system_gc", &["jdk.SystemGC"]),
    ("spans", "allocation_stall", &["jdk.ZAllocationStall"]),
    ("spans", "page_allocation", &["jdk.ZPageAllocation"]),
    ("spans", "time_to_safepoint", &["jdk.SafepointBegin"]),
    ("spans", "safepoint_cleanup", &["jdk.SafepointCleanup"]),
    ("spans", "safepoint_latency", &["jdk.SafepointLatency"]),
    ("spans", "vm_operation", &["jdk.ExecuteVMOperation"]),
    ("spans", "compilation", &["jdk.Compilation"]),
    ("spans", "deoptimization", &["jdk.Deoptimization"]),
    ("spans", "code_cache_full", &["jdk.CodeCacheFull"]),
    ("spans", "code_cache_sweep", &["jdk.SweepCodeCache"]),
    ("spans", "jit_restart", &["jdk.JITRestart"]),
    ("spans", "monitor_enter", &["jdk.JavaMonitorEnter"]),
    ("spans", "monitor_wait", &["jdk.JavaMonitorWait"]),
    ("spans", "park", &["jdk.ThreadPark"]),
    ("spans", "sleep", &["jdk.ThreadSleep"]),
    ("spans", "thread_start", &["jdk.ThreadStart"]),
    ("spans", "thread_end", &["jdk.ThreadEnd"]),
    ("spans", "file_read", &["jdk.FileRead"]),
    ("spans", "file_write", &["jdk.FileWrite"]),
    ("spans", "file_force", &["jdk.FileForce"]),
    ("spans", "socket_read", &["jdk.SocketRead"]),
    ("spans", "socket_write", &["jdk.SocketWrite"]),
    ("counters", "heap_used_bytes", &["jdk.GCHeapSummary"]),
    ("counters", "heap_committed_bytes", &["jdk.GCHeapSummary"]),
    ("counters", "old_used_bytes", &["jdk.G1HeapSummary", "jdk.PSHeapSummary"]),
    ("counters", "young_used_bytes", &["jdk.G1HeapSummary", "jdk.PSHeapSummary"]),
    ("counters", "metaspace_used_bytes", &["jdk.MetaspaceSummary"]),
    ("counters", "gc_real_ns", &["jdk.GCCPUTime"]),
    ("counters", "code_cache_used_bytes", &["jdk.CodeCacheStatistics"]),
    ("counters", "code_sweeps_count", &["jdk.CodeSweeperStatistics"]),
    ("counters", "compile_count", &["jdk.CompilerStatistics"]),
    ("counters", "compile_time_ns", &["jdk.CompilerStatistics"]),
    ("counters", "compile_queue_count", &["jdk.CompilerQueueUtilization"]),
    ("counters", "cpu_machine_ratio", &["jdk.CPULoad"]),
    ("counters", "context_switches_per_second", &["jdk.ThreadContextSwitchRate"]),
    ("counters", "cgroup_cpu_ns", &["jdk.ContainerCPUUsage"]),
    ("counters", "cgroup_throttled_ns", &["jdk.ContainerCPUThrottling"]),
    ("counters", "cgroup_io_bytes", &["jdk.ContainerIOUsage"]),
    ("counters", "memory_used_bytes", &["jdk.PhysicalMemory", "jdk.SwapSpace", "jdk.ContainerMemoryUsage"]),
    ("counters", "resident_bytes", &["jdk.ResidentSetSize"]),
    ("counters", "classes_loaded_count", &["jdk.ClassLoadingStatistics"]),
    ("counters", "exceptions_count", &["jdk.ExceptionStatistics"]),
    ("counters", "threads_count", &["jdk.JavaThreadStatistics"]),
    ("counters", "thread_allocated_bytes", &["jdk.ThreadAllocationStatistics"]),
    ("counters", "relocation_set_bytes/total", &["jdk.ZRelocationSet"]),
];

fn count_rows(recording: &Recording) -> BTreeMap<(String, String), u64> {
    let mut counts = BTreeMap::new();
    let mut add = |table: &str, word: String| *counts.entry((table.to_owned(), word)).or_insert(0) += 1;
    recording.samples.rows().for_each(|row| add("samples", recording.text(row.event).into()));
    recording.spans.rows().for_each(|row| add("spans", recording.text(row.kind).into()));
    for row in recording.counters.rows() {
        let name = recording.text(row.name);
        add("counters", name.into());
        add("counters", format!("{name}/{}", recording.text(row.instance)));
    }
    counts
}

#[test]
fn every_event_that_the_jdk_counts_is_a_row() {
    for (name, recording, expected) in expectations() {
        let rows = count_rows(&recording);
        for (table, words, events) in ROWS {
            let wanted: u64 = events.iter().filter_map(|event| expected["counts"][event].as_u64()).sum();
            let found: u64 = words.split('|').filter_map(|word| rows.get(&(table.to_string(), word.to_string()))).sum();
            assert_eq!(found, wanted, "{name}: {table} {words} from {events:?}");
        }
    }
}

/// The kind of span that an event becomes.
fn kind_of(event: &str) -> Option<&'static str> {
    ROWS.iter().find(|(table, _, events)| *table == "spans" && events.contains(&event)).map(|(_, word, _)| *word)
}

fn spans<'a>(recording: &'a Recording, kind: &'a str) -> impl Iterator<Item = Span> + 'a {
    recording.spans.rows().filter(move |span| recording.text(span.kind) == kind)
}

#[test]
fn times_and_durations_are_those_of_the_jdk() {
    for (name, recording, expected) in expectations() {
        for (event, total) in expected["totals"].as_object().unwrap() {
            // Other events share the kinds of the concurrent phases.
            let Some(kind) = kind_of(event).filter(|kind| *kind != "gc_concurrent") else { continue };
            let number = |key: &str| total[key].as_i64().unwrap();
            let times = || spans(&recording, kind).map(|span| span.time_ns);
            assert_eq!(times().min(), Some(number("first_ns")), "{name}: {event}");
            assert_eq!(times().max(), Some(number("last_ns")), "{name}: {event}");
            let duration: i64 = spans(&recording, kind).map(|span| span.duration_ns).sum();
            assert_eq!(duration, number("duration_ns"), "{name}: {event}");
        }
    }
}

#[test]
fn names_and_details_are_those_of_the_jdk() {
    let mut compared = 0;
    for (name, recording, expected) in expectations() {
        for (event, rows) in expected["spans"].as_object().unwrap() {
            for row in rows.as_array().unwrap() {
                let time_ns = row["time_ns"].as_i64().unwrap();
                let span = spans(&recording, kind_of(event).unwrap()).find(|span| span.time_ns == time_ns);
                let span = span.unwrap_or_else(|| panic!("{name}: no {event} at {time_ns}"));
                assert_eq!(recording.text(span.name), row["name"].as_str().unwrap(), "{name}: {event}");
                let text = recording.text(span.detail);
                let detail: Value = if text.is_empty() {
                    Value::Object(Default::default())
                } else {
                    serde_json::from_str(text).unwrap()
                };
                assert_eq!(detail, row["detail"], "{name}: {event} at {time_ns}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50);
}

/// The sample at `time_ns`. The JDK's tool reads all chunks of async-profiler by the clock of the first, so
/// a few microseconds of drift are allowed.
fn sample_at(recording: &Recording, time_ns: i64) -> Option<Sample> {
    let samples = recording.samples.rows().filter(|sample| sample.size_bytes == 0);
    let distance = |sample: &Sample| sample.time_ns.abs_diff(time_ns);
    samples.min_by_key(distance).filter(|sample| distance(sample) < 10_000)
}

/// Class and method as the JDK's tool has them. It takes the library of a native function for a class.
fn qualified(recording: &Recording, frame: fathom_evidence::Frame) -> String {
    let (module, symbol) = (recording.text(frame.module), recording.text(frame.symbol));
    let is_native = ["native", "vm", "kernel"].contains(&recording.text(frame.kind));
    if is_native && !symbol.starts_with("java.") { format!("{module}.{symbol}") } else { symbol.to_owned() }
}

#[test]
fn stacks_are_those_of_the_jdk() {
    const KINDS: &[(&str, &str)] = &[
        ("Interpreted", kinds::frame::INTERPRETED),
        ("JIT compiled", kinds::frame::COMPILED),
        ("Inlined", kinds::frame::INLINED),
        ("Native", kinds::frame::NATIVE),
        ("C++", kinds::frame::VM),
        ("Kernel", kinds::frame::KERNEL),
        ("C1 compiled", kinds::frame::C1),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for (name, recording, expected) in expectations() {
        for (event, rows) in expected["samples"].as_object().unwrap() {
            for row in rows.as_array().unwrap() {
                let sample = sample_at(&recording, row["time_ns"].as_i64().unwrap());
                let sample = sample.unwrap_or_else(|| panic!("{name}: no {event} at {row}"));
                let found: Vec<(String, &str)> = recording
                    .stacks
                    .leaf_to_root(sample.stack_id)
                    .map(|frame| (qualified(&recording, frame), recording.text(frame.kind)))
                    .collect();
                let wanted: Vec<(String, &str)> = row["frames"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|frame| (frame[0].as_str().unwrap(), frame[1].as_str().unwrap()))
                    .map(|(symbol, kind)| (symbol.to_owned(), KINDS.iter().find(|(jdk, _)| *jdk == kind).unwrap().1))
                    .collect();
                assert_eq!(found, wanted, "{name}: {event}");
                seen.extend(wanted.iter().map(|(_, kind)| kind.to_string()));
            }
        }
    }
    for (_, kind) in KINDS.iter().filter(|(_, kind)| *kind != kinds::frame::KERNEL) {
        assert!(seen.contains(*kind), "no recording has a frame of kind {kind}");
    }
}

#[test]
fn collections_have_cause_collector_and_heap() {
    for (name, recording, expected) in expectations() {
        let details: Vec<fathom_evidence::detail::Gc> = spans(&recording, kinds::span::GC)
            .map(|span| fathom_evidence::detail::from_text(recording.text(span.detail)))
            .collect();
        for row in expected["collections"].as_array().unwrap() {
            let detail = details.iter().find(|detail| detail.gc_id == row[0].as_u64());
            let detail = detail.unwrap_or_else(|| panic!("{name}: no collection {row}"));
            assert_eq!(detail.collector.as_deref(), row[1].as_str(), "{name}: {row}");
            assert_eq!(detail.cause.as_deref(), row[2].as_str(), "{name}: {row}");
            assert_eq!(detail.sum_of_pauses_ns, row[3].as_u64(), "{name}: {row}");
            assert_eq!(detail.longest_pause_ns, row[4].as_u64(), "{name}: {row}");
            assert!(detail.heap_before_bytes.is_some_and(|bytes| bytes > 0), "{name}: {row}");
            assert!(detail.heap_after_bytes.is_some_and(|bytes| bytes > 0), "{name}: {row}");
        }
    }
}

/// A safepoint stands from the start of its begin to the end of its end; the begin is the time to safepoint.
#[test]
fn safepoints_are_put_together() {
    let recording = load("jdk17_g1.jfr");
    let mut stops = 0;
    for stop in spans(&recording, kinds::span::SAFEPOINT) {
        let detail: fathom_evidence::detail::Safepoint =
            fathom_evidence::detail::from_text(recording.text(stop.detail));
        let reaching = spans(&recording, kinds::span::TIME_TO_SAFEPOINT).find(|span| span.time_ns == stop.time_ns);
        let reaching = reaching.expect("each stop begins with the time to safepoint");
        assert_eq!(detail.time_to_safepoint_ns, u64::try_from(reaching.duration_ns).ok());
        assert!(detail.threads.is_some_and(|threads| threads > 5), "{detail:?}");
        assert!(detail.running_threads.is_some(), "{detail:?}");
        // Its operation ran within it.
        let inside = spans(&recording, kinds::span::VM_OPERATION).any(|operation| {
            operation.name == stop.name
                && operation.time_ns >= stop.time_ns + reaching.duration_ns
                && operation.time_ns + operation.duration_ns <= stop.time_ns + stop.duration_ns
        });
        assert!(inside, "{}", recording.text(stop.name));
        stops += 1;
    }
    assert!(stops >= 3);
}

#[test]
fn the_jvm_is_known_and_its_secrets_are_not() {
    for name in ["jdk11_parallel", "jdk17_g1", "jdk21_zgc", "jdk25_g1"] {
        let recording = load(&format!("{name}.jfr"));
        let version = recording.fact(kinds::subject::JVM, "version").unwrap();
        assert!(version.contains(&name[3..5]), "{name}: {version}");
        assert_eq!(recording.fact(kinds::subject::PROPERTY, "app.password"), Some("[masked]"), "{name}");
        assert_eq!(recording.fact(kinds::subject::ENVIRONMENT, "API_TOKEN"), Some("[masked]"), "{name}");
        assert_eq!(recording.fact(kinds::subject::ENVIRONMENT, "HOME"), Some("/home/demo"), "{name}");
        assert!(recording.fact(kinds::subject::JVM, "arguments").unwrap().contains("-Dapp.password=[masked]"));
        assert_eq!(recording.fact(kinds::subject::FLAG, "MaxHeapSize"), Some("67108864"), "{name}");
        let started: i64 = recording.fact(kinds::subject::JVM, "started_at_ns").unwrap().parse().unwrap();
        let (first, _) = recording.time_range_ns().unwrap();
        assert!((0..120_000_000_000).contains(&(first - started)), "{name}: {first} {started}");
        let leaked = (0..recording.strings.len())
            .any(|id| recording.text(fathom_evidence::StrId(id as u32)).contains("not-for-you"));
        assert!(!leaked, "{name}");
    }
}

#[test]
fn samples_of_async_profiler_are_named_by_its_settings() {
    let weights = |file: &str, event: &str| -> Vec<i64> {
        let recording = load(file);
        let rows = recording.samples.rows().filter(|row| recording.text(row.event) == event);
        rows.map(|row| row.weight_ns).collect()
    };
    let is_all = |weights: &[i64], weight: i64| !weights.is_empty() && weights.iter().all(|w| *w == weight);
    assert!(is_all(&weights("ap_everything.jfr", kinds::event::CPU), 2_000_000));
    assert!(is_all(&weights("ap_page_faults.jfr", kinds::event::PAGE_FAULT), 0));
    assert_eq!(weights("ap_page_faults.jfr", kinds::event::CPU), [0; 0]);
    // Only the first of its chunks has the settings.
    assert!(is_all(&weights("ap_chunks.jfr", kinds::event::CPU), 10_000_000));
    let wall = weights("ap_everything.jfr", kinds::event::WALL);
    assert!(wall.iter().all(|weight| weight % 20_000_000 == 0) && wall.iter().any(|weight| *weight > 20_000_000));
}

#[test]
fn allocations_carry_their_class_and_bytes() {
    for file in ["ap_everything.jfr", "jdk25_g1.jfr", "jdk17_g1.jfr"] {
        let recording = load(file);
        let mut byte_arrays = 0;
        for sample in recording.samples.rows().filter(|row| recording.text(row.event) == kinds::event::ALLOCATION) {
            let leaf = recording.stacks.leaf_to_root(sample.stack_id).next().unwrap();
            assert_eq!(recording.text(leaf.kind), kinds::frame::CLASS);
            assert!(sample.size_bytes > 0);
            byte_arrays += usize::from(recording.text(leaf.symbol) == "byte[]");
        }
        assert!(byte_arrays > 10, "{file}: {byte_arrays}");
    }
}

#[test]
fn threads_have_names_and_roles() {
    let recording = load("jdk25_g1.jfr");
    let named = |name: &str| {
        let found = recording.threads.iter().find(|(_, thread)| recording.text(thread.name) == name);
        found.map(|(_, thread)| recording.text(thread.role))
    };
    assert_eq!(named("worker-0"), Some(kinds::role::JAVA));
    assert_eq!(named("file-é世"), Some(kinds::role::JAVA));
    assert_eq!(named("C2 CompilerThread0"), Some(kinds::role::COMPILER));
    let known = recording.samples.tid.iter().filter(|tid| recording.threads.get(**tid).is_some()).count();
    assert_eq!(known, recording.samples.len());
}

/// A file that is still being written, or whose writer was killed, gives what is there and says so.
#[test]
fn unfinished_chunks_are_read() {
    let live = load("jdk25_live.jfr");
    assert!(live.samples.len() > 20 && live.spans.len() > 100);
    assert!(live.samples.stack_id.iter().any(|id| *id != StackId(0)));
    let killed = load("ap_killed.jfr");
    assert!(killed.fact(kinds::subject::JVM, "version").is_some());
    for (name, recording) in [("live", live), ("killed", killed)] {
        let losses: Vec<&str> = recording.losses.rows().map(|loss| recording.text(loss.says)).collect();
        assert!(losses.iter().any(|says| says.contains("still being written")), "{name}: {losses:?}");
        assert!(!losses.iter().any(|says| says.contains("could not be read")), "{name}: {losses:?}");
    }
}

/// Chunks of different JVMs in one file: each is read by its own metadata.
#[test]
fn files_put_together_are_read_chunk_by_chunk() {
    let parts = ["jdk17_g1.jfr", "jdk25_g1.jfr", "jdk11_parallel.jfr", "ap_wall.jfr"];
    let bytes: Vec<u8> = parts.iter().flat_map(|part| fs::read(folder().join(part)).unwrap()).collect();
    let target = tempfile::tempdir().unwrap();
    let path = target.path().join("together.jfr");
    fs::write(&path, bytes).unwrap();
    let together = load_file(&path, &LoadOptions::default()).unwrap();
    let alone: Vec<Recording> = parts.iter().map(|part| load(part)).collect();
    assert_eq!(together.samples.len(), alone.iter().map(|part| part.samples.len()).sum::<usize>());
    assert_eq!(together.counters.len(), alone.iter().map(|part| part.counters.len()).sum::<usize>());
}

/// Words of a column that the schema does not describe.
fn unknown_words<'a>(recording: &'a Recording, known: &[kinds::Word], column: &[StrId]) -> Vec<&'a str> {
    let words: BTreeSet<&str> = column.iter().map(|id| recording.text(*id)).collect();
    words.into_iter().filter(|word| known.iter().all(|known| known.word != *word)).collect()
}

#[test]
fn all_words_are_described() {
    for (name, recording, _) in expectations() {
        let none: Vec<&str> = Vec::new();
        let check = |known, column| assert_eq!(unknown_words(&recording, known, column), none, "{name}");
        check(kinds::event::ALL, &recording.samples.event);
        check(kinds::span::ALL, &recording.spans.kind);
        check(kinds::counter::ALL, &recording.counters.name);
        check(kinds::subject::ALL, &recording.facts.subject);
        check(kinds::loss::ALL, &recording.losses.kind);
    }
}

#[test]
fn calls_of_system_gc_have_their_caller() {
    let file = folder().join("../labs/explicit_gc-sick-jdk17/recording.jfr.gz");
    let recording = load_file(&file, &LoadOptions::default()).unwrap();
    let collections =
        spans(&recording, kinds::span::GC).filter(|span| recording.text(span.detail).contains("System.gc()"));
    let calls: Vec<Span> = spans(&recording, kinds::span::SYSTEM_GC).collect();
    assert_eq!((calls.len(), collections.count()), (12, 12));
    for call in calls {
        let stack: Vec<&str> =
            recording.stacks.leaf_to_root(call.stack_id).map(|frame| recording.text(frame.symbol)).collect();
        assert_eq!(stack[..2], ["java.lang.Runtime.gc", "java.lang.System.gc"]);
        assert!(stack.len() > 2, "{stack:?}");
    }
}

#[test]
fn stacks_that_are_cut_are_a_loss() {
    let losses = |file: &str| -> Vec<(i64, String)> {
        let recording = load(file);
        let rows = recording.losses.rows().filter(|loss| recording.text(loss.kind) == kinds::loss::STACKS_CUT);
        rows.map(|loss| (loss.count, recording.text(loss.says).to_owned())).collect()
    };
    // Recorded with a depth of 16; the JDK's tool prints as many different stacks, and as many with `truncated`.
    let [(count, says)] = &losses("jdk17_g1.jfr")[..] else { panic!("one row") };
    assert_eq!(*count, 83);
    assert!(says.contains(": 83 of 156 stacks lack their callers"), "{says}");
    assert_eq!(losses("ap_everything.jfr"), []);
}
