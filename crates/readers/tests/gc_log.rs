//! Every log of `testdata/gc_log` as evidence: the results in one reviewed table, and what holds for all.

// Helpers of tests are tests.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, Gc};
use fathom_evidence::kinds::{loss, span, subject};
use fathom_readers::{LoadOptions, Reader, readers};

/// When the JVMs of logs without wall-clock time are said to have started.
const STARTED_AT_NS: i64 = 1_795_000_000_000_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gc_log")
}

fn logs() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut logs: Vec<PathBuf> = entries.filter(|path| path.is_file() && !path.ends_with("ABOUT.md")).collect();
    logs.sort();
    logs
}

fn gc_log() -> &'static dyn Reader {
    *readers().iter().find(|reader| reader.name() == "gc_log").unwrap()
}

fn load(log: &Path, started_at_ns: Option<i64>) -> Recording {
    let options = LoadOptions { started_at_ns, ..LoadOptions::default() };
    gc_log().load(&[log.to_owned()], &options).unwrap()
}

fn spans(recording: &Recording, kind: &str) -> Vec<(i64, i64, Gc)> {
    let rows = recording.spans.rows().filter(|row| recording.text(row.kind) == kind);
    rows.map(|row| (row.time_ns, row.duration_ns, detail::from_text(recording.text(row.detail)))).collect()
}

fn summary(recording: &Recording) -> String {
    let mut kinds: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
    for row in recording.spans.rows() {
        let (count, sum_ns) = kinds.entry(recording.text(row.kind)).or_default();
        (*count, *sum_ns) = (*count + 1, *sum_ns + row.duration_ns);
    }
    let mut scopes: BTreeMap<String, usize> = BTreeMap::new();
    for (_, _, detail) in spans(recording, span::GC_PAUSE) {
        let collector = detail.collector.unwrap_or_default();
        *scopes.entry(format!("{collector}/{}", detail.scope.unwrap_or_default())).or_default() += 1;
    }
    let mut text = String::new();
    for (kind, (count, sum_ns)) in kinds {
        let _ = write!(text, " {kind} {count} ({:.3} ms)", sum_ns as f64 / 1e6);
    }
    let losses: Vec<_> =
        recording.losses.rows().map(|row| format!("{} {}", recording.text(row.kind), row.count)).collect();
    let counters = recording.counters.rows().count();
    let _ = write!(text, "\n    pauses {scopes:?}, {counters} counters, losses {losses:?}");
    text
}

#[test]
fn lines_may_end_as_on_any_system() {
    let log = folder().join("jdk8-parallel-details.log");
    let text = fs::read_to_string(&log).unwrap();
    let place = tempfile::tempdir().unwrap();
    for end in ["\r", "\r\n"] {
        let copy = place.path().join("gc.log");
        fs::write(&copy, text.replace('\n', end)).unwrap();
        assert!(gc_log().sniff(text.replace('\n', end).as_bytes(), &copy));
        assert_eq!(summary(&load(&copy, Some(STARTED_AT_NS))), summary(&load(&log, Some(STARTED_AT_NS))), "{end:?}");
    }
}

#[test]
fn what_the_logs_give() {
    let mut page = String::new();
    for log in logs() {
        let recording = load(&log, Some(STARTED_AT_NS));
        let _ = writeln!(page, "{}\n   {}", log.file_name().unwrap().to_string_lossy(), summary(&recording));
    }
    insta::assert_snapshot!(page);
}

/// The only lines that are not understood are what the programs themselves print.
#[test]
fn every_line_of_every_log_is_understood() {
    for log in logs() {
        let recording = load(&log, None);
        let missed: Vec<&str> = recording
            .logs
            .rows()
            .filter(|row| recording.text(row.class) == "not_understood")
            .map(|row| recording.text(row.text))
            .filter(|text| text.parse::<i64>().is_err() && !text.starts_with("room ran out"))
            .collect();
        assert!(missed.is_empty(), "{}: {missed:#?}", log.display());
    }
}

