//! Folders as inputs: everything in them and in their folders is read, and what is not read is named.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, subject};
use serde_json::Value;
use tempfile::TempDir;

const START_NS: i64 = 1_795_168_921_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

fn fathom(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A recording of a JVM that does nothing in particular for twenty seconds.
fn write_recording(path: &Path, pid: i64) {
    let mut recording = Recording::default();
    recording.add_fact(subject::JVM, "pid", &pid.to_string(), "test");
    recording.add_fact(subject::JVM, "started_at_ns", &(START_NS - SECOND_NS).to_string(), "test");
    for second in 0..20 {
        recording.add_counter(START_NS + second * SECOND_NS, counter::CPU_PROCESS_RATIO, "user", 0.1, "test");
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fathom_store::write(path, &recording).unwrap();
}

/// Recordings at several depths, and things that are none.
fn inputs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (pid, name) in [(1, "one.fathom"), (2, "deep/two.fathom"), (3, "deep/er/three.fathom")] {
        write_recording(&at(name), pid);
    }
    for (name, bytes) in
        [("empty.jfr", &b""[..]), ("cut.jfr", b"FLR\0\0\x02\0\x01\0\0"), ("deep/er/notes.txt", b"call me back")]
    {
        fs::write(at(name), bytes).unwrap();
    }
    fs::create_dir(at("killed_soon.fathom")).unwrap();
    fs::write(at("killed_soon.fathom/journal"), b"").unwrap();
    fs::write(at("killed_soon.fathom/threads.arrows"), b"begun").unwrap();
    symlink(folder.path(), at("deep/round")).unwrap();
    folder
}

#[test]
fn folders_of_folders_are_read_and_what_is_skipped_is_named() {
    let folder = inputs();
    let explained = fathom(folder.path(), &["explain", ".", "--json"]);
    let (answer, notes): (Value, String) = (serde_json::from_slice(&explained.stdout).unwrap(), stderr(&explained));
    let answers = answer["explanations"].as_array().unwrap().iter();
    let mut pids: Vec<i64> = answers.filter_map(|one| one["recording"]["pid"].as_i64()).collect();
    pids.sort_unstable();
    assert_eq!(pids, [1, 2, 3], "{notes}");
    for skipped in [
        "empty.jfr (empty)",
        "deep/er/notes.txt (unknown format)",
        "deep/round (a link to a folder)",
        "killed_soon.fathom: nothing was written yet when its recorder was killed",
        "cut.jfr: ",
    ] {
        assert!(notes.contains(skipped), "{skipped} is not in {notes}");
    }
    let compared = fathom(folder.path(), &["compare", "deep/er", "--with", "one.fathom"]);
    assert!(compared.status.success() && stderr(&compared).contains("notes.txt (unknown format)"));
}

#[test]
fn recordings_of_one_jvm_are_named() {
    let folder = inputs();
    write_recording(&folder.path().join("later/one.fathom"), 1);
    let says = stderr(&fathom(folder.path(), &["explain", "later", "one.fathom"]));
    assert_eq!(says, "fathom: later/one.fathom, one.fathom: of the same JVM, so that they have one answer\n");
}

/// A log that cannot be opened, or has nothing in it that can be used, may be the one of an illness.
#[test]
fn what_cannot_be_read_in_a_folder_prevents_an_all_clear() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let seconds = |line: &dyn Fn(usize) -> String| (1..30).map(line).collect::<String>();
    let started = "[2026-11-02T10:00:00.005+0000][0.005s][info][gc] Using Serial\n";
    let collections = seconds(&|second| {
        let at = format!("[2026-11-02T10:00:{second:02}.950+0000][{second}.950s]");
        format!("{at}[info][gc] GC({second}) Pause Young (Allocation Failure) 90M->80M(100M) 1.000ms\n")
    });
    let requests = seconds(&|second| format!("2026-11-02T10:00:{second:02}.1Z,2\n").repeat(9));
    fs::write(at("good.log"), [started, &collections].concat()).unwrap();
    fs::write(at("latency.csv"), format!("time,latency_ms\n{requests}")).unwrap();
    let answer = || {
        let explained = fathom(folder.path(), &["explain", ".", "--json"]);
        serde_json::from_slice::<Value>(&explained.stdout).unwrap()
    };
    assert_eq!(
        (&answer()["headline"]["kind"], answer()["losses"].as_array().unwrap().len()),
        (&"nothing_slow".into(), 0)
    );
    symlink("/proc/self/mem", at("other.log")).unwrap();
    let denied = answer();
    assert!(denied["losses"].to_string().contains("other.log"), "{denied:#}");
    assert_eq!(denied["headline"]["kind"], "no_sign", "{denied:#}");
    fs::remove_file(at("other.log")).unwrap();
    fs::write(at("cut.jfr"), b"FLR\0\0\x02\0\x01\0\0").unwrap();
    assert_eq!(answer()["headline"]["kind"], "no_sign");
    // What is no evidence takes nothing away.
    fs::remove_file(at("cut.jfr")).unwrap();
    fs::write(at("notes.txt"), b"call me back").unwrap();
    assert_eq!(answer()["headline"]["kind"], "nothing_slow");
}

/// Text of perf script with times of perf's own clock, which begins when the machine does.
fn perf_samples() -> String {
    let sample = |number: usize| {
        format!(
            "java 4711/4712 [000] {}.500000:   10101010 cpu-clock:ppp: \n\t    7f0012345678 Work.run+0x10 (/tmp/perf-4711.map)\n\n",
            3_000 + number
        )
    };
    (0..20).map(sample).collect()
}

#[test]
fn a_clock_of_its_own_is_enough_for_a_file_that_is_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("samples.txt"), perf_samples()).unwrap();
    let alone = fathom(folder.path(), &["explain", "--json", "samples.txt"]);
    let answer: Value = serde_json::from_slice(&alone.stdout).unwrap();
    assert!(answer["losses"].to_string().contains("distances are right and dates may not be"), "{answer}");
    let age_ns = START_NS.abs_diff(answer["recording"]["to_ns"].as_i64().unwrap());
    assert!(age_ns < u64::try_from(START_NS).unwrap() / 2, "placed near today and not at the epoch: {answer}");
    // Beside another file it is not known where it belongs.
    write_recording(&at("one.fathom"), 4711);
    let beside = fathom(folder.path(), &["explain", "samples.txt", "one.fathom"]);
    assert!(stderr(&beside).contains("perf's own clock, which nothing relates to another one"), "{}", stderr(&beside));
}
