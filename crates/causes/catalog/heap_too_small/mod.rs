//! Collections for lack of memory that a larger heap would avoid: full ones that free much, because medium-lived objects
//! had no room, or ordinary ones in quick succession, because live data leave little room between them.

mod room;

use std::collections::BTreeMap;

use fathom_evidence::detail::Gc;
use fathom_evidence::kinds::{span, subject};
use fathom_evidence::tables::Span;
use fathom_timeline::{OLD_GENERATION_FULL, Stop, ThreadState};

use crate::measure::collections::{
    CROWDED, Eras, HEAVY, MET_BY_FEW, MIN_FOR_RATE, MIN_RATE_RATIO, allocation_rate, are_noticed, collection_of,
    found_no_room, full_ones_that_left, full_pauses, heap_occupancy_after, is_full, is_long, is_ordinary,
    left_by_full_ones, of_unknown_kind, old_occupancy_after_full, ordinary_share, stops,
};
use crate::measure::median;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};
use room::{filled_before_full, may_grow, young_of_free};

pub(crate) static CAUSE: Cause = Cause {
    id: "heap_too_small",
    readme: include_str!("README.md"),
    family: Family::Collections,
    refines: &[Refined::Cause("allocation_pressure"), Refined::Family(Family::Load), Refined::Family(Family::Cpu)],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::Collections]],
    actions: &[
        "a larger heap (-Xmx), so that objects that live for a while die before the old generation is full",
        "start collecting earlier: -XX:InitiatingHeapOccupancyPercent of G1, CMSInitiatingOccupancyFraction of CMS",
        "G1 puts objects of half a region and more straight into the old generation: a larger -XX:G1HeapRegionSize",
    ],
    decide,
};

/// A collection for lack of memory has this much of the heap, or of its old generation, in use before. With less in use the
/// reason was not a lack of room.
const FILLED: f64 = 0.7;

fn decide(comparison: &Comparison<'_>) -> Finding {
    if let Some(unknown) = of_unknown_kind(comparison) {
        return unknown;
    }
    let full = stops(comparison, is_full);
    if full.is_empty() {
        return if comparison.has_collections() { ordinary(comparison) } else { Finding::needs_gc_log() };
    }
    let longest = full.iter().map(|(_, length)| *length).max().unwrap_or(0);
    let text = format!(
        "{} caused by lack of memory ({}) paused the application for {} in all, the longest {}",
        format::count(full.len(), "full GC"),
        causes(comparison),
        format::time(total_ns(&full)),
        format::time(longest as f64)
    );
    let Some(share) = old_occupancy_after_full(comparison) else {
        return Finding::unknown(
            &format!("{text}; what was in use after them was not recorded"),
            "-Xlog:gc*:file=gc.log:time,uptime,level,tags",
        );
    };
    let text = format!("{text}; old generation {} in use after them", format::percent(share));
    if share >= OLD_GENERATION_FULL {
        let says = format!("{text}: they free too little for a little more room to help");
        // Between them ordinary ones may follow each other in what room there is.
        return Some(ordinary(comparison))
            .filter(|others| others.support < Support::Absent)
            .unwrap_or_else(|| beside_useless_ones(comparison, &says));
    }
    let Some(filled) = filled_before_full(comparison) else {
        let says = format!("{text}; what was in use before them was not recorded");
        return Finding::unknown(&says, "-Xlog:gc*:file=gc.log:time,uptime,level,tags");
    };
    let failed = failures(comparison);
    if filled < FILLED && failed == 0 && !is_said_to_lack_memory(comparison) {
        return Finding::absent(format!("{text}, and the heap was not full before them"));
    }
    // The lifetimes of objects were not recorded. The collections were seen; that more room would avoid them is concluded.
    let (often_enough, often) = match failed > 0 && is_long(&full) {
        true => (Support::Consistent, format!("; {} had no room to finish", format::count(failed, "collection"))),
        false => how_often(comparison, &full, is_no_chance(comparison, full.len(), filled)),
    };
    let others = ordinary(comparison);
    let support = often_enough.min(others.support);
    let text = format!("{text}: what filled it had died{often}");
    let mut finding = Finding::new(support, text)
        .with(
            comparison.evidence("full collections", (full.len() as f64, None), "count", "spans").of(&[span::GC_PAUSE]),
        )
        .with(
            comparison
                .evidence("old generation in use after them", (share, None), "ratio", "spans")
                .of(&[span::GC_PAUSE]),
        )
        .with(comparison.state_evidence("stopped by full collections", "threads", is_ours))
        .claiming(comparison, is_ours);
    if others.support <= support {
        finding.says += &format!("; {}", others.says);
        finding.claims.extend(others.claims);
        finding = finding.with_all(others.evidence);
    }
    finding
}

