//! A secret that was given to a JVM is in no file of a recording, an answer or a page.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, frame, loss, span, subject};
use fathom_evidence::mask::MASK;
use fathom_evidence::{Frame, StackId, StrId, tables};
use fathom_store::FolderWriter;

/// The value of a property and a variable that the JVMs of `testdata/jfr` were given.
const CANARY: &[u8] = b"not-for-you";

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
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
    telling_of(folder, CANARY)
}

fn telling_of(folder: &Path, secret: &[u8]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(telling_of(&path, secret)),
            false if holds(&fs::read(&path).unwrap(), secret) => files.push(path),
            false => {}
        }
    }
    files
}

fn holds_it(bytes: &[u8]) -> bool {
    holds(bytes, CANARY)
}

fn holds(bytes: &[u8], secret: &[u8]) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret)
}

#[test]
fn no_file_of_a_finished_recording_tells_a_secret() {
    for jfr in ["jdk11_parallel.jfr", "jdk17_g1.jfr", "jdk21_zgc.jfr", "jdk25_g1.jfr"] {
        let folder = tempfile::tempdir().unwrap();
        killed(folder.path(), &format!("jfr/{jfr}"));
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
        assert_eq!(masked_names(&folder.path().join("killed.fathom")), Vec::<String>::new(), "{jfr}");
    }
}

/// Functions, classes, threads and kinds of spans that were taken for secrets.
fn masked_names(folder: &Path) -> Vec<String> {
    let recording = fathom_store::open(folder).unwrap();
    let stacks = (0..recording.stacks.stack_count() as u32).map(StackId);
    let frames = stacks.flat_map(|stack| recording.stacks.leaf_to_root(stack).take(1));
    let names = frames.flat_map(|frame| [frame.symbol, frame.module]);
    let names = names.chain(recording.threads.iter().map(|(_, thread)| thread.name));
    let names = names.chain(recording.spans.rows().flat_map(|span| [span.name, span.detail]));
    names.map(|id| recording.text(id)).filter(|text| text.contains(MASK)).map(str::to_owned).collect()
}

#[test]
fn secrets_are_kept_on_request_and_only_beside_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), "jfr/jdk17_g1.jfr");
    assert!(fathom(folder.path(), &["import", "killed.fathom", "--keep-secrets"]).status.success());
    assert_eq!(telling(folder.path()), [folder.path().join("killed.fathom/raw/recording.jfr")]);
}

#[test]
fn free_text_in_names_of_threads_is_kept_on_request() {
    for (more, name) in
        [(None, "cart # of [masked]"), (Some("--keep-secrets"), "cart 4711 of anna.schmidt@shop.example")]
    {
        let folder = tempfile::tempdir().unwrap();
        killed(folder.path(), "secrets/own_events.jfr");
        let args: Vec<&str> = ["import", "killed.fathom"].into_iter().chain(more).collect();
        assert!(fathom(folder.path(), &args).status.success());
        let recording = fathom_store::open(&folder.path().join("killed.fathom")).unwrap();
        let mut names = recording.threads.iter().map(|(_, thread)| recording.text(thread.name));
        assert!(names.any(|found| found == name), "{more:?}: {name}");
        let raw = fs::read(folder.path().join("killed.fathom/raw/recording.jfr")).unwrap();
        assert_eq!(String::from_utf8_lossy(&raw).contains("anna.schmidt"), more.is_some());
    }
}

/// The secret of `testdata/secrets`.
const SECRET: &str = "Tr0ub4dor";

const AT_NS: i64 = 1_795_168_921_000_000_000;

fn forms() -> Vec<&'static str> {
    let lines = include_str!("../../../testdata/secrets/forms.txt").lines().filter(|line| !line.starts_with("# "));
    lines.map(|line| line.rsplit_once('|').map_or(line, |(text, _)| text)).collect()
}

