//! Collections are requested: `System.gc()`, a diagnostic command, a heap dump.

use std::collections::BTreeSet;

use fathom_evidence::detail::Gc;
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_timeline::{Collection, Intervals, Origin, ThreadState};

use crate::measure::collections::{SAME_PAUSE_NS, collection_of, is_full, stops};
use crate::measure::{median, system_gc};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "explicit_gc",
    readme: include_str!("README.md"),
    family: Family::Collections,
    refines: &[Refined::Family(Family::Cpu), Refined::Family(Family::Load)],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::Collections]],
    actions: &[
        "remove the caller, or -XX:+ExplicitGCInvokesConcurrent (G1), or -XX:+DisableExplicitGC (not where direct buffers need it)",
    ],
    decide,
};

/// Without a cause in the log it is unknown whether a collection was asked for.
fn not_seen(comparison: &Comparison<'_>) -> Finding {
    let (count, total_ns) = without_cause(comparison);
    if count > 0 {
        let says = format!(
            "{} paused the application for {}, and the log gives no cause for them: they may have been requested",
            format::count(count, "full GC"),
            format::time(total_ns)
        );
        return Finding::unknown(&says, "-XX:+PrintGCCause (JDK 7u40 and later)");
    }
    let cycles = cycles_asked_for(comparison);
    if cycles > 0 {
        let says = format!("{} asked for, and how long it took was not recorded", format::count(cycles, "cycle"));
        return Finding::unknown(&says, "-Xlog:gc*:file=gc.log:time,uptime,level,tags");
    }
    match comparison.has_collections() {
        true => Finding::absent("no collection was requested"),
        false => Finding::needs_gc_log(),
    }
}

/// Full collections of the slow time without a cause in the log, though the heap had room: JDK 7 and before print none.
/// Number and time in ns.
fn without_cause(comparison: &Comparison<'_>) -> (usize, f64) {
    let full = stops(comparison, is_full);
    let unexplained = comparison.slow.pauses().filter(|(pause, detail)| {
        let is_own = full
            .iter()
            .any(|(from_ns, length)| pause.time_ns.abs_diff(*from_ns) <= length.max(&SAME_PAUSE_NS).unsigned_abs());
        detail.scope.as_deref() == Some("full") && detail.cause.is_none() && is_own
    });
    unexplained.fold((0, 0.0), |(count, ns), (pause, _)| (count + 1, ns + pause.duration_ns as f64))
}

/// Requested concurrent cycles: a log may have their ends alone.
fn cycles_asked_for(comparison: &Comparison<'_>) -> usize {
    let is_meant = |cycle: &Span| {
        let detail: Gc = comparison.slow.detail(cycle);
        let is_within = !comparison.is_slow() || comparison.slow.has(cycle.time_ns, cycle.end_ns());
        is_within && detail.cause.is_some_and(|cause| Origin::of_cause(&cause) == Origin::Explicit)
    };
    comparison.sources().spans(span::GC).filter(is_meant).count()
}

fn is_explicit(collection: Collection) -> bool {
    collection.origin == Origin::Explicit
}

fn decide(comparison: &Comparison<'_>) -> Finding {
    let stops = stops(comparison, is_explicit);
    let busy = comparison.excess_threads(is_ours);
    if stops.is_empty() && busy <= 0.0 {
        return not_seen(comparison);
    }
    let total: f64 = stops.iter().map(|(_, length)| *length as f64).sum();
    let longest = stops.iter().map(|(_, length)| *length).max().unwrap_or(0);
    let beside = beside_the_application(comparison, total);
    let says = format!(
        "{} of requested collections, {} in all, the longest {}{}{}{}{}",
        format::count(stops.len(), "pause"),
        format::time(total),
        format::time(longest as f64),
        beside.as_ref().map_or("", |(_, says)| says.as_str()),
        purposes(comparison, &stops),
        by_a_clock(comparison, &stops),
        callers(comparison)
    );
    let mut finding = Finding::new(Support::Observed, says)
        .with(
            comparison
                .evidence("pauses of requested collections", (stops.len() as f64, None), "count", "spans")
                .of(&[span::GC_PAUSE]),
        )
        .with(comparison.evidence("longest of them", (longest as f64, None), "ns", "spans").of(&[span::GC_PAUSE]))
        .claiming(comparison, is_ours);
    if let Some((cores, _)) = beside {
        finding = finding.with(cores);
    }
    finding
}

