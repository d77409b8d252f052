//! `fathom demo` with only the program installed; and the documents that show what it prints.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program as a new user has it: no programs beside it, no desktop, no JVM.
fn demo(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.arg("demo").args(args).current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_clear().env("TZ", "UTC").env("TMPDIR", folder);
    command
}

fn output(folder: &Path, args: &[&str]) -> Output {
    demo(folder, args).output().unwrap()
}

#[test]
fn an_answer_needs_nothing_but_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let output = output(folder.path(), &[]);
    let (text, says) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && says.is_empty(), "{says}");
    assert!(text.contains("code_cache_churn  shown") && text.contains("-XX:ReservedCodeCacheSize=240m"), "{text}");
    assert!(text.lines().count() <= 43 && text.contains("\nnext  "), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "what was unpacked is gone");
}

#[test]
fn the_page_is_a_file_or_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let written = output(folder.path(), &["--html", "demo.html"]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    assert!(fs::read_to_string(folder.path().join("demo.html")).unwrap().contains("id=\"fathom-data\""));
    let mut child = demo(folder.path(), &["--open"]).spawn().unwrap();
    let (mut url, mut says) = (String::new(), String::new());
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut says).unwrap();
    assert!(says.contains("no desktop") && says.contains("ssh -L"), "{says}");
    let (host, path) = url.trim().trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path}api/recordings HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("code_cache_churn"), "{answer}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["demo.html"], "what was unpacked is gone");
}

/// Blocks that begin with the command have its output, up to a line of three dots. `FATHOM_BLESS=1` writes them anew.
#[test]
fn documents_show_what_it_prints() {
    const COMMAND: &str = "$ fathom demo\n";
    let folder = tempfile::tempdir().unwrap();
    let printed = String::from_utf8(output(folder.path(), &[]).stdout).unwrap();
    for page in ["README.md", "docs/stories/2.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let text = fs::read_to_string(&path).unwrap();
        let from = text.find(COMMAND).unwrap_or_else(|| panic!("{page} shows no demo")) + COMMAND.len();
        let to = from + text[from..].find("```").unwrap();
        let shown: Vec<&str> = text[from..to].lines().collect();
        let expected = match shown.last() {
            Some(&"…") => format!("{}\n…\n", lines(&printed, shown.len() - 1)),
            _ => printed.clone(),
        };
        if std::env::var_os("FATHOM_BLESS").is_some() {
            fs::write(&path, [&text[..from], &expected, &text[to..]].concat()).unwrap();
        } else {
            assert_eq!(text[from..to], expected, "{page}: FATHOM_BLESS=1 writes it anew");
        }
    }
}

fn lines(text: &str, count: usize) -> String {
    text.lines().take(count).collect::<Vec<_>>().join("\n")
}
