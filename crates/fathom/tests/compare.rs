//! `fathom compare` and `fathom runs`: on real recordings, and on small ones whose truth is known.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, span, subject};
use serde_json::Value;

const START_NS: i64 = 1_795_168_921_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

fn fathom<A: AsRef<OsStr>>(folder: &Path, args: &[A]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).env("TZ", "UTC").env_remove("COLUMNS");
    command.output().expect("the program starts")
}

fn json(folder: &Path, args: &[&str]) -> Value {
    let output = fathom(folder, &[args, &["--json"]].concat());
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {complaint}"))
}

fn labs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/labs")
}

fn facts(compared: &Value, group: &str) -> Vec<String> {
    let all = compared["facts"][group].as_array().expect("a list");
    all.iter().map(|fact| fact["fact"].as_str().expect("a name").to_owned()).collect()
}

/// A run of a service whose requests take about `length_ms` each; the `number` makes it a little different from others.
fn write_run(path: &Path, number: i64, length_ms: f64, machine_ratio: f64) {
    let mut recording = Recording::default();
    let start_ns = START_NS + number * 100 * SECOND_NS;
    recording.add_fact(subject::JVM, "pid", &(1_000 + number).to_string(), "test");
    recording.add_fact(subject::JVM, "started_at_ns", &(start_ns - 600 * SECOND_NS).to_string(), "test");
    recording.add_fact(subject::HOST, "kernel", "6.1.0-18-amd64", "facts");
    recording.add_fact(subject::HOST, "cpus", "2", "facts");
    recording.add_fact(subject::FLAG, "UseFix", if length_ms > 6.0 { "false" } else { "true" }, "test");
    // Runs differ by 2 % from each other, requests of one run by 20 %.
    let scattered = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let of_run = 1.0 + 0.02 * (scattered as f64 / f64::from(u32::MAX) * 2.0 - 1.0);
    for request in 0..600 {
        let of_request = 1.0 + 0.2 * ((request * 104_729 % 101) as f64 / 50.0 - 1.0);
        let duration_ns = (length_ms * of_run * of_request * 1e6) as i64;
        recording.add_span(start_ns + request * 33_000_000, duration_ns, 0, span::REQUEST, "", "", "latency");
    }
    for second in 0..20 {
        let time_ns = start_ns + second * SECOND_NS;
        recording.add_counter(time_ns, counter::CPU_PROCESS_RATIO, "user", 0.05, "test");
        recording.add_counter(time_ns, counter::CPU_MACHINE_RATIO, "", machine_ratio, "test");
    }
    fathom_store::write(path, &recording).expect("the folder can be written");
}

/// Runs in turns; `A` takes 5 ms, `B` so many.
fn write_turns(folder: &Path, letters: &str, b_ms: f64) {
    for side in ["a", "b"] {
        fs::create_dir_all(folder.join(side)).expect("a folder");
    }
    for (letter, number) in letters.chars().zip(0..) {
        let (side, length_ms) = if letter == 'A' { ("a", 5.0) } else { ("b", b_ms) };
        write_run(&folder.join(format!("{side}/{number:02}.fathom")), number, length_ms, 0.06);
    }
}

#[test]
fn sick_and_fixed_differ_by_what_was_fixed() {
    for (lab, jdk, cause) in [
        ("lock_contention", "jdk17", "lock_contention"),
        ("full_gc_old_generation_full", "jdk17", "full_gc_old_generation_full"),
        ("long_time_to_safepoint", "jdk17", "long_time_to_safepoint"),
        ("code_cache_churn", "jdk25", "code_cache_churn"),
        ("allocation_pressure", "jdk25", "allocation_pressure"),
    ] {
        let (sick, fixed) = (format!("{lab}-sick-{jdk}"), format!("{lab}-fixed-{jdk}"));
        let compared = json(&labs(), &["compare", &sick, "--with", &fixed]);
        assert_eq!(compared["verdict"]["kind"], "no_verdict", "{lab}");
        let causes = compared["causes"].as_array().expect("a list");
        let found = causes.iter().find(|one| one["id"] == cause).unwrap_or_else(|| panic!("{lab}: {causes:?}"));
        assert_eq!(found["became"], "went", "{lab}: {found}");
        let given = facts(&compared, "given");
        assert!(given.iter().any(|fact| fact == "argument variant"), "{lab}: {given:?}");
        assert!(!given.iter().any(|fact| ["jdk", "kernel", "collector"].contains(&fact.as_str())), "{lab}: {given:?}");
    }
}

