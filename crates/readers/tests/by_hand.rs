//! Files of system tools and JVM tools: the results for real files, and that damage never causes a panic.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{counter, loss, span};
use fathom_evidence::{Recording, Table};
use fathom_readers::{LoadError, LoadOptions, Reader, readers, sniff};
use proptest::prelude::*;

/// The readers that this is about, each with a folder of real files under `testdata`.
const FORMATS: &[&str] = &[
    "thread_dump",
    "strace",
    "perf_trace",
    "vmstat",
    "sysstat",
    "jstat",
    "perf_script",
    "perf_data",
    "hs_err",
    "app_log",
    "jcmd",
    "pcap",
    "pprof",
    "collapsed",
    "firefox",
    "speedscope",
    "otlp",
    "perfetto",
    "prometheus",
    "proc_files",
];

fn testdata(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(format)
}

fn files(format: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(testdata(format)).unwrap().map(|entry| entry.unwrap().path());
    // Programs that were recorded, and what stands beside a recording.
    let is_beside = |path: &PathBuf| {
        path.extension().is_some_and(|ending| {
            ["md", "java", "js", "go", "map", "dump", "csv", "py"].iter().any(|other| ending == *other)
        })
    };
    let mut files: Vec<PathBuf> = entries.filter(|path| !is_beside(path)).collect();
    files.sort();
    files
}

fn unpacked(file: &Path) -> Vec<u8> {
    let bytes = fs::read(file).unwrap();
    let mut text = Vec::new();
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap(),
        false => return bytes,
    };
    text
}

fn reader(format: &str) -> &'static dyn Reader {
    *readers().iter().find(|reader| reader.name() == format).unwrap()
}

/// Names of files in a folder of a format, loaded together.
fn load(format: &str, names: &[&str]) -> Result<Recording, LoadError> {
    let files: Vec<PathBuf> = names.iter().map(|name| testdata(format).join(name)).collect();
    reader(format).load(&files, &LoadOptions::default())
}

fn losses(recording: &Recording) -> Vec<&str> {
    recording.losses.rows().map(|row| recording.text(row.kind)).collect()
}

/// The sum over all threads and instances of what a counter came to.
fn comes_to(recording: &Recording, name: &str) -> f64 {
    let mut last = std::collections::BTreeMap::new();
    for row in recording.counters.rows().filter(|row| recording.text(row.name) == name) {
        last.insert((row.instance, row.tid), row.value);
    }
    last.values().sum()
}

#[test]
fn every_file_is_recognised_by_its_content_alone() {
    for format in FORMATS {
        for file in files(format) {
            let mut other = tempfile::Builder::new().suffix(".jfr").tempfile().unwrap();
            other.write_all(&fs::read(&file).unwrap()).unwrap();
            let found = sniff(other.path()).map(Reader::name).map_err(|error| error.to_string());
            assert_eq!(found, Ok(*format), "{}", file.display());
        }
    }
}

