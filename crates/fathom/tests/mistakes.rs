//! Typical first mistakes of new users: each answer says in one line what to do. Refusals in general, which need not
//! say that, are tested in `cli.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const REFUSED: i32 = 1;
const BAD_USAGE: i32 = 2;

/// What is typed, the exit code, and the part of the answer that says what to do.
const MISTAKES: [(&str, i32, &str); 29] = [
    ("explain", REFUSED, "name a file or folder, or make one with fathom record"),
    ("open", REFUSED, "name a file or folder, or make one with fathom record"),
    ("explain empty.jfr", REFUSED, "jcmd PID JFR.dump"),
    ("explain notes.txt", REFUSED, "see fathom import --help"),
    ("explain nothing", REFUSED, "name one with recordings, logs or archives"),
    ("explain gc.log --slow 25:00..26:00", BAD_USAGE, "10:02:21, or +30s after the beginning"),
    ("explain gc.log --slow 08:07:20", BAD_USAGE, "for example 10:02:21..10:02:51 or +20s..+50s"),
    ("explain gc.log --slow +1h..+2h", REFUSED, "name a time in it"),
    ("explain gc.log --latency words.csv", REFUSED, "a heading such as time,latency_ms"),
    ("explain gc.log --latency numbers.csv", REFUSED, "such as 2026-11-20T10:02:21.5Z,12.4"),
    ("explian gc.log", BAD_USAGE, "a similar subcommand exists: 'explain'"),
    ("explain gc.log --htm ticket.html", BAD_USAGE, "a similar argument exists: '--html'"),
    ("explain gc.log --html nothing", REFUSED, "name another"),
    ("record --pid 4294967295", REFUSED, "fathom ps lists JVMs"),
    ("record --pid OWN", REFUSED, "fathom ps lists those of this machine"),
    ("record --pid MyServer", BAD_USAGE, "fathom ps lists the JVMs"),
    ("record --for 30", BAD_USAGE, "a time is written like 30s, 5m or 500ms"),
    ("record --max-size 10", BAD_USAGE, "a size is written like 200M or 2G"),
    ("record --match no.such.Main", REFUSED, "fathom ps lists those that may be looked at"),
    ("record --match shop(", BAD_USAGE, "means itself takes"),
    ("record --container no-such-name", REFUSED, "sudo fathom ps lists JVMs with their containers"),
    ("record --pid OWN --only jrf", REFUSED, "there are async_profiler, block"),
    ("causes lock_contension", BAD_USAGE, "did you mean lock_contention?"),
    ("lab run no_such", REFUSED, "fathom lab list shows them all"),
    ("compare gc.log", BAD_USAGE, "--with <B>"),
    ("compare gc.log --with nothing", REFUSED, "name one with recordings, logs or archives"),
    ("export gc.log --to pdf -o out", BAD_USAGE, "speedscope"),
    ("import gc.log -o nothing", REFUSED, "exists already"),
    ("trigger --pid OWN -o nothing", REFUSED, "does `fathom watch` run with this folder?"),
];

/// A folder as a new user has one: a log, files that are none, and a folder with nothing in it.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    for (name, text) in [
        (
            "gc.log",
            "[0.010s][info][gc] Using G1\n[2.000s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(64M) 3.1ms\n",
        ),
        ("empty.jfr", ""),
        ("notes.txt", "call me back\n"),
        ("words.csv", "who what\n"),
        ("numbers.csv", "time,latency_ms\nyesterday,soon\n"),
    ] {
        fs::write(at(name), text).expect("the file can be written");
    }
    fs::create_dir(at("nothing")).expect("the folder can be made");
    folder
}

fn fathom(folder: &Path, typed: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    let own = std::process::id().to_string();
    command
        .args(typed.split(' ').map(|word| if word == "OWN" { own.as_str() } else { word }))
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("TZ", "UTC")
        .env_remove("COLUMNS");
    command.output().expect("the program starts")
}

#[test]
fn every_mistake_is_answered_by_what_to_do() {
    let folder = folder();
    let empty: PathBuf = folder.path().join("nothing");
    for (typed, code, says) in MISTAKES {
        let in_folder: &Path = if matches!(typed, "explain" | "open") { &empty } else { folder.path() };
        let output = fathom(in_folder, typed);
        let answer = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(code), "{typed}: {answer}");
        assert!(answer.lines().any(|line| line.contains(says)), "{typed}: {says:?} is not in: {answer}");
        assert!(code == BAD_USAGE || answer.lines().count() == 1, "{typed}: more than a line: {answer}");
    }
}
