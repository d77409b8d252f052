//! `fathom record` on real JVMs, and on JVMs, disks and recorders that fail.
//!
//! Each test starts its own JVM. Without a JDK the tests say so and pass.

#![allow(clippy::unwrap_used)]

mod compared;
mod jvm;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use jvm::Jvm;
use serde_json::Value;

fn fathom() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
}

fn record(jvm: &Jvm, output: &Path, more: &[&str]) -> Command {
    let mut command = fathom();
    command.args(["record", "--json", "--pid", &jvm.pid().to_string(), "-o"]).arg(output).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn json(output: &Output) -> Value {
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {says}", output.status);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {says}"))
}

fn explained(recording: &Path) -> Value {
    json(&fathom().args(["explain", "--json"]).arg(recording).output().unwrap())
}

/// Waits until `done` holds.
fn until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Until the recorder has written rows twice.
fn is_growing(recording: PathBuf) -> impl Fn() -> bool {
    move || fs::metadata(recording.join("counters.arrows")).is_ok_and(|data| data.len() > 4_096)
}

#[test]
fn a_jvm_is_recorded_and_explained() {
    let Some(jvm) = Jvm::start(&[]) else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let answer = json(&record(&jvm, &path, &["--for", "4s"]).output().unwrap());
    assert_eq!(answer["ended_because"], Value::Null, "{answer:#}");
    assert!(answer["tables"]["counters"].as_u64().unwrap() > 100, "{answer:#}");
    let explained = explained(&path);
    assert_eq!(explained["recording"]["pid"], jvm.pid(), "{explained:#}");
    let shown = |cause: &Value| matches!(cause["verdict"].as_str(), Some("shown" | "likely"));
    let accused: Vec<&Value> = explained["causes"].as_array().unwrap().iter().filter(|cause| shown(cause)).collect();
    assert!(accused.is_empty(), "a healthy JVM is accused: {accused:#?}");
}

#[test]
fn a_recording_is_its_owners_only() {
    let Some(jvm) = Jvm::start(&[]) else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    json(&record(&jvm, &path, &["--for", "1s"]).output().unwrap());
    let mut folders = vec![path];
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => {
                    assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path())
                }
            }
        }
    }
}

#[test]
fn a_killed_recorder_leaves_a_readable_recording() {
    let Some(jvm) = Jvm::start(&[]) else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let mut recorder = record(&jvm, &path, &[]).spawn().unwrap();
    until("rows are written", is_growing(path.clone()));
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    assert!(explained(&path)["recording"]["to_ns"].as_i64().unwrap() > 0);
    let finished = json(&fathom().args(["import", "--json"]).arg(&path).output().unwrap());
    assert!(finished["tables"]["counters"].as_u64().unwrap() > 0, "{finished:#}");
    assert!(jvm.is_alive(), "the JVM went on");
    // The next recording of the same JVM works as if nothing had happened.
    json(&record(&jvm, &place.path().join("b.fathom"), &["--for", "1s"]).output().unwrap());
}

#[test]
fn a_killed_recorder_leaves_what_the_jvm_recorded_until_some_seconds_before() {
    let Some(mut jvm) = Jvm::start(&[]) else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let mut recorder = record(&jvm, &path, &["--jfr", "always"]).spawn().unwrap();
    until("Flight Recorder is followed", || path.join("raw/followed-recording.jfr").exists());
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    // From here on no JVM can be asked.
    jvm.kill();
    let answer = explained(&path);
    assert!(answer["recording"]["sources"].as_array().unwrap().iter().any(|source| source == "jfr"), "{answer:#}");
    let losses: Vec<&str> =
        answer["losses"].as_array().unwrap().iter().filter_map(|loss| loss["says"].as_str()).collect();
    assert!(losses.iter().any(|says| says.contains("events of the last ")), "{losses:#?}");
}

