//! Collections arm the entry barriers of all compiled methods, and the application's threads pay for that when they enter
//! the methods.

use fathom_evidence::kinds::event;
use fathom_timeline::{Origin, ThreadState};

use crate::limits::ORDINARY_CPU_SHARE;
use crate::measure::stacks;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "nmethod_barrier_storm",
    readme: include_str!("README.md"),
    family: Family::Barriers,
    refines: &[Refined::Family(Family::Cpu), Refined::Family(Family::Load)],
    equals: &[],
    has_lab: true,
    collectors: &["async_profiler"],
    needs: &[&[Need::JvmFrames]],
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

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !stacks::has_native_frames(comparison) {
        return Finding::needs_kernel(
            "JVM frames of the application's threads (nmethod entry barriers) were not recorded",
        );
    }
    let below = stacks::below(comparison, BARRIERS);
    let mut evidence = comparison
        .evidence("application's CPU in nmethod entry barriers", below.share, "ratio", "samples")
        .of(&[event::CPU]);
    evidence.stack = comparison.stack_text(below.stack, 12);
    if below.share.0 < ORDINARY_CPU_SHARE {
        let text = format!("nmethod entry barriers take {} of the application's CPU", format::percent(below.share.0));
        return Finding::absent(text).with(evidence);
    }
    let before = format::baseline(below.share.1, format::percent);
    let (chain, armed_by) = armed_by(comparison);
    let text = format!(
        "nmethod entry barriers take {} of the application's CPU{before}; armed by {armed_by}",
        format::percent(below.share.0)
    );
    let finding = Finding::new(Support::Observed, text).with(evidence);
    Finding { claims: below.claims, chain, ..finding }.crowding(comparison)
}

/// Which collections arm most, as a chain of causes and in words.
fn armed_by(comparison: &Comparison<'_>) -> (Vec<&'static str>, String) {
    let of = |origin: Origin| {
        let (slow, _) =
            comparison.excess().sums(|state| matches!(state, ThreadState::Collector(c) if c.origin == origin));
        slow
    };
    let most = [Origin::Explicit, Origin::CodeCache, Origin::Metaspace, Origin::Allocation, Origin::Timer]
        .into_iter()
        .max_by(|a, b| of(*a).total_cmp(&of(*b)).then(std::cmp::Ordering::Greater));
    match most.filter(|origin| of(*origin) > 0.0) {
        Some(Origin::Explicit) => (vec!["explicit_gc"], "requested collections".to_owned()),
        Some(Origin::CodeCache) => (vec!["code_cache_churn"], "collections that free code".to_owned()),
        Some(Origin::Metaspace) => (Vec::new(), "collections for metaspace".to_owned()),
        Some(Origin::Allocation) => (vec!["allocation_pressure"], "the collector's ordinary cycles".to_owned()),
        Some(Origin::Timer | Origin::Other) => (Vec::new(), "the collector's ordinary cycles".to_owned()),
        None => (Vec::new(), "collections that were not recorded".to_owned()),
    }
}