/// Whether most of the full collections came for lack of memory in the collector's own words. It asks whether the old generation can take
/// what will be promoted, so that the heap as a whole need not be full.
fn is_said_to_lack_memory(comparison: &Comparison<'_>) -> bool {
    let (said, all) = full_pauses(comparison).fold((0, 0), |(said, all), (_, detail)| {
        (said + usize::from(detail.cause.is_some_and(|cause| !cause.is_empty())), all + 1)
    });
    2 * said > all
}

/// Where most of the full collections free next to nothing: those that freed what filled the old generation are others.
fn beside_useless_ones(comparison: &Comparison<'_>, says: &str) -> Finding {
    let (useful, claims) = full_ones_that_left(comparison, |share| share < OLD_GENERATION_FULL);
    let is_filled = filled_before_full(comparison).is_some_and(|filled| filled >= FILLED);
    match useful > 0 && is_filled {
        true => Finding { claims, ..Finding::new(Support::Weak, format!("{says}; but {useful} of them freed more")) },
        false => Finding::absent(says),
    }
}

/// How many collections of the slow time failed for lack of room: their log says so, or the collector is concurrent, so
/// that a full collection for lack of memory means that it was late. One without a printed cause may have been requested.
fn failures(comparison: &Comparison<'_>) -> usize {
    let is_late = |detail: &Gc| {
        let is_last_resort = |name: &str| ["SerialOld", "G1Full", "Shenandoah"].contains(&name);
        detail.collector.as_deref().is_some_and(is_last_resort) && works_beside(comparison)
    };
    let is_failure = |(_, detail): &(Span, Gc)| match detail.cause.as_deref() {
        Some(cause) => FAILURES.iter().any(|failure| cause.contains(failure)) || is_late(detail),
        None => is_late(detail) && (found_nothing_free(detail) || is_never_asked_for(detail)),
    };
    full_pauses(comparison).filter(is_failure).count()
}

/// Whether full collections of a collector are its last resort only: Shenandoah runs requested ones concurrently, unless
/// -XX:-ExplicitGCInvokesConcurrent is set.
fn is_never_asked_for(detail: &Gc) -> bool {
    detail.collector.as_deref() == Some("Shenandoah")
}

/// Whether nothing had been allocated since the collection before, in a heap that is filled: that one had found no room. Who asks
/// for a collection does so at any time.
fn found_nothing_free(detail: &Gc) -> bool {
    let filled = detail.heap_before_bytes.zip(detail.heap_committed_bytes);
    let besides_old = || detail.heap_before_bytes?.checked_sub(detail.old_before_bytes?);
    detail.young_before_bytes.or_else(besides_old) == Some(0)
        && filled.is_some_and(|(used, size)| used as f64 >= FILLED * size as f64)
}

/// Whether the collector is a concurrent one.
fn works_beside(comparison: &Comparison<'_>) -> bool {
    let collector = comparison.recording().fact(subject::GC, "collector").unwrap_or("");
    ["CMS", "G1", "Shenandoah"].contains(&collector)
}

/// What logs of CMS and Parallel give as the cause of a collection that had no room to finish.
const FAILURES: &[&str] = &["concurrent mode failure", "promotion failed"];

