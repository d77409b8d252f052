//! The application allocates more than before, so the collector has more to do.

use fathom_evidence::kinds::{event, span, subject};
use fathom_timeline::{Stop, ThreadState, Wait};

use crate::measure::code_cache::CodeCache;
use crate::measure::collections::{
    CROWDED, Eras, HEAVY, MIN_FOR_RATE, MIN_RATE_RATIO, allocation_evidence, allocation_rate, are_felt, are_noticed,
    heap_occupancy_after, is_ordinary, of_unknown_kind, ordinary_share, sizes, stalls_evidence, stops,
};
use crate::period::Period;
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "allocation_pressure",
    readme: include_str!("README.md"),
    family: Family::Collections,
    refines: &[Refined::Family(Family::Cpu)],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::Collections]],
    actions: &[
        "find what allocates: compare the allocation flame graph of the slow time with the baseline's",
        "a larger young generation makes collections less frequent, at the price of memory",
    ],
    decide,
};

/// Threads lost to ordinary collections. Below this a higher rate costs nothing that users feel.
const CHEAP: f64 = 0.03;

/// Collections to free code, per second, that are no upkeep any more.
const FREES_PER_SECOND: f64 = 0.5;

/// Time that a cycle from one collection to the next may take, in s, for the collector to be pressed: with more room
/// than for this long the rate is no trouble, whatever each pause takes.
const CYCLE_MAX_S: f64 = 5.0;

/// By how much more than the rate the number of collections may grow, or it is a young generation that became smaller which makes them.
const SMALLER: f64 = 1.5;

/// So many times as many collections are not those of a young generation that became somewhat smaller.
const MANY_MORE: f64 = 3.0;

/// Growth of the length of pauses against that of their number from which it is something else that makes them long.
const LENGTHENED: f64 = 4.0;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let stalls = comparison.slow.spans(span::ALLOCATION_STALL).count();
    if stalls < MIN_FOR_RATE && comparison.recording().fact(subject::GC, "times") == Some("none") {
        let record_with = "-Xlog:gc*:file=gc.log:time,uptime,level,tags (JDK 8: -XX:+PrintGCDateStamps)";
        return Finding::unknown("the log has no times, so that nothing tells how often collections came", record_with);
    }
    if !comparison.has_collections() {
        return Finding::needs_gc_log();
    }
    if let Some(unknown) = of_unknown_kind(comparison) {
        return unknown;
    }
    let eras = Eras::of(comparison);
    let Some(slow) = allocation_rate(&eras.slow) else {
        return without_rate(comparison, &eras);
    };
    let baseline = eras.baseline.as_ref().and_then(allocation_rate).filter(|rate| *rate > 0.0);
    let pauses = eras.both(|period| period.young_pauses().count() as f64 / period.seconds());
    let count = eras.slow.young_pauses().count();
    let evidence = evidence(comparison, (slow, baseline), pauses, stalls);
    let is_heavy = ordinary_share(comparison, &eras.slow) >= HEAVY;
    let grew =
        |(baseline, before): (f64, f64)| slow >= MIN_RATE_RATIO * baseline && pauses.0 >= MIN_RATE_RATIO * before;
    // Of a young generation as large as before it is the rate that makes more collections, however large the heap is.
    let as_many_each = |(baseline, before): (f64, f64)| {
        count >= MIN_FOR_RATE && grew((baseline, before)) && pauses.0 / before <= SMALLER * slow / baseline
    };
    let support = match baseline.zip(pauses.1) {
        _ if stalls >= MIN_FOR_RATE => Support::Observed,
        _ if count >= MIN_FOR_RATE && !is_heavy && pauses.0 * CYCLE_MAX_S < 1.0 => {
            let rare = Finding { is_never_meant: true, ..Finding::absent(rare(slow, pauses.0)) };
            return rare.with_all(evidence);
        }
        Some(before) if count >= MIN_FOR_RATE && grew(before) => {
            if is_cheap(comparison, &eras) || frees_code(comparison) || lengthened(&eras) >= LENGTHENED {
                Support::Weak
            } else if as_many_each(before) {
                Support::Observed
            } else {
                Support::Consistent
            }
        }
        before if is_heavy && count >= MIN_FOR_RATE && !(before.is_some() && has_other_reason(comparison, &eras)) => {
            unexplained(comparison)
        }
        Some((baseline, _)) => return Finding::absent(unchanged(slow, baseline, pauses)).with_all(evidence),
        None => return Finding::absent("collections take little time").with_all(evidence),
    };
    let says = says((slow, baseline), pauses.0, ordinary_share(comparison, &eras.slow), stalls) + &of_heap(comparison);
    let finding = Finding::new(support, says).with_all(evidence).with_stacks_of(event::ALLOCATION);
    finding.claiming(comparison, is_ours)
}

