//! Answers as users read them: they fit on a screen, their figures are those of the files, and what is ruled out says for when.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

/// Lines of a terminal that are read without scrolling.
const LINES_MAX: usize = 40;

/// Labs of each family that testdata has, a healthy one, a busy machine, a recorder that was killed, and files alone.
const RECORDINGS: [&str; 13] = [
    "labs/code_cache_full-sick-jdk17",
    "labs/jit_warm_up-sick-jdk25",
    "labs/code_cache_churn-sick-jdk17",
    "labs/full_gc_old_generation_full-sick-jdk25",
    "labs/long_time_to_safepoint-sick-jdk17",
    "labs/lock_contention-sick-jdk17",
    "labs/slow_downstream-sick-jdk25",
    "labs/more_traffic-sick-jdk17",
    "labs/healthy_server-healthy-jdk17",
    // Builds used the CPUs of this machine.
    "by_hand/pool",
    "page/mixed",
    CUT_OFF,
    "gc_log/jdk25-g1-tight.log",
];

/// The recording `page/mixed` as a recorder that was killed leaves it: without its last file.
const CUT_OFF: &str = "cut off";

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn explained(path: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fathom"));
    command.arg("explain").arg(path).args(args).env("TZ", "UTC").env_remove("COLUMNS");
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn cut_off(folder: &Path) -> PathBuf {
    for entry in fs::read_dir(testdata("page/mixed")).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_owned();
        if name != "manifest.json" {
            fs::copy(&entry, folder.join(name)).unwrap();
        }
    }
    folder.to_owned()
}

