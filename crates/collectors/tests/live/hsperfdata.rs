//! The counters of real JVMs, read by the collector.

use std::collections::HashMap;
use std::time::Duration;

use fathom_collectors::{Collector, collectors};
use fathom_evidence::Recording;
use fathom_evidence::detail::{Gc, from_text};
use fathom_evidence::kinds::{counter, loss, span, subject};

use crate::jvm::{Jvm, NOBODY, is_root, javas, own_uid};
use crate::recorded::{during_turns, record};

pub(crate) fn collector(name: &str) -> &'static dyn Collector {
    collectors().iter().copied().find(|collector| collector.name() == name).unwrap()
}

/// By how much a counter rose, all instances together.
fn rise(recording: &Recording, name: &str) -> f64 {
    let mut values: HashMap<&str, (f64, f64)> = HashMap::new();
    for row in recording.counters.rows().filter(|row| recording.text(row.name) == name) {
        values.entry(recording.text(row.instance)).or_insert((row.value, row.value)).1 = row.value;
    }
    values.values().map(|(first, last)| last - first).sum()
}

#[test]
fn collections_are_counted_and_placed() {
    for java in javas() {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"] {
            let jvm = Jvm::start(&java, own_uid(), &[collector]);
            let recording = during_turns("hsperfdata", &jvm, 200, |_| {}).seen;
            let counted = rise(&recording, counter::GC_RUNS_COUNT);
            assert!(counted >= 2.0, "{collector}: {counted}");
            let runs: Vec<_> =
                recording.spans.rows().filter(|row| recording.text(row.kind) == span::COLLECTOR_RUN).collect();
            let unseen: i64 = recording
                .losses
                .rows()
                .filter(|row| recording.text(row.kind) == loss::EVENTS_LOST)
                .map(|row| row.count)
                .sum();
            assert!(
                (runs.len() as f64 + unseen as f64 - counted).abs() <= 2.0,
                "{collector}: {} of {counted}, {unseen} unseen",
                runs.len()
            );
            assert!(runs.iter().any(|run| recording.text(run.detail).contains("System.gc()")), "{collector}");
            let mut spent_ns: Vec<i64> = runs.iter().map(|run| run.duration_ns).collect();
            spent_ns.sort_unstable();
            // A run at each end of the recording may be told of that the JVM's sum does not have, or not yet.
            let whole_ns: i64 = spent_ns.iter().rev().skip(2).sum();
            let told_ns = rise(&recording, counter::GC_TIME_NS);
            assert!(whole_ns > 0 && whole_ns as f64 <= told_ns * 1.5 + 5e6, "{collector}: {spent_ns:?} of {told_ns}");
            check_pauses(&recording, collector);
            assert!(rise(&recording, counter::SAFEPOINT_TIME_NS) > 0.0);
            assert_eq!(
                recording.fact(subject::JVM, "java_arguments"),
                Some(format!("Program {}", jvm.mark()).as_str())
            );
        }
    }
}

/// The program asks for full collections.
fn check_pauses(recording: &Recording, what: &str) {
    let pauses = recording.spans.rows().filter(|row| recording.text(row.kind) == span::GC_PAUSE);
    let details: Vec<Gc> = pauses.map(|pause| from_text(recording.text(pause.detail))).collect();
    let is_asked_for = |gc: &&Gc| gc.scope.as_deref() == Some("full") && gc.cause.as_deref() == Some("System.gc()");
    let full = details.iter().find(is_asked_for).unwrap_or_else(|| panic!("{what}: {details:?}"));
    let (used, capacity) = (full.old_after_bytes.unwrap(), full.old_capacity_bytes.unwrap());
    assert!(used > 0 && used <= capacity && capacity <= 64 << 20, "{what}: {full:?}");
    assert!(details.iter().all(|gc| gc.cause.as_deref() != Some("No GC")), "{what}: {details:?}");
}

#[test]
fn what_the_jvm_was_started_with_is_masked() {
    let Some(java) = javas().pop() else { return };
    let jvm = Jvm::start(&java, own_uid(), &["-Ddb.password=hunter2"]);
    let recording = record("hsperfdata", &jvm.target(), Duration::from_millis(100));
    let arguments = recording.fact(subject::JVM, "arguments").unwrap();
    assert!(arguments.contains("-Ddb.password=[masked]"), "{arguments}");
}

#[test]
fn jvms_without_counters_are_refused_with_the_reason() {
    let Some(java) = javas().pop() else { return };
    for option in ["-XX:+PerfDisableSharedMem", "-XX:-UsePerfData"] {
        let jvm = Jvm::start(&java, own_uid(), &[option]);
        let refusal = collector("hsperfdata").check(&jvm.target()).unwrap_err();
        assert!(refusal.why.contains(option), "{refusal:?}");
    }
    if is_root() {
        let jvm = Jvm::start(&java, NOBODY, &[]);
        collector("hsperfdata").check(&jvm.target()).unwrap();
    }
}
