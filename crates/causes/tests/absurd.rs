//! Any recording, however absurd, gets an answer that obeys the rules.
//!
//! Readers keep what sources say, so times may be at the ends of the axis, numbers infinite and names empty. None of this
//! may make the engine panic, hang or promise more than the whole.

use fathom_causes::explanation::Explanation;
use fathom_causes::{ExplainOptions, catalog, explain};
use fathom_evidence::kinds::{Word, counter, event, frame, role, span, subject};
use fathom_evidence::tables::{Counter, Sample, Span};
use fathom_evidence::{Frame, Recording, StackId, Thread};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};

const BEGIN_NS: i64 = 1_700_000_000_000_000_000;

/// What details may hold: some that fit, some of another kind, some that are no JSON at all.
const DETAILS: &[&str] = &[
    "",
    "no JSON",
    r#"{"gc_id":18446744073709551615,"cause":"System.gc()","scope":"full","heap_before_bytes":18446744073709551615,"heap_after_bytes":0}"#,
    r#"{"gc_id":3,"cause":"CodeCache GC Threshold","scope":"young","user_ns":18446744073709551615,"system_ns":18446744073709551615}"#,
    r#"{"gc_id":3,"cause":"Allocation Failure","scope":"full","old_after_bytes":9,"old_capacity_bytes":0,"heap_committed_bytes":0}"#,
    r#"{"time_to_safepoint_ns":18446744073709551615}"#,
    r#"{"safepoint":true}"#,
    r#"{"port":1,"host":"db","bytes":-9223372036854775808}"#,
    r#"{"port":4294967295}"#,
    r#"{"reason":"unstable_if"}"#,
    r#"{"level":4,"osr":false}"#,
    r#"{"flushed":18446744073709551615}"#,
    r#"{"previous_owner":"\u0000"}"#,
];

const NAMES: &[&str] = &[
    "",
    "a.B",
    "java.util.concurrent.locks.ReentrantLock",
    "java.util.concurrent.Semaphore",
    "Pause Full",
    "db:1",
    "ü\u{202e}",
];

const FACTS: &[(&str, &str)] = &[
    (subject::JVM, "version"),
    (subject::JVM, "started_at_ns"),
    (subject::JVM, "java_arguments"),
    (subject::HOST, "cpus"),
    (subject::FLAG, "ReservedCodeCacheSize"),
    (subject::FLAG, "MaxHeapSize"),
    (subject::FLAG, "ParallelGCThreads"),
    (subject::SETTING, "jdk.JavaMonitorEnter#enabled"),
    (subject::SETTING, "jdk.JavaMonitorEnter#threshold"),
];

const VALUES: &[&str] = &[
    "",
    "0",
    "-1",
    "NaN",
    "inf",
    "1e308",
    "9223372036854775807",
    "-9223372036854775808",
    "2",
    "25.0.3",
    "true",
    "20 ms",
    "1700000000000000000",
];

fn words(all: &'static [Word]) -> impl Strategy<Value = &'static str> {
    select(all).prop_map(|word| word.word)
}

/// Instants and lengths: mostly within a minute, sometimes at the ends of the axis.
fn ns() -> impl Strategy<Value = i64> {
    prop_oneof![
        12 => (0..60_000_000_000_i64).prop_map(|offset| BEGIN_NS + offset),
        1 => select(vec![i64::MIN, i64::MAX, 0, -1, BEGIN_NS, i64::MAX - 1, i64::MIN + 1]),
        1 => any::<i64>(),
    ]
}

fn length_ns() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0..5_000_000_000_i64, 1 => select(vec![i64::MIN, i64::MAX, -1, 0]), 1 => any::<i64>()]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.0..1.0_f64,
        4 => 0.0..1e10_f64,
        1 => select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, -0.0, f64::MIN_POSITIVE]),
        1 => any::<f64>(),
    ]
}

fn tid() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0..5_i64, 1 => any::<i64>()]
}

fn source() -> impl Strategy<Value = &'static str> {
    select(&["jfr", "gc_log", "latency", ""][..])
}

