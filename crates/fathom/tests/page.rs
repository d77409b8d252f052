//! The page as the program delivers it: served until it is interrupted, and as a file.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const LAB: &str = "labs/code_cache_churn-sick-jdk17";

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn fathom(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// A served page; ends with this.
struct Opened {
    child: Child,
    url: String,
    recordings: u64,
}

impl Opened {
    fn new(folder: &Path, args: &[&str]) -> Opened {
        let mut child = command(folder, &[&["open", "--json"], args].concat()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.ends_with("}\n") && lines.read_line(&mut text).unwrap() > 0 {}
        let opened: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let (url, recordings) = (opened["url"].as_str().unwrap().to_owned(), opened["recordings"].as_u64().unwrap());
        Opened { child, url, recordings }
    }

    fn get(&self, question: &str) -> Value {
        let (host, token) = self.url.trim_start_matches("http://").split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let request = format!("GET /{token}{question} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        serde_json::from_str(body).unwrap()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Nothing can be done for a test that failed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_says_what_the_terminal_says_until_it_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let lab = testdata(LAB);
    let files = ["recording.jfr.gz", "gc.log.gz", "latency.csv.gz"].map(|name| lab.join(name).display().to_string());
    let files = files.each_ref().map(String::as_str);
    let explained = fathom(folder.path(), &[&["explain", "--json"], files.as_slice()].concat());
    let explained: Value = serde_json::from_slice(&explained.stdout).unwrap();
    let mut opened = Opened::new(folder.path(), &files);
    assert_eq!(opened.recordings, 1);
    assert_eq!(opened.get("api/r/0/overview")["explanation"], explained);
    let pid = rustix::process::Pid::from_child(&opened.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(opened.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_folder_of_recordings_is_a_list() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    for (file, name) in
        [("jfr/jdk17_g1.jfr", "a.fathom"), ("jfr/ap_wall.jfr", "b.fathom"), ("jfr/jdk25_g1.jfr", "deep/a.fathom")]
    {
        let file = testdata(file).display().to_string();
        assert!(fathom(folder.path(), &["import", &file, "-o", name]).status.success());
    }
    let opened = Opened::new(folder.path(), &["."]);
    assert_eq!(opened.recordings, 3);
    let names: Vec<Value> = (0..3).map(|id| opened.get(&format!("api/r/{id}/overview"))["name"].clone()).collect();
    assert_eq!(names, ["a.fathom", "b.fathom", "deep/a.fathom"]);
    let listed = opened.get("api/recordings");
    assert_eq!((&listed[0]["jvm"], &listed[0]["known"]), (&"JDK 17".into(), &true.into()));
}

#[test]
fn a_file_is_for_its_owner_and_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let recording = testdata("jfr/jdk17_g1.jfr").display().to_string();
    let victim = folder.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    symlink(&victim, folder.path().join("link.html")).unwrap();
    let refused = fathom(folder.path(), &["explain", &recording, "--html", "link.html"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a link, which is not followed"));
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
    for args in [
        vec!["explain", recording.as_str(), "--html", "page.html"],
        vec!["report", recording.as_str(), "-o", "page.html"],
    ] {
        let output = fathom(folder.path(), &args);
        let says = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {says}");
        assert_eq!(says.contains("--html FILE now"), args[0] == "report", "the older word says so");
        let path = folder.path().join(args[3]);
        assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{args:?}");
        assert!(fs::read_to_string(&path).unwrap().contains("id=\"fathom-data\""), "{args:?}");
    }
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    let plain = fathom(folder.path(), &["explain", &recording]).stdout;
    assert_eq!(fathom(folder.path(), &["explain", &recording, "--html", "page.html"]).stdout, plain);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left over");
}

#[test]
fn a_browser_is_told_the_token_in_a_file_of_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let pipe = at("told");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    fs::create_dir(at("bin")).unwrap();
    let script = "#!/bin/sh\n{ echo \"$#\"; echo \"$1\"; stat -c %a \"$1\"; cat \"$1\"; } > \"$TOLD\"\n";
    fs::write(at("bin/xdg-open"), script).unwrap();
    fs::set_permissions(at("bin/xdg-open"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", at("bin").display());
    let recording = testdata("jfr/jdk17_g1.jfr").display().to_string();
    let mut command = command(folder.path(), &["open", &recording, "--browser"]);
    command.env("PATH", path).env("TOLD", &pipe).env("XDG_RUNTIME_DIR", folder.path()).env("DISPLAY", ":0");
    let mut child = command.spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let told = fs::read_to_string(&pipe).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    let token = url.trim().trim_end_matches('/').rsplit('/').next().unwrap();
    assert!(token.len() == 32 && !lines[1].contains(token), "{lines:?}");
    assert_eq!((lines[0], lines[2]), ("1", "600"), "{lines:?}");
    assert!(lines[3].contains(&format!("0;url={}", url.trim())), "{lines:?}");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    assert!(!Path::new(lines[1]).exists(), "it is gone with the program");
}

#[test]
fn standard_output_gets_the_page_alone() {
    let folder = tempfile::tempdir().unwrap();
    let recording = testdata("jfr/jdk17_g1.jfr").display().to_string();
    let page = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.starts_with("<!") && text.contains("id=\"fathom-data\"") && !text.contains("\nruled out  ")
    };
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        for args in [["explain", &recording, "--html", name], ["report", &recording, "-o", name]] {
            let output = fathom(folder.path(), &args);
            assert!(output.status.success() && page(&output.stdout), "{args:?}");
            let file = fs::File::create(folder.path().join("file")).unwrap();
            assert!(command(folder.path(), &args).stdout(file).status().unwrap().success(), "{args:?}");
            assert!(page(&fs::read(folder.path().join("file")).unwrap()), "{args:?}");
            let refused = fathom(folder.path(), &[&args[..], &["--json"]].concat());
            assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{args:?}");
        }
    }
    for args in [["import", &recording, "-o", "-"], ["record", "--pid=1", "-o", "-"]] {
        assert_eq!(fathom(folder.path(), &args).status.code(), Some(1), "{args:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no file is called so");
}

#[test]
fn what_cannot_be_shown_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("garbage"), "no format").unwrap();
    let jfr = testdata("jfr/jdk17_g1.jfr").display().to_string();
    let other = testdata("jfr/jdk25_g1.jfr").display().to_string();
    for args in [
        vec!["open", "garbage"],
        vec!["open", "nothing.fathom"],
        vec!["open", &jfr, "--listen", "192.0.2.1"],
        vec!["report", &jfr, &other, "-o", "page.html"],
        vec!["report", &jfr, "-o", "no/such/folder/page.html"],
        vec!["explain", &jfr, "--html", "."],
    ] {
        let output = fathom(folder.path(), &args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let says = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.stdout.is_empty() && says.lines().count() == 1 && says.starts_with("fathom: "),
            "{args:?}: {says}"
        );
    }
}
