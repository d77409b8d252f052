//! Collections arm the entry barriers of all compiled methods, and the application's threads pay for them when they
//! enter the methods.

use fathom_evidence::kinds::event;
use fathom_timeline::{Cell, Origin};

use crate::measure::stacks;
use crate::{Case, Cause, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "nmethod_barrier_storm",
    readme: include_str!("README.md"),
    refines: &["run_queue_wait", "more_traffic"],
    has_lab: true,
    collectors: &["async_profiler"],
    actions: &[
        "fewer collections that arm the barriers: no explicit collections, a larger code cache, a longer interval between major collections",
    ],
    decide,
};

/// Functions in which a thread that enters a compiled method makes it good again.
const BARRIERS: &[&str] = &[
    "BarrierSetNMethod::nmethod_stub_entry_barrier",
    "BarrierSetNMethod::nmethod_entry_barrier",
    "ZBarrierSetNMethod::nmethod_entry_barrier",
    "ShenandoahBarrierSetNMethod::nmethod_entry_barrier",
];

/// Less of the application's CPU than this is what every cycle of every collector costs.
const USUAL: f64 = 0.02;

fn decide(case: &Case<'_>) -> Finding {
    if !stacks::has_native_frames(case) {
        return Finding::needs_kernel(
            "JVM frames of the application's threads (nmethod entry barriers) were not recorded",
        );
    }
    let below = stacks::below(case, BARRIERS);
    let mut evidence =
        case.evidence("application's CPU in nmethod entry barriers", below.share, "ratio", "samples").of(&[event::CPU]);
    evidence.stack = case.stack_text(below.stack, 12);
    if below.share.0 < USUAL {
        let text = format!("nmethod entry barriers take {} of the application's CPU", say::percent(below.share.0));
        return Finding::absent(text).with(evidence);
    }
    let before = say::before(below.share.1, say::percent);
    let (chain, armed_by) = armed_by(case);
    let text = format!(
        "nmethod entry barriers take {} of the application's CPU{before}; armed by {armed_by}",
        say::percent(below.share.0)
    );
    let finding = Finding::new(Standing::Seen, text).with(evidence);
    Finding { claims: below.claims, chain, ..finding }.crowding(case)
}

/// Which collections arm most, as a chain of causes and in words.
fn armed_by(case: &Case<'_>) -> (Vec<&'static str>, String) {
    let of = |origin: Origin| {
        let (slow, _) = case.excess().sums(|cell| matches!(cell, Cell::Collector(c) if c.origin == origin));
        slow
    };
    let most = [Origin::Explicit, Origin::CodeCache, Origin::Metaspace, Origin::Allocation, Origin::Timer]
        .into_iter()
        .max_by(|a, b| of(*a).total_cmp(&of(*b)).then(std::cmp::Ordering::Greater));
    match most.filter(|origin| of(*origin) > 0.0) {
        Some(Origin::Explicit) => (vec!["explicit_gc"], "collections that were asked for".to_owned()),
        Some(Origin::CodeCache) => (vec!["code_cache_churn"], "collections that free code".to_owned()),
        Some(Origin::Metaspace) => (Vec::new(), "collections for metaspace".to_owned()),
        Some(Origin::Allocation | Origin::Timer | Origin::Other) => {
            (Vec::new(), "the collector's ordinary cycles".to_owned())
        }
        None => (Vec::new(), "collections that were not recorded".to_owned()),
    }
}