/// Pauses do not overlap, and what is in use does not exceed what there is.
#[test]
fn what_holds_for_all_logs() {
    for log in logs() {
        let recording = load(&log, Some(STARTED_AT_NS));
        let name = log.display();
        let pauses = spans(&recording, span::GC_PAUSE);
        for pair in pauses.windows(2) {
            // Lines are stamped in milliseconds, at the beginning or the end of what they tell.
            let overlap_ns = pair[0].0 + pair[0].1 - pair[1].0;
            assert!(overlap_ns <= 3_000_000, "{name}: {pair:?}");
        }
        for (_, _, pause) in &pauses {
            let (after, capacity) = (pause.heap_after_bytes, pause.heap_committed_bytes);
            assert!(after.zip(capacity).is_none_or(|(after, capacity)| after <= capacity), "{name}: {pause:?}");
            let (old, capacity) = (pause.old_after_bytes, pause.old_capacity_bytes);
            assert!(old.zip(capacity).is_none_or(|(old, capacity)| old <= capacity), "{name}: {pause:?}");
        }
    }
}

/// Number and sum of the pauses are those that a plain search for their lines gives.
#[test]
fn pauses_are_those_of_a_plain_search() {
    let unified = regex::Regex::new(r"(?m)(?:^|\] )GC\(\d+\) (?:[yYO]: )?Pause .* ([0-9]+\.[0-9]+)ms$").unwrap();
    let legacy =
        regex::Regex::new(r"(?m)^(?:[0-9T:.+-]{5,}: (?:[0-9.]+: )?)?\[(?:Full GC|GC(?: [^c]| c[^o]|--|\[))").unwrap();
    for log in logs().iter().filter(|log| log.extension().is_some_and(|extension| extension == "log")) {
        let text = fs::read_to_string(log).unwrap();
        let found = spans(&load(log, Some(STARTED_AT_NS)), span::GC_PAUSE);
        let expected: Vec<f64> = unified.captures_iter(&text).map(|hit| hit[1].parse().unwrap()).collect();
        let begun = legacy.find_iter(&text).count();
        // A log that was cut may end in the middle of a pause of the old formats.
        assert!((expected.len() + begun).abs_diff(found.len()) <= begun.min(1), "{}", log.display());
        let sum_ms: f64 = found.iter().map(|(_, ns, _)| *ns as f64 / 1e6).sum();
        // Its nested pauses are the subject of another test.
        let is_nested = log.ends_with("jdk11-serial-boom.log");
        assert!(begun > 0 || is_nested || (sum_ms - expected.iter().sum::<f64>()).abs() < 1e-3, "{}", log.display());
    }
}

#[test]
fn a_rotated_log_is_one_whole() {
    for (set, files) in [("jdk17-g1-rotated", 4), ("jdk8-g1-rotated", 3)] {
        let entries = fs::read_dir(folder().join(set)).unwrap().map(|entry| entry.unwrap().path());
        let groups = gc_log().group(entries.collect());
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [files], "{set}");
        let recording = gc_log().load(&groups[0], &LoadOptions::default()).unwrap();
        let starts: Vec<i64> = spans(&recording, span::GC_PAUSE).iter().map(|(start, ..)| *start).collect();
        assert!(starts.len() > 10 && starts.is_sorted(), "{set}: {starts:?}");
    }
}

/// Their number and lengths are right; that nothing tells how often they came is said, with what would.
#[test]
fn pauses_of_a_log_without_any_time_are_put_one_after_the_other() {
    let recording = load(&folder().join("jdk17-g1-none.log"), Some(STARTED_AT_NS));
    let pauses = spans(&recording, span::GC_PAUSE);
    assert_eq!(pauses.len(), 5);
    for pair in pauses.windows(2) {
        assert_eq!(pair[1].0, pair[0].0 + pair[0].1 + 1_000_000_000);
    }
    let estimated = recording.losses.rows().find(|row| recording.text(row.kind) == loss::CLOCK_ESTIMATED).unwrap();
    assert!(recording.text(estimated.says).contains("-Xlog:"), "{}", recording.text(estimated.says));
    assert_eq!(recording.fact(subject::GC, "times"), Some("none"));
    assert_eq!(recording.fact(subject::GC, "collector"), Some("G1"));
}

