//! Only full collections: the old generation is full of live data, or the collector believes that
//! a young collection cannot succeed, so that every collection is a full one and frees little.

use fathom_evidence::detail::Gc;
use fathom_evidence::kinds::{counter, span, subject};
use fathom_timeline::{OLD_GENERATION_FULL, Origin, Stop, ThreadState, Wait};

use crate::measure::collections::{
    collection_of, found_no_room, full_ones_that_left, full_pauses, heap_occupancy_after, is_full, is_long,
    left_by_full_ones, of_unknown_kind, old_occupancy_after_full, stalls_evidence, stops,
};
use crate::measure::median;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "full_gc_old_generation_full",
    readme: include_str!("README.md"),
    family: Family::Collections,
    refines: &[Refined::Cause("allocation_pressure"), Refined::Family(Family::Cpu), Refined::Family(Family::Load)],
    equals: &[(&["heap_too_small"], "how full the heap is after a collection tells which of the two it was")],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::Collections]],
    actions: &[
        "a smaller young generation (-Xmn), so that the old generation always has room for all of it; or a larger heap (-Xmx)",
        "find what is retained: jcmd PID GC.class_histogram before and after",
    ],
    decide,
};

/// Full collections in a row, without a young one between them, that show that the collector has
/// given up on young collections.
const IN_A_ROW: usize = 4;

fn decide(comparison: &Comparison<'_>) -> Finding {
    if let Some(unknown) = of_unknown_kind(comparison) {
        return unknown;
    }
    let full = stops(comparison, is_full);
    if full.is_empty() {
        return without_pauses(comparison);
    }
    let occupancy = old_occupancy_after_full(comparison);
    let row = longest_row(comparison);
    // A row alone is no proof: something else may ask for full collections while there is plenty of room.
    let gave_up = row >= IN_A_ROW && room_to_promote(comparison).is_none_or(|room| room < 1.0);
    let support = match support(in_recording(comparison), occupancy, gave_up) {
        Support::Consistent if !is_long(&full) => Support::Weak,
        support => support,
    };
    let text = says(&full, occupancy, row);
    if support == Support::Absent {
        return after_some(comparison, &text);
    }
    let finding = Finding::new(support, text)
        .with(
            comparison.evidence("full collections", (full.len() as f64, None), "count", "spans").of(&[span::GC_PAUSE]),
        )
        .with(
            comparison
                .evidence("full collections in a row", (row as f64, None), "count", "spans")
                .of(&[span::GC_PAUSE]),
        )
        .with(comparison.state_evidence("threads paused for full GCs (average)", "threads", is_ours))
        .with_all(occupancy.map(|share| {
            comparison
                .evidence("old generation in use after them", (share, None), "ratio", "spans")
                .of(&[span::GC_PAUSE])
        }));
    finding.claiming(comparison, is_ours)
}

/// Where most of the full collections empty the old generation: those that leave it full are others.
fn after_some(comparison: &Comparison<'_>, text: &str) -> Finding {
    let (useless, claims) = full_ones_that_left(comparison, |share| share >= OLD_GENERATION_FULL);
    match useless {
        0 => Finding::absent(format!("{text}: the old generation is not full")),
        _ => Finding { claims, ..Finding::new(Support::Weak, format!("{text}; after {useless} of them it is full")) },
    }
}