/// Young collections take much of the time and no rate grew: they are what is slow, whatever makes them so many. Where hardly
/// anything is free after them it is less likely the rate.
fn unexplained(comparison: &Comparison<'_>) -> Support {
    let is_full = heap_occupancy_after(comparison).is_some_and(|occupied| occupied >= NEARLY_FULL);
    let is_felt = are_noticed(comparison, &stops(comparison, is_ordinary));
    if is_full || !is_felt { Support::Weak } else { Support::Consistent }
}

/// Whether they are slow at the rate of before because there is less room, or because each takes much longer.
fn has_other_reason(comparison: &Comparison<'_>, eras: &Eras<'_>) -> bool {
    let is_crowded = heap_occupancy_after(comparison).is_some_and(|occupied| occupied >= CROWDED);
    is_crowded || lengthened(eras) >= LENGTHENED
}

/// With this much of the heap in use after collections they come for lack of room at any rate.
const NEARLY_FULL: f64 = 0.85;

fn of_heap(comparison: &Comparison<'_>) -> String {
    sizes(comparison).map_or_else(String::new, |(young, heap)| {
        format!("; young generation {} of a {} heap", format::bytes(young), format::bytes(heap))
    })
}

fn without_rate(comparison: &Comparison<'_>, eras: &Eras<'_>) -> Finding {
    let count = eras.slow.young_pauses().count();
    if count == 0 {
        return Finding::absent("no collection in the slow time, so nothing was short of memory");
    }
    let says = "heap use before collections was not recorded, so the allocation rate is unknown";
    let pauses = eras.both(|period| period.young_pauses().count() as f64 / period.seconds());
    let are_more = count >= MIN_FOR_RATE && pauses.1.is_some_and(|before| pauses.0 >= MANY_MORE * before);
    let has_room = heap_occupancy_after(comparison).is_some_and(|occupied| occupied < CROWDED);
    if !are_more || !has_room || is_cheap(comparison, eras) || lengthened(eras) >= LENGTHENED {
        return Finding::unknown(says, "-Xlog:gc*:file=gc.log:time,uptime,level,tags");
    }
    let text = format!(
        "{} young collections per second{}, though there is room after them; {says}{}",
        format::number(pauses.0),
        format::baseline(pauses.1, format::number),
        of_heap(comparison)
    );
    let evidence = comparison.evidence("young collections", pauses, "1/s", "spans").of(&[span::GC_PAUSE]);
    Finding::new(Support::Consistent, text).with(evidence).claiming(comparison, is_ours)
}

/// By how much more the pauses grew in length than in number.
fn lengthened(eras: &Eras<'_>) -> f64 {
    let length = |period: &Period<'_>| period.young_pauses().map(|(pause, _)| pause.duration_ns as f64).sum::<f64>();
    let mean = |period: &Period<'_>| length(period) / period.young_pauses().count().max(1) as f64;
    let rate = |period: &Period<'_>| period.young_pauses().count() as f64 / period.seconds();
    let growth = |(slow, baseline): (f64, Option<f64>)| {
        baseline.filter(|baseline| *baseline > 0.0).map_or(1.0, |baseline| slow / baseline)
    };
    growth(eras.both(mean)) / growth(eras.both(rate)).max(f64::MIN_POSITIVE)
}