/// Full collections that come once in this many ns, or fewer than [`MIN_FOR_RATE`], may be those of an hour with more to
/// do: more room would make them rarer still, but they do not show that room is lacking. One that users notice by itself is
/// what was slow then, however rare it is. A heap that grows becomes larger by itself.
const RARE_NS: f64 = 600e9;

/// How sure full collections make it by how often they come, and what is said of that; `is_no_chance`: whether it was lack of room that brought them.
fn how_often(comparison: &Comparison<'_>, full: &[(i64, i64)], is_no_chance: bool) -> (Support, String) {
    let gaps = full.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0) as f64).collect();
    let grid = comparison.sources().grid;
    let by_itself =
        if is_no_chance && is_long(full) && !may_grow(comparison) { Support::Consistent } else { Support::Weak };
    let of_all = total_ns(full) / grid.end_ns().saturating_sub(grid.start_ns).max(1) as f64;
    match median(gaps).filter(|_| full.len() >= MIN_FOR_RATE) {
        _ if full.len() > 1 && of_all >= HEAVY => {
            (Support::Consistent, format!("; they take {} of all recorded time", format::percent(of_all)))
        }
        Some(gap_ns) if stopped_share(full) < MET_BY_FEW && !are_noticed(comparison, full) => (
            Support::Weak,
            format!(", one each {}; fewer than one request in a hundred meets one", format::time(gap_ns)),
        ),
        Some(gap_ns) if gap_ns < RARE_NS => (Support::Consistent, format!(", one each {}", format::time(gap_ns))),
        Some(gap_ns) => (by_itself, format!("; they are rare, one each {}", format::time(gap_ns))),
        None => (by_itself, "; there were no more of them to tell how often they come".to_owned()),
    }
}

/// Whether there was hardly any room before full collections, and not by chance: who asks for one without a word does so at any time.
fn is_no_chance(comparison: &Comparison<'_>, count: usize, filled: f64) -> bool {
    filled >= OLD_GENERATION_FULL && (count > 1 || is_said_to_lack_memory(comparison))
}

/// The part of the time from the first to the last of some stops (beginning and length, in order) that they take.
fn stopped_share(stops: &[(i64, i64)]) -> f64 {
    let ends = stops.first().zip(stops.last());
    let lasts_ns = ends.map_or(0, |(first, last)| last.0.saturating_add(last.1).saturating_sub(first.0));
    total_ns(stops) / lasts_ns.max(1) as f64
}

fn total_ns(stops: &[(i64, i64)]) -> f64 {
    stops.iter().map(|(_, length_ns)| *length_ns as f64).sum()
}

/// A young generation that is less than this part of what is free is collected although there is room: its size brings the
/// collections, and a larger heap alone need not change that.
const USES_ROOM: f64 = 0.5;