#[test]
fn the_same_service_on_two_jdks_differs_by_the_jdk() {
    let compared =
        json(&labs(), &["compare", "healthy_server-healthy-jdk17", "--with", "healthy_server-healthy-jdk25"]);
    assert_eq!(facts(&compared, "given"), ["jdk"], "{compared}");
    let same = json(&labs(), &["compare", "healthy_server-healthy-jdk25", "--with", "healthy_server-healthy-jdk25"]);
    assert_eq!(facts(&same, "given"), [""; 0]);
    assert_eq!(facts(&same, "derived"), [""; 0]);
}

#[test]
fn worse_ends_a_build_where_it_is_asked_to() {
    let place = tempfile::tempdir().expect("a folder");
    write_turns(place.path(), "ABBAABBAAB", 8.0);
    let code = |args: &[&str]| fathom(place.path(), args).status.code();
    let compared = json(place.path(), &["compare", "a", "--with", "b"]);
    assert_eq!(compared["verdict"]["kind"], "worse", "{}", compared["verdict"]);
    assert_eq!(facts(&compared, "given"), ["flag UseFix"]);
    assert_eq!(json(place.path(), &["compare", "b", "--with", "a"])["verdict"]["kind"], "better");
    for (more, expected) in [
        (&[][..], 0),
        (&["--fail-if", "worse"], 3),
        (&["--fail-if", "not-comparable,undecided"], 0),
        (&["--require", "p50 <= +10%"], 3),
        (&["--require", "p50 <= +100%"], 0),
        (&["--require", "p50 <= +60%", "--fail-if", "undecided"], 3),
        (&["--require", "p95 <= +10%"], 2),
    ] {
        assert_eq!(code(&[&["compare", "a", "--with", "b"], more].concat()), Some(expected), "{more:?}");
    }
    let markdown = fathom(place.path(), &["compare", "a", "--with", "b", "--markdown"]).stdout;
    let markdown = String::from_utf8(markdown).expect("text");
    assert!(markdown.starts_with("## Worse: p50 +6"), "{markdown}");
    assert!(markdown.contains("| flag UseFix | true | false |"), "{markdown}");
}

#[test]
fn no_difference_says_what_would_have_been_found() {
    let place = tempfile::tempdir().expect("a folder");
    write_turns(place.path(), "ABBAABBAAB", 5.0);
    let compared = json(place.path(), &["compare", "a", "--with", "b"]);
    assert_eq!(compared["verdict"]["kind"], "no_difference", "{}", compared["verdict"]);
    let from = compared["measures"][0]["found_from"].as_f64().expect("a number");
    assert!(from > 0.005 && from < 0.06, "{from}");
    assert!(compared["verdict"]["says"].as_str().is_some_and(|says| says.contains("would have been found")));
}

#[test]
fn a_busy_run_is_not_compared() {
    let place = tempfile::tempdir().expect("a folder");
    write_turns(place.path(), "ABBAAB", 8.0);
    fs::remove_dir_all(place.path().join("b/05.fathom")).expect("it is there");
    write_run(&place.path().join("b/busy.fathom"), 5, 8.0, 0.99);
    let compared = json(place.path(), &["compare", "a", "--with", "b"]);
    assert_eq!(compared["verdict"]["kind"], "not_comparable", "{}", compared["verdict"]);
    assert!(
        compared["verdict"]["says"].as_str().is_some_and(|says| says.contains("busy.fathom (94 %)")),
        "{}",
        compared["verdict"]
    );
    assert_eq!(json(place.path(), &["compare", "a", "--with", "b", "--accept", "busy"])["verdict"]["kind"], "worse");
}

