//! Folders of files that people made by hand: `fathom explain FOLDER` names the cause, from all of them and from some.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/by_hand").join(name)
}

/// The answers for the files of a folder whose names begin with one of `wanted`, all for none.
fn explain(name: &str, wanted: &[&str]) -> Vec<Value> {
    let scratch = TempDir::new().expect("a folder");
    for entry in std::fs::read_dir(folder(name)).expect("testdata") {
        let path = entry.expect("an entry").path();
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        if wanted.is_empty() || wanted.iter().any(|begins| file.starts_with(begins)) {
            std::fs::copy(&path, scratch.path().join(file)).expect("a copy");
        }
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    let output =
        command.args(["explain", "--json"]).arg(scratch.path()).env("TZ", "UTC").output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    match answer {
        Value::Array(answers) => answers,
        one => vec![one],
    }
}

/// The cause with the most time, and its share.
fn first(answer: &Value) -> (&str, f64) {
    let cause = &answer["causes"][0];
    (cause["id"].as_str().unwrap_or_default(), cause["share"].as_f64().unwrap_or_default())
}

#[test]
fn everything_of_one_run_is_one_account_that_names_the_cause() {
    for (name, cause) in [("lock", "lock_contention"), ("pool", "connection_pool_exhausted")] {
        let answers = explain(name, &[]);
        assert_eq!(answers.len(), 1, "{name}: one JVM");
        let (id, share) = first(&answers[0]);
        assert!(id == cause && share > 0.5, "{name}: {id} {share}");
    }
}

#[test]
fn three_thread_dumps_name_an_exhausted_pool() {
    let answers = explain("pool", &["dump"]);
    let (id, share) = first(&answers[0]);
    assert!(id == "connection_pool_exhausted" && share > 0.9, "{id} {share}");
    assert!(answers[0]["causes"][0]["says"].as_str().is_some_and(|says| says.contains("thread dumps found")));
}

/// The holder of the lock sleeps 9 ms at a time, which Flight Recorder does not write down, and dumps see.
#[test]
fn three_thread_dumps_name_what_is_done_under_a_lock() {
    let answers = explain("lock", &["dump"]);
    let named: Vec<&str> =
        answers[0]["causes"].as_array().expect("causes")[..2].iter().filter_map(|cause| cause["id"].as_str()).collect();
    assert!(named.contains(&"lock_contention") && named.contains(&"sleeping_handlers"), "{named:?}");
    assert!(answers[0]["causes"][0]["says"].as_str().is_some_and(|says| says.contains("underTheLock")));
}