/// Concurrent collectors do not stop the application for a full collection: when the heap is full of live data, threads
/// wait for memory instead.
fn without_pauses(comparison: &Comparison<'_>) -> Finding {
    if !comparison.has_collections() {
        return Finding::needs_gc_log();
    }
    let stalls = comparison.slow.spans(span::ALLOCATION_STALL).count();
    let Some(share) = heap_occupancy_after(comparison).filter(|share| *share >= OLD_GENERATION_FULL) else {
        return Finding::absent("no full GC caused by lack of memory in the slow period");
    };
    let text = format!(
        "heap {} in use after collections, which therefore follow each other; {} in the slow time",
        format::percent(share),
        format::count(stalls, "allocation stall")
    );
    // What is in use after young collections holds what has died in the old generation.
    let (support, text) = match stalls {
        0 if stops_for_full_ones(comparison) && (!found_no_room(comparison) || frees_much(comparison)) => {
            (Support::Weak, format!("{text}; how much of that lives only a full GC would tell"))
        }
        0 => (Support::Consistent, text),
        _ => (Support::Observed, text),
    };
    Finding::new(support, text)
        .with(stalls_evidence(comparison, stalls))
        .with(
            comparison
                .evidence("heap in use after collections", (share, None), "ratio", "counters")
                .of(&[counter::HEAP_USED_BYTES]),
        )
        .claiming(comparison, |state| match state {
            ThreadState::Collector(collection) | ThreadState::Stopped(Stop::Collection(collection)) => {
                collection.origin == Origin::Allocation
            }
            state => state == ThreadState::Blocked(Wait::AllocationStall),
        })
}

/// Whether the collector is one that stops the application for a full collection when the old generation is full.
fn stops_for_full_ones(comparison: &Comparison<'_>) -> bool {
    let collector = comparison.recording().fact(subject::GC, "collector").unwrap_or("");
    ["Serial", "Parallel", "CMS", "G1"].contains(&collector)
}

/// Whether full ones of another time freed much: what filled the old generation then had died.
fn frees_much(comparison: &Comparison<'_>) -> bool {
    left_by_full_ones(comparison).is_some_and(|left| left < OLD_GENERATION_FULL)
}

fn support(count: usize, occupancy: Option<f64>, gave_up: bool) -> Support {
    match occupancy {
        Some(share) if share >= OLD_GENERATION_FULL && count > 1 => Support::Observed,
        _ if gave_up => Support::Observed,
        Some(share) if share >= OLD_GENERATION_FULL => Support::Consistent,
        Some(_) => Support::Absent,
        None => Support::Weak,
    }
}

/// Full collections of the whole recording: a full old generation is a state, whichever of them is asked about.
fn in_recording(comparison: &Comparison<'_>) -> usize {
    let stops = comparison.analysis.account.stops.iter();
    stops.filter(|stop| matches!(stop.stop, Stop::Collection(collection) if is_full(collection))).count()
}

/// The longest row of full collections without an ordinary one between them that has one in the
/// slow time. That the collector has given up on young collections is a state of the recording,
/// whichever seconds of it were slow.
fn longest_row(comparison: &Comparison<'_>) -> usize {
    let mut longest = 0;
    let mut row = 0;
    let mut is_slow = false;
    for stop in &comparison.analysis.account.stops {
        match stop.stop {
            Stop::Collection(collection) if is_full(collection) => {
                row += 1;
                is_slow |= comparison.slow.time.contains(stop.from_ns);
            }
            Stop::Collection(_) => (row, is_slow) = (0, false),
            _ => {}
        }
        longest = if is_slow { longest.max(row) } else { longest };
    }
    longest
}

fn is_ours(state: ThreadState) -> bool {
    collection_of(state).is_some_and(is_full)
}

fn says(full: &[(i64, i64)], occupancy: Option<f64>, row: usize) -> String {
    let total: f64 = full.iter().map(|(_, length)| *length as f64).sum();
    let longest = full.iter().map(|(_, length)| *length).max().unwrap_or(0);
    let mut text = format!(
        "{} paused the application for {} in all, the longest {}",
        format::count(full.len(), "full GC"),
        format::time(total),
        format::time(longest as f64)
    );
    if row >= IN_A_ROW {
        text += &format!("; {row} in a row without a young one between them");
    }
    if let Some(share) = occupancy {
        text += &format!("; old generation {} in use after them", format::percent(share));
    }
    text
}