#[test]
fn files_beside_a_recording_are_of_its_run() {
    let place = tempfile::tempdir().expect("a folder");
    write_run(&place.path().join("a.fathom"), 1, 5.0, 0.06);
    let line = |second: i64| format!("{},5.0\n", 1_795_169_021 + second);
    let latencies: String = (0..20).map(line).collect();
    fs::write(place.path().join("latency.csv"), format!("time,latency_ms\n{latencies}")).expect("a file");
    let history = json(place.path(), &["runs", "a.fathom", "latency.csv"]);
    assert_eq!(history["runs"].as_array().map(Vec::len), Some(1), "{}", history["runs"]);
}

#[test]
fn what_cannot_be_read_is_one_line() {
    let place = tempfile::tempdir().expect("a folder");
    fs::write(place.path().join("noise"), [7; 100]).expect("a file");
    write_run(&place.path().join("one.fathom"), 1, 5.0, 0.06);
    for args in [["compare", "nothing", "--with", "one.fathom"], ["compare", "one.fathom", "--with", "noise"]] {
        let output = fathom(place.path(), &args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{args:?}: {output:?}");
    }
}

#[test]
fn a_fix_that_goes_out_and_in_has_two_marks() {
    let place = tempfile::tempdir().expect("a folder");
    fs::create_dir(place.path().join("runs")).expect("a folder");
    for number in 0..30 {
        let length_ms = if (10..20).contains(&number) { 7.0 } else { 5.0 };
        write_run(&place.path().join(format!("runs/{number:02}.fathom")), number, length_ms, 0.06);
    }
    let history = json(place.path(), &["runs", "runs", "--svg", "runs.svg", "--html", "runs.html"]);
    let marks = history["marks"].as_array().expect("a list");
    let at: Vec<i64> = marks.iter().filter_map(|mark| mark["at"].as_i64()).collect();
    assert_eq!(at, [10, 20], "{marks:?}");
    let of_first = marks[0]["facts"]["given"][0]["fact"].as_str();
    assert_eq!(of_first, Some("flag UseFix"), "{marks:?}");
    let [svg, html] = ["runs.svg", "runs.html"].map(|name| fs::read_to_string(place.path().join(name)).expect("text"));
    assert_eq!(svg.matches("<circle").count(), 60, "{svg}");
    assert!(svg.contains("run 11: p50 +") && html.contains("run 21: p50"), "{svg}");
    assert!(!html.contains("<script"));
}

/// Two profiles of the same program, of CPU and of allocated bytes; and the same one twice.
#[test]
fn profiles_without_times_are_tables_of_frames() {
    let testdata = labs().join("../collapsed");
    let compared = json(&testdata, &["compare", "cpu-plain.txt", "--with", "cpu-threads.txt.gz"]);
    assert_eq!(compared["verdict"]["kind"], "not_comparable");
    assert!(compared["verdict"]["says"].as_str().is_some_and(|says| says.contains("no requests")));
    let frames = compared["profiles"][0]["frames"].as_array().expect("frames");
    let part = |frame: &Value, name: &str| frame[name].as_f64().unwrap_or(-1.0);
    assert!(frames.iter().all(|frame| {
        ["self_a", "self_b", "total_a", "total_b"].iter().all(|name| (0.0..=1.0).contains(&part(frame, name)))
    }));
    assert!(frames.iter().all(|frame| part(frame, "self_a") <= part(frame, "total_a")));
    let same = json(&testdata, &["compare", "cpu-plain.txt", "--with", "cpu-plain.txt"]);
    assert_eq!(same["profiles"][0]["frames"], serde_json::json!([]));
    let pprof = labs().join("../pprof");
    let events = json(&pprof, &["compare", "cpu.pb.gz", "--with", "allocs.pb.gz"]);
    assert_eq!(
        (&events["profiles"], events["profiles_one_sided"].as_array().map(Vec::len)),
        (&serde_json::json!([]), Some(3))
    );
    let text =
        String::from_utf8(fathom(&pprof, &["compare", "cpu.pb.gz", "--with", "cpu.pb.gz"]).stdout).expect("text");
    assert!(text.contains("not comparable") && text.contains("2.01 s in 2"), "{text}");
}
