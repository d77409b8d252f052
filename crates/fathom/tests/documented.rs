//! README and docs are true: the commands in their blocks are run here as written, unless the block is marked.
//!
//! A block begins with its language. `sh` alone is run, in a folder that has the files its lines name; a word after it
//! says why it is not run: `live` needs a running JVM or a service, `long` takes minutes or a built checkout. Blocks of
//! other languages are only shown, except the SQL of docs/notebook.md, which `.ci/checks/notebook` runs. Another test,
//! beside the program's command line, checks that the program accepts every command.
#![allow(clippy::unwrap_used, reason = "a test fails where its machinery does")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Of a slow JVM, and of the same when it was not.
const SLOW: &str = "testdata/labs/full_gc_old_generation_full-sick-jdk17";
const BEFORE: &str = "testdata/labs/full_gc_old_generation_full-fixed-jdk17";
const SHOWN: [&str; 7] = ["text", "console", "json", "sql", "python", "toml", "yaml"];
const REASONS: [&str; 2] = ["live", "long"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(PathBuf::from).into();
    for folder in ["docs", "docs/stories"] {
        let entries = fs::read_dir(repository().join(folder)).unwrap();
        let names = entries.map(|entry| Path::new(folder).join(entry.unwrap().file_name()));
        pages.extend(names.filter(|name| name.extension().is_some_and(|ending| ending == "md")));
    }
    pages
}

/// What stands behind the first fence of each block, and its lines.
fn blocks(page: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(repository().join(page)).unwrap();
    let fenced = text.split("\n```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').unwrap()).map(|(kind, lines)| (kind.into(), lines.into())).collect()
}

#[test]
fn every_block_says_what_it_is() {
    for page in pages() {
        for (kind, lines) in blocks(&page) {
            let known = match kind.split_once(' ') {
                None => kind == "sh" || SHOWN.contains(&kind.as_str()),
                Some(("sh", reason)) => REASONS.contains(&reason),
                Some(_) => false,
            };
            assert!(known, "{}: a block of {kind:?}: {lines}", page.display());
        }
    }
}

/// The files that the lines name.
fn make_files(folder: &Path) {
    let copy =
        |from: &str, name: &str, to: &str| fs::copy(repository().join(from).join(name), folder.join(to)).unwrap();
    fs::create_dir(folder.join("incident")).unwrap();
    for (name, to) in [("recording.jfr.gz", "app.jfr"), ("gc.log.gz", "gc.log"), ("latency.csv.gz", "access.csv")] {
        copy(SLOW, name, to);
    }
    copy(SLOW, "recording.jfr.gz", "incident/app.jfr");
    copy(SLOW, "gc.log.gz", "incident/gc.log");
    copy(BEFORE, "recording.jfr.gz", "yesterday.jfr");
    let tasks: String = (0..5_000).map(|task| format!("task-{task}\n")).collect();
    fs::write(folder.join("keys.txt"), tasks).unwrap();
    let packed = Command::new("tar").args(["-czf", "logs.tgz", "app.jfr", "gc.log"]).current_dir(folder).status();
    assert!(packed.unwrap().success());
}

#[test]
fn what_can_be_run_runs() {
    let folder = tempfile::tempdir().unwrap();
    make_files(folder.path());
    let program = Path::new(env!("CARGO_BIN_EXE_fathom")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut run = 0;
    for page in pages() {
        for (_, lines) in blocks(&page).into_iter().filter(|(kind, _)| kind == "sh") {
            run += 1;
            let mut shell = Command::new("bash");
            shell.args(["-euxc", &lines]).current_dir(folder.path()).stdin(Stdio::null());
            let output = shell.env("PATH", &path).env("TZ", "UTC").output().unwrap();
            let says = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {says}", page.display());
        }
    }
    assert!(run >= 2, "only {run} blocks were run");
}
