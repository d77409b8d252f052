//! Probes of real JVMs that nobody attaches to, against what the JVM writes into its log.

use std::path::Path;
use std::time::Duration;

use fathom_collectors::Target;
use fathom_evidence::Recording;
use fathom_evidence::detail::{Gc, Safepoint, from_text};
use fathom_evidence::kinds::{counter, span, subject};
use fathom_evidence::tables::Span;

use crate::hsperfdata::collector;
use crate::jvm::{Jvm, is_root, javas, own_uid};
use crate::jvms::listed;
use crate::recorded::record;

/// Whether probes can be set here; says so loudly if not.
fn can_follow(target: &Target) -> bool {
    match collector("jvm_probes").check(target) {
        Ok(()) => true,
        Err(refusal) => {
            println!("SKIPPED: {}", refusal.why);
            false
        }
    }
}

fn spans(recording: &Recording, kind: &str) -> Vec<Span> {
    recording.spans.rows().filter(|row| recording.text(row.kind) == kind).collect()
}

/// Those of the log that lie within the recording by a margin.
fn logged(log: &Recording, kind: &str, within: (i64, i64)) -> Vec<Span> {
    spans(log, kind).into_iter().filter(|span| span.time_ns > within.0 && span.end_ns() < within.1).collect()
}

/// Clocks agree to much less.
const SLACK_NS: i64 = 20_000_000;
/// The JVM writes its log, and the time into it, when it has a CPU.
const LATE_NS: i64 = 500_000_000;
/// Where other work takes the CPU between the JVM's own stamp and a probe, a length differs.
const MOST_OF_TEN: usize = 8;

fn check_pauses(seen_in: &Recording, log: &Recording, what: &str) {
    let pauses = spans(seen_in, span::GC_PAUSE);
    let (first, last) = (pauses[0].time_ns, pauses[pauses.len() - 1].end_ns());
    let expected = logged(log, span::GC_PAUSE, (first + 50_000_000, last - 50_000_000));
    assert!(expected.len() >= 5, "{what}: {} in the log", expected.len());
    let is_seen = |pause: &&Span| {
        let wanted: Gc = from_text(log.text(pause.detail));
        let near = pauses.iter().filter(|seen| (-LATE_NS..SLACK_NS).contains(&(seen.time_ns - pause.time_ns)));
        near.map(|seen| from_text(seen_in.text(seen.detail))).any(|told: Gc| agrees(&told, &wanted))
    };
    let (found, all) = (expected.iter().filter(is_seen).count(), expected.len());
    assert!(found * 10 >= all * MOST_OF_TEN, "{what}: {found} of {all} pauses");
}

/// Whether it is the same collection. The log knows more kinds of pauses than young and full.
fn agrees(told: &Gc, wanted: &Gc) -> bool {
    let near = |a: Option<u64>, b: Option<u64>| a.zip(b).is_none_or(|(a, b)| a.abs_diff(b) <= 2 << 20);
    let is_known = wanted.scope.as_deref().is_some_and(|scope| matches!(scope, "full" | "young"));
    told.cause == wanted.cause
        && (!is_known || told.scope == wanted.scope && near(told.heap_after_bytes, wanted.heap_after_bytes))
}

fn check_safepoints(seen: &Recording, log: &Recording, what: &str) {
    let stops = spans(seen, span::SAFEPOINT);
    let (first, last) = (stops[0].time_ns, stops[stops.len() - 1].end_ns());
    let expected = logged(log, span::SAFEPOINT, (first + 50_000_000, last - 50_000_000));
    assert!(expected.len() >= 5, "{what}: {} in the log", expected.len());
    let told = |recording: &Recording, stop: &Span| {
        let detail: Safepoint = from_text(recording.text(stop.detail));
        (recording.text(stop.name).to_owned(), stop.duration_ns, detail.time_to_safepoint_ns.unwrap() as i64)
    };
    let is_seen = |stop: &&Span| {
        let (name, duration_ns, wait_ns) = told(log, stop);
        let near = stops.iter().filter(|seen| (-LATE_NS..SLACK_NS).contains(&(seen.end_ns() - stop.end_ns())));
        let mut near = near.map(|seen_stop| told(seen, seen_stop));
        near.any(|(near, near_duration_ns, near_wait_ns)| {
            near == name
                && (near_duration_ns - duration_ns).abs() < SLACK_NS
                && (near_wait_ns - wait_ns).abs() < SLACK_NS
        })
    };
    let (found, all) = (expected.iter().filter(is_seen).count(), expected.len());
    assert!(found * 10 >= all * MOST_OF_TEN, "{what}: {found} of {all} stops");
}

fn log_of(jvm: &Jvm) -> Recording {
    let file = Path::new(jvm.mark()).join("gc.log");
    fathom_readers::load_file(&file, &fathom_readers::LoadOptions::default()).unwrap()
}

#[test]
fn collections_and_safepoints_are_those_of_the_log() {
    for java in javas() {
        for flag in ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"] {
            let what = format!("{} {flag}", java.display());
            let log = "-Xlog:gc*,safepoint*:file=gc.log:time,uptimenanos,level,tags:filecount=0";
            let jvm = Jvm::start(&java, own_uid(), &[flag, log, "-XX:+DisableAttachMechanism"]);
            if !can_follow(&jvm.target()) {
                return;
            }
            let seen = record("jvm_probes", &jvm.target(), Duration::from_millis(2_500));
            let log = log_of(&jvm);
            check_pauses(&seen, &log, &what);
            check_safepoints(&seen, &log, &what);
            let names = [counter::HEAP_USED_BYTES, counter::OLD_USED_BYTES, counter::CODE_CACHE_USED_BYTES];
            for name in names {
                assert!(seen.counters.rows().any(|row| seen.text(row.name) == name), "{what}: {name}");
            }
            let traps: u64 = seen.fact(subject::RECORDING, "jvm_probes_traps").unwrap().parse().unwrap();
            assert!(traps > 100, "{what}: {traps}");
            assert!(seen.losses.rows().len() == 0, "{what}");
        }
    }
}

#[test]
fn a_jvm_in_a_container_is_followed_by_its_file() {
    if !is_root() {
        return;
    }
    for java in javas() {
        let jvm = Jvm::start_inside(&java);
        let inside = listed(&jvm).target;
        if !can_follow(&inside) {
            return;
        }
        let seen = record("jvm_probes", &inside, Duration::from_millis(1_000));
        assert!(!spans(&seen, span::GC_PAUSE).is_empty(), "{}", java.display());
    }
}

#[test]
fn a_process_that_is_no_jvm_is_refused() {
    let refusal = collector("jvm_probes").check(&Target::of(std::process::id()).unwrap()).unwrap_err();
    assert!(refusal.why.contains("no JVM") || refusal.why.contains("CAP_"), "{refusal:?}");
}
