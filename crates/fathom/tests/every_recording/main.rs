//! Every cause against every recording of `testdata`: one table that a person has reviewed.
//!
//! Each recording is explained by each of its files alone and by all of them together. The snapshot
//! shows who was accused of what, so that a change of any cause shows its effect on all of them.

mod corpus;
mod labs;

use std::path::{Path, PathBuf};

use fathom_causes::explanation::{CauseVerdict, Explanation, Verdict};
use fathom_causes::{ExplainOptions, explain};
use fathom_evidence::Recording;
use fathom_readers::{LoadError, LoadOptions, sniff};

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
    sniff(&files[0])?.load(&files, &LoadOptions::default())
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
