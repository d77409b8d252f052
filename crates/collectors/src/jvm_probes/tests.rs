//! How events are processed, without a JVM.

use fathom_evidence::detail::{Compilation, Gc, Safepoint, VmOperation, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;

use super::*;

/// An event of a probe, with what it tells.
fn event(probe: Probe, time_ns: i64, tid: u32, numbers: &[i64], texts: [&str; 2]) -> Event {
    let mut all = [0; probes::NUMBERS];
    all[..numbers.len()].copy_from_slice(numbers);
    Event { probe, time_ns, tid, numbers: all, texts: texts.map(str::to_owned) }
}

/// Events as they would be after a look, in their order.
fn told(events: Vec<Event>) -> Recording {
    let (mut stops, mut collections, mut compilations) =
        (Stops::default(), Collections::default(), Compilations::default());
    let mut found = Recording::default();
    for event in events {
        stops.see(&event, &mut found);
        collections.see(&event, stops.operation(), &mut found);
        compilations.see(&event, &mut found);
    }
    stops.finish(10_000, &mut found);
    collections.finish(10_000, &mut found);
    found
}

fn spans(found: &Recording, kind: &str) -> Vec<Span> {
    found.spans.rows().filter(|span| found.text(span.kind) == kind).collect()
}

fn times(found: &Recording, kind: &str) -> Vec<(i64, i64)> {
    spans(found, kind).iter().map(|span| (span.time_ns, span.duration_ns)).collect()
}

const VM: u32 = 5;

fn operation(from_ns: i64, to_ns: i64, name: &str, inside: Vec<Event>) -> Vec<Event> {
    let mut events = vec![event(Probe::OperationBegin, from_ns, VM, &[0], [name, ""])];
    events.extend(inside);
    events.push(event(Probe::OperationEnd, to_ns, VM, &[0], ["", ""]));
    events
}

/// A safepoint from `from_ns` on that takes 10 to reach and ends with what is in it.
fn safepoint(from_ns: i64, to_ns: i64, inside: Vec<Event>) -> Vec<Event> {
    let mut events = vec![
        event(Probe::SafepointBegin, from_ns, VM, &[], ["", ""]),
        event(Probe::SafepointReached, from_ns + 10, VM, &[33], ["", ""]),
    ];
    events.extend(inside);
    events.push(event(Probe::SafepointEnd, to_ns, VM, &[], ["", ""]));
    events
}

fn pools(probe: Probe, at_ns: i64, manager: &str, young: i64, old: i64) -> Vec<Event> {
    [("PS Eden Space", young), ("PS Old Gen", old)]
        .map(|(pool, used)| event(probe, at_ns, VM, &[used, 1_000, 1_000], [manager, pool]))
        .to_vec()
}

#[test]
fn a_safepoint_knows_its_wait_and_its_operation() {
    let found = told(safepoint(100, 200, operation(120, 190, "Deoptimize", Vec::new())));
    assert_eq!(times(&found, span::SAFEPOINT), [(100, 100)]);
    assert_eq!(times(&found, span::TIME_TO_SAFEPOINT), [(100, 10)]);
    assert_eq!(times(&found, span::VM_OPERATION), [(120, 70)]);
    let stop = spans(&found, span::SAFEPOINT)[0];
    let detail: Safepoint = from_text(found.text(stop.detail));
    assert_eq!(
        (found.text(stop.name), detail.time_to_safepoint_ns, detail.threads),
        ("Deoptimize", Some(10), Some(33))
    );
    let detail: VmOperation = from_text(found.text(spans(&found, span::VM_OPERATION)[0].detail));
    assert_eq!(detail.safepoint, Some(true));
}

#[test]
fn without_the_function_the_operation_tells_when_all_had_stopped() {
    let mut events = safepoint(100, 200, operation(125, 190, "G1CollectFull", Vec::new()));
    events.retain(|event| event.probe != Probe::SafepointReached);
    assert_eq!(times(&told(events), span::TIME_TO_SAFEPOINT), [(100, 25)]);
}

#[test]
fn what_a_probe_began_that_is_taken_out_does_not_last() {
    let (mut stops, mut collections, mut found) = (Stops::default(), Collections::default(), Recording::default());
    for event in
        [event(Probe::SafepointBegin, 100, VM, &[], ["", ""]), event(Probe::CollectionBegin, 110, VM, &[1], ["", ""])]
    {
        stops.see(&event, &mut found);
        collections.see(&event, "", &mut found);
    }
    [Probe::SafepointBegin, Probe::CollectionEnd, Probe::ClassLoaded]
        .into_iter()
        .for_each(|probe| forget(probe, &mut stops, &mut collections));
    stops.finish(10_000, &mut found);
    collections.finish(10_000, &mut found);
    assert_eq!(found.spans.rows().count(), 0);
}

#[test]
fn ends_without_a_beginning_tell_nothing_and_beginnings_without_an_end_last() {
    let events = vec![
        event(Probe::OperationEnd, 5, VM, &[], ["", ""]),
        event(Probe::SafepointEnd, 6, VM, &[], ["", ""]),
        event(Probe::CollectionEnd, 6, VM, &[], ["", ""]),
        event(Probe::CompilationEnd, 6, 9, &[], ["a", "b"]),
        event(Probe::SafepointBegin, 9_000, VM, &[], ["", ""]),
        event(Probe::CollectionBegin, 9_500, VM, &[1], ["", ""]),
    ];
    let found = told(events);
    assert_eq!(times(&found, span::SAFEPOINT), [(9_000, 1_000)]);
    assert_eq!(times(&found, span::GC_PAUSE), [(9_500, 500)]);
    assert_eq!(found.spans.rows().count(), 2);
}

#[test]
fn a_young_and_a_full_collection_of_one_operation_are_two_pauses() {
    let mut inside = vec![event(Probe::CollectionBegin, 130, VM, &[0], ["No GC", ""])];
    inside.extend(pools(Probe::PoolBefore, 131, "PS Scavenge", 900, 500));
    inside.extend(pools(Probe::PoolAfter, 150, "PS Scavenge", 10, 900));
    inside.extend(pools(Probe::PoolBefore, 152, "PS MarkSweep", 10, 900));
    inside.extend(pools(Probe::PoolAfter, 180, "PS MarkSweep", 0, 890));
    inside.push(event(Probe::CollectionEnd, 185, VM, &[], ["Allocation Failure", ""]));
    let found = told(safepoint(100, 200, operation(120, 190, "ParallelGCFailedAllocation", inside)));
    assert_eq!(times(&found, span::GC_PAUSE), [(130, 20), (152, 28)]);
    let details: Vec<Gc> =
        spans(&found, span::GC_PAUSE).iter().map(|pause| from_text(found.text(pause.detail))).collect();
    let seen: Vec<_> = details
        .iter()
        .map(|gc| {
            (gc.scope.as_deref(), gc.cause.as_deref(), gc.old_before_bytes, gc.old_after_bytes, gc.heap_after_bytes)
        })
        .collect();
    let cause = Some("Allocation Failure");
    assert_eq!(
        seen,
        [
            (Some("young"), cause, Some(500), Some(900), Some(910)),
            (Some("full"), cause, Some(900), Some(890), Some(890))
        ]
    );
    let old = found.strings.find(counter::OLD_USED_BYTES).unwrap();
    let rows: Vec<f64> = found.counters.rows().filter(|row| row.name == old).map(|row| row.value).collect();
    assert_eq!(rows, [500.0, 900.0, 900.0, 890.0]);
}

/// A collection without reported pools: the numbers at its ends are the full flag and the counters.
fn counted(began_ns: i64, ended_ns: i64, ran_before: [i64; 3], at_end: [i64; 9]) -> Vec<Event> {
    let [first, second, third] = ran_before;
    vec![
        event(Probe::CollectionBegin, began_ns, VM, &[0, first, second, third], ["No GC", ""]),
        event(Probe::CollectionEnd, ended_ns, VM, &at_end, ["Allocation Failure", ""]),
    ]
}

fn told_of(collectors: [&str; 3], events: Vec<Event>) -> Vec<(i64, i64, Gc)> {
    let mut collections = Collections::of(collectors.map(str::to_owned).to_vec());
    let mut found = Recording::default();
    events.iter().for_each(|event| collections.see(event, "GenCollectForAllocation", &mut found));
    let detail = |pause: &Span| (pause.time_ns, pause.duration_ns, from_text(found.text(pause.detail)));
    spans(&found, span::GC_PAUSE).iter().map(detail).collect()
}

#[test]
fn counters_tell_what_a_collection_was_where_pools_are_not_followed() {
    let sizes = [1_000, 990, 500, 300, 0, 10];
    let at_end = |ran: [i64; 3]| std::array::from_fn(|at| if at < 3 { ran[at] } else { sizes[at - 3] });
    let serial = ["Serial young collection pauses", "Serial full collection pauses", ""];
    let scopes = |ran_before, ran_after| -> Vec<(i64, i64, Option<String>, Option<u64>)> {
        let pauses = told_of(serial, counted(100, 200, ran_before, at_end(ran_after)));
        pauses.into_iter().map(|(at, length, gc)| (at, length, gc.scope, gc.old_after_bytes)).collect()
    };
    let (young, full) = (Some("young".to_owned()), Some("full".to_owned()));
    assert_eq!(scopes([50, 70, 0], [50, 160, 0]), [(100, 100, full.clone(), Some(990))]);
    assert_eq!(scopes([50, 70, 0], [110, 70, 0]), [(100, 100, young.clone(), Some(990))]);
    // A young one that failed, and a full one after it.
    assert_eq!(scopes([50, 70, 0], [80, 130, 0]), [(100, 40, young, None), (140, 60, full, Some(990))]);
    assert_eq!(scopes([50, 70, 0], [50, 70, 0]), [(100, 100, Some("other".to_owned()), None)]);
    let gc = &told_of(serial, counted(100, 200, [0, 5, 0], at_end([0, 95, 0])))[0].2;
    assert_eq!(
        (gc.heap_after_bytes, gc.heap_committed_bytes, gc.old_capacity_bytes),
        (Some(1_300), Some(1_500), Some(1_000))
    );
    assert_eq!(gc.cause.as_deref(), Some("Allocation Failure"));
}

#[test]
fn a_collection_beside_the_application_is_no_pause() {
    let own = |mut events: Vec<Event>| {
        events.iter_mut().for_each(|event| event.tid = 77);
        events
    };
    let mut events = own(pools(Probe::PoolBefore, 100, "G1 Concurrent GC", 5, 50));
    events.extend(own(pools(Probe::PoolAfter, 900, "G1 Concurrent GC", 5, 40)));
    // One whose beginning was not seen.
    events.extend(own(pools(Probe::PoolAfter, 950, "G1 Concurrent GC", 5, 40)));
    let found = told(events);
    assert_eq!(times(&found, span::GC), [(100, 800)]);
    assert_eq!(times(&found, span::GC_PAUSE), []);
}

#[test]
fn compilations_are_those_of_their_threads() {
    let c2 = i64::from_ne_bytes(*b"C2\0\0\0\0\0\0");
    let events = vec![
        event(Probe::CompilationBegin, 100, 21, &[], ["", ""]),
        event(Probe::CompilationBegin, 110, 22, &[], ["", ""]),
        event(Probe::CompilationEnd, 150, 21, &[c2, 1], ["shop/Cart", "total"]),
    ];
    let found = told(events);
    assert_eq!(times(&found, span::COMPILATION), [(100, 50)]);
    let compilation = spans(&found, span::COMPILATION)[0];
    let detail: Compilation = from_text(found.text(compilation.detail));
    assert_eq!((found.text(compilation.name), compilation.tid), ("shop.Cart.total", 21));
    assert_eq!((detail.compiler.as_deref(), detail.level, detail.succeeded), (Some("c2"), Some(4), Some(true)));
}

#[test]
fn rates_are_of_whole_seconds() {
    let mut rates = Rates::new(0);
    let mut hits = [0; PROBES];
    hits[3] = 9_000;
    assert_eq!(rates.since(SECOND_NS - 1, &hits), None);
    assert_eq!(rates.since(2 * SECOND_NS, &hits).unwrap()[3], 4_500);
    assert_eq!(rates.since(2 * SECOND_NS + 1, &hits), None);
    assert_eq!(rates.since(4 * SECOND_NS, &hits).unwrap(), [0; PROBES]);
}

proptest::proptest! {
    #[test]
    fn no_order_of_events_is_too_strange(
        events in proptest::collection::vec((0_usize..PROBES, 0_i64..1_000, 0_u32..3, -5_i64..5), 0..200)
    ) {
        let texts = ["PS Scavenge", "PS Old Gen"];
        let events = events.into_iter();
        let events = events.map(|(probe, at, tid, number)| event(KINDS[probe].probe, at, tid, &[number; 3], texts));
        let found = told(events.collect());
        proptest::prop_assert!(found.spans.rows().all(|span| span.duration_ns >= 0));
    }
}
