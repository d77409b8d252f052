//! Probes of real JVMs without attaching, compared with what the JVM writes into its log.

use std::os::unix::fs::FileExt;
use std::path::Path;

use fathom_collectors::Target;
use fathom_evidence::Recording;
use fathom_evidence::detail::{Gc, Safepoint, from_text};
use fathom_evidence::kinds::{counter, span, subject};
use fathom_evidence::tables::Span;

use crate::hsperfdata::collector;
use crate::jvm::{Jvm, is_root, javas, own_uid};
use crate::jvms::listed;
use crate::recorded::{during_turns, outcome_until};

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

/// Clocks agree to much less. Medians, because the JVM may lose its CPU between its own stamp and a probe.
const MEDIAN_NS: i64 = 20_000_000;
/// Of those seen, so many of ten must stand in the log in the same order: the first and the last may be cut.
const MOST_OF_TEN: usize = 9;

/// What is further apart is not the same. Collections come each tenth of a second: one pair more is not worth that all others are of
/// neighbours.
const FAR_NS: i64 = 1_000_000_000;

/// Pairs of events that agree, in the order of both, as many and as near to each other as can be.
fn in_order<'a, A, B>(
    seen: &'a [A],
    log: &'a [B],
    agree: impl Fn(&A, &B) -> bool,
    apart_ns: impl Fn(&A, &B) -> i64,
) -> Vec<(&'a A, &'a B)> {
    let worth = |one: &A, other: &B| if agree(one, other) { (FAR_NS - apart_ns(one, other).abs()).max(0) } else { 0 };
    let mut best = vec![vec![0_i64; log.len() + 1]; seen.len() + 1];
    for (i, one) in seen.iter().enumerate().rev() {
        for (j, other) in log.iter().enumerate().rev() {
            let both = best[i + 1][j + 1] + worth(one, other);
            best[i][j] = both.max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < seen.len() && j < log.len() {
        if best[i][j] == best[i][j + 1] {
            j += 1;
        } else if best[i][j] == best[i + 1][j] {
            i += 1;
        } else {
            pairs.push((&seen[i], &log[j]));
            (i, j) = (i + 1, j + 1);
        }
    }
    pairs
}

fn check_most<A, B>(pairs: &[(&A, &B)], seen: usize, what: &str) {
    assert!(seen >= 10 && pairs.len() * 10 >= seen * MOST_OF_TEN, "{what}: {} of {seen} stand in the log", pairs.len());
}

/// That two numbers of each pair are much the same.
fn check_median<A, B>(pairs: &[(&A, &B)], difference_ns: impl Fn(&A, &B) -> i64, what: &str) {
    let mut differences_ns: Vec<i64> = pairs.iter().map(|(seen, log)| difference_ns(seen, log).abs()).collect();
    differences_ns.sort_unstable();
    assert!(differences_ns[differences_ns.len() / 2] < MEDIAN_NS, "{what}: {differences_ns:?}");
}

/// Young and full collections; the log knows more kinds of pauses.
fn collections(recording: &Recording) -> Vec<(Span, Gc)> {
    let pauses = spans(recording, span::GC_PAUSE).into_iter();
    let pauses = pauses.map(|pause| (pause, from_text::<Gc>(recording.text(pause.detail))));
    pauses.filter(|(_, gc)| gc.scope.as_deref().is_some_and(|scope| matches!(scope, "full" | "young"))).collect()
}

fn check_pauses(seen: &Recording, log: &Recording, what: &str) {
    let (seen, log) = (collections(seen), collections(log));
    let apart_ns = |(seen, _): &(Span, Gc), (log, _): &(Span, Gc)| seen.end_ns() - log.end_ns();
    let pairs = in_order(&seen, &log, |(_, seen), (_, log)| is_same(seen, log), apart_ns);
    check_most(&pairs, seen.len(), &format!("pauses, {what}"));
    check_median(&pairs, apart_ns, &format!("ends of pauses, {what}"));
}

/// Whether it is the same collection.
fn is_same(seen: &Gc, log: &Gc) -> bool {
    let near = |a: Option<u64>, b: Option<u64>| a.zip(b).is_none_or(|(a, b)| a.abs_diff(b) <= 2 << 20);
    seen.cause == log.cause && seen.scope == log.scope && near(seen.heap_after_bytes, log.heap_after_bytes)
}

struct Stop {
    name: String,
    end_ns: i64,
    duration_ns: i64,
    to_safepoint_ns: i64,
}

fn stops(recording: &Recording) -> Vec<Stop> {
    let told = |stop: Span| Stop {
        name: recording.text(stop.name).to_owned(),
        end_ns: stop.end_ns(),
        duration_ns: stop.duration_ns,
        to_safepoint_ns: from_text::<Safepoint>(recording.text(stop.detail)).time_to_safepoint_ns.unwrap() as i64,
    };
    spans(recording, span::SAFEPOINT).into_iter().map(told).collect()
}

fn check_safepoints(seen: &Recording, log: &Recording, what: &str) {
    let (seen, log) = (stops(seen), stops(log));
    let apart_ns = |seen: &Stop, log: &Stop| seen.end_ns - log.end_ns;
    let pairs = in_order(&seen, &log, |seen, log| seen.name == log.name, apart_ns);
    let what = format!("stops, {what}");
    check_most(&pairs, seen.len(), &what);
    check_median(&pairs, apart_ns, &what);
    check_median(&pairs, |seen, log| seen.duration_ns - log.duration_ns, &what);
    check_median(&pairs, |seen, log| seen.to_safepoint_ns - log.to_safepoint_ns, &what);
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
            let seen = during_turns("jvm_probes", &jvm, 300, |_| {}).seen;
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
        let mut first = None;
        let is_enough = || jvm.turns() >= *first.get_or_insert_with(|| jvm.turns()) + 60;
        let seen = outcome_until("jvm_probes", &inside, |_| {}, is_enough).seen;
        assert!(!spans(&seen, span::GC_PAUSE).is_empty(), "{}", java.display());
    }
}

#[test]
fn a_process_that_is_no_jvm_is_refused() {
    let refusal = collector("jvm_probes").check(&Target::of(std::process::id()).unwrap()).unwrap_err();
    assert!(refusal.why.contains("no JVM") || refusal.why.contains("CAP_"), "{refusal:?}");
}

/// The code of libjvm as it is in the memory of a process.
fn code_of_libjvm(pid: u32) -> Vec<u8> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let is_code = |line: &&str| line.ends_with("libjvm.so") && line.contains(" r-xp ");
    let (from, to) = maps.lines().find(is_code).unwrap().split_once(' ').unwrap().0.split_once('-').unwrap();
    let [from, to] = [from, to].map(|text| u64::from_str_radix(text, 16).unwrap());
    let mut code = vec![0; (to - from) as usize];
    std::fs::File::open(format!("/proc/{pid}/mem")).unwrap().read_exact_at(&mut code, from).unwrap();
    code
}

#[test]
fn no_breakpoint_is_left_in_the_process() {
    const RECORDINGS: usize = 10;
    let Some(java) = javas().into_iter().next() else { return };
    let jvm = Jvm::start(&java, own_uid(), &["-XX:+UseSerialGC"]);
    let target = jvm.target();
    if !can_follow(&target) {
        return;
    }
    let before = code_of_libjvm(jvm.pid());
    let changed = || before.iter().zip(code_of_libjvm(jvm.pid())).filter(|(before, now)| *before != now).count();
    for _ in 0..RECORDINGS {
        let (first, mut most) = (jvm.turns(), 0);
        let is_enough = || {
            most = most.max(changed());
            jvm.turns() >= first + 10
        };
        outcome_until("jvm_probes", &target, |_| {}, is_enough);
        assert!(most > 0, "probes are breakpoints");
        assert_eq!(changed(), 0);
    }
}