#[test]
fn an_answer_fits_on_a_screen() {
    let folder = tempfile::tempdir().unwrap();
    let mut long = Vec::new();
    for name in RECORDINGS {
        let path = if name == CUT_OFF { cut_off(folder.path()) } else { testdata(name) };
        let text = explained(&path, &[]);
        let lines = text.lines().count();
        println!("{lines:>3} lines  {name}");
        if lines > LINES_MAX {
            long.push(format!("{name}: {lines} lines\n{text}"));
        }
        let with_all = explained(&path, &["--all"]);
        assert!(lines < with_all.lines().count() && !text.contains("routing_skew"), "{name}: {text}");
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// When the requests of a lab began, and how long they took, in ns.
fn requests(name: &str) -> Vec<(i64, i64)> {
    let mut csv = String::new();
    let file = fs::File::open(testdata(name).join("latency.csv.gz")).unwrap();
    MultiGzDecoder::new(file).read_to_string(&mut csv).unwrap();
    let request = |line: &str| {
        let (began_ms, took_ms) = line.split_once(',').unwrap();
        (began_ms.parse::<i64>().unwrap() * 1_000_000, (took_ms.parse::<f64>().unwrap() * 1e6).round() as i64)
    };
    csv.lines().skip(1).map(request).collect()
}

/// The 99th percentile of the requests that began in some time.
fn p99(requests: &[(i64, i64)], is_in: impl Fn(i64) -> bool) -> f64 {
    let mut lengths: Vec<i64> = requests.iter().filter(|request| is_in(request.0)).map(|request| request.1).collect();
    lengths.sort_unstable();
    lengths[((lengths.len() - 1) as f64 * 0.99).round() as usize] as f64
}

/// Counted by hand.
#[test]
fn the_99th_percentile_is_that_of_the_requests() {
    for name in
        ["labs/code_cache_churn-sick-jdk17", "labs/lock_contention-sick-jdk17", "labs/slow_downstream-sick-jdk25"]
    {
        let answer: Value = serde_json::from_str(&explained(&testdata(name), &["--json"])).unwrap();
        let slow: Vec<(i64, i64)> = answer["slow"].as_array().unwrap().iter().map(from_to).collect();
        let by_hand = p99(&requests(name), |began| slow.iter().any(|(from, to)| began >= *from && began < *to));
        let figures = answer["figures"].as_array().unwrap();
        let told = figures.iter().find(|figure| figure["says"] == "request latency, p99").unwrap();
        assert!((told["value"].as_f64().unwrap() - by_hand).abs() < 1.0, "{name}: {told}, by hand {by_hand}");
    }
}

/// Counted by hand, also where the seconds around the worst one were better.
#[test]
fn the_worst_second_is_told_with_its_own_99th_percentile() {
    let name = "labs/code_cache_churn-sick-jdk17";
    let answer: Value = serde_json::from_str(&explained(&testdata(name), &["--json"])).unwrap();
    let slow = answer["slow"].as_array().unwrap();
    let slow = slow.iter().find(|slow| slow["signal"] == "request_latency").unwrap();
    let (requests, (from, to)) = (requests(name), from_to(slow));
    let seconds = (from..to).step_by(1_000_000_000);
    let worst = seconds.map(|second| p99(&requests, |began| began >= second && began < second + 1_000_000_000));
    let worst_ms = worst.fold(0.0, f64::max) / 1e6;
    assert_eq!(slow["says"], format!("requests took up to {worst_ms:.1} ms (99th percentile of a second)"));
}

fn from_to(value: &Value) -> (i64, i64) {
    (value["from_ns"].as_i64().unwrap(), value["to_ns"].as_i64().unwrap())
}

#[test]
fn what_is_ruled_out_says_for_when_and_why() {
    for (name, is_slow) in [("labs/slow_downstream-sick-jdk25", true), ("labs/healthy_server-healthy-jdk17", false)] {
        let path = testdata(name);
        let answer: Value = serde_json::from_str(&explained(&path, &["--json"])).unwrap();
        let whole = match is_slow {
            true => {
                let slow: Vec<(i64, i64)> = answer["slow"].as_array().unwrap().iter().map(from_to).collect();
                (slow[0].0, slow[slow.len() - 1].1)
            }
            false => from_to(&answer["recording"]),
        };
        let causes = answer["causes"].as_array().unwrap();
        let ruled_out: Vec<&Value> = causes.iter().filter(|cause| cause["verdict"] == "ruled_out").collect();
        assert!(ruled_out.len() > 10, "{name}");
        for cause in causes {
            let is_ruled_out = cause["verdict"] == "ruled_out";
            assert_eq!(cause["during"].is_object(), is_ruled_out, "{name}: {cause}");
            if is_ruled_out {
                assert_eq!(from_to(&cause["during"]), whole, "{name}: {cause}");
                assert_ne!(cause["says"], "", "{name}: {cause}");
            }
        }
        let text = explained(&path, &[]);
        assert_eq!(text.contains("ruled out    within the slow "), is_slow, "{text}");
    }
}

/// In the program's own log, or among the collector's lines.
#[test]
fn that_memory_ran_out_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let line = |second: usize| {
        format!(
            "[2026-11-20T06:30:{second:02}.000+0000][{second}.000s][info][gc] GC({second}) \
             Pause Young (Normal) (G1 Evacuation Pause) 150M->40M(256M) 3.000ms\n"
        )
    };
    let collections: String = (0..40).map(line).collect();
    let own = "2026-11-20 06:30:01,000 INFO  [main] shop.Main - started\n\
               2026-11-20 06:30:31,000 ERROR [worker-1] shop.Cart - failed\n\
               java.lang.OutOfMemoryError: Java heap space\n\tat shop.Cart.add(Cart.java:17)\n\
               2026-11-20 06:30:41,000 INFO  [main] shop.Main - order 18\n";
    let printed =
        format!("{collections}java.lang.OutOfMemoryError: Java heap space\n\tat shop.Cart.add(Cart.java:17)\n");
    for (name, files) in
        [("own", vec![("gc.log", &*collections), ("app.log", own)]), ("printed", vec![("gc.log", &printed)])]
    {
        let both = folder.path().join(name);
        fs::create_dir(&both).unwrap();
        files.iter().for_each(|(file, text)| fs::write(both.join(file), text).unwrap());
        let answer = explained(&both, &[]);
        assert!(answer.contains("the logs tell of java.lang.OutOfMemoryError"), "{name}: {answer}");
    }
}
