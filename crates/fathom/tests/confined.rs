//! Commands that read files give up root before they do.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const LOG: &str = "[2026-11-02T10:00:00.005+0000][0.005s][info][gc] Using Serial\n\
    [2026-11-02T10:00:01.000+0000][1.000s][info][gc] GC(0) Pause Full (System.gc()) 90M->80M(100M) 900.000ms\n";

fn fathom(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).args(args).current_dir(folder).output().unwrap()
}

/// A link in a user's folder leads to a log that the user does not own.
#[test]
fn files_elsewhere_are_out_of_reach() {
    if !is_root() {
        println!("SKIPPED: only root has rights to give up");
        return;
    }
    let (place, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/var").unwrap());
    let secret = elsewhere.path().join("secret.log");
    fs::write(&secret, LOG).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(place.path().join("own.log"), LOG).unwrap();
    fs::create_dir(place.path().join("folder")).unwrap();
    symlink(&secret, place.path().join("folder/gc.log")).unwrap();
    for (args, is_read) in [
        (&["explain", "folder"][..], false),
        (&["explain", "folder", "--no-sandbox"], true),
        (&["explain", "own.log", "--baseline", "folder"], false),
        (&["logs", "folder"], false),
        (&["runs", "folder"], false),
        (&["compare", "folder", "--with", "own.log"], false),
        (&["minutes", "folder", "-o", "a.minutes"], false),
        (&["minutes", "folder", "-o", "b.minutes", "--no-sandbox"], true),
        (&["export", "folder", "--to", "csv", "-o", "a.csv"], false),
        (&["import", "folder", "-o", "a.fathom"], false),
        (&["import", "folder", "-o", "b.fathom", "--no-sandbox"], true),
    ] {
        let output = fathom(place.path(), args);
        let says = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), is_read, "{args:?}: {says}");
        assert!(is_read || says.contains("denied"), "{args:?}: {says}");
    }
    // What was named itself is read, also by a link, and what was asked for is written.
    symlink(&secret, place.path().join("named.log")).unwrap();
    fs::create_dir(place.path().join("out")).unwrap();
    for args in [
        &["explain", "named.log"][..],
        &["explain", "own.log", "--html", "out/page.html"],
        &["report", "own.log", "-o", "out/report.html"],
        &["import", "own.log", "-o", "out/own.fathom"],
        &["minutes", "own.log", "-o", "out/minutes"],
        &["explain", "out/own.fathom"],
    ] {
        let output = fathom(place.path(), args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(fs::metadata(place.path().join("out/minutes")).unwrap().permissions().mode() & 0o777, 0o700);
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:\t0\t0"))
}

/// An assistant and the page get no more than the command line.
#[test]
fn who_asks_later_is_confined_as_well() {
    if !is_root() {
        println!("SKIPPED: only root has rights to give up");
        return;
    }
    let (place, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/var").unwrap());
    fs::write(elsewhere.path().join("secret.log"), LOG).unwrap();
    fs::create_dir(place.path().join("folder")).unwrap();
    fs::write(place.path().join("folder/own.log"), LOG).unwrap();
    symlink(elsewhere.path().join("secret.log"), place.path().join("folder/gc.log")).unwrap();
    let ask =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"explain","arguments":{"recording":0}}}"#;
    for (more, can_read) in [(None, false), (Some("--no-sandbox"), true)] {
        let mut mcp = Command::new(env!("CARGO_BIN_EXE_fathom"));
        mcp.args(["mcp", "folder"]).args(more).current_dir(place.path());
        let mut mcp = mcp.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        mcp.stdin.take().unwrap().write_all(format!("{ask}\n").as_bytes()).unwrap();
        let output = mcp.wait_with_output().unwrap();
        let says = [output.stdout, output.stderr].concat();
        let says = String::from_utf8_lossy(&says);
        assert_eq!(!says.contains("denied"), can_read, "{more:?}: {says}");
        assert!(says.contains("headline"), "what may be read is: {says}");
    }
}