/// The CPUs that the collector took for them, if they are more than all CPUs could do in the pauses: a concurrent collector
/// hardly stops the application.
fn beside_the_application(comparison: &Comparison<'_>, paused_ns: f64) -> Option<(Evidence, String)> {
    let is_beside = |state| matches!(state, ThreadState::Collector(_)) && is_ours(state);
    let cores = comparison.state_evidence("cores that the collector used for them", "cores", is_beside);
    let before = format::baseline(cores.baseline, format::number);
    let says = format!("; the collector used {} cores for them on average{before}", format::number(cores.value));
    let in_pauses = comparison.analysis.account.cpus? * paused_ns / comparison.excess().slow_ns.max(1.0);
    (cores.value > in_pauses).then_some((cores, says))
}

/// Causes of collections that come before something else, and what that is.
const PURPOSES: &[(&str, &str)] = &[
    ("Heap Dump Initiated GC", "heap dumps"),
    ("Heap Inspection Initiated GC", "class histograms"),
    ("Diagnostic Command", "diagnostic commands"),
    ("JvmtiEnv ForceGarbageCollection", "agents"),
];

/// What they were asked for, where it was not `System.gc()`.
fn purposes(comparison: &Comparison<'_>, stops: &[(i64, i64)]) -> String {
    let stopped = Intervals::union(stops.iter().map(|(from_ns, length_ns)| (*from_ns, from_ns + length_ns)).collect());
    let ours = comparison.slow.pauses().filter(|(pause, _)| stopped.touches(pause.time_ns, pause.end_ns()));
    let causes: Vec<String> = ours.filter_map(|(_, gc)| gc.cause).collect();
    let purpose = |(cause, purpose): &(&str, &str)| {
        let count = causes.iter().filter(|known| known == cause).count();
        (count > 0).then(|| format!("; {count} of them for {purpose}"))
    };
    PURPOSES.iter().filter_map(purpose).collect()
}

/// Who asked for most of them, where that was recorded.
fn callers(comparison: &Comparison<'_>) -> String {
    let calls = system_gc::by_purpose(&comparison.slow);
    let most = if calls.for_memory.len() > calls.others.len() { calls.for_memory } else { calls.others };
    system_gc::caller(comparison, &most).map_or(String::new(), |method| format!("; most requested by {method}"))
}

/// The text for collections without a cause in the log: their regular intervals show that they were requested.
fn by_a_clock(comparison: &Comparison<'_>, stops: &[(i64, i64)]) -> String {
    let is_unexplained = |gc: &Gc| gc.cause.is_none() && gc.scope.as_deref() == Some("full");
    let starts: BTreeSet<i64> = stops.iter().map(|stop| stop.0).collect();
    let clocked = comparison.slow.pauses().filter(|(pause, gc)| is_unexplained(gc) && starts.contains(&pause.time_ns));
    let clocked: Vec<(i64, i64)> = clocked.map(|(pause, _)| (pause.time_ns, pause.end_ns())).collect();
    let gaps = clocked.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].1) as f64).collect();
    let period = median(gaps).map_or(String::new(), |ns| format!(", {} after the one before", format::time(ns)));
    match clocked.len() {
        0 => String::new(),
        count => format!("; the log gives no cause of {count} of them, which came by a clock{period}"),
    }
}

fn is_ours(state: ThreadState) -> bool {
    collection_of(state).is_some_and(is_explicit)
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;

    use crate::explanation::Verdict;
    use crate::{ExplainOptions, explain};

    /// `-Xlog:gc` of ZGC has a line at the end of each cycle, and no length.
    #[test]
    fn cycles_without_a_length_acquit_nobody() {
        let verdict = |cause: &str| {
            let mut recording = Recording::default();
            for second in 0..30 {
                let detail = format!(r#"{{"gc_id":{second},"cause":"{cause}"}}"#);
                recording.add_span(second * 1_000_000_000, 0, 0, "gc", "Z", &detail, "gc_log");
            }
            let explanation = explain(&recording, &ExplainOptions::default());
            explanation.causes.iter().find(|cause| cause.id == "explicit_gc").map(|cause| cause.verdict)
        };
        assert_eq!(verdict("System.gc()"), Some(Verdict::NotEnough));
        assert_eq!(verdict("Allocation Rate"), Some(Verdict::RuledOut));
    }
}