#[test]
fn a_killed_recorders_profiler_is_ended_and_its_samples_are_kept() {
    let Some(jvm) = Jvm::start(&[]) else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let mut recorder = record(&jvm, &path, &["--agent", "always"]).spawn().unwrap();
    let name = format!("fathom-{}-", jvm.pid());
    let folders = || {
        let entries = fs::read_dir("/tmp").unwrap().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains(&name)).collect::<Vec<_>>()
    };
    until("the profiler runs", || folders().iter().any(|folder| folder.join("samples.jfr").exists()));
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    until("the guard has ended it", || path.join("raw/async_profiler-000.jfr").exists() && folders().is_empty());
    assert!(jvm.is_alive());
    let answer = explained(&path);
    assert!(answer["recording"]["sources"].as_array().unwrap().iter().any(|source| source == "jfr"), "{answer:#}");
    // The next recorder finds the profiler free.
    let next =
        json(&record(&jvm, &place.path().join("b.fathom"), &["--agent", "always", "--for", "2s"]).output().unwrap());
    let refused = next["collectors"].as_array().unwrap().iter().find(|part| part["name"] == "async_profiler").unwrap();
    assert_eq!(refused["refused"], Value::Null, "{next:#}");
}

#[test]
fn the_end_of_the_jvm_and_signals_end_a_recording() {
    for ends in ["jvm", "-INT", "-TERM", "-USR1", "-XCPU"] {
        let Some(mut jvm) = Jvm::start(&[]) else { return };
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.fathom");
        let recorder = record(&jvm, &path, &[]).spawn().unwrap();
        until("rows are written", is_growing(path.clone()));
        match ends {
            "jvm" => jvm.kill(),
            name => signal(&recorder, name),
        }
        let answer = json(&recorder.wait_with_output().unwrap());
        let because = if ends == "jvm" { "the process ended" } else { "interrupted" };
        assert_eq!(answer["ended_because"], because, "{ends}");
        explained(&path);
    }
}

/// By a process that may open so few files at once, in which most collectors can not start.
#[test]
fn a_jvm_lives_also_where_no_file_can_be_opened_to_see_it() {
    let Some(jvm) = Jvm::start(&[]) else { return };
    let place = tempfile::tempdir().unwrap();
    for files in ["64", "40", "28"] {
        let path = place.path().join(format!("{files}.fathom"));
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -n $0; exec \"$@\"", files, env!("CARGO_BIN_EXE_fathom"), "record", "--json"]);
        limited.args(["--pid", &jvm.pid().to_string(), "--for", "2s", "-o"]).arg(&path);
        let answer = json(&limited.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap());
        assert_eq!(answer["ended_because"], Value::Null, "{files}: {answer:#}");
        explained(&path);
    }
}

#[test]
fn a_recording_never_takes_more_than_its_size() {
    let Some(jvm) = Jvm::start(&["2000"]) else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let mut recorder = record(&jvm, &path, &["--jfr", "always", "--max-size", "8M"]).spawn().unwrap();
    let mut largest_bytes = 0;
    while recorder.try_wait().unwrap().is_none() {
        largest_bytes = largest_bytes.max(fathom_collectors::recorder::size_bytes(&path));
        std::thread::sleep(Duration::from_millis(5));
    }
    let answer = json(&recorder.wait_with_output().unwrap());
    assert_eq!(answer["ended_because"], "the recording reached its size limit");
    assert!((2 << 20..8 << 20).contains(&largest_bytes), "{largest_bytes} bytes at once");
    explained(&path);
}

#[test]
fn a_stopped_jvm_is_recorded_from_outside() {
    let Some(jvm) = Jvm::start(&[]) else { return };
    jvm.signal("-STOP");
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let answer = json(&record(&jvm, &path, &["--for", "2s"]).output().unwrap());
    jvm.signal("-CONT");
    assert!(answer["tables"]["counters"].as_u64().unwrap() > 10, "{answer:#}");
}

