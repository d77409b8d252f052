//! Any two causes that may claim the same kind of time are ordered: one is the mechanism of the other, or they are equals.

use std::collections::{BTreeMap, BTreeSet};

use fathom_causes::{Cause, ExplainOptions, claims};
use libtest_mimic::{Failed, Trial};

use crate::recorders::{BEGIN_NS, record, record_baseline};
use crate::world::World;

/// Groups that claim time in one way, so that none in them is the mechanism of another: who, and why they may share. What else is equal
/// a cause says in its own folder (`Cause::equals`).
const EQUALS: &[(&[&str], &str)] = &[
    (CODE, "each claims the part of the running code that samples show below frames of its own"),
    (
        &["allocation_pressure", "application_code", "class_loading", "code_cache_churn", "explicit_gc", "jit_warm_up"],
        "each is charged for the waiting for CPUs in the proportion in which its running grew",
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
    let are_alike = EQUALS.iter().any(|(group, _)| group.contains(&one.id) && group.contains(&other.id));
    one.refines(other) || other.refines(one) || one.is_equal_to(other) || are_alike
}

/// What the causes claim in a world, for each set of recorders.
fn claimed(world: &World) -> Vec<(&'static Cause, fathom_timeline::ThreadState)> {
    let slow = world.slow.map(|(from, to)| (BEGIN_NS + from, BEGIN_NS + to));
    let of = |recorders: &Vec<String>| {
        let baseline = record_baseline(world, recorders);
        claims(&record(world, recorders), &ExplainOptions { slow, baseline: baseline.as_ref() })
    };
    world.views.iter().flat_map(|view| &view.recorders).flat_map(of).collect()
}