/// Young and concurrent collections only: too many, in a heap that what lives nearly fills.
fn ordinary(comparison: &Comparison<'_>) -> Finding {
    let eras = Eras::of(comparison);
    let stopped = ordinary_share(comparison, &eras.slow);
    let occupied = heap_occupancy_after(comparison);
    let is_full = occupied.is_some_and(|occupied| occupied >= OLD_GENERATION_FULL);
    if stopped < HEAVY && !is_full {
        return Finding::absent(
            "no full GC caused by lack of memory in the slow period, and other GCs take little of it",
        );
    }
    let Some(occupied) = occupied else {
        let says = "what was in use after collections was not recorded";
        return Finding::unknown(says, "-Xlog:gc*:file=gc.log:time,uptime,level,tags");
    };
    let text = format!(
        "young and concurrent GCs paused the application for {} of the time; {} of the heap is in use after them",
        format::percent(stopped),
        format::percent(occupied)
    );
    if occupied < CROWDED {
        return Finding::absent(format!("{text}: there is room"));
    }
    if is_full && full_pauses(comparison).next().is_some() {
        return Finding::absent(format!("{text}: they free too little for a little more room to help"));
    }
    if is_full {
        let (support, says) = of_a_full_heap(comparison);
        return ordinary_finding(comparison, support, text + &says, occupied);
    }
    let rate = eras.both(|period| allocation_rate(period).unwrap_or(0.0));
    let degenerated = degenerated(comparison);
    if degenerated > 0 {
        let says = format!(
            "{text}; {} ran out of room before the end and went on with the application stopped",
            format::count(degenerated, "concurrent cycle")
        );
        return ordinary_finding(comparison, Support::Consistent, says, occupied);
    }
    if let Some(part) = young_of_free(comparison).filter(|part| *part < USES_ROOM) {
        let says =
            format!("{text}, but young collections come when {} of the free memory is used", format::percent(part));
        return ordinary_finding(comparison, Support::Weak, says, occupied);
    }
    if may_grow(comparison) {
        let says = format!("{text} as large as it was then; how large it may become was not recorded");
        return ordinary_finding(comparison, Support::Weak, says, occupied);
    }
    let grew = rate.1.is_some_and(|baseline| baseline > 0.0 && rate.0 >= MIN_RATE_RATIO * baseline);
    ordinary_finding(comparison, if grew { Support::Weak } else { Support::Consistent }, text, occupied)
}

/// How sure a heap that is full after young collections makes it: what lives full ones tell, also those of another time.
fn of_a_full_heap(comparison: &Comparison<'_>) -> (Support, String) {
    match left_by_full_ones(comparison).filter(|left| *left < OLD_GENERATION_FULL) {
        Some(left) if found_no_room(comparison) => {
            let left = format::percent(left);
            (
                Support::Consistent,
                format!("; full ones of another time left {left} of the old generation: what fills it dies"),
            )
        }
        _ => (Support::Weak, "; how much of that lives only a full GC would tell".to_owned()),
    }
}

/// Concurrent cycles that were not done when the room for new objects was used up: whatever the allocation rate, there was
/// less room than a cycle takes.
fn degenerated(comparison: &Comparison<'_>) -> usize {
    comparison.slow.pauses().filter(|(_, detail)| detail.scope.as_deref() == Some("degenerated")).count()
}

fn ordinary_finding(comparison: &Comparison<'_>, support: Support, says: String, occupied: f64) -> Finding {
    Finding::new(support, says)
        .with(
            comparison
                .evidence("heap in use after collections", (occupied, None), "ratio", "spans")
                .of(&[span::GC_PAUSE]),
        )
        .with(comparison.state_evidence(
            "threads blocked by young and concurrent GC (average)",
            "threads",
            is_of_ordinary,
        ))
        .claiming(comparison, is_of_ordinary)
}

fn is_of_ordinary(state: ThreadState) -> bool {
    collection_of(state).is_some_and(is_ordinary)
}

/// The work of full collections; a collector that waits for a CPU or a disk does so for another reason.
fn is_ours(state: ThreadState) -> bool {
    matches!(state, ThreadState::Stopped(Stop::Collection(collection)) | ThreadState::Collector(collection) if is_full(collection))
}

/// Why they came, in the collector's own words: the most frequent.
fn causes(comparison: &Comparison<'_>) -> String {
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for (_, detail) in full_pauses(comparison) {
        *causes.entry(detail.cause.unwrap_or_default()).or_default() += 1;
    }
    let most = causes.into_iter().filter(|(cause, _)| !cause.is_empty()).max_by_key(|(_, count)| *count);
    most.map_or_else(|| "without a cause".to_owned(), |(cause, _)| cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_stops_is_that_of_the_time_between_the_first_and_the_last() {
        assert_eq!(stopped_share(&[(0, 10), (490, 10), (980, 20)]), 0.04);
        assert_eq!(stopped_share(&[(5, 0)]), 0.0);
        assert_eq!(stopped_share(&[]), 0.0);
    }
}
