//! Memory for direct buffers is used up: a thread that needs some asks for a collection of the whole heap, and waits.

use fathom_evidence::StackId;
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;
use fathom_timeline::{Collection, Intervals, Origin, Stop, ThreadState, Wait};

use crate::cause::{Claim, ThreadTime};
use crate::measure::collections::{collection_of, stops};
use crate::measure::system_gc::{self, Calls};
use crate::measure::{recording_threshold, waits};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "direct_memory_exhausted",
    readme: include_str!("README.md"),
    family: Family::Collections,
    refines: &[Refined::Cause("explicit_gc"), Refined::Family(Family::Cpu), Refined::Family(Family::Load)],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::SystemGc, Need::Collections]],
    actions: &[
        "reuse direct buffers instead of allocating one for each request; use heap buffers where no native code reads them",
        "more room: -XX:MaxDirectMemorySize (without it, as much as -Xmx)",
        "never -XX:+DisableExplicitGC here: nothing would free them, and allocations fail with OutOfMemoryError",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let asked = system_gc::by_purpose(&comparison.slow);
    let ours = &asked.for_memory;
    let waited = waits::most(comparison, Wait::DirectMemory);
    if ours.is_empty() && waited.is_none() {
        return none_seen(comparison);
    }
    let pauses = Pauses::of(comparison, &asked);
    let text = says(comparison, &asked, &pauses);
    let waiting = comparison.state_evidence("threads waiting for direct memory", "threads", is_wait);
    let calls = comparison.both(|period| system_gc::by_purpose(period).for_memory.len() as f64 / period.seconds());
    let calls = comparison.evidence("collections requested by Bits.reserveMemory", calls, "1/s", "spans");
    let stack = ours.iter().max_by_key(|call| call.duration_ns).map(|call| call.stack_id);
    let calls = Evidence {
        stack: stack.map_or_else(String::new, |stack| comparison.stack_text(stack, 12)),
        ..calls.of(&[span::SYSTEM_GC])
    };
    let mut finding = Finding::new(Support::Observed, text).with(calls).with(waiting);
    finding.evidence.extend(in_use(comparison));
    finding.claims = claims(comparison, &pauses);
    finding
}

/// The answer where no thread was seen waiting for direct memory.
fn none_seen(comparison: &Comparison<'_>) -> Finding {
    let asked = stops(comparison, |collection| collection.origin == Origin::Explicit);
    let is_by_whom = || system_gc::by_purpose(&comparison.slow).others.iter().all(|call| call.stack_id != StackId(0));
    if system_gc::are_recorded(comparison) && is_by_whom() {
        return Finding::absent("no collection was requested because direct memory was used up")
            .with_all(in_use(comparison));
    }
    match comparison.has_collections() && asked.is_empty() {
        true if comparison.is_recorded("jdk.ThreadSleep") => {
            recording_threshold::of_waits(comparison, &["jdk.ThreadSleep"], "waits for direct memory")
        }
        true => Finding::absent("no collection was requested"),
        false => Finding::needs_jfr("who requested collections was not recorded (JDK 17 and later do)"),
    }
}

fn is_wait(state: ThreadState) -> bool {
    state == ThreadState::Blocked(Wait::DirectMemory)
}

fn is_explicit(collection: Collection) -> bool {
    collection.origin == Origin::Explicit
}

/// Pauses of collections that were requested for direct memory.
struct Pauses {
    /// In which such a call was under way.
    time: Intervals,
    count: usize,
    ns: f64,
    /// Of all pauses that were requested.
    part: f64,
    are_all: bool,
}

