//! The recordings of the labs: the folder's name says how each must be explained.

use std::fmt::Write;

use fathom_causes::explanation::{Explanation, Verdict};

use crate::recordings::{MIXES, answer, lab_parts, labs, name, together};
use crate::row;

/// Which files of a lab suffice to find its cause: one of these sets has to be present. From other files no cause must
/// be reported.
const SUFFICE: &[(&str, &[&[&str]])] = &[
    ("allocation_pressure", &[&["jfr"], &["gc_log"]]),
    ("code_cache_churn", &[&["jfr"]]),
    ("code_cache_full", &[&["jfr"]]),
    ("deoptimization_storm", &[&["jfr", "latency"]]),
    ("explicit_gc", &[&["jfr"], &["gc_log"]]),
    ("full_gc_old_generation_full", &[&["jfr"], &["gc_log"]]),
    // A JVM that starts is not slow unless requests wait for it.
    ("jit_warm_up", &[&["jfr", "latency"]]),
    ("lock_contention", &[&["jfr"]]),
    ("long_time_to_safepoint", &[&["jfr"], &["gc_log"]]),
    // Only who counts the requests knows that there are more of them, and a log does not tell what they cost.
    ("more_traffic", &[&["jfr", "latency"]]),
    ("slow_downstream", &[&["jfr"]]),
];

#[test]
fn the_recordings_of_the_labs() {
    let mut table = String::new();
    let mut failures = String::new();
    for folder in labs() {
        let parts = lab_parts(&folder);
        for sources in MIXES {
            let answer = answer(&together(&parts, sources));
            table += &row(&name(&folder), &sources.join("+"), &answer);
            if let Some(failure) = failure(&name(&folder), sources, &answer) {
                writeln!(failures, "{} by {}: {failure}", name(&folder), sources.join("+")).unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{failures}\n{table}");
    insta::assert_snapshot!(table);
}

fn accused(answer: &Explanation) -> Vec<&str> {
    let accused = answer.causes.iter().filter(|cause| cause.verdict <= Verdict::Likely);
    accused.map(|cause| cause.id.as_str()).collect()
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
