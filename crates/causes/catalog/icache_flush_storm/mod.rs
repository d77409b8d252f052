//! On some arm64 processors each flush of the instruction cache traps, and generational ZGC flushes once per barrier.

use fathom_evidence::kinds::{event, subject};

use crate::limits::ORDINARY_CPU_SHARE;
use crate::measure::aarch64::{self, Midr};
use crate::measure::stacks;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "icache_flush_storm",
    readme: include_str!("README.md"),
    family: Family::Barriers,
    refines: &[Refined::Cause("nmethod_barrier_storm"), Refined::Family(Family::Cpu), Refined::Family(Family::Load)],
    equals: &[],
    has_lab: false,
    collectors: &["async_profiler"],
    needs: &[&[
        Need::JvmFrames,
        Need::Fact(subject::HOST, "architecture"),
        Need::Fact(subject::HOST, "machine"),
        Need::Fact(subject::HOST, "cpu"),
        Need::Fact(subject::HOST, "os"),
    ]],
    actions: &["a JDK that flushes once per method (see the page), or a processor without the erratum"],
    decide,
};

/// The flush of the compilers' run time on arm64.
const FLUSHES: &[&str] = &["__aarch64_sync_cache_range", "__aarch64_clear_cache"];

/// Its name on every architecture: on others it does nothing.
const ANY_FLUSH: &str = "__clear_cache";

fn decide(comparison: &Comparison<'_>) -> Finding {
    let is_arm64 = is_arm64(comparison);
    if is_arm64 == Some(false) {
        return Finding::absent("not an arm64 processor: nothing there flushes the instruction cache");
    }
    if !stacks::has_native_frames(comparison) {
        return Finding::needs_kernel("native frames of the application's threads were not recorded");
    }
    let known_here = (is_arm64 == Some(true)).then_some(&ANY_FLUSH);
    let below = stacks::below(comparison, &FLUSHES.iter().chain(known_here).copied().collect::<Vec<_>>());
    let mut evidence = comparison
        .evidence("application's CPU in flushes of the instruction cache", below.share, "ratio", "samples")
        .of(&[event::CPU]);
    evidence.stack = comparison.stack_text(below.stack, 12);
    let text =
        format!("flushes of the instruction cache take {} of the application's CPU", format::percent(below.share.0));
    if below.share.0 < ORDINARY_CPU_SHARE {
        return Finding::absent(text).with(evidence);
    }
    let before = format::baseline(below.share.1, format::percent);
    let (support, processor) = processor(comparison);
    let finding = Finding::new(support, text + &before + &processor).with(evidence);
    Finding { claims: below.claims, ..finding }.crowding(comparison)
}

/// What the processor has to do with it: the samples show the flushes whatever it is, but that they are dear
/// was seen on processors with the erratum only.
fn processor(comparison: &Comparison<'_>) -> (Support, String) {
    let fact = |key: &str| comparison.recording().fact(subject::HOST, key);
    let cores: Vec<Midr> =
        fact("cpu_midr").unwrap_or("").split_whitespace().filter_map(aarch64::register).map(Midr::of).collect();
    let Some(core) = cores.iter().find(|core| core.has_erratum_1542419()).or(cores.first()) else {
        return (Support::Observed, String::new());
    };
    let needs_no_flush = fact("cpu_ctr_el0").and_then(aarch64::register).map(aarch64::needs_no_invalidation);
    match (core.has_erratum_1542419(), needs_no_flush == Some(true)) {
        (true, false) => (Support::Observed, format!("; {core} has erratum 1542419: each flush traps")),
        (true, true) => (Support::Consistent, format!("; {core} has erratum 1542419, but needs no flush (DIC)")),
        (false, _) => (Support::Consistent, format!("; erratum 1542419 does not name {core}")),
    }
}

/// Whether the machine is an arm64 one, if the recording says.
fn is_arm64(comparison: &Comparison<'_>) -> Option<bool> {
    let keys = ["architecture", "machine", "cpu", "os"];
    let facts: Vec<&str> = keys.iter().filter_map(|key| comparison.recording().fact(subject::HOST, key)).collect();
    let says =
        |words: &[&str]| facts.iter().any(|fact| words.iter().any(|word| fact.to_ascii_lowercase().contains(word)));
    if says(&["aarch64", "arm64", "neoverse"]) {
        Some(true)
    } else if says(&["x86", "amd64", "intel", "epyc", "xeon", "ppc64", "s390x"]) {
        Some(false)
    } else {
        None
    }
}