/// Time in which the recorder did not run is not taken for good time.
#[test]
fn a_stopped_recorder_says_what_it_did_not_judge() {
    let Some(jvm) = Jvm::start(&[]) else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let recorder = record(&jvm, &path, &["--for", "7s"]).spawn().unwrap();
    until("rows are written", is_growing(path.clone()));
    signal(&recorder, "-STOP");
    std::thread::sleep(Duration::from_secs(3));
    signal(&recorder, "-CONT");
    json(&recorder.wait_with_output().unwrap());
    let headline = &explained(&path)["headline"];
    assert_ne!(headline["kind"], "nothing_slow", "{headline:#}");
    assert!(headline["but"].to_string().contains("the recorder did not run"), "{headline:#}");
    let is_clear = headline["kind"] == "no_sign";
    assert_eq!(headline["says"].as_str().unwrap().starts_with("judged "), is_clear, "{headline:#}");
}

#[test]
fn two_thousand_threads() {
    let Some(jvm) = Jvm::start(&["2000"]) else { return };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.fathom");
    let answer = json(&record(&jvm, &path, &["--for", "3s"]).output().unwrap());
    assert!(answer["tables"]["counters"].as_u64().unwrap() > 100, "{answer:#}");
    assert!(jvm.is_alive());
    explained(&path);
}

#[test]
fn every_jvm_at_once() {
    let jvms: Vec<Jvm> = std::iter::repeat_with(|| Jvm::start(&["0", "all-at-once"])).take(2).flatten().collect();
    if jvms.len() < 2 {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut all = fathom();
    all.args(["record", "--json", "--all", "--match", "all-at-once", "-o"]).arg(place.path());
    let recorder = all.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let folders = || fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<PathBuf>>();
    until("both recorders write", || folders().len() == 2 && folders().into_iter().all(|folder| is_growing(folder)()));
    signal(&recorder, "-INT");
    let answer = json(&recorder.wait_with_output().unwrap());
    assert_eq!(answer["failed"].as_array().unwrap().len(), 0, "{answer:#}");
    let mut recorded: Vec<u64> =
        answer["recordings"].as_array().unwrap().iter().map(|one| one["pid"].as_u64().unwrap()).collect();
    recorded.sort_unstable();
    let mut wanted: Vec<u64> = jvms.iter().map(|jvm| u64::from(jvm.pid())).collect();
    wanted.sort_unstable();
    assert_eq!(recorded, wanted, "{answer:#}");
    folders().iter().for_each(|folder| drop(explained(folder)));
}

#[test]
fn a_jvm_that_starts_and_stops() {
    let place = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let Some(mut jvm) = Jvm::start(&[]) else { return };
        let path = place.path().join(format!("{round}.fathom"));
        let recorder = record(&jvm, &path, &[]).spawn().unwrap();
        // At any moment of the recorder's start.
        std::thread::sleep(Duration::from_millis(40 * round));
        jvm.kill();
        let output = recorder.wait_with_output().unwrap();
        let says = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{round}: {} {says}", output.status);
        assert!(says.lines().count() <= 1, "{round}: {says}");
    }
}

#[test]
fn a_disk_that_fills_up_ends_it() {
    let Some(jvm) = Jvm::start(&[]) else { return };
    let place = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(place.path(), "160m") else { return };
    let path = disk.0.join("a.fathom");
    let recorder = record(&jvm, &path, &[]).spawn().unwrap();
    until("rows are written", is_growing(path.clone()));
    fs::write(disk.0.join("filler"), vec![1_u8; 110 << 20]).unwrap();
    let answer = json(&recorder.wait_with_output().unwrap());
    assert_eq!(answer["ended_because"], "the disk was nearly full");
    explained(&path);
    let full = record(&jvm, &disk.0.join("b.fathom"), &["--for", "1s"]).output().unwrap();
    let says = String::from_utf8_lossy(&full.stderr);
    assert!(full.status.code() == Some(1) && says.contains("free"), "{says}");
}

/// A file system of its own, as root.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(place: &Path, size: &str) -> Option<SmallDisk> {
        let folder = place.join("disk");
        fs::create_dir(&folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(&folder).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(SmallDisk(folder));
        }
        eprintln!("SKIPPED: a small disk can only be mounted by root");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
