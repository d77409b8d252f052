//! Two causes that may claim the same kind of time are in order: one is the mechanism of the other, or they are equals.

use std::collections::{BTreeMap, BTreeSet};

use fathom_causes::{Cause, ExplainOptions, claims};
use libtest_mimic::{Failed, Trial};

use crate::recorders::{BEGIN_NS, record, record_baseline};
use crate::world::World;

/// Causes of which none is the mechanism of the other: any of the first ones with any of the second ones, and why they may share.
const EQUALS: &[(&[&str], &[&str], &str)] = &[
    (CODE, CODE, "each claims the part of the running code that samples show below frames of its own"),
    (
        &["allocation_pressure", "application_code", "code_cache_churn", "jit_warm_up"],
        &["allocation_pressure", "application_code", "code_cache_churn", "jit_warm_up"],
        "each is charged for the waiting for CPUs in the proportion in which its running grew",
    ),
    (
        &["class_loading", "logging_blocked"],
        &[
            "block_device_slow",
            "block_queue_wait",
            "carrier_threads_exhausted",
            "child_processes",
            "connect_slow",
            "delayed_acknowledgement",
            "file_locked",
            "file_pages_evicted",
            "file_sync_slow",
            "gc_log_blocked",
            "lazy_symbol_binding",
            "logging_blocked",
            "memory_reclaim",
            "perf_data_writeback",
            "retransmissions",
            "sleeping_handlers",
            "slow_downstream",
            "swap_in",
            "thread_pool_exhausted",
            "too_many_open_files",
        ],
        "one says below which code a thread waits, the other what for: to change either helps",
    ),
    (
        &["block_device_slow", "memory_reclaim"],
        &["file_pages_evicted", "lazy_symbol_binding", "memory_reclaim", "perf_data_writeback", "swap_in"],
        "a fault is of one kind, by its mapping and the kernel's frames",
    ),
    (
        &["file_pages_evicted", "gc_log_blocked", "lazy_symbol_binding", "perf_data_writeback"],
        &["file_sync_slow", "perf_data_writeback", "swap_in"],
        "a thread is in one wait at a time, and each claims the stops in which it was in its own",
    ),
    (
        &["carrier_threads_exhausted", "delayed_acknowledgement", "retransmissions", "thread_pool_exhausted"],
        &["delayed_acknowledgement", "retransmissions", "slow_downstream", "thread_pool_exhausted"],
        "each claims of the waits for answers the part that it measured itself",
    ),
    (
        &["accept_queue_overflow", "dns_slow", "sleeping_handlers"],
        &["dns_slow", "sleeping_handlers", "slow_downstream"],
        "requests were late while no thread was seen to wait: each claims as much as it measured itself",
    ),
    (
        &["block_device_slow"],
        &["block_queue_wait"],
        "the kernel tells a request's time in the queue from that in the device",
    ),
    (
        &["full_gc_old_generation_full"],
        &["heap_too_small"],
        "how full the heap is after a collection tells which of the two it was",
    ),
    (
        &["sleeping_handlers"],
        &["thread_pool_exhausted"],
        "the worker whose result is waited for sleeps, and there are too few",
    ),
];

/// Causes that claim running code of the application.
const CODE: &[&str] = &[
    "application_code",
    "chatty_socket_reads",
    "class_loading",
    "exceptions_storm",
    "icache_flush_storm",
    "long_time_to_safepoint",
    "many_system_calls",
    "memory_reclaim",
    "more_traffic",
    "nmethod_barrier_storm",
    "read_then_write_faults",
    "slow_clock_source",
];

pub(crate) fn trial(worlds: Vec<(String, World)>) -> Trial {
    Trial::test("order/causes_of_the_same_time", move || judge(&worlds))
}

fn judge(worlds: &[(String, World)]) -> Result<(), Failed> {
    let mut by_state: BTreeMap<String, BTreeMap<&'static str, &'static Cause>> = BTreeMap::new();
    for (cause, state) in worlds.iter().flat_map(|(_, world)| claimed(world)) {
        by_state.entry(format!("{state:?}")).or_default().insert(cause.id, cause);
    }
    let mut without: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (state, causes) in &by_state {
        let pairs = causes.values().flat_map(|one| causes.values().map(move |other| (*one, *other)));
        for (one, other) in pairs.filter(|(one, other)| one.id < other.id && !are_in_order(one, other)) {
            without.entry((one.id, other.id)).or_default().insert(state);
        }
    }
    let lines: Vec<String> =
        without.iter().map(|((one, other), states)| format!("{one} {other}: {states:?}")).collect();
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n").into()) }
}

fn are_in_order(one: &Cause, other: &Cause) -> bool {
    let are_equal = |(some, others, _): &(&[&str], &[&str], &str)| {
        let between = |one: &Cause, other: &Cause| some.contains(&one.id) && others.contains(&other.id);
        between(one, other) || between(other, one)
    };
    one.refines(other) || other.refines(one) || EQUALS.iter().any(are_equal)
}

/// What the causes claim of a world, whoever recorded it.
fn claimed(world: &World) -> Vec<(&'static Cause, fathom_timeline::ThreadState)> {
    let slow = world.slow.map(|(from, to)| (BEGIN_NS + from, BEGIN_NS + to));
    let of = |recorders: &Vec<String>| {
        let baseline = record_baseline(world, recorders);
        claims(&record(world, recorders), &ExplainOptions { slow, baseline: baseline.as_ref() })
    };
    world.views.iter().flat_map(|view| &view.recorders).flat_map(of).collect()
}