#[test]
fn what_cannot_be_placed_says_how_to_record_it() {
    for (format, name, command) in [
        ("strace", "summary.txt", "strace -f -ttt -T"),
        ("strace", "time-of-day.txt", "strace -f -ttt -T"),
        ("strace", "relative.txt", "strace -f -ttt -T"),
        ("vmstat", "without-times.txt", "vmstat -t 1"),
        ("perf_script", "own-clock.txt", "perf record -k CLOCK_REALTIME"),
        ("perf_trace", "python.txt.gz", "perf trace record -k CLOCK_MONOTONIC"),
        ("perf_data", "own-clock.data.gz", "perf record -k CLOCK_MONOTONIC"),
        ("jstat", "without-times.txt", "jstat -gc -t PID 1000"),
        ("app_log", "time-of-day.txt", "%d{yyyy-MM-dd"),
        ("firefox", "samply-import.json.gz", "give the perf.data itself"),
        ("prometheus", "rate.json.gz", "ask for the metric itself"),
        ("prometheus", "several.json", "ask for one: {job="),
        ("proc_files", "without-times.txt", "date +%s.%N"),
    ] {
        let error = load(format, &[name]).unwrap_err().to_string();
        assert!(error.contains(command) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn dumps_of_a_pool_that_is_empty() {
    let names = ["jdk17-pool-2.txt.gz", "jdk17-pool-3.txt.gz", "jdk17-pool-4.txt.gz", "jdk17-pool-5.txt.gz"];
    let recording = load("thread_dump", &names).unwrap();
    assert_eq!(losses(&recording), [loss::CLOCK_ESTIMATED]);
    let texts: Vec<String> =
        names.iter().map(|name| String::from_utf8(unpacked(&testdata("thread_dump").join(name))).unwrap()).collect();
    let with_stacks =
        texts.iter().flat_map(|text| text.split("\n\n")).filter(|thread| thread.contains("\tat ")).count();
    assert_eq!(recording.samples.len(), with_stacks);
    let cpu = recording.counters.rows().filter(|row| recording.text(row.name) == counter::THREAD_CPU_NS).count();
    // One thread of the JVM has no name.
    assert_eq!(cpu, texts.iter().map(|text| text.matches("\n\"").count()).sum::<usize>());
    let of_pool =
        |row: &fathom_evidence::tables::Span| recording.text(row.name).contains("SynchronousQueue$TransferQueue");
    let waits: i64 = recording.spans.rows().filter(of_pool).map(|row| row.duration_ns).sum();
    // 48 threads from the middle between the second and the third dump on, some seconds.
    assert!((400_000_000_000..700_000_000_000).contains(&waits), "{waits}");
}

#[test]
fn answers_of_a_jvm() {
    let value = |recording: &Recording, name: &str, instance: &str| {
        let found = |row: &fathom_evidence::tables::Counter| {
            recording.text(row.name) == name && recording.text(row.instance) == instance
        };
        recording.counters.rows().find(found).map(|row| row.value / 1_024.0)
    };
    for (name, counter, instance, kib) in [
        ("jdk17-g1-codecache", counter::CODE_CACHE_USED_BYTES, "CodeHeap 'profiled nmethods'", 130.0),
        ("jdk25-g1-codecache", counter::CODE_CACHE_RESERVED_BYTES, "CodeHeap 'non-nmethods'", 5_692.0),
        ("jdk17-parallel-codecache", counter::CODE_CACHE_USED_BYTES, "", 1_337.0),
        ("jdk17-g1-heap", counter::HEAP_USED_BYTES, "", 17_515.0),
        ("jdk25-g1-heap", counter::HEAP_USED_BYTES, "", 39_513.0),
        ("jdk25-zgc-heap", counter::HEAP_USED_BYTES, "", 16_384.0),
        ("jdk17-parallel-heap", counter::HEAP_SPACE_USED_BYTES, "old", 912.0),
        ("jdk17-g1-heap", counter::METASPACE_USED_BYTES, "", 195.0),
        ("jdk17-g1-memory", counter::NATIVE_MEMORY_BYTES, "total committed", 130_218.0),
        ("jdk17-g1-memory", counter::NATIVE_MEMORY_BYTES, "Class reserved", 1_048_662.0),
        ("jdk25-g1-memory-diff", counter::NATIVE_MEMORY_BYTES, "Java Heap committed", 14_336.0),
    ] {
        let recording = load("jcmd", &[&format!("{name}.txt")]).unwrap();
        assert_eq!(value(&recording, counter, instance), Some(kib), "{name} {counter}");
        assert_eq!(losses(&recording), [loss::CLOCK_ESTIMATED], "{name}");
        assert!(recording.fact("jvm", "pid").is_some(), "{name}");
    }
    let histogram = load("jcmd", &["jdk25-g1-histogram.txt"]).unwrap();
    assert_eq!(histogram.counters.len(), 57);
    let flags = load("jcmd", &["jdk17-parallel-flags.txt"]).unwrap();
    assert_eq!(
        (flags.fact("flag", "UseParallelGC"), flags.fact("flag", "ReservedCodeCacheSize")),
        (Some("true"), Some("20971520"))
    );
    // Flags need no time, and a line of date gives one.
    assert_eq!(losses(&flags), [] as [&str; 0]);
    let looks = load("jcmd", &["in-a-loop.txt"]).unwrap();
    assert_eq!(losses(&looks), [] as [&str; 0]);
    let times: std::collections::BTreeSet<i64> = looks.counters.time_ns.iter().copied().collect();
    assert_eq!(times.len(), 3);
}

#[test]
fn messages_of_all_libraries() {
    for (name, lost) in [
        ("logback.txt.gz", &[][..]),
        ("log4j-ecs.json.gz", &[]),
        ("log4j.txt.gz", &[loss::CLOCK_ESTIMATED]),
        ("jul.txt.gz", &[loss::CLOCK_ESTIMATED]),
        ("journald.json.gz", &[]),
        ("journald.export.gz", &[]),
        ("journald-short.txt.gz", &[loss::CLOCK_ESTIMATED]),
        ("syslog.txt.gz", &[]),
        ("syslog-5424.txt.gz", &[]),
        ("syslog-traditional.txt.gz", &[loss::CLOCK_ESTIMATED]),
    ] {
        let recording = load("app_log", &[name]).unwrap();
        assert_eq!(losses(&recording), lost, "{name}");
        let text = String::from_utf8(unpacked(&testdata("app_log").join(name))).unwrap();
        let all: usize =
            ["Order ", "Stock of", "Shop is", "No answer of", "java.net.SocketTimeoutException: Read timed out"]
                .iter()
                .map(|start| text.matches(start).count())
                .sum();
        assert_eq!(comes_to(&recording, counter::LOG_MESSAGES_COUNT) as usize, all, "{name}");
        let kinds: std::collections::BTreeSet<&str> =
            recording.counters.instance.iter().map(|instance| recording.text(*instance)).collect();
        let ends = ["Order <*> of <*> took <*> ms", "Stock of <*> is low: <*> left", "No answer of <*> within <*> ms"];
        for end in ends.iter().chain(&["exception: java.net.SocketTimeoutException"]) {
            assert!(kinds.iter().any(|kind| kind.ends_with(end)), "{name}: no {end} in {kinds:?}");
        }
        // Those that Drain3 finds with its settings, and an exception. A log that is cut has no end of the shop.
        let expected = 5 + usize::from(text.contains("Shop is closed"));
        assert_eq!(kinds.len(), expected, "{name}: {kinds:?}");
    }
}

#[test]
fn a_deadlock_is_the_jvms_word() {
    for name in ["jdk17-deadlock.txt.gz", "jdk25-deadlock.txt"] {
        let recording = load("thread_dump", &[name]).unwrap();
        let details: Vec<&str> = recording.spans.rows().map(|row| recording.text(row.detail)).collect();
        let deadlocked: Vec<&&str> = details.iter().filter(|detail| detail.contains("\"deadlock\":true")).collect();
        assert_eq!(deadlocked.len(), 2, "{name}: {details:?}");
        for owner in ["pays", "ships"] {
            let owned = |detail: &&&&str| {
                detail.contains(&format!("\"previous_owner\":\"{owner}\"")) && detail.contains("\"looks\":3")
            };
            assert_eq!(deadlocked.iter().filter(owned).count(), 1, "{name}: {deadlocked:?}");
        }
        let waiting =
            details.iter().filter(|detail| detail.contains("monitor_enter") && !detail.contains("deadlock")).count();
        assert_eq!(waiting, 3, "{name}: {details:?}");
    }
}

#[test]
fn an_error_file_without_a_time_is_of_when_it_was_written() {
    let text = String::from_utf8(unpacked(&testdata("hs_err").join("jdk17-native.txt.gz"))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hs_err_pid1.log");
    fs::write(&path, text.lines().filter(|line| !line.starts_with("Time: ")).collect::<Vec<_>>().join("\n")).unwrap();
    let recording = reader("hs_err").load(&[path], &LoadOptions::default()).unwrap();
    assert_eq!(losses(&recording), [loss::CLOCK_ESTIMATED]);
    let names: Vec<&str> = recording.spans.rows().map(|row| recording.text(row.name)).collect();
    assert!(names.iter().any(|name| name.starts_with("no native memory left") || name.starts_with("SIG")), "{names:?}");
}

#[test]
fn dumps_of_virtual_threads() {
    let names = ["jdk25-virtual-1.json.gz", "jdk25-virtual-2.json.gz", "jdk25-virtual-3.json.gz"];
    let recording = load("thread_dump", &names).unwrap();
    assert_eq!(losses(&recording), [] as [&str; 0]);
    let waits = |class: &str| {
        let rows = recording.spans.rows().filter(|row| row.tid < 0 && recording.text(row.name) == class);
        rows.map(|row| row.tid).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(waits("java.util.concurrent.locks.ReentrantLock$NonfairSync"), 4);
    assert_eq!(waits("java.lang.Object"), 2);
    let holder = recording.spans.rows().any(|row| recording.text(row.detail).contains("\"previous_owner\":\"holder\""));
    assert!(holder);
    assert_eq!(load("thread_dump", &["jdk25-virtual.txt"]).unwrap().samples.len(), recording.samples.len() / 3);
    let in_a_log = load("thread_dump", &["jdk25-in-a-log.txt.gz"]).unwrap();
    assert_eq!(losses(&in_a_log), [loss::CLOCK_ESTIMATED]);
}

#[test]
fn calls_are_those_that_the_trace_has() {
    for names in
        [&["server.txt.gz"][..], &["with-files.txt"], &["each-thread.28436", "each-thread.28437", "each-thread.28438"]]
    {
        let recording = load("strace", names).unwrap();
        let texts = names.iter().map(|name| String::from_utf8(unpacked(&testdata("strace").join(name))).unwrap());
        let lines: Vec<String> = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        let is_call = |line: &&String| line.contains(" = ") && !line.contains("<unfinished");
        // What was resumed had begun before the trace did, or in a line that was cut away.
        let resumed_only = lines.iter().filter(|line| line.contains("resuming interrupted")).count();
        let calls = comes_to(&recording, counter::SYSTEM_CALLS_COUNT) as usize;
        let expected = lines.iter().filter(is_call).count();
        assert!((expected.saturating_sub(resumed_only)..=expected).contains(&calls), "{calls} of {expected}");
        assert!(comes_to(&recording, counter::SYSTEM_CALLS_NS) > 0.0);
        let slow = |row: &fathom_evidence::tables::Span| {
            recording.text(row.kind) == span::SYSTEM_CALL && row.duration_ns < 5_000_000
        };
        assert!(!recording.spans.rows().any(|row| slow(&row)));
    }
}

/// Each call that ended has one line with a result, but for those that began before the trace.
#[test]
fn calls_are_those_of_perf_trace() {
    let file = testdata("perf_trace").join("python.txt.gz");
    let text = String::from_utf8(unpacked(&file)).unwrap();
    let ended = text.lines().filter(|line| line.contains(" = ") && !line.trim_start().starts_with('?')).count();
    let options = LoadOptions { clock_offsets: vec![(file.clone(), 0)], ..LoadOptions::default() };
    let recording = reader("perf_trace").load(&[file], &options).unwrap();
    let calls = comes_to(&recording, counter::SYSTEM_CALLS_COUNT) as usize;
    assert!((ended - 2..=ended).contains(&calls), "{calls} of {ended}");
    // The other side answers each 20 ms.
    let reads = recording.spans.rows().filter(|row| recording.text(row.name) == "recvfrom");
    let lengths: Vec<i64> = reads.map(|row| row.duration_ns / 1_000_000).collect();
    assert!(lengths.len() >= 18 && lengths.iter().all(|ms| (10..30).contains(ms)), "{lengths:?}");
}

#[test]
fn tables_of_the_machine() {
    for (format, name, counters, lost) in [
        ("vmstat", "with-times.txt", &[counter::TASKS_COUNT, counter::CPU_MACHINE_RATIO][..], &[][..]),
        (
            "sysstat",
            "iostat.txt.gz",
            &[counter::DISK_REQUESTS_COUNT, counter::DISK_TIME_NS, counter::MACHINE_CPU_NS],
            &[],
        ),
        ("sysstat", "mpstat.txt.gz", &[counter::MACHINE_CPU_NS, counter::ONE_CPU_NS], &[loss::CLOCK_ESTIMATED]),
        ("sysstat", "pidstat.txt.gz", &[counter::THREAD_CPU_NS, counter::PROCESS_CPU_NS], &[loss::CLOCK_ESTIMATED]),
        (
            "sysstat",
            "sar.txt",
            &[counter::LOAD_COUNT, counter::VMSTAT_COUNT, counter::MACHINE_CPU_NS],
            &[loss::CLOCK_ESTIMATED],
        ),
        ("sysstat", "sar-other-date.txt", &[counter::MACHINE_CPU_NS], &[loss::CLOCK_ESTIMATED]),
        ("sysstat", "sadf.json.gz", &[counter::MACHINE_CPU_NS, counter::TASKS_COUNT, counter::DISK_BYTES], &[]),
        (
            "sysstat",
            "sa29.gz",
            &[
                counter::MACHINE_CPU_NS,
                counter::ONE_CPU_NS,
                counter::PRESSURE_NS,
                counter::DISK_BYTES,
                counter::LOAD_COUNT,
            ],
            &[],
        ),
        ("jstat", "gcutil.txt", &[counter::GC_RUNS_COUNT, counter::GC_TIME_NS], &[loss::CLOCK_ESTIMATED]),
        ("jstat", "gc.txt", &[counter::HEAP_SPACE_CAPACITY_BYTES], &[loss::CLOCK_ESTIMATED]),
        ("jstat", "class.txt", &[counter::CLASSES_LOADED_COUNT], &[loss::CLOCK_ESTIMATED]),
        ("jstat", "compiler.txt", &[counter::COMPILE_COUNT], &[loss::CLOCK_ESTIMATED]),
    ] {
        let recording = load(format, &[name]).unwrap();
        assert_eq!(losses(&recording), lost, "{name}");
        for name_of in counters {
            let rows = recording.counters.rows().filter(|row| recording.text(row.name) == *name_of).count();
            assert!(rows > 0, "{name}: no {name_of}");
        }
    }
}

#[test]
fn samples_of_perf() {
    let recording = load("perf_script", &["jdk17.txt"]).unwrap();
    let text = String::from_utf8(unpacked(&testdata("perf_script").join("jdk17.txt"))).unwrap();
    assert_eq!(recording.samples.len(), text.matches("cpu-clock:").count());
    assert!(recording.samples.rows().all(|row| row.weight_ns == 20_408_163));
    let symbols = |row: &fathom_evidence::tables::Sample| {
        let frames = recording.stacks.leaf_to_root(row.stack_id);
        frames.map(|frame| recording.text(frame.symbol).to_owned()).collect::<Vec<_>>()
    };
    let in_java = recording.samples.rows().filter(|row| symbols(row).contains(&"Busy.sum".to_owned())).count();
    assert_eq!(in_java, text.split("\n\n").filter(|sample| sample.contains(" Busy.sum(")).count());
    // Of a whole machine the JVM's samples stay.
    let machine = load("perf_script", &["machine.txt.gz"]).unwrap();
    assert_eq!(losses(&machine), [loss::REFUSED]);
    assert!(machine.samples.len() > 0);
}

#[test]
fn what_jvms_died_of() {
    for (name, cause, thread, lost) in [
        (
            "jdk17-write",
            "SIGSEGV at address 0x0000000000000000 in Unsafe_PutLong (libjvm.so)",
            "http-worker-3",
            &[][..],
        ),
        ("jdk25-write", "SIGSEGV at address 0x0000000000000000 in Unsafe_PutLong (libjvm.so)", "http-worker-3", &[]),
        ("jdk17-kill", "SIGSEGV, sent by process ", "", &[loss::CLOCK_ESTIMATED]),
        ("jdk25-kill", "SIGSEGV, sent by process ", "", &[loss::CLOCK_ESTIMATED]),
        (
            "jdk17-heap",
            "Internal Error (debug.cpp:362): fatal error: OutOfMemory encountered: Java heap space",
            "http-worker-3",
            &[],
        ),
        (
            "jdk25-heap",
            "Internal Error (debug.cpp:289): fatal error: OutOfMemory encountered: Java heap space",
            "http-worker-3",
            &[],
        ),
        ("jdk17-native", "no native memory left: Native memory allocation (mmap) failed to map ", "VM Thread", &[]),
        ("jdk25-native", "no native memory left: Native memory allocation (mmap) failed to map ", "VM Thread", &[]),
        (
            "jdk25-shenandoah",
            "SIGSEGV at address 0x0000000000000000 in Unsafe_PutLong (libjvm.so)",
            "http-worker-3",
            &[],
        ),
        ("jdk17-zgc", "SIGSEGV at address 0x0000000000000000 in Unsafe_PutLong (libjvm.so)", "http-worker-3", &[]),
    ] {
        let recording = load("hs_err", &[&format!("{name}.txt.gz")]).unwrap();
        assert_eq!(losses(&recording), lost, "{name}");
        let text = String::from_utf8(unpacked(&testdata("hs_err").join(format!("{name}.txt.gz")))).unwrap();
        let crash = recording.spans.rows().next().unwrap();
        assert!(recording.text(crash.name).starts_with(cause), "{name}: {}", recording.text(crash.name));
        let frames = recording.stacks.leaf_to_root(crash.stack_id).count();
        let native = text.split("Native frames:").nth(1).unwrap().lines().skip(1);
        let is_frame = |line: &&str| line.len() > 2 && "VvCJjA".contains(&line[..1]) && line[1..].starts_with(' ');
        assert_eq!(frames, native.take_while(is_frame).count(), "{name}");
        if !thread.is_empty() {
            assert_eq!(recording.text(recording.threads.get(crash.tid).unwrap().name), thread);
        }
        let mapped =
            text.split("Dynamic libraries:").nth(1).unwrap().lines().skip(1).take_while(|line| line.contains('-'));
        assert_eq!(recording.fact("process", "mappings").unwrap(), mapped.count().to_string(), "{name}");
        assert_eq!(recording.fact("environment", "ACCESS_TOKEN").unwrap_or("[masked]"), "[masked]");
        assert!(!recording.fact("jvm", "arguments").unwrap().contains("hunter2"));
        assert!(recording.logs.rows().any(|row| recording.text(row.class) == "heap"));
        let flags = text.split("[Global flags]").nth(1).unwrap().lines().skip(1).take_while(|line| line.contains('{'));
        assert_eq!(recording.facts.rows().filter(|row| recording.text(row.subject) == "flag").count(), flags.count());
    }
}

/// Berlin is an hour ahead: the start of the JVM from elsewhere tells.
#[test]
fn a_crash_is_placed_by_the_start_of_the_jvm() {
    let file = testdata("hs_err").join("jdk17-kill.txt.gz");
    let died_ns = |started_at_ns| {
        let options = LoadOptions { started_at_ns, ..LoadOptions::default() };
        let recording = reader("hs_err").load(std::slice::from_ref(&file), &options).unwrap();
        (recording.spans.time_ns[0], recording.losses.len())
    };
    let (as_utc_ns, lost) = died_ns(None);
    assert_eq!(lost, 1);
    let hour_ns = 3_600_000_000_000;
    assert_eq!(died_ns(Some(as_utc_ns - hour_ns - 4_000_000_000)), (as_utc_ns - hour_ns - 769_000, 0));
    assert_eq!(died_ns(Some(as_utc_ns - hour_ns / 3)), (as_utc_ns, 1));
}

/// CPUs are used and idle for as long as there is time.
#[test]
fn cpus_add_up() {
    let recording = load("sysstat", &["mpstat.txt.gz"]).unwrap();
    let rows = || recording.counters.rows().filter(|row| recording.text(row.name) == counter::MACHINE_CPU_NS);
    let (from, to) = (rows().map(|row| row.time_ns).min().unwrap(), rows().map(|row| row.time_ns).max().unwrap());
    let all = comes_to(&recording, counter::MACHINE_CPU_NS) / (to - from) as f64;
    assert!((1.9..2.1).contains(&all), "{all} CPUs");
}

/// Bytes as a file of a format, whatever they begin with: an error in one line, or a recording.
fn check(format: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let reader = reader(format);
    reader.sniff(&bytes[..bytes.len().min(65_536)], file.path());
    let clock_offsets = vec![(file.path().to_owned(), 1)];
    let options = LoadOptions { started_at_ns: Some(1), clock_offsets, takes_untimed: true, ..LoadOptions::default() };
    match reader.load(&[file.path().to_owned()], &options) {
        Err(error) => prop_assert!(!error.to_string().contains('\n'), "{error}"),
        Ok(recording) => prop_assert!(recording.counters.rows().all(|row| row.value.is_finite())),
    }
    Ok(())
}

/// A real file's beginning: the whole would be read thousands of times.
fn beginnings() -> Vec<(&'static str, Vec<u8>)> {
    let all = FORMATS.iter().flat_map(|format| files(format).into_iter().map(move |file| (*format, file)));
    all.map(|(format, file)| (format, unpacked(&file).into_iter().take(20_000).collect())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cut_or_changed_anywhere(at in any::<prop::sample::Index>(), byte in any::<u8>(), chosen in any::<prop::sample::Index>()) {
        let all = beginnings();
        let (format, bytes) = chosen.get(&all);
        let at = at.index(bytes.len());
        check(format, &bytes[..at])?;
        let mut changed = bytes.clone();
        changed[at] = byte;
        check(format, &changed)?;
        let other_ends: Vec<u8> = changed.iter().flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] }).collect();
        check(format, &other_ends)?;
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..4_000), format in 0..FORMATS.len()) {
        check(FORMATS[format], &bytes)?;
    }
}
