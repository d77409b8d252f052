//! The program as users call it: exit codes, one line for a refusal, what goes to which stream.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, span, subject};
use serde_json::Value;
use tempfile::TempDir;

const START_NS: i64 = 1_795_168_921_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

fn fathom<A: AsRef<OsStr>>(folder: &Path, args: &[A]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command.env("TZ", "UTC").env("RUST_BACKTRACE", "1").env_remove("NO_COLOR").env_remove("COLUMNS");
    command.output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A process that is taken for a JVM: what it runs is called libjvm.so.
struct FakeJvm(Child);

impl FakeJvm {
    fn start(folder: &Path) -> FakeJvm {
        let libjvm = folder.join("libjvm.so");
        // By another process: as long as a test that starts a program has this one open for writing, it cannot be run.
        let copied = Command::new("cp").arg("/bin/cat").arg(&libjvm).status().expect("cp starts");
        assert!(copied.success());
        FakeJvm(Command::new(libjvm).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the program starts"))
    }
}

impl Drop for FakeJvm {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A recording of a JVM that does nothing in particular for twenty seconds.
fn write_recording(path: &Path, pid: i64) {
    let mut recording = Recording::default();
    recording.add_fact(subject::JVM, "pid", &pid.to_string(), "test");
    recording.add_fact(subject::JVM, "started_at_ns", &(START_NS - SECOND_NS).to_string(), "test");
    recording.add_fact(subject::JVM, "java_arguments", &format!("com.acme.App{pid}"), "test");
    for second in 0..20 {
        let time_ns = START_NS + second * SECOND_NS;
        recording.add_counter(time_ns, counter::CPU_PROCESS_RATIO, "user", 0.1, "test");
        recording.add_span(time_ns, 2_000_000, 0, span::GC_PAUSE, "G1 Young", "", "test");
    }
    fathom_store::write(path, &recording).expect("the folder can be written");
}

/// A folder with inputs that can be read and inputs that cannot.
fn inputs() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, bytes: &[u8]| fs::write(at(name), bytes).expect("the file can be written");
    write_recording(&at("one.fathom"), 1);
    write_recording(&at("two.fathom"), 2);
    write("empty.jfr", b"");
    let tasks: String = (0..5_000).map(|task| format!("{task},task-{task}\n")).collect();
    write("keys.csv", format!("number,task\n{tasks}").as_bytes());
    write("garbage", &(0..50_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>());
    write("cut.jfr", b"FLR\0\0\x02\0\x01\0\0");
    write("line\nbreak\x1b[31m.txt", b"no format at all");
    for name in ["nothing", "only_notes", "killed_at_once.fathom", "killed_soon.fathom"] {
        fs::create_dir(at(name)).expect("the folder can be made");
    }
    write("only_notes/notes.txt", b"call me back");
    write("killed_soon.fathom/journal", b"");
    write("killed_soon.fathom/threads.arrows", b"begun");
    folder
}

#[test]
fn refusals_are_one_line_and_exit_code_1() {
    let folder = inputs();
    let fake = FakeJvm::start(folder.path());
    let (jvm, own) = (fake.0.id().to_string(), std::process::id().to_string());
    for (args, says) in [
        (vec!["explain", "missing.jfr"], "missing.jfr"),
        (vec!["explain", "empty.jfr"], "empty: what writes it"),
        (vec!["explain", "garbage"], "not a format"),
        (vec!["explain", "cut.jfr"], "cut.jfr"),
        (vec!["explain", "line\nbreak\x1b[31m.txt"], "line break\\x1b[31m.txt"),
        (vec!["explain", "nothing"], "there is nothing in this folder"),
        (vec!["explain", "killed_at_once.fathom"], "nothing was written yet when its recorder was killed"),
        (vec!["explain", "killed_soon.fathom"], "nothing was written yet when its recorder was killed"),
        (vec!["import", "killed_at_once.fathom"], "nothing was written yet when its recorder was killed"),
        (vec!["import", "killed_soon.fathom"], "nothing was written yet when its recorder was killed"),
        (vec!["explain", "one.fathom/facts.parquet"], "name its folder, one.fathom"),
        (vec!["explain", "only_notes"], "notes.txt"),
        (vec!["explain", "/dev/null"], "/dev/null"),
        (vec!["explain", "one.fathom", "--latency", "missing.csv"], "missing.csv"),
        (vec!["explain", "one.fathom", "--baseline", "garbage"], "garbage"),
        (vec!["explain", "one.fathom", "--slow", "2001-01-01T00:00:00Z..2001-01-01T00:01:00Z"], "covers 2026-11-20"),
        (vec!["explain", "one.fathom", "--slow", "+90s..+95s"], "covers 2026-11-20"),
        (vec!["import", "one.fathom"], "finished already"),
        (vec!["import", "one.fathom", "two.fathom", "-o", "both.fathom"], "same JVM"),
        (vec!["import", "one.fathom", "-o", "two.fathom"], "exists already"),
        (
            vec!["import", "one.fathom", "-o", "no/such/folder.fathom"],
            "no/such/folder.fathom: cannot be written: No such",
        ),
        (vec!["lab", "run", "no_such_lab"], "no_such_lab"),
        (vec!["lab", "run", "./nothing"], "lab.json"),
        (vec!["record", "--pid", &jvm, "-o", "nothing/such/x"], "nothing/such/x: cannot be made: No such"),
        (vec!["record", "--pid", &jvm, "-o", "nothing"], "exists already"),
        (vec!["record", "--pid", &own], ") is no JVM"),
        (vec!["doctor", "--pid", &own], ") is no JVM"),
        (vec!["import", "one.fathom", "-o", "garbage/x"], "garbage/x"),
        (vec!["routing", "missing.txt", "--first", "xxh3 rendezvous 8"], "missing.txt"),
        (vec!["routing", "empty.jfr", "--first", "xxh3 rendezvous 8"], "empty.jfr: no keys"),
        (vec!["routing", "keys.csv", "--first", "java-hash mod 8"], "give --second"),
        (vec!["routing", "keys.csv", "--first", "xxh3 rendezvous 8", "--column", "user"], "no column is called"),
        (vec!["record", "--pid", "4294967295"], "no process 4294967295"),
        (vec!["record", "--match", "nobody-is-called-so"], "no JVM matches"),
        (vec!["record", "--pid", "1", "--only", "crystal_ball"], "no collector is called crystal_ball"),
    ] {
        let output = fathom(folder.path(), &args);
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {line}");
        assert_eq!(line.lines().count(), 1, "{args:?}: {line}");
        assert!(line.starts_with("fathom: ") && line.contains(says), "{args:?}: {line}");
        assert!(!line.contains("(os error"), "{args:?}: said twice: {line}");
        assert!(!line.chars().any(|c| c.is_control() && c != '\n'), "{args:?}: {line:?}");
        assert_eq!(stdout(&output), "", "{args:?}");
    }
}

#[test]
fn bad_usage_is_exit_code_2() {
    let folder = inputs();
    for args in [
        vec![],
        vec!["explian"],
        vec!["record", "--for", "tomorrow"],
        vec!["record", "--max-size", "big"],
        vec!["record", "--pid", "checkout"],
        vec!["record", "--pid", "-1"],
        vec!["record", "--match", "(["],
        vec!["explain", "one.fathom", "--slow", "yesterday"],
        vec!["explain", "one.fathom", "--slow", "10:00:00"],
        vec!["explain", "one.fathom", "--slow", "+9s..+3s"],
        vec!["explain", "one.fathom", "--started-at", "10:00:00"],
        vec!["explain", "one.fathom", "--color", "mauve"],
        vec!["causes", "no_such_cause"],
        vec!["import"],
        vec!["lab", "run"],
        vec!["lab", "run", "healthy_server", "--fixed", "--both"],
        vec!["routing", "keys.csv"],
        vec!["routing", "keys.csv", "--first", "md5 mod 8"],
    ] {
        let output = fathom(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{args:?}");
        assert!(!stderr(&output).is_empty());
    }
}

#[test]
fn standard_output_that_takes_nothing_is_told() {
    let folder = inputs();
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        println!("SKIPPED: there is no /dev/full");
        return;
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    let output = command.args(["explain", "one.fathom"]).current_dir(folder.path()).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "fathom: standard output: No space left on device\n");
}

#[test]
fn a_file_without_read_permission_is_refused() {
    let folder = inputs();
    let path = folder.path().join("secret.jfr");
    fs::write(&path, b"FLR\0").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        eprintln!("SKIPPED: this user may read every file (root), so that no permission can be refused");
        return;
    }
    let output = fathom(folder.path(), &["explain", "secret.jfr"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("secret.jfr: Permission denied"), "{}", stderr(&output));
}

#[test]
fn what_can_be_read_is_explained_and_the_rest_is_named() {
    let folder = inputs();
    let output = fathom(folder.path(), &["explain", "missing.jfr", "one.fathom", "garbage", "one.fathom"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 2, "{}", stderr(&output));
    assert_eq!(stdout(&output).matches("App1 · pid 1").count(), 1, "{}", stdout(&output));
}

#[test]
fn json_has_one_object_or_a_list() {
    let folder = inputs();
    let json = |args: &[&str]| {
        let output = fathom(folder.path(), args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let one = json(&["explain", "one.fathom", "--json"]);
    assert_eq!((&one["schema"], &one["recording"]["pid"]), (&1.into(), &1.into()));
    let shares = one["causes"].as_array().unwrap().iter().map(|cause| cause["share"].as_f64().unwrap());
    let sum = shares.sum::<f64>() + one["unexplained"]["share"].as_f64().unwrap();
    let expected = if one["slow"].as_array().unwrap().is_empty() { 0.0 } else { 1.0 };
    assert!((sum - expected).abs() < 0.001, "{sum}");
    let two = json(&["explain", "one.fathom", "two.fathom", "--json"]);
    assert_eq!(two["explanations"].as_array().unwrap().len(), 2);
    let causes = json(&["causes", "--json"]);
    assert_eq!(causes["causes"].as_array().unwrap().len(), one["causes"].as_array().unwrap().len());
    let page = json(&["causes", "lock_contention", "--json"]);
    assert!(page["page"].as_str().unwrap().contains("## Mechanism"));
    assert!(json(&["lab", "list", "--json"])["labs"].as_array().is_some_and(|labs| !labs.is_empty()));
    let imported = json(&["import", "one.fathom", "-o", "copy.fathom", "--json"]);
    assert_eq!((&imported["folder"], &imported["tables"]["spans"]), (&"copy.fathom".into(), &20.into()));
}

/// Ten minutes after thirty calls of `System.gc()` the JVM is started again, and its collections have their numbers.
#[test]
fn collections_of_another_run_are_nobodys_calls() {
    let line = |minute: u32, gc: u32, says: &str| {
        let second = 1 + gc;
        format!("[2026-11-20T06:{minute}:{second:02}.800+0000][{second}.800s][info][gc] GC({gc}) {says}\n")
    };
    let calls = (0..30).map(|gc| line(30, gc, "Pause Full (System.gc()) 24M->5M(256M) 10.000ms"));
    let remarks = (0..30).map(|gc| line(40, gc, "Pause Remark 240M->240M(256M) 700.000ms"));
    let folder = TempDir::new().expect("a folder");
    fs::write(folder.path().join("gc.log"), calls.chain(remarks).collect::<String>()).expect("written");
    let json: Value =
        serde_json::from_str(&stdout(&fathom(folder.path(), &["explain", "gc.log", "--json"]))).expect("JSON");
    let causes = json["causes"].as_array().expect("causes");
    let explicit = causes.iter().find(|cause| cause["id"] == "explicit_gc").expect("it is asked");
    assert!(!json["slow"].as_array().expect("slow").is_empty(), "{json}");
    assert!(explicit["verdict"] != "shown" && explicit["share"] == 0.0, "{explicit}");
}

#[test]
fn every_field_of_the_other_commands_is_described() {
    let folder = inputs();
    let page = include_str!("../../../docs/json.md");
    for args in [
        vec!["causes", "--json"],
        vec!["causes", "lock_contention", "--json"],
        vec!["lab", "list", "--json"],
        vec!["import", "one.fathom", "-o", "copy.fathom", "--json"],
        [ROUTING, &["--json"]].concat(),
        vec!["probe", "barrier", "--json"],
        vec!["probe", "touch", "--json"],
    ] {
        let output = fathom(folder.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        for line in stdout(&output).lines() {
            let field = line.trim().split_once("\": ").map(|(field, _)| field.trim_start_matches('"'));
            let is_described = |field: &str| page.contains(&format!("`{field}`"));
            assert!(field.is_none_or(is_described), "{args:?}: docs/json.md does not describe {line}");
        }
    }
}

const ROUTING: &[&str] =
    &["routing", "keys.csv", "--column", "task", "--first", "java-hash mod 8", "--second", "java-hash mod 4"];

#[test]
fn routing_tells_of_each_failover() {
    let folder = inputs();
    let text = stdout(&fathom(folder.path(), ROUTING));
    assert!(text.contains("skewed") && text.contains("reach 1 of 4 nodes") && text.contains("V 1.000"), "{text}");
    let output = fathom(folder.path(), &[ROUTING, &["--json"]].concat());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["verdict"], &json["keys"]), (&"skewed".into(), &5_000.into()));
    assert_eq!(json["failovers"].as_array().map(Vec::len), Some(8));
}

#[test]
fn an_import_is_explained_like_its_parts() {
    let folder = inputs();
    assert_eq!(fathom(folder.path(), &["import", "one.fathom", "-o", "copy.fathom"]).status.code(), Some(0));
    let explained = |path: &str| stdout(&fathom(folder.path(), &["explain", path]));
    assert_eq!(explained("one.fathom"), explained("copy.fathom"));
    let left_over = |entry: &PathBuf| entry.to_string_lossy().contains("unfinished");
    assert!(!fs::read_dir(folder.path()).unwrap().any(|entry| left_over(&entry.unwrap().path())));
}

fn write_killed(path: &Path) {
    let mut recording = Recording::default();
    recording.add_counter(START_NS, counter::CPU_PROCESS_RATIO, "user", 0.5, "test");
    let mut writer = fathom_store::FolderWriter::create(path).expect("the folder can be made");
    writer.flush(&mut recording).expect("the folder can be written");
}

#[test]
fn an_unfinished_recording_is_finished() {
    let folder = inputs();
    let path = folder.path().join("killed.fathom");
    write_killed(&path);
    assert!(path.join("counters.arrows").is_file());
    let output = fathom(folder.path(), &["import", "killed.fathom"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(path.join("counters.parquet").is_file() && !path.join("counters.arrows").exists());
}

/// A power cut at any moment leaves the streams or the tables.
#[test]
fn the_disk_has_the_tables_before_the_streams_are_removed() {
    let folder = inputs();
    write_killed(&folder.path().join("killed.fathom"));
    let mut strace = Command::new("strace");
    strace.args([
        "-f",
        "-y",
        "-e",
        "trace=fsync,rename,unlink",
        env!("CARGO_BIN_EXE_fathom"),
        "import",
        "killed.fathom",
    ]);
    let calls = match strace.current_dir(folder.path()).output() {
        Ok(output) if output.status.success() => stderr(&output),
        _ => return println!("SKIPPED: no strace that may observe"),
    };
    let done = |call: &str| {
        let at: Vec<usize> = calls.match_indices(call).map(|(at, _)| at).collect();
        (at[0], at[at.len() - 1])
    };
    let synced = |name: &str| done(&format!("killed.fathom/{name}.unfinished>")).0;
    let is_renamed = |name: &str, ending: &str| done(&format!("killed.fathom/{name}.{ending}\"")).0;
    assert!(synced("counters") < is_renamed("counters", "parquet"));
    assert!(synced("manifest") < is_renamed("manifest", "json"));
    let (before, after) = done("killed.fathom>)");
    let (named, removed) = (is_renamed("manifest", "json"), is_renamed("counters", "arrows"));
    assert!(before < named && named < after && after < removed, "{calls}");
}

#[test]
fn what_is_imported_under_sudo_is_the_callers() {
    let folder = inputs();
    if fs::metadata(folder.path()).unwrap().uid() != 0 {
        println!("SKIPPED: only root can give files away");
        return;
    }
    write_killed(&folder.path().join("killed.fathom"));
    fs::create_dir(folder.path().join("killed.fathom/raw")).unwrap();
    for (args, made) in [
        (&["import", "killed.fathom"][..], "killed.fathom"),
        (&["import", "one.fathom", "-o", "copy.fathom"], "copy.fathom"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
        command.args(args).current_dir(folder.path()).env("SUDO_UID", "65534").env("SUDO_GID", "65534");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{made}: {}", stderr(&output));
        let inside = fs::read_dir(folder.path().join(made)).unwrap().map(|entry| entry.unwrap().path());
        for path in inside.chain([folder.path().join(made)]) {
            assert_eq!(fs::metadata(&path).unwrap().uid(), 65_534, "{}", path.display());
        }
    }
    assert_eq!(fs::metadata(folder.path().join("one.fathom")).unwrap().uid(), 0);
}

/// A recorder that was killed before its first write may have left what the JVM's profiler had sampled.
#[test]
fn what_is_left_beside_an_empty_journal_is_finished() {
    let folder = inputs();
    let path = folder.path().join("killed.fathom");
    fs::create_dir_all(path.join("raw")).expect("the folder can be made");
    fs::write(path.join("journal"), b"").expect("the file can be written");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/jfr/ap_wall.jfr");
    fs::copy(samples, path.join("raw/async_profiler-000.jfr")).expect("the file can be copied");
    for command in ["explain", "import", "explain"] {
        let output = fathom(folder.path(), &[command, "killed.fathom"]);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr(&output));
        assert!(stdout(&output).contains("the recorder was killed"), "{command}: {}", stdout(&output));
    }
}

#[test]
fn colour_is_for_terminals_or_on_request() {
    let folder = inputs();
    let has_color = |args: &[&str]| stdout(&fathom(folder.path(), args)).contains("\x1b[");
    assert!(!has_color(&["explain", "one.fathom"]));
    assert!(!has_color(&["explain", "one.fathom", "--color", "never"]));
    assert!(has_color(&["explain", "one.fathom", "--color", "always"]));
}

#[test]
fn the_version_says_where_it_comes_from() {
    let folder = inputs();
    let version = stdout(&fathom(folder.path(), &["--version"]));
    assert!(version.starts_with("fathom ") && version.contains("(commit ") && version.contains("schema "), "{version}");
}

#[test]
fn names_are_suggested_and_bad_patterns_refused() {
    let folder = inputs();
    for (args, says) in [
        (vec!["causes", "code_cache_chrun"], "did you mean code_cache_churn?"),
        (vec!["lab", "run", "code_cach_churn"], "did you mean code_cache_churn?"),
        (vec!["lab", "play", "code_cach_churn"], "did you mean code_cache_churn?"),
        (vec!["explain", "--latency-pattern", "("], "not a regular expression: unclosed group"),
    ] {
        let answer = stderr(&fathom(folder.path(), &args));
        assert!(answer.contains(says), "{args:?}: {answer}");
    }
    let script = stdout(&fathom(folder.path(), &["completions", "bash"]));
    assert!(script.contains("code_cache_churn") && script.contains("healthy_server"), "causes and labs");
}

#[test]
fn help_teaches() {
    let folder = inputs();
    for args in [
        vec!["--help"],
        vec!["explain", "--help"],
        vec!["import", "--help"],
        vec!["causes", "--help"],
        vec!["lab", "--help"],
        vec!["lab", "run", "--help"],
        vec!["routing", "--help"],
        vec!["probe", "barrier", "--help"],
        vec!["probe", "touch", "--help"],
    ] {
        let output = fathom(folder.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(stdout(&output).contains("Examples:"), "{args:?}: {}", stdout(&output));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = inputs();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["causes", "--json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn shells_and_the_manual_know_every_command() {
    let folder = TempDir::new().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&fathom(folder.path(), &["completions", shell]));
        assert!(
            ["record", "--latency-pattern"].iter().all(|word| script.contains(word.trim_start_matches('-'))),
            "{shell}"
        );
    }
    assert!(fathom(folder.path(), &["completions", "--manual", "man"]).status.success());
    for page in ["fathom.1", "fathom-record.1", "fathom-lab-run.1"] {
        let text = fs::read_to_string(folder.path().join("man").join(page)).expect(page);
        assert!(text.contains(".SH NAME"), "{page}");
    }
    let refused = fathom(folder.path(), &["completions", "--manual", "/proc/nowhere"]);
    assert_eq!((refused.status.code(), stderr(&refused).lines().count()), (Some(1), 1), "{}", stderr(&refused));
    assert_eq!(fathom(folder.path(), &["completions"]).status.code(), Some(2));
}