/// What began long before its line was written does not look like another JVM, whatever it is.
#[test]
fn nothing_that_takes_long_looks_like_a_restart() {
    for (log, seconds) in [
        (
            "[0.010s][info][gc] Using G1\n\
             [65.533s][info][safepoint   ] Safepoint \"G1Concurrent\", Time since last: 15468000000 ns, Reaching safepoint: 40000 ns, Cleanup: 1 ns, At safepoint: 30000 ns, Total: 70001 ns\n\
             [67.349s][info][gc,marking  ] GC(17) Concurrent Mark From Roots 15530.462ms\n",
            67,
        ),
        (
            "3.735: [GC pause (young)\nDesired survivor size 33554432 bytes, new threshold 15 (max 15)\n, 0.0310490 secs]\n\
             [Times: user=0.37 sys=0.12, real=0.03 secs]\n9.767: Total time for which application threads were stopped: 0.0313840 seconds\n\
             20.5: [GC pause (young), 0.0310490 secs]\n",
            16,
        ),
        (
            "5.000: [GC 9K->6K(12K), 0.1 secs]\n60.000: [Full GC 9K->6K(12K), 0.1 secs]\n\
             4.900: ParallelGCFailedAllocation       [       8          0              1    ]      [     0     0     0     0     8    ]  0\n",
            55,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gc.log");
        fs::write(&path, log).unwrap();
        let recording = load(&path, None);
        let (from, to) = recording.time_range_ns().unwrap();
        assert_eq!((to - from) / 1_000_000_000, seconds, "{log}");
        assert!(!recording.losses.rows().any(|row| recording.text(row.says).contains("falls back")), "{log}");
    }
}

#[test]
fn a_log_with_uptime_alone_is_placed_and_says_how_surely() {
    let log = folder().join("jdk17-parallel-gcstar.log");
    let is_estimated =
        |recording: &Recording| recording.losses.rows().any(|row| recording.text(row.kind) == loss::CLOCK_ESTIMATED);
    let known = load(&log, Some(STARTED_AT_NS));
    let (from, _) = known.time_range_ns().unwrap();
    assert!((STARTED_AT_NS..STARTED_AT_NS + 1_000_000_000).contains(&from) && !is_estimated(&known), "{from}");
    let guessed = load(&log, None);
    let changed = fs::metadata(&log).unwrap().modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    let (_, to) = guessed.time_range_ns().unwrap();
    assert!(changed.as_nanos().abs_diff(to as u128) < 100_000_000 && is_estimated(&guessed), "{to}");
}

/// No other reader claims a log, and this one claims no other file.
#[test]
fn logs_are_told_from_other_files() {
    for log in logs() {
        assert_eq!(fathom_readers::sniff(&log).unwrap().name(), "gc_log", "{}", log.display());
    }
    let others: [&[u8]; 12] = [
        b"4242:\n garbage-first heap   total 262144K, used 24576K [0x0000000710000000, 0x0000000800000000)\n  region size 2048K, 12 young (24576K), 0 survivors (0K)\n Metaspace       used 1024K\n",
        b"4242:\nCodeCache: size=49152Kb used=2345Kb max_used=2345Kb free=46806Kb\n bounds [0x1, 0x2, 0x3]\n total_blobs=900\n",
        b"4242:\nUsing G1\nHeap Region Size: 1M\n",
        b"",
        b"FLR\0\0\x02\0\0",
        b"time,latency_ms\n1795156200,3\n",
        b"2026-11-20 06:30:00.123 [main] INFO c.e.App - GC(1) is a method\n",
        b"[INFO] Scanning for projects...\n[INFO] BUILD SUCCESS\n",
        b"[2026-11-20T06:30:00Z] started\n[2026-11-20T06:30:01Z] Heap\n",
        b"127.0.0.1 - - [20/Nov/2026:06:30:00 +0000] \"GET / HTTP/1.1\" 200 12 345\n",
        b"procs -----------memory----------\n r  b   swpd   free\n 1  0      0 123456\n",
        b"{\"level\":\"info\",\"msg\":\"Pause Full\"}\n",
    ];
    for other in others {
        assert!(!gc_log().sniff(other, Path::new("x.log")), "{}", String::from_utf8_lossy(other));
    }
    let mixed = b"  .   ____\nstarting\n2026 INFO x\n[0.093s][info][gc] GC(0) Pause Young (Allocation Failure) 17M->12M(61M) 8.499ms\n";
    assert!(gc_log().sniff(mixed, Path::new("stdout")));
}

/// JDK 9-16 log a young collection that turned into a full one as the whole of both.
#[test]
fn time_of_nested_pauses_counts_once() {
    let log = "[0.192s][info][gc     ] GC(5) Pause Full (Allocation Failure) 27M->24M(30M) 4.119ms\n\
               [0.192s][info][gc,heap] GC(4) DefNew: 9789K->2781K(9792K)\n\
               [0.192s][info][gc,heap] GC(4) Tenured: 18643K->21882K(21888K)\n\
               [0.192s][info][gc     ] GC(4) Pause Young (Allocation Failure) 27M->24M(30M) 4.149ms\n\
               [0.192s][info][gc,cpu ] GC(4) User=0.01s Sys=0.00s Real=0.00s\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gc.log");
    fs::write(&path, log).unwrap();
    let pauses = spans(&load(&path, Some(STARTED_AT_NS)), span::GC_PAUSE);
    let shown: Vec<_> = pauses.iter().map(|(_, ns, gc)| (gc.gc_id, *ns, gc.old_after_bytes, gc.user_ns)).collect();
    assert_eq!(shown, [(Some(4), 30_000, None, None), (Some(5), 4_119_000, Some(21_882 << 10), Some(10_000_000))]);
}