/// Room in the old generation after the full collections of the slow time for what a young collection might have to move
/// there, as a multiple of it: the median. Below 1 a young collection may not be tried at all. If generations are not
/// reported separately, the heap's free part has to hold all that was in use before: no young collection moves more.
fn room_to_promote(comparison: &Comparison<'_>) -> Option<f64> {
    let of_old = |detail: &Gc| {
        let free = detail.old_capacity_bytes?.saturating_sub(detail.old_after_bytes?);
        Some((free, detail.heap_before_bytes?.saturating_sub(detail.old_before_bytes?)))
    };
    let of_heap = |detail: &Gc| {
        let free = detail.heap_committed_bytes?.saturating_sub(detail.heap_after_bytes?);
        Some((free, detail.heap_before_bytes?))
    };
    let room = full_pauses(comparison).filter_map(|(_, detail)| {
        let (free, young) = of_old(&detail).or_else(|| of_heap(&detail))?;
        (young > 0).then(|| free as f64 / young as f64)
    });
    median(room.collect())
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::kinds::{span, subject};

    use crate::explanation::Verdict;
    use crate::{ExplainOptions, explain};

    /// A young pause of 600 ms that leaves the heap full, and what the collector says of it.
    #[test]
    fn a_heap_that_is_full_after_young_collections_is_proof_where_they_found_no_room() {
        let verdict = |trouble: &str| {
            let mut recording = Recording::default();
            recording.add_fact(subject::GC, "collector", "G1", "gc_log");
            let mut pause = |from_ns, length_ns, after| {
                let sizes = format!(r#""heap_before_bytes":3038000000,"heap_after_bytes":{after}"#);
                let detail = format!(r#"{{"scope":"young",{sizes},"heap_committed_bytes":3072000000}}"#);
                recording.add_span(from_ns, length_ns, 0, span::GC_PAUSE, "G1New", &detail, "gc_log");
            };
            (0..50).for_each(|second| pause(2_000_000_000 * second, 10_000_000, 1_000_000_000_i64));
            pause(101_200_000_000, 600_000_000, 3_000_000_000);
            if !trouble.is_empty() {
                recording.add_log(101_800_000_000, "gc_log", "warning", "gc_trouble", trouble);
            }
            let explanation = explain(&recording, &ExplainOptions::default());
            explanation.causes.iter().find(|cause| cause.id == super::CAUSE.id).map(|cause| cause.verdict)
        };
        assert_eq!(verdict(""), Some(Verdict::Possible));
        assert_eq!(verdict("to-space exhausted"), Some(Verdict::Likely));
    }

    /// A young pause of 600 ms that found no room and leaves the heap full, a day after full collections that left so much of the old
    /// generation.
    fn verdicts_after(left: i64) -> [Option<Verdict>; 2] {
        let mut recording = Recording::default();
        recording.add_fact(subject::GC, "collector", "Parallel", "gc_log");
        let mut pause = |from_ns, length_ns, scope: &str, after: i64, old: i64| {
            let old =
                format!(r#""old_before_bytes":2780000000,"old_after_bytes":{old},"old_capacity_bytes":2800000000"#);
            let sizes = format!(r#""heap_before_bytes":4125000000,"heap_after_bytes":{after},{old}"#);
            let detail = format!(r#"{{"scope":"{scope}",{sizes},"heap_committed_bytes":4150000000}}"#);
            recording.add_span(from_ns, length_ns, 0, span::GC_PAUSE, "PS", &detail, "gc_log");
        };
        pause(0, 20_000_000, "full", left, left);
        (1..50).for_each(|minute| pause(60_000_000_000 * minute, 10_000_000, "young", 2_790_000_000, 2_780_000_000));
        pause(3_000_200_000_000, 600_000_000, "young", 4_150_000_000, 2_790_000_000);
        recording.add_log(3_000_800_000_000, "gc_log", "warning", "gc_trouble", "promotion failed");
        let explanation = explain(&recording, &ExplainOptions::default());
        let of = |id: &str| explanation.causes.iter().find(|cause| cause.id == id).map(|cause| cause.verdict);
        ["heap_too_small", super::CAUSE.id].map(of)
    }

    #[test]
    fn full_collections_of_another_time_tell_whether_what_fills_the_heap_lives() {
        assert_eq!(verdicts_after(1_200_000_000), [Some(Verdict::Likely), Some(Verdict::Possible)]);
        assert_eq!(verdicts_after(2_700_000_000)[1], Some(Verdict::Likely));
    }
}
