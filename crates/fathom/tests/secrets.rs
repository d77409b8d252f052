//! A secret that was given to a JVM is in no file that a recording, an answer or a page consists of.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fathom_evidence::Recording;
use fathom_evidence::kinds::counter;
use fathom_store::FolderWriter;

/// The value of a property and a variable that the JVMs of `testdata/jfr` were given.
const CANARY: &[u8] = b"not-for-you";

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/jfr").join(name)
}

fn fathom(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// A recording as a killed recorder leaves it: streams, and what the JVM wrote.
fn killed(folder: &Path, jfr: &str) {
    let path = folder.join("killed.fathom");
    let mut recording = Recording::default();
    recording.add_counter(1_795_168_921_000_000_000, counter::CPU_PROCESS_RATIO, "user", 0.5, "test");
    let mut writer = FolderWriter::create(&path).unwrap();
    writer.flush(&mut recording).unwrap();
    drop(writer);
    fs::create_dir(path.join("raw")).unwrap();
    fs::copy(testdata(jfr), path.join("raw/recording.jfr")).unwrap();
}

/// The files of a folder that hold the canary, in whatever folder below it.
fn telling(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(telling(&path)),
            false if holds_it(&fs::read(&path).unwrap()) => files.push(path),
            false => {}
        }
    }
    files
}

fn holds_it(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|window| window == CANARY)
}

#[test]
fn no_file_of_a_finished_recording_tells_a_secret() {
    for jfr in ["jdk11_parallel.jfr", "jdk17_g1.jfr", "jdk21_zgc.jfr", "jdk25_g1.jfr"] {
        let folder = tempfile::tempdir().unwrap();
        killed(folder.path(), jfr);
        assert!(!telling(folder.path()).is_empty(), "{jfr} has no secret to hide");
        let imported = fathom(folder.path(), &["import", "killed.fathom"]);
        assert!(imported.status.success(), "{jfr}: {}", String::from_utf8_lossy(&imported.stderr));
        let answers = [
            fathom(folder.path(), &["explain", "killed.fathom", "--all", "--html", "page.html"]),
            fathom(folder.path(), &["explain", "killed.fathom", "--json"]),
        ];
        for answer in answers {
            assert!(answer.status.success() && !holds_it(&answer.stdout), "{jfr}");
        }
        assert_eq!(telling(folder.path()), Vec::<PathBuf>::new(), "{jfr}");
    }
}

#[test]
fn secrets_are_kept_on_request_and_only_beside_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), "jdk17_g1.jfr");
    assert!(fathom(folder.path(), &["import", "killed.fathom", "--keep-secrets"]).status.success());
    assert_eq!(telling(folder.path()), [folder.path().join("killed.fathom/raw/recording.jfr")]);
}