/// Two runs of a JVM in one log, ten minutes apart, with collections of the same numbers.
fn two_runs(decorations: fn(minute: i64, second: i64) -> String) -> Recording {
    let mut log = String::new();
    for minute in [0, 10] {
        log += &format!("{}[info][gc] Using G1\n", decorations(minute, 0));
        for gc in 0..30 {
            let pause = format!("GC({gc}) Pause Young (Normal) (G1 Evacuation Pause)");
            let at = decorations(minute, 1 + gc);
            log += &format!("{at}[info][gc,start] {pause}\n{at}[info][gc] {pause} 24M->5M(256M) 10.000ms\n");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gc.log");
    fs::write(&path, log).unwrap();
    load(&path, None)
}

#[test]
fn collections_of_two_runs_are_not_one() {
    let both = |minute, second| format!("[2026-11-20T06:{:02}:{second:02}.000+0000][{second}.000s]", 30 + minute);
    let wall = |minute, second| format!("[2026-11-20T06:{:02}:{second:02}.000+0000]", 30 + minute);
    for decorations in [both, wall] as [fn(i64, i64) -> String; 2] {
        let collections = spans(&two_runs(decorations), span::GC);
        assert_eq!(collections.len(), 60);
        assert!(collections.iter().all(|(_, ns, _)| *ns <= 10_000_000), "{collections:?}");
    }
}

/// Each second a collection and half a second later another stop, of which the table at the end tells.
#[test]
fn a_safepoint_table_in_a_log_with_dates_alone_is_placed() {
    let row = |ms: i64, operation: &str, times: &str| {
        format!("{}.{:03}: {operation} [ 118 0 2 ] [ 0 0 {times} ] 0\n", ms / 1_000, ms % 1_000)
    };
    let at_s = |uptime: bool, second: i64| match uptime {
        true => format!("2026-11-20T06:30:{second:02}.000+0000: {second}.000: "),
        false => format!("2026-11-20T06:30:{second:02}.000+0000: "),
    };
    let log = |uptime: bool| {
        let pause = |second| format!("{}[GC (Allocation Failure)  9K->6K(12K), 0.01 secs]\n", at_s(uptime, second));
        let stops = |second: i64| {
            row(second * 1_000 - 5, "ParallelGCFailedAllocation", "5 0 10")
                + &row(second * 1_000 + 500, "RevokeBias", "400 0 0")
        };
        (1..=40).map(pause).chain((1..=40).map(stops)).collect::<String>()
    };
    let stops = |log: String| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gc.log");
        fs::write(&path, log).unwrap();
        let recording = load(&path, None);
        let estimated = recording.losses.rows().filter(|row| recording.text(row.kind) == loss::CLOCK_ESTIMATED);
        let count = estimated.map(|row| row.count).sum::<i64>();
        (spans(&recording, span::SAFEPOINT).iter().map(|(start, ns, _)| (*start, *ns)).collect::<Vec<_>>(), count)
    };
    let (known, by_dates) = (stops(log(true)), stops(log(false)));
    assert_eq!((known.0.len(), known.1, by_dates.1), (80, 0, 80));
    assert_eq!(known.0, by_dates.0);
}

/// A log that a container or the system's log has written on gives the rows of the bare one.
#[test]
fn what_is_around_the_lines_changes_nothing() {
    const DATE: &str = "2026-11-20T06:30:00.123456789Z";
    let wrappings: [fn(&str) -> String; 5] = [
        |line| format!("{DATE} stdout F {line}\n"),
        |line| format!("{DATE} {line}\n"),
        |line| {
            let escaped = line.replace('\\', "\\\\").replace('"', "\\\"").replace('>', "\\u003e");
            format!("{{\"log\":\"{escaped}\\n\",\"stream\":\"stdout\",\"time\":\"{DATE}\"}}\n")
        },
        |line| format!("app-1  | {line}\n"),
        |line| format!("Nov 20 06:30:00 host java[4711]: {line}\n"),
    ];
    let place = tempfile::tempdir().unwrap();
    let logs = ["jdk17-g1-gcstar.log", "jdk8-parallel-details.log", "jdk8-concmarksweep-all.log", "jdk17-g1-none.log"];
    for (wrap, log) in wrappings.iter().flat_map(|wrap| logs.map(|log| (wrap, folder().join(log)))) {
        let text: String = fs::read_to_string(&log).unwrap().lines().map(wrap).collect();
        let wrapped = place.path().join("stdout.log");
        fs::write(&wrapped, &text).unwrap();
        assert!(gc_log().sniff(text.as_bytes(), &wrapped), "{text:.300}");
        assert_eq!(
            summary(&load(&wrapped, Some(STARTED_AT_NS))),
            summary(&load(&log, Some(STARTED_AT_NS))),
            "{text:.300}"
        );
    }
}

/// What stands before the collections, and within and between them: none of it hides a pause.
#[test]
fn pauses_among_other_lines() {
    let class = |index: usize| {
        format!(
            "[2026-11-20T06:30:00.000+0000][0.{index:03}s][info][class,load] shop.Item{index} source: file:/opt/shop/lib/shop-core.jar\n"
        )
    };
    let of_jdk_8 = |at: u32| {
        format!(
            "{at}.000: [GC (Allocation Failure) {at}.000: [ParNew: 104960K->5000K(118016K), 0.0100000 secs] 304960K->205000K(511232K), 0.0101000 secs] [Times: user=0.02 sys=0.00, real=0.01 secs] \n"
        )
    };
    let heap = "{Heap before GC invocations=7 (full 3):\n par new generation   total 118016K, used 100000K [0x00000000e0000000, 0x00000000e8000000, 0x00000000e8000000)\n concurrent mark-sweep generation total 393216K, used 200000K [0x00000000e8000000, 0x0000000100000000, 0x0000000100000000)\n";
    let classes_first = (0..800).map(class).collect::<String>()
        + "[2026-11-20T06:30:02.000+0000][2.000s][info][gc] GC(0) Pause Full (Allocation Failure) 250M->240M(256M) 700.000ms\n";
    let remark_with_a_young_one = of_jdk_8(10)
        + "95.000: [GC (CMS Final Remark) [YG occupancy: 100000 K (118016 K)]"
        + heap
        + "95.000: [GC (CMS Final Remark) 95.000: [ParNew: 100000K->5000K(118016K), 0.2000000 secs] 300000K->205000K(511232K), 0.2001000 secs] [Times: user=0.30 sys=0.00, real=0.20 secs] \n"
        + "Heap after GC invocations=8 (full 3):\n}\n"
        + "95.200: [Rescan (parallel) , 0.6000000 secs]95.800: [weak refs processing, 0.0001000 secs][1 CMS-remark: 200000K(393216K)] 205000K(511232K), 0.9100000 secs] [Times: user=1.00 sys=0.00, real=0.91 secs] \n"
        + &of_jdk_8(110);
    let failure_without_its_end = of_jdk_8(10)
        + "20.000: [GC 20.000: [ParNew (promotion failed): 118016K->118016K(118016K), 0.6800000 secs]20.680: [CMS\n"
        + &of_jdk_8(30);
    for (name, log, expected_ms) in [
        ("classes first", classes_first, vec![700]),
        ("a remark with a young collection in it", remark_with_a_young_one, vec![10, 910, 10]),
        ("a failed promotion whose end is missing", failure_without_its_end, vec![10, 680, 10]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gc.log");
        fs::write(&path, log).unwrap();
        assert_eq!(fathom_readers::sniff(&path).unwrap().name(), "gc_log", "{name}");
        let pauses = spans(&load(&path, Some(STARTED_AT_NS)), span::GC_PAUSE);
        let lengths_ms: Vec<i64> = pauses.iter().map(|(_, ns, _)| ns / 1_000_000).collect();
        assert_eq!(lengths_ms, expected_ms, "{name}");
    }
}
