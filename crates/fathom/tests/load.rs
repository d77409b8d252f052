//! `fathom load`: with the real engine against a small server, and with engines that are late or not there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use fathom_evidence::Table;
use fathom_readers::{LoadOptions, load_file};
use serde_json::Value;

fn fathom(folder: &Path, engine: Option<&Path>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.arg("load").args(args).current_dir(folder).stdin(Stdio::null()).env("TZ", "UTC").env_remove("COLUMNS");
    match engine {
        Some(engine) => command.env("FATHOM_LOAD_ENGINE", engine),
        None => command.env_remove("FATHOM_LOAD_ENGINE").env("PATH", ""),
    };
    command.output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The engine as `make load` builds it; none without Go. What was built before is kept by Go.
fn engine() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fathom-load-engine");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../load");
    let mut build = Command::new("go");
    build.args([OsStr::new("build"), "-o".as_ref(), program.as_ref(), ".".as_ref()]).current_dir(source);
    match build.status() {
        Ok(built) if built.success() => Some(program),
        built => {
            println!("SKIPPED: load: the engine cannot be built here: {built:?}");
            None
        }
    }
}

/// An engine that answers every line of the schedule with `request`, and ends with `last`.
fn false_engine(folder: &Path, request: &str, last: &str) -> PathBuf {
    let program = folder.join("engine");
    let script = format!("#!/bin/sh\n: > latency.hlog\nwhile read -r line; do echo '{request}'; done\necho '{last}'\n");
    // By another process: a child that another test starts meanwhile would have the file open for writing, and it could not be run.
    let writes =
        [OsStr::new("-c"), OsStr::new(r#"printf %s "$0" > "$1" && chmod 755 "$1""#), script.as_ref(), program.as_ref()];
    assert!(Command::new("sh").args(writes).status().unwrap().success());
    program
}

/// Answers everything with five bytes, and keeps what was asked.
fn server() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            thread::spawn(move || serve(&connection, &kept));
        }
    });
    (address, asked)
}

fn serve(mut connection: &TcpStream, asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    while let Some(first) = lines.next() {
        let headers: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let token = headers.iter().find(|header| header.starts_with("X-Test")).cloned().unwrap_or_default();
        asked.lock().unwrap().push(format!("{first} {token}"));
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        if connection.write_all(answer).is_err() {
            return;
        }
    }
}

/// `count` lines of a second, every fourth of them another path.
fn access_log(path: &Path, count: usize) {
    let line = |number: usize| {
        let asked = if number.is_multiple_of(4) { "GET /orders/4711?full=1" } else { "GET /" };
        format!("h - - [20/Nov/2026:06:30:00 +0000] \"{asked} HTTP/1.1\" 200 5\n")
    };
    let write = "h - - [20/Nov/2026:06:30:00 +0000] \"DELETE /orders HTTP/1.1\" 200 5\n".to_owned();
    fs::write(path, (0..count).map(line).chain([write, "oops\n".to_owned()]).collect::<String>()).unwrap();
}

#[test]
fn what_the_log_has_is_what_the_server_gets() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    access_log(&folder.path().join("access.log"), 200);
    let (address, asked) = server();
    let args = ["--from", "access.log", "--to", &address, "--header", "X-Test: 1", "-o", "out", "--json"];
    let output = fathom(folder.path(), Some(&engine), &args);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));

    let asked = asked.lock().unwrap();
    let of = |line: &str| asked.iter().filter(|one| *one == line).count();
    assert_eq!(of("GET /orders/4711?full=1 HTTP/1.1 X-Test: 1"), 50);
    assert_eq!((of("GET / HTTP/1.1 X-Test: 1"), asked.len()), (150, 200));
    assert_eq!((&json["requests"], json["notes"].as_array().map(Vec::len)), (&200.into(), Some(3)), "{json}");

    let out = folder.path().join("out");
    // A machine that other tests use may be too slow to send requests in time; then it says so.
    if json["outcome"] == "inconclusive" {
        assert_eq!(output.status.code(), Some(4));
        assert!(!out.join("requests.csv").exists() && !json["reasons"].as_array().unwrap().is_empty(), "{json}");
        return;
    }
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((&json["measured"]["statuses"]["200"], &json["measured"]["bytes"]), (&200.into(), &1000.into()));
    let recording = load_file(&out.join("requests.csv"), &LoadOptions::default()).unwrap();
    assert_eq!((recording.spans.len(), recording.losses.len()), (200, 0));
    let histograms = fs::read_to_string(out.join("latency.hlog")).unwrap();
    assert!(histograms.starts_with("#[Histogram log format version"), "{histograms}");
}

#[test]
fn fakes_answer_while_the_load_runs() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    access_log(&folder.path().join("access.log"), 8);
    let (address, asked) = server();
    let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let upstream = address.trim_start_matches("http://");
    let fakes = format!("[[fake]]\nlisten = '{listen}'\nupstream = '{upstream}'\nlatency_ms = 2\n");
    fs::write(folder.path().join("fakes.toml"), fakes).unwrap();
    let to = format!("http://{listen}");
    let args = ["--from", "access.log", "--to", &to, "--fakes", "fakes.toml", "-o", "out", "--json"];
    let output = fathom(folder.path(), Some(&engine), &args);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_eq!(asked.lock().unwrap().len(), 8);
    let fake = &json["fakes"][0];
    assert_eq!((&fake["answers"], &fake["p50_ns"], &fake["listen"]), (&8.into(), &2_000_000.into(), &listen.into()));
    assert!(TcpStream::connect(to.trim_start_matches("http://")).is_err(), "it ended with the load");
}

#[test]
fn a_late_generator_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    access_log(&folder.path().join("access.log"), 20);
    let late = r#"{"due_ns":0,"sent_ns":5000000,"ended_ns":6000000,"status":200,"bytes":1}"#;
    let last = r#"{"began_ns":1,"elapsed_ns":1000000000,"cpus":2,"under_way":1,"workers":10,"schedule":null}"#;
    let engine = false_engine(folder.path(), late, last);
    let output = fathom(folder.path(), Some(&engine), &["--from", "access.log", "--to", "http://h", "-o", "out"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}{}", stderr(&output));
    assert!(text.contains("INCONCLUSIVE, requests were sent up to 5.000 ms late (p99)"), "{text}");
    let names = fs::read_dir(folder.path().join("out")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["summary.json"]);
}

#[test]
fn refusals_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    access_log(&folder.path().join("access.log"), 1);
    fs::write(folder.path().join("mix.csv"), "path,weight\n/,1\n").unwrap();
    let broken = false_engine(folder.path(), "{}", "{}");
    let arguments = |from: &'static str| ["--from", from, "--to", "http://h", "-o", "out"];
    for (engine, from, says) in [
        (None, "access.log", "`make load`"),
        (Some(Path::new("/nowhere")), "access.log", "FATHOM_LOAD_ENGINE names /nowhere"),
        (Some(&*broken), "mix.csv", "give --rate"),
        (Some(&*broken), "engine", "expected an access log"),
        (Some(&*broken), "access.log", "missing field"),
    ] {
        let output = fathom(folder.path(), engine, &arguments(from));
        let said = stderr(&output);
        assert!(output.status.code() == Some(1) && said.contains(says) && said.lines().count() == 1, "{said}");
        assert!(output.stdout.is_empty());
        let left = folder.path().join("out");
        fs::remove_dir_all(left).unwrap_or_default();
    }
}