/// A second with this text in each field of each table that may hold one.
fn add_everywhere(text: &str, number: i64, found: &mut Recording) {
    let (tid, at_ns) = (100 + number, AT_NS + number * 10_000_000);
    let json = serde_json::json!({ "path": text, "host": text }).to_string();
    found.add_thread(tid, text);
    found.add_fact(subject::JVM, &format!("note {number}"), text, "test");
    found.add_fact(subject::PROPERTY, text, "1", "test");
    found.add_span(at_ns, 2_000_000, tid, span::FILE_READ, text, &json, "test");
    found.add_counter(at_ns, counter::CPU_PROCESS_RATIO, text, 0.5, "test");
    found.add_log(at_ns, "gc_log", "info", text, text);
    found.add_loss("test", loss::MISSING, 1, text);
    let [symbol, module, kind] = [text, text, frame::COMPILED].map(|text| found.strings.intern(text));
    let frame = found.stacks.intern_frame(Frame { symbol, module, kind, line: 1 });
    let stack_id = found.stacks.intern(StackId(0), frame);
    let [event, state] = ["cpu", text].map(|text| found.strings.intern(text));
    found.samples.push(tables::Sample { time_ns: at_ns, tid, event, state, stack_id, ..Default::default() });
}

#[test]
fn a_secret_in_whatever_field_is_in_no_table_and_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = Recording::default();
    (0..).zip(forms()).for_each(|(number, text)| add_everywhere(text, number, &mut recording));
    let mut writer = FolderWriter::create(&folder.path().join("killed.fathom")).unwrap();
    writer.flush(&mut recording).unwrap();
    drop(writer);
    assert!(fathom(folder.path(), &["import", "killed.fathom"]).status.success());
    let recording = fathom_store::open(&folder.path().join("killed.fathom")).unwrap();
    let texts = (0..recording.strings.len() as u32).map(|id| recording.text(StrId(id)));
    let telling: Vec<&str> = texts.filter(|text| text.contains(SECRET)).collect();
    assert_eq!(telling, Vec::<&str>::new());
    for args in [
        &["explain", "killed.fathom", "--all", "--html", "page.html"][..],
        &["explain", "killed.fathom", "--json"],
        &["logs", "killed.fathom", "--json"],
        &["compare", "killed.fathom", "--with", "killed.fathom", "--json"],
        &["minutes", "killed.fathom", "-o", "fleet"],
        &["export", "killed.fathom", "--to", "collapsed", "-o", "collapsed.txt"],
        &["export", "killed.fathom", "--to", "csv", "-o", "samples.csv"],
        &["export", "killed.fathom", "--to", "speedscope", "-o", "speedscope.json"],
        &["export", "killed.fathom", "--to", "firefox", "-o", "firefox.json"],
        &["export", "killed.fathom", "--to", "perfetto", "-o", "perfetto.json"],
    ] {
        let answer = fathom(folder.path(), args);
        let says = String::from_utf8_lossy(&answer.stdout);
        assert!(answer.status.success(), "{args:?}: {}", String::from_utf8_lossy(&answer.stderr));
        assert!(!says.contains(SECRET), "{args:?}: {says}");
    }
    let asked = asked_by_an_assistant(folder.path());
    assert!(asked.contains("killed.fathom") && !asked.contains(SECRET), "{asked}");
    assert_eq!(telling_of(folder.path(), SECRET.as_bytes()), Vec::<PathBuf>::new());
}

/// What `fathom mcp` answers about the recording.
fn asked_by_an_assistant(folder: &Path) -> String {
    let of_all =
        [("recordings", ""), ("explain", r#","form":"json""#), ("contents", ""), ("contents", r#","part":"lanes""#)];
    let rows = ["spans", "samples", "log"].map(|tool| (tool, r#","limit":200"#));
    let calls = of_all.into_iter().chain(rows).map(|(tool, more)| {
        let of = if tool == "recordings" { "{}".to_owned() } else { format!(r#"{{"recording":0{more}}}"#) };
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{of}}}}}"#)
            + "\n"
    });
    let mut asking = Command::new(env!("CARGO_BIN_EXE_fathom"));
    asking.args(["mcp", "killed.fathom"]).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut mcp = asking.spawn().unwrap();
    mcp.stdin.take().unwrap().write_all(calls.collect::<String>().as_bytes()).unwrap();
    let answered = String::from_utf8(mcp.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(answered.lines().count(), of_all.len() + rows.len(), "{answered}");
    assert!(!answered.contains(r#""isError":true"#), "{answered}");
    answered
}