prop_compose! {
    fn any_span()(
        time_ns in ns(), duration_ns in length_ns(), tid in tid(), kind in words(span::ALL),
        name in select(NAMES), detail in select(DETAILS), source in source(), stack in 0..6_u32,
    ) -> (Span, [&'static str; 4]) {
        (Span { time_ns, duration_ns, tid, stack_id: StackId(stack), ..Span::default() }, [kind, name, detail, source])
    }
}

prop_compose! {
    fn any_counter()(
        time_ns in ns(), tid in prop_oneof![3 => Just(0), 1 => tid()], value in number(), name in words(counter::ALL),
        instance in select(&["", "user", "before_gc", "after_gc", "b"][..]), source in source(),
    ) -> (Counter, [&'static str; 3]) {
        (Counter { time_ns, tid, value, ..Counter::default() }, [name, instance, source])
    }
}

prop_compose! {
    fn any_sample()(
        time_ns in ns(), tid in tid(), event in words(event::ALL), weight_ns in length_ns(), size_bytes in any::<i64>(), stack in 0..6_u32,
    ) -> (Sample, &'static str) {
        (Sample { time_ns, tid, weight_ns, size_bytes, stack_id: StackId(stack), ..Sample::default() }, event)
    }
}

prop_compose! {
    fn any_recording()(
        spans in vec(any_span(), 0..120), counters in vec(any_counter(), 0..120), samples in vec(any_sample(), 0..60),
        facts in vec((select(FACTS), select(VALUES)), 0..12), roles in vec(words(role::ALL), 0..4),
        frames in vec(words(frame::ALL), 0..6),
    ) -> Recording {
        let mut recording = Recording::default();
        for ((about, key), value) in facts {
            recording.add_fact(about, key, value, "jfr");
        }
        for (tid, role) in roles.into_iter().enumerate() {
            let thread = Thread { name: recording.strings.intern("thread"), role: recording.strings.intern(role) };
            recording.threads.insert(tid as i64, thread);
        }
        let mut parent = StackId(0);
        for kind in frames {
            let frame = Frame { symbol: recording.strings.intern("a.B"), kind: recording.strings.intern(kind), ..Frame::default() };
            let frame = recording.stacks.intern_frame(frame);
            parent = recording.stacks.intern(parent, frame);
        }
        for (row, [kind, name, detail, source]) in spans {
            let [kind, name, detail, source] = [kind, name, detail, source].map(|text| recording.strings.intern(text));
            recording.spans.push(Span { kind, name, detail, source, ..row });
        }
        for (row, [name, instance, source]) in counters {
            let [name, instance, source] = [name, instance, source].map(|text| recording.strings.intern(text));
            recording.counters.push(Counter { name, instance, source, ..row });
        }
        for (row, event) in samples {
            recording.samples.push(Sample { event: recording.strings.intern(event), ..row });
        }
        recording
    }
}

fn keeps_the_rules(answer: &Explanation) -> Result<(), TestCaseError> {
    let mut sum = answer.unexplained.share;
    for cause in &answer.causes {
        prop_assert!((0.0..=1.0).contains(&cause.share), "share of {}: {}", cause.id, cause.share);
        sum += cause.share;
    }
    prop_assert!((0.0..=1.001).contains(&sum), "shares make {sum}");
    prop_assert!(answer.causes.is_sorted_by_key(|cause| cause.verdict), "not sorted");
    let mut ids: Vec<&str> = answer.causes.iter().map(|cause| cause.id.as_str()).collect();
    ids.sort_unstable();
    prop_assert!(ids.iter().copied().eq(catalog().iter().map(|cause| cause.id)), "not complete");
    prop_assert!(answer.slow.iter().all(|slow| slow.from_ns <= slow.to_ns), "slow backwards");
    Ok(())
}

/// What is asked of a recording: a slow time and a baseline, or neither.
fn asked() -> impl Strategy<Value = (Recording, Option<Recording>, Option<(i64, i64)>)> {
    let baseline = proptest::option::weighted(0.2, any_recording());
    (any_recording(), baseline, proptest::option::weighted(0.2, (ns(), ns())))
}

fn gets_a_proper_answer(seed: u64) {
    let config = ProptestConfig {
        cases: 12,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    };
    let answered = TestRunner::new(config).run(&asked(), |(recording, baseline, slow)| {
        keeps_the_rules(&explain(&recording, &ExplainOptions { slow, baseline: baseline.as_ref() }))
    });
    answered.unwrap_or_else(|failure| panic!("{failure}"));
}

// Two tests, so that they run beside each other: an answer takes more than a second.
#[test]
fn any_recording_gets_a_proper_answer() {
    gets_a_proper_answer(3);
}

#[test]
fn any_other_recording_gets_one_too() {
    gets_a_proper_answer(4);
}
