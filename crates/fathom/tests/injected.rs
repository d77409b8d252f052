//! Each call to the kernel fails in turn: a full disk, a disk that errs, no memory, no descriptors, no threads, no rights.
//!
//! `strace` fails the n-th call of each thread, whichever library makes it, and the program needs no build of its own.
//! What must hold: no panic of this program, and an answer that differs from the one without a failure says that something
//! is lost. Without strace, or where it may not look at processes, the tests say so and pass.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "record/jvm.rs"]
#[allow(dead_code, reason = "it is the JVM of other tests as well")]
mod jvm;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss};
use fathom_store::FolderWriter;
use jvm::Jvm;
use serde_json::Value;

/// Calls, and how they fail. The question mark is for machines that have no such call.
const OF_FILES: &[(&str, &str)] = &[
    ("write", "ENOSPC"),
    ("fsync", "EIO"),
    ("?rename", "EIO"),
    ("?unlink", "EIO"),
    ("?open", "EMFILE"),
    ("openat", "EMFILE"),
    ("?mkdir", "EACCES"),
    ("read", "EIO"),
    ("lseek", "EIO"),
    ("statx", "EIO"),
    ("getdents64", "EIO"),
    ("flock", "ENOLCK"),
    // An allocation above some kilobytes is a map of its own, or grows one.
    ("mmap", "ENOMEM"),
    ("mremap", "ENOMEM"),
    ("clone3", "EAGAIN"),
];

/// Those of a recorder besides.
const OF_A_RECORDER: &[(&str, &str)] = &[
    ("write", "ENOSPC"),
    ("?open", "EMFILE"),
    ("openat", "EMFILE"),
    ("read", "EIO"),
    ("mmap", "ENOMEM"),
    ("clone3", "EAGAIN"),
    ("bpf", "EPERM"),
    ("perf_event_open", "EMFILE"),
    ("clock_gettime", "EINVAL"),
    ("ioctl", "ENODEV"),
    ("socket", "EMFILE"),
    ("setresuid", "EPERM"),
];

/// Which turns of a call fail.
struct Turns {
    /// The first ones each, then one in so many: a finishing program reads hundreds of times.
    each: usize,
    step: usize,
    /// Of a recorder, whose runs take seconds.
    of_a_recorder: &'static [usize],
}

/// What every test run tries.
const FEW: Turns = Turns { each: 3, step: 60, of_a_recorder: &[1, 16] };
/// What docs/security.md counts; takes minutes.
const MANY: Turns = Turns { each: 24, step: 9, of_a_recorder: &[1, 4, 16, 64] };

fn chosen() -> Turns {
    if std::env::var_os("FATHOM_FAILURES").is_some_and(|many| many == "many") { MANY } else { FEW }
}

fn fathom(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command
}

fn can_inject() -> bool {
    let looked = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let can = looked.is_ok_and(|output| output.status.success());
    if !can {
        println!("SKIPPED: calls cannot be made to fail: strace is not installed, or may not look at processes");
    }
    can
}

/// Runs the program with one failure; nothing when it makes fewer calls.
fn failing(folder: &Path, (call, error): (&str, &str), nth: usize, args: &[&str]) -> Option<Output> {
    let trace = folder.join("trace");
    let mut command = Command::new("strace");
    command.args([
        "-f",
        "-qq",
        "-e",
        &format!("trace={call}"),
        "-e",
        &format!("inject={call}:error={error}:when={nth}"),
        "-o",
    ]);
    command.arg(&trace).arg(env!("CARGO_BIN_EXE_fathom")).args(args).current_dir(folder).stdin(Stdio::null());
    let output = command.output().unwrap();
    let was_injected = fs::read_to_string(&trace).unwrap_or_default().contains("(INJECTED)");
    fs::remove_file(&trace).unwrap();
    was_injected.then_some(output)
}

/// Where the program says that it made a mistake, in its own code or that of a library. Rust's start of a thread, which panics when it gets
/// no memory for the thread's signals, is not ours to change.
fn mistake(output: &Output) -> Option<String> {
    let says = String::from_utf8_lossy(&output.stderr);
    let told = says.lines().find(|line| line.contains("panicked at") || line.contains("a mistake in fathom itself"))?;
    (!told.contains("/library/std/src/sys/")).then(|| says.clone().into_owned())
}

/// What an answer comes to.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    headline: String,
    verdicts: Vec<String>,
    losses: BTreeSet<String>,
}

/// `None` where the program refused to answer.
fn said(answer: &Output) -> Option<Said> {
    let answer: Value = serde_json::from_slice(&answer.stdout).ok().filter(|_| answer.status.success())?;
    let causes = answer["causes"].as_array()?;
    Some(Said {
        headline: answer["headline"]["kind"].to_string(),
        verdicts: causes.iter().map(|cause| format!("{} {}", cause["id"], cause["verdict"])).collect(),
        losses: answer["losses"].as_array()?.iter().map(ToString::to_string).collect(),
    })
}

fn explained(folder: &Path, recording: &str) -> Option<Said> {
    said(&fathom(folder, &["explain", "--json", recording]).output().unwrap())
}

/// Whether the answer is the right one, or says what it lacks.
fn is_honest(found: &Option<Said>, right: &Said) -> bool {
    found.as_ref().is_none_or(|found| found == right || !found.losses.is_subset(&right.losses))
}