/// Whether they cost nothing that users feel. If no slowness was reported: nothing that users are known to feel.
fn is_cheap(comparison: &Comparison<'_>, eras: &Eras<'_>) -> bool {
    let is_unnoticed = || are_beside(comparison, eras) || !are_noticed(comparison, &stops(comparison, is_ordinary));
    comparison.excess_threads(is_ours) < CHEAP || !are_felt(comparison) && is_unnoticed()
}

/// Whether other stops are most of what made it slow, and these alone would not have: they are below what is slow by itself.
fn are_beside(comparison: &Comparison<'_>, eras: &Eras<'_>) -> bool {
    let (mut all_ns, mut ordinary_ns) = (0, 0);
    for stop in comparison.slow_stops() {
        let within_ns = comparison.slow.time.within_ns(stop.from_ns, stop.to_ns);
        let is_own = matches!(stop.stop, Stop::Collection(collection) if is_ordinary(collection));
        all_ns += within_ns;
        ordinary_ns += if is_own { within_ns } else { 0 };
    }
    2 * ordinary_ns < all_ns && ordinary_share(comparison, &eras.slow) < HEAVY
}

/// Whether code is thrown away all the time. What runs interpreted meanwhile allocates what compiled
/// code does not (escape analysis), so that the rate rises without the application's doing.
fn frees_code(comparison: &Comparison<'_>) -> bool {
    CodeCache::of(comparison).collections_per_second.0 >= FREES_PER_SECOND
}

fn is_ours(state: ThreadState) -> bool {
    match state {
        ThreadState::Stopped(Stop::Collection(collection)) | ThreadState::Collector(collection) => {
            is_ordinary(collection)
        }
        state => state == ThreadState::Blocked(Wait::AllocationStall),
    }
}

/// What is said when there is plenty of time between two collections.
fn rare(rate: f64, per_second: f64) -> String {
    let cycle_ns = 1e9 / per_second.max(f64::MIN_POSITIVE);
    format!(
        "{}/s allocated: there was room for {} of it between two collections",
        format::bytes(rate),
        format::time(cycle_ns)
    )
}

fn unchanged(slow: f64, baseline: f64, pauses: (f64, Option<f64>)) -> String {
    let percent = (slow / baseline - 1.0) * 100.0;
    format!(
        "allocation rate {}/s, {}{} % against the baseline; {} pauses per second (baseline {})",
        format::bytes(slow),
        if percent >= 0.0 { "+" } else { "" },
        format::number(percent.round()),
        format::number(pauses.0),
        format::number(pauses.1.unwrap_or(0.0))
    )
}

fn says((slow, baseline): (f64, Option<f64>), pauses: f64, stopped: f64, stalls: usize) -> String {
    let usual = baseline.map_or(String::new(), |baseline| format!(" instead of {}/s", format::bytes(baseline)));
    let waited = match stalls {
        0 => String::new(),
        _ => format!("; the collector could not keep up: {}", format::count(stalls, "allocation stall")),
    };
    format!(
        "{}/s allocated{usual}; {} pauses per second of ordinary collections, {} of the time{waited}",
        format::bytes(slow),
        format::number(pauses),
        format::percent(stopped)
    )
}

fn evidence(
    comparison: &Comparison<'_>,
    rate: (f64, Option<f64>),
    pauses: (f64, Option<f64>),
    stalls: usize,
) -> Vec<Evidence> {
    vec![
        allocation_evidence(comparison, rate),
        comparison.evidence("pauses of ordinary collections", pauses, "1/s", "spans").of(&[span::GC_PAUSE]),
        stalls_evidence(comparison, stalls),
        comparison.state_evidence("threads blocked by young and concurrent GC (average)", "threads", is_ours),
    ]
}
