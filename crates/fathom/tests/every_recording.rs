//! Every cause against every recording of `testdata`: one table that a person has reviewed.
//!
//! Each recording is explained by each of its files alone and by all of them together. The snapshot
//! shows who was accused of what, so that a change of any cause shows its effect on all of them. What
//! the labs planted is asserted besides: the folder's name says what the recording must be explained as.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use fathom_causes::explanation::{CauseVerdict, Explanation, Verdict};
use fathom_causes::{ExplainOptions, explain};
use fathom_evidence::Recording;
use fathom_readers::{LoadError, LoadOptions, sniff};

/// When the JVM started, for logs that only know its uptime.
const STARTED_AT_NS: i64 = 1_795_000_000_000_000_000;

/// Files of a lab's recording, and what to call them.
const FILES: &[(&str, &str)] = &[("jfr", "recording.jfr.gz"), ("gc_log", "gc.log.gz"), ("latency", "latency.csv.gz")];

/// Combinations of files that people have.
const TOGETHER: &[&[&str]] = &[
    &["jfr"],
    &["gc_log"],
    &["jfr", "gc_log"],
    &["jfr", "latency"],
    &["gc_log", "latency"],
    &["jfr", "gc_log", "latency"],
];

/// Which files of a lab suffice to find its cause: one of these sets has to be there. From others
/// nobody must be accused.
const SUFFICE: &[(&str, &[&[&str]])] = &[
    ("allocation_pressure", &[&["jfr"], &["gc_log"]]),
    ("code_cache_churn", &[&["jfr"]]),
    ("code_cache_full", &[&["jfr"]]),
    ("deoptimization_storm", &[&["jfr"]]),
    ("explicit_gc", &[&["jfr"], &["gc_log"]]),
    ("full_gc_old_generation_full", &[&["jfr"], &["gc_log"]]),
    // A JVM that starts is not slow unless somebody waits for it.
    ("jit_warm_up", &[&["jfr", "latency"]]),
    ("lock_contention", &[&["jfr"]]),
    ("long_time_to_safepoint", &[&["jfr"], &["gc_log"]]),
    // Only who counts the requests knows that there are more of them, and a log does not tell what they cost.
    ("more_traffic", &[&["jfr", "latency"]]),
    ("slow_downstream", &[&["jfr"]]),
];

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// What is directly in a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = found.collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a file, or the parts of a log in a folder.
fn load(path: &Path) -> Result<Recording, LoadError> {
    let files = if path.is_dir() { entries(path) } else { vec![path.to_owned()] };
    let options = LoadOptions { started_at_ns: Some(STARTED_AT_NS), ..LoadOptions::default() };
    sniff(&files[0])?.load(&files, &options)
}

fn answer(recording: &Recording) -> Explanation {
    explain(recording, &ExplainOptions::default())
}

/// A line of the table: who is accused, the first one apart.
fn row(recording: &str, sources: &str, answer: &Explanation) -> String {
    let seconds = |from: i64, to: i64| to.saturating_sub(from) as f64 / 1e9;
    let slow = answer.slow.iter().map(|slow| seconds(slow.from_ns, slow.to_ns)).sum::<f64>() + 0.0; // not -0
    let length = seconds(answer.recording.from_ns, answer.recording.to_ns);
    let told =
        |cause: &CauseVerdict| format!("{:?} {} {:.0} %", cause.verdict, cause.id, (cause.share * 20.0).round() * 5.0);
    let accused: Vec<String> =
        answer.causes.iter().filter(|cause| cause.verdict <= Verdict::Possible).map(told).collect();
    let first = accused.first().map_or("-", String::as_str);
    let others = accused.get(1..).unwrap_or_default().join(", ");
    format!("{recording:44} {sources:19} {slow:4.0} of {length:4.0} s  {first:44} {others}").trim_end().to_owned()
        + "\n"
}

fn accused(answer: &Explanation) -> Vec<&str> {
    let accused = answer.causes.iter().filter(|cause| cause.verdict <= Verdict::Likely);
    accused.map(|cause| cause.id.as_str()).collect()
}

#[test]
fn the_files_of_testdata() {
    let mut table = String::new();
    for (folder, sources) in [("jfr", "jfr"), ("gc_log", "gc_log")] {
        for path in entries(&testdata().join(folder)) {
            if let Ok(recording) = load(&path) {
                table += &row(&name(&path), sources, &answer(&recording));
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_recordings_of_the_labs() {
    let mut table = String::new();
    let mut failures = String::new();
    for folder in entries(&testdata().join("labs")).into_iter().filter(|path| path.is_dir()) {
        let parts: Vec<(&str, Recording)> =
            FILES.iter().map(|(what, file)| (*what, load(&folder.join(file)).unwrap())).collect();
        for sources in TOGETHER {
            let mut recording = Recording::default();
            parts
                .iter()
                .filter(|(what, _)| sources.contains(what))
                .for_each(|(_, part)| recording.absorb(part.clone()));
            let answer = answer(&recording);
            table += &row(&name(&folder), &sources.join("+"), &answer);
            if let Some(failure) = failure(&name(&folder), sources, &answer) {
                writeln!(failures, "{} by {}: {failure}", name(&folder), sources.join("+")).unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{failures}\n{table}");
    insta::assert_snapshot!(table);
}

/// What is wrong with the answer for a lab's recording, called `<cause or program>-<variant>-jdk<release>`.
fn failure(name: &str, sources: &[&str], answer: &Explanation) -> Option<String> {
    let mut parts = name.split('-');
    let (lab, variant, jdk) = (parts.next()?, parts.next()?, parts.next()?);
    let accused = accused(answer);
    let is_sick = variant.starts_with("sick");
    match (is_sick && suffices(lab, jdk, sources), accused.as_slice()) {
        (true, [first]) if *first == lab => None,
        (true, others) => Some(format!("{lab} should be accused, and nobody else: {others:?}")),
        (false, []) => None,
        (false, others) if is_sick && others == [lab] => None,
        (false, others) => Some(format!("nobody should be accused: {others:?}")),
    }
}

fn suffices(lab: &str, jdk: &str, sources: &[&str]) -> bool {
    let is_there = |needed: &&&[&str]| needed.iter().all(|source| sources.contains(source));
    // Since JDK 20 the collector frees code, and the log says so.
    let by_log = lab == "code_cache_churn" && matches!(jdk, "jdk21" | "jdk25") && sources.contains(&"gc_log");
    by_log || SUFFICE.iter().any(|(cause, sets)| *cause == lab && sets.iter().any(|set| is_there(&set)))
}