impl Pauses {
    fn of(comparison: &Comparison<'_>, asked: &Calls) -> Pauses {
        let all = stops(comparison, is_explicit);
        let during = |calls: &[Span]| {
            let time = Intervals::union(calls.iter().map(|call| (call.time_ns, call.end_ns())).collect());
            let within =
                all.iter().filter(|(from_ns, length_ns)| time.touches(*from_ns, from_ns.saturating_add(*length_ns)));
            let lengths: Vec<f64> = within.map(|(_, length_ns)| *length_ns as f64).collect();
            (lengths.len(), 0.0 + lengths.iter().sum::<f64>(), time)
        };
        let (count, ours_ns, time) = during(&asked.for_memory);
        let all_ns: f64 = all.iter().map(|(_, length_ns)| *length_ns as f64).sum();
        let seen_ns = ours_ns + during(&asked.others).1;
        let unseen_ns = if asked.are_all { 0.0 } else { (all_ns - seen_ns).max(0.0) };
        let ns = ours_ns + unseen_ns * likelihood(asked);
        Pauses { time, count, ns, part: ns / all_ns.max(1.0), are_all: asked.are_all }
    }
}

/// How likely a call with an unknown caller was ours, judged by the calls with known callers: Laplace's rule of succession.
fn likelihood(asked: &Calls) -> f64 {
    let (ours, others) = (asked.for_memory.len() as f64, asked.others.len() as f64);
    (ours + 1.0) / (ours + others + 2.0)
}

fn claims(comparison: &Comparison<'_>, pauses: &Pauses) -> Vec<Claim> {
    let is_ours = |state: ThreadState| collection_of(state).is_some_and(is_explicit);
    let of_state = |state: ThreadState| match state {
        ThreadState::Stopped(Stop::Collection(_) | Stop::WaitingCollector(_)) if pauses.are_all => {
            Claim::during(state, ThreadTime::from([(0, pauses.time.clone())]))
        }
        _ => Claim::part(state, pauses.part * comparison.grown_ns(state)),
    };
    let states = comparison.excess().states.iter().map(|excess| excess.state);
    let mut claims: Vec<Claim> = states.filter(|state| is_ours(*state)).map(of_state).collect();
    claims.push(Claim::all(ThreadState::Blocked(Wait::DirectMemory)));
    let crowding_ns = pauses.part * comparison.crowding_ns(is_ours);
    claims.extend((crowding_ns > 0.0).then(|| Claim::part(ThreadState::Runnable, crowding_ns)));
    claims
}

/// Direct memory in use, where that was recorded; with its limit.
fn in_use(comparison: &Comparison<'_>) -> Option<Evidence> {
    let (used, _) = highest(comparison)?;
    let evidence = comparison.evidence("direct memory in use", (used, None), "bytes", "counters");
    Some(evidence.of(&[counter::DIRECT_MEMORY_BYTES]))
}

/// The most that was in use in the slow time, and the limit.
fn highest(comparison: &Comparison<'_>) -> Option<(f64, f64)> {
    let of = |instance: &str| comparison.sources().counter(counter::DIRECT_MEMORY_BYTES, instance);
    Some((comparison.slow.max(&of("used"))?, comparison.slow.max(&of("limit"))?))
}

fn says(comparison: &Comparison<'_>, asked: &Calls, pauses: &Pauses) -> String {
    let limit = highest(comparison).map_or(String::new(), |(used, limit)| {
        format!(" ({} of {} in use)", format::bytes(used), format::bytes(limit))
    });
    let mut text = match asked.for_memory.len() {
        0 => format!("threads waited until direct memory was freed{limit}"),
        count => format!("direct memory was used up{limit}: {} requested", format::count(count, "collection")),
    };
    if let Some(method) = system_gc::caller(comparison, &asked.for_memory) {
        text += &format!(", most for a buffer that {method} wanted");
    }
    text += &paused(pauses);
    if let Some((_, waits)) = waits::most(comparison, Wait::DirectMemory) {
        text += &format!("; waits for memory: {}", waits.says(""));
    }
    if !asked.others.is_empty() {
        text += &format!("; {} requested by others", format::count(asked.others.len(), "collection"));
    }
    text
}

fn paused(pauses: &Pauses) -> String {
    let time = format::time(pauses.ns);
    match pauses.count {
        0 => String::new(),
        count if pauses.are_all => format!("; {} in all paused everybody for {time}", format::count(count, "pause")),
        count => format!(
            "; who asked was seen in some pauses only, {count} of them for direct memory: in proportion, {time} of all pauses"
        ),
    }
}