/// The turns of a call; `run` gives false when the program makes fewer calls.
fn turns(mut run: impl FnMut(usize) -> bool) -> usize {
    let Turns { each, step, .. } = chosen();
    let turns = (1..=each).chain((each + step..).step_by(step));
    turns.take_while(|nth| run(*nth)).count()
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// What a killed recorder leaves: streams, and what the JVM wrote.
fn killed(path: &Path) {
    let mut recording = Recording::default();
    for second in 0..5 {
        let at_ns = 1_795_168_921_000_000_000 + second * 1_000_000_000;
        recording.add_counter(at_ns, counter::CPU_PROCESS_RATIO, "user", 0.5, "test");
        recording.add_thread(100 + second, "handler");
    }
    let mut writer = FolderWriter::create(path).unwrap();
    writer.flush(&mut recording).unwrap();
    drop(writer);
    fs::create_dir(path.join("raw")).unwrap();
    fs::copy(testdata("jfr/jdk17_g1.jfr"), path.join("raw/recording.jfr")).unwrap();
}

#[test]
fn a_recording_whose_finishing_fails_says_so() {
    if !can_inject() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let anew = || {
        let _ = fs::remove_dir_all(&path);
        killed(&path);
    };
    anew();
    assert!(fathom(place.path(), &["import", "a.fathom"]).output().unwrap().status.success());
    let right = explained(place.path(), "a.fathom").unwrap();
    let mut wrong = Vec::new();
    for call in OF_FILES {
        let count = turns(|nth| {
            anew();
            let Some(output) = failing(place.path(), *call, nth, &["import", "a.fathom"]) else { return false };
            let found = explained(place.path(), "a.fathom");
            let is_whole = output.status.success() && found.is_none();
            if let Some(mistake) = mistake(&output) {
                wrong.push(format!("{call:?} {nth}: {mistake}"));
            }
            if is_whole || !is_honest(&found, &right) {
                wrong.push(format!("{call:?} {nth}: {:?} {found:?}", output.status));
            }
            true
        });
        println!("finishing: {} {} failed in {count} runs", call.0, call.1);
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn an_answer_from_files_that_cannot_be_read_says_so() {
    if !can_inject() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    killed(&place.path().join("a.fathom"));
    fs::copy(testdata("jfr/jdk17_g1.jfr"), place.path().join("a.jfr")).unwrap();
    assert!(fathom(place.path(), &["import", "a.fathom"]).output().unwrap().status.success());
    let mut wrong = Vec::new();
    for name in ["a.fathom", "a.jfr"] {
        let args = ["explain", "--json", name];
        let right = said(&fathom(place.path(), &args).output().unwrap()).unwrap();
        for call in OF_FILES {
            let count = turns(|nth| {
                let Some(output) = failing(place.path(), *call, nth, &args) else { return false };
                if let Some(mistake) = mistake(&output) {
                    wrong.push(format!("{name} {call:?} {nth}: {mistake}"));
                }
                if !is_honest(&said(&output), &right) && output.stderr.is_empty() {
                    wrong.push(format!("{name} {call:?} {nth}: {:?}", said(&output)));
                }
                true
            });
            println!("reading {name}: {} {} failed in {count} runs", call.0, call.1);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_recorder_whose_calls_fail_leaves_nothing_that_misleads() {
    let Some(jvm) = can_inject().then(|| Jvm::start(&[])).flatten() else { return };
    let place = tempfile::tempdir().unwrap();
    let pid = jvm.pid().to_string();
    let mut wrong = Vec::new();
    for call in OF_A_RECORDER {
        let runs = chosen().of_a_recorder.iter().take_while(|nth| {
            let _ = fs::remove_dir_all(place.path().join("a.fathom"));
            let args = ["record", "--pid", &pid, "--for", "1s", "-o", "a.fathom"];
            let Some(output) = failing(place.path(), *call, **nth, &args) else { return false };
            let complaint = mistake(&output).or_else(|| misleads(place.path(), &output));
            wrong.extend(complaint.map(|complaint| format!("{call:?} {nth}: {:?} {complaint}", output.status)));
            true
        });
        println!("recording: {} {} failed in {} runs", call.0, call.1, runs.count());
    }
    assert!(jvm.is_alive(), "the JVM goes on");
    assert_eq!(wrong, Vec::<String>::new());
}

/// What is wrong with that which a recorder has left: it cannot be read, or says nothing of what it lacks.
fn misleads(folder: &Path, recorder: &Output) -> Option<String> {
    let is_left = folder.join("a.fathom").exists();
    let explained = fathom(folder, &["explain", "--json", "a.fathom"]).output().unwrap();
    let says = String::from_utf8_lossy(&explained.stderr).into_owned();
    match said(&explained) {
        None if recorder.status.success() => Some(format!("it is said to be recorded: {says}")),
        None => (is_left && !says.contains("nothing was written yet")).then_some(says),
        Some(found) => {
            let tells = |loss: &String| loss.contains(loss::CUT_OFF) || loss.contains(loss::MISSING);
            let is_told = recorder.status.success() || found.losses.iter().any(tells);
            (!is_told || found.headline.contains("nothing_slow")).then(|| format!("{found:?}"))
        }
    }
}
