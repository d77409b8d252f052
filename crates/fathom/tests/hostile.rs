//! Files made to use much memory or time: read within the limit that `docs/security.md` states, or refused in one line.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::panic;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fathom_evidence::Recording;
use flate2::Compression;
use flate2::write::GzEncoder;

/// What reading may take beside the pages of files, in kB.
const CEILING_KB: u64 = 256 * 1024;
/// In which any of these has to end, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);
/// What the files would take in memory as they are.
const BOMB_BYTES: usize = 600 << 20;

const LOG_LINE: &str = "[2026-11-02T10:00:00.000+0000][0.005s][info][gc] Using G1\n";
const LATENCY_LINES: &str = "start_ms,duration_ms\n1795168921000,5\n";

/// Explains a file, and gives the most memory that took at once, in kB.
fn peak_kb(path: &Path) -> u64 {
    peak_kb_with(path, &[])
}

fn peak_kb_with(path: &Path, options: &[&str]) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    let mut explain = command
        .arg("explain")
        .arg(path)
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let (mut peak_kb, began) = (0, Instant::now());
    let status = loop {
        let seen = fs::read_to_string(format!("/proc/{}/status", explain.id())).unwrap_or_default();
        let highest =
            seen.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak_kb = peak_kb.max(highest.unwrap_or(0));
        if let Some(status) = explain.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < PATIENCE, "{} took too long", path.display());
        std::thread::sleep(Duration::from_millis(2));
    };
    let mut says = String::new();
    explain.stderr.take().unwrap().read_to_string(&mut says).unwrap();
    assert!(matches!(status.code(), Some(0 | 1)), "{}: {status}: {says}", path.display());
    peak_kb
}

/// A first part that looks like something, and a line after it that has no end.
fn write_endless_line(mut to: impl Write, begins: &str) {
    to.write_all(begins.as_bytes()).unwrap();
    let piece = vec![b'7'; 1 << 20];
    for _ in 0..BOMB_BYTES / piece.len() {
        to.write_all(&piece).unwrap();
    }
    to.flush().unwrap();
}

fn packed(path: &Path, begins: &str) {
    let mut packer = GzEncoder::new(BufWriter::new(File::create(path).unwrap()), Compression::fast());
    write_endless_line(&mut packer, begins);
    packer.finish().unwrap();
}

#[test]
fn what_unpacks_to_much_takes_little_memory() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    packed(&at("gc.log.gz"), LOG_LINE);
    packed(&at("latency.csv.gz"), LATENCY_LINES);
    packed(&at("zeros.gz"), "");
    let files = ["gc.log.gz", "latency.csv.gz"];
    let tar =
        Command::new("tar").arg("czf").arg(at("all.tgz")).arg("-C").arg(place.path()).args(files).status().unwrap();
    assert!(tar.success());
    for name in ["gc.log.gz", "latency.csv.gz", "zeros.gz", "all.tgz"] {
        let kb = peak_kb(&at(name));
        assert!(kb < CEILING_KB, "{name} took {kb} kB");
    }
}

#[test]
fn a_line_without_an_end_takes_little_memory() {
    let place = tempfile::tempdir().unwrap();
    for (name, begins) in [("gc.log", LOG_LINE), ("latency.csv", LATENCY_LINES), ("nothing.txt", "")] {
        let path = place.path().join(name);
        write_endless_line(BufWriter::new(File::create(&path).unwrap()), begins);
        let kb = peak_kb(&path);
        assert!(kb < CEILING_KB, "{name} took {kb} kB");
    }
}

/// Of a folder of 10,000 logs, which is as many as are read, this is 256 MB.
const OF_A_JVM_KB: u64 = CEILING_KB / 10_000;

fn write_logs(folder: &Path, count: usize) {
    fs::create_dir(folder).unwrap();
    for number in 0..count {
        let line = format!(
            "[2026-11-02T10:{:02}:{:02}.000+0000][1.{number:03}s][info][gc] GC(0) Pause Full (System.gc()) 9M->8M(10M) 900.000ms\n",
            number / 60,
            number % 60
        );
        fs::write(folder.join(format!("gc-{number}.log")), line).unwrap();
    }
}

#[test]
fn the_answers_about_many_jvms_are_not_kept() {
    const LOGS: usize = 500;
    let place = tempfile::tempdir().unwrap();
    let (few, many) = (place.path().join("few"), place.path().join("many"));
    write_logs(&few, LOGS / 10);
    write_logs(&many, LOGS);
    for options in [&[][..], &["--json"]] {
        let grown_kb = peak_kb_with(&many, options).saturating_sub(peak_kb_with(&few, options));
        let each_kb = grown_kb / (LOGS - LOGS / 10) as u64;
        assert!(each_kb < OF_A_JVM_KB, "{options:?}: {each_kb} kB for each JVM");
    }
}

/// A small recording with a table at whose bytes the library that reads it panics.
fn write_panicking(path: &Path) {
    static HAS_PANICKED: AtomicBool = AtomicBool::new(false);
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |info| match fathom_store::is_caught() {
        true => HAS_PANICKED.store(true, Ordering::Relaxed),
        false => others(info),
    }));
    let mut recording = Recording::default();
    recording.add_fact("setting", "gc", "G1", "test");
    recording.add_counter(1, "cpu", "", 1.0, "test");
    fathom_store::write(path, &recording).unwrap();
    fs::remove_file(path.join("manifest.json")).unwrap();
    let table = path.join("facts.parquet");
    let whole = fs::read(&table).unwrap();
    // From the end: what a file says of its pages stands there, and a number below zero is among what makes no sense.
    for at in (0..whole.len()).rev() {
        let mut damaged = whole.clone();
        damaged[at] = 127;
        fs::write(&table, damaged).unwrap();
        fathom_store::open(path).unwrap();
        if HAS_PANICKED.load(Ordering::Relaxed) {
            return;
        }
    }
    panic!("the library takes everything by now");
}

#[test]
fn damage_is_no_mistake_of_the_program() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("damaged.fathom");
    write_panicking(&path);
    let output = Command::new(env!("CARGO_BIN_EXE_fathom")).args(["explain", "--all"]).arg(&path).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let says = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && says.contains("table facts is damaged"), "{says}");
}

#[test]
fn a_table_of_texts_that_are_all_alike_takes_little_memory() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("bomb.fathom");
    let mut bomb = Recording::default();
    for at in 0..15_000 {
        bomb.add_span(at, 1, 7, "park", &format!("{}{at}", "a".repeat(20_000)), "", "jfr");
    }
    fathom_store::write(&path, &bomb).unwrap();
    let kb = peak_kb(&path);
    assert!(kb < CEILING_KB, "{kb} kB");
}
