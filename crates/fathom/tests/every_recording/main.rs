//! Every cause against every recording of `testdata`: one table that a person has reviewed.
//!
//! Each recording is explained by each of its files alone and by all of them together. The snapshot shows which causes
//! were reported, so that a change of any cause shows its effect on all of them.

mod corpus;
mod labs;
#[path = "../shared/recordings.rs"]
mod recordings;

use fathom_causes::explanation::{CauseVerdict, Explanation, Verdict};
use fathom_evidence::Table;
use fathom_readers::{LoadOptions, load_file};
use fathom_report::json;

use recordings::{answer, entries, load, name, testdata};

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

/// What is read for verdicts only gives the same ones, to the digit.
#[test]
fn verdicts_need_less() {
    let options = LoadOptions { for_verdicts: true, ..LoadOptions::default() };
    for path in entries(&testdata().join("jfr")) {
        let Ok(all) = load_file(&path, &LoadOptions::default()) else { continue };
        let less = load_file(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        assert!(less.samples.len() <= all.samples.len(), "{}", path.display());
        assert_eq!(json::explanations(&[answer(&less)]), json::explanations(&[answer(&all)]), "{}", path.display());
    }
}
