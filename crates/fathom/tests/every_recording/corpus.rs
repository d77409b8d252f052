//! Public files whose truth was read by hand: how long they are, and which cause must be reported.

use std::fmt::Write;
use std::fs;

use fathom_causes::explanation::{Explanation, Verdict};

use crate::recordings::{answer, load, testdata};

/// Who must come first.
#[derive(Debug, Clone, Copy)]
enum First {
    /// No cause is `shown` or `likely`.
    Nobody,
    /// This one, with the verdict at least; others may come behind.
    Cause(&'static str, Verdict),
    /// This one, and no other cause is `shown` or `likely`.
    Only(&'static str, Verdict),
}

struct Truth {
    file: &'static str,
    /// From the file's first stamp to its last, or to the end of a stop that the last one begins, in s.
    seconds: f64,
    /// As the answer names it; empty where the file does not say.
    jvm: &'static str,
    first: First,
    /// Length of what was slow, in s.
    slow: std::ops::RangeInclusive<f64>,
}

const ANY: std::ops::RangeInclusive<f64> = 0.0..=f64::MAX;

const TRUTHS: &[Truth] = &[
    Truth { file: "g1_details_tenuring_cause.log.gz", seconds: 2_166.4, jvm: "", first: First::Nobody, slow: ANY },
    Truth {
        file: "863_gc.log.gz",
        seconds: 958.1,
        jvm: "",
        first: First::Cause("full_gc_old_generation_full", Verdict::Shown),
        slow: ANY,
    },
    Truth { file: "713_gc.log.gz", seconds: 2_064.4, jvm: "", first: First::Nobody, slow: ANY },
    Truth {
        file: "gc_ccpcc01_late.log.gz",
        seconds: 47_933.1,
        jvm: "",
        first: First::Only("explicit_gc", Verdict::Shown),
        slow: ANY,
    },
    Truth {
        file: "full_gc_cms.jfr",
        seconds: 18.0,
        jvm: "",
        first: First::Only("full_gc_old_generation_full", Verdict::Possible),
        slow: 3.0..=19.0,
    },
    // One wait for a lock of 8.003 s: 17:51:09.1 to 17:51:17.1.
    Truth {
        file: "example.jfr.gz",
        seconds: 11.0,
        jvm: "JDK 17",
        first: First::Only("lock_contention", Verdict::Shown),
        slow: 7.0..=9.0,
    },
    Truth { file: "openjdk8u302ea.jfr", seconds: 0.5, jvm: "JDK 8", first: First::Nobody, slow: ANY },
    Truth {
        file: "tipsgc.log.gz",
        seconds: 99.4,
        jvm: "JDK 8",
        first: First::Only("full_gc_old_generation_full", Verdict::Shown),
        slow: ANY,
    },
    Truth {
        file: "minimal.log.gz",
        seconds: 197.5,
        jvm: "",
        first: First::Only("explicit_gc", Verdict::Shown),
        slow: 0.5..=10.0,
    },
];

/// Files whose answer is known to be wrong. One that is right must not stand here.
const PENDING: &[&str] = &["example.jfr.gz"];

/// Seconds by which an axis may differ from the stamps: a pause goes on after the last of them.
const SLACK_S: f64 = 1.5;

fn wrong(truth: &Truth, answer: &Explanation) -> Option<String> {
    let seconds = |from: i64, to: i64| to.saturating_sub(from) as f64 / 1e9;
    let length = seconds(answer.recording.from_ns, answer.recording.to_ns);
    let slow: f64 = answer.slow.iter().map(|slow| seconds(slow.from_ns, slow.to_ns)).sum();
    if (length - truth.seconds).abs() > SLACK_S {
        return Some(format!("{length} s long instead of {} s", truth.seconds));
    }
    if answer.recording.jvm != truth.jvm {
        return Some(format!("`{}` instead of `{}`", answer.recording.jvm, truth.jvm));
    }
    if !truth.slow.contains(&slow) {
        return Some(format!("slow for {slow} s instead of {:?}", truth.slow));
    }
    let accused: Vec<_> = answer.causes.iter().filter(|cause| cause.verdict <= Verdict::Likely).collect();
    let first = answer.causes.iter().find(|cause| cause.verdict <= Verdict::Possible);
    let is_right = match truth.first {
        First::Nobody => accused.is_empty(),
        First::Cause(id, least) => first.is_some_and(|cause| cause.id == id && cause.verdict <= least),
        First::Only(id, least) => {
            first.is_some_and(|cause| cause.id == id && cause.verdict <= least)
                && accused.iter().all(|cause| cause.id == id)
        }
    };
    let told: Vec<String> = answer
        .causes
        .iter()
        .filter(|cause| cause.verdict <= Verdict::Possible)
        .map(|cause| format!("{} {:?}", cause.id, cause.verdict))
        .collect();
    (!is_right).then(|| format!("{told:?} instead of {:?}", truth.first))
}

#[test]
fn public_files_are_told_as_they_were_read_by_hand() {
    let mut failures = String::new();
    for truth in TRUTHS {
        let found = wrong(truth, &answer(&load(&testdata().join("corpus").join(truth.file)).unwrap()));
        match (found, PENDING.contains(&truth.file)) {
            (Some(failure), false) => writeln!(failures, "{}: {failure}", truth.file).unwrap(),
            (None, true) => writeln!(failures, "{}: is right and stands in PENDING", truth.file).unwrap(),
            _ => {}
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Explains a log that is made here.
fn answer_of(log: &str) -> Explanation {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("gc.log");
    fs::write(&path, log).expect("the log is written");
    answer(&load(&path).expect("the log is read"))
}

/// The same pause of 120 ms after 1 to 19 s of the same 10 MB/s, for an hour: each second with a pause is slow, and nothing
/// in it is other than in the ones without.
#[test]
fn where_nothing_changes_nobody_is_accused() {
    let (mut log, mut at_ms, mut seed) = ("[0.010s][info][gc] Using Parallel\n".to_owned(), 3_000_u64, 7_u64);
    for number in 0.. {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let gap_ms = 1_000 + (seed >> 33) % 18_000;
        at_ms += gap_ms;
        if at_ms > 3_600_000 {
            break;
        }
        let before_mb = 30 + gap_ms / 100;
        let ended_ms = at_ms + 120;
        let stamp = format!("{}.{:03}s", ended_ms / 1_000, ended_ms % 1_000);
        writeln!(
            log,
            "[{stamp}][info][gc] GC({number}) Pause Young (Allocation Failure) {before_mb}M->30M(256M) 120.000ms"
        )
        .unwrap();
    }
    let answer = answer_of(&log);
    let accused: Vec<_> = answer.causes.iter().filter(|cause| cause.verdict <= Verdict::Possible).collect();
    assert!(accused.is_empty(), "{accused:#?}");
}

/// A log without any time: three full collections of 15 s are slow whenever they were.
#[test]
fn long_pauses_without_a_time_are_slow() {
    let answer = answer_of(
        "[Full GC [PSYoungGen: 1398144K->0K(1398144K)] [ParOldGen: 2796201K->2722371K(2796544K)] 4194345K->2722371K(4194688K) [PSPermGen: 21000K->21000K(21248K)], 14.8012340 secs] [Times: user=58.12 sys=0.11, real=14.80 secs]\n\
         [Full GC [PSYoungGen: 1398144K->0K(1398144K)] [ParOldGen: 2722371K->2722410K(2796544K)] 4120515K->2722410K(4194688K) [PSPermGen: 21000K->21000K(21248K)], 14.9500120 secs] [Times: user=58.90 sys=0.09, real=14.95 secs]\n\
         [Full GC [PSYoungGen: 1398144K->0K(1398144K)] [ParOldGen: 2722410K->2722455K(2796544K)] 4120554K->2722455K(4194688K) [PSPermGen: 21000K->21000K(21248K)], 14.9481000 secs] [Times: user=58.71 sys=0.10, real=14.95 secs]\n",
    );
    let slow: f64 = answer.slow.iter().map(|slow| (slow.to_ns - slow.from_ns) as f64 / 1e9).sum();
    assert!((43.0..=49.0).contains(&slow), "{slow}");
    assert_eq!(answer.causes[0].id, "full_gc_old_generation_full");
    assert!(answer.losses.iter().any(|loss| loss.says.contains("no time in the log")), "{:?}", answer.losses);
}

/// A log that was not rotated for long: weeks are explained in full; of months, the answer says what is left out.
#[test]
fn what_is_left_out_of_a_log_is_told() {
    let log_of = |days: u32| {
        let line = |seconds: f64| format!("{seconds:.3}: [GC (Allocation Failure) 90K->60K(120K), 0.0100000 secs]\n");
        line(1.0) + &line(f64::from(days) * 86_400.0)
    };
    for (days, covered, is_told) in [(12, 12, false), (40, 14, true)] {
        let answer = answer_of(&log_of(days));
        let length_s = (answer.recording.to_ns - answer.recording.from_ns) / 1_000_000_000;
        assert!((length_s - covered * 86_400).abs() < 3, "{length_s}");
        let told = answer.losses.iter().any(|loss| loss.says.contains("only the last 14 days are explained"));
        assert_eq!(told, is_told, "{:?}", answer.losses);
    }
}
