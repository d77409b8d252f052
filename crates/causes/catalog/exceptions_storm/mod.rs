//! So many exceptions are created that creating them takes a good part of the CPU: each records its whole stack.

use fathom_evidence::kinds::{counter, event};

use crate::cause::Claim;
use crate::limits::MIN_CPU_SHARE;
use crate::measure::{growth, requests, stacks, syscalls};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Period, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "exceptions_storm",
    readme: include_str!("README.md"),
    family: Family::Code,
    refines: &[Refined::Cause("application_code"), Refined::Family(Family::Load), Refined::Family(Family::Cpu)],
    equals: &[],
    has_lab: true,
    collectors: &["jfr", "async_profiler"],
    needs: &[&[Need::Counter(counter::EXCEPTIONS_COUNT), Need::JvmFrames]],
    actions: &[
        "look at what is thrown (jdk.JavaExceptionThrow for some seconds) and remove its reason: input that never parses, a service that is down",
        "do not throw in the usual case: return an empty result, or throw exceptions without a stack (writableStackTrace=false)",
    ],
    decide,
};

/// Methods that make an exception, and what throws and catches one in the JVM.
const MAKING: &[&str] = &[
    "java.lang.Throwable.fillInStackTrace",
    "java.lang.Throwable.<init>",
    "java.lang.Throwable.getStackTrace",
    "java.lang.Throwable.getOurStackTrace",
    "java.lang.Throwable.printStackTrace",
    "java.lang.StackTraceElement.",
    "JVM_FillInStackTrace",
    "java_lang_Throwable::",
    "OptoRuntime::handle_exception_C",
    "OptoRuntime::rethrow_C",
    "Runtime1::exception_handler_for_pc",
    "SharedRuntime::raw_exception_handler_for_return_address",
    "SharedRuntime::compute_compiled_exc_handler",
    "InterpreterRuntime::exception_handler_for_pc",
    "Exceptions::",
];

/// The least that one takes, in ns: measured from 1 µs with few frames to 50 µs with hundreds.
const CHEAPEST_NS: f64 = 1_000.0;

/// With the dearest (50 µs each) fewer than this per second take less than 1 % of a core.
const TOO_FEW_PER_SECOND: f64 = 200.0;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let thrown = comparison.sources().counter(counter::EXCEPTIONS_COUNT, "");
    if thrown.0.len() < 2 {
        return without_a_count(comparison);
    }
    let made = |period: &Period<'_>| period.rise(&period.sources.counter(counter::EXCEPTIONS_COUNT, ""));
    let rate = comparison.both(|period| made(period) / period.seconds());
    let evidence = comparison.evidence("exceptions made", rate, "1/s", "counters").of(&[counter::EXCEPTIONS_COUNT]);
    let text = format!("{} exceptions per second{}", format::number(rate.0), format::baseline(rate.1, format::number));
    if rate.0 < TOO_FEW_PER_SECOND {
        return Finding::absent(format!("{text}: too few to cost anything")).with(evidence);
    }
    if !growth::grew(rate) {
        return Finding::absent(format!("{text}: no more than in the baseline")).with(evidence);
    }
    if requests::grew_with(comparison, rate) {
        return Finding::absent(format!("{text}: as many for each request as in the baseline")).with(evidence);
    }
    match stacks::has_native_frames(comparison) {
        true => by_samples(comparison, &text).with(evidence),
        false => by_number(comparison, &text, rate).with(evidence),
    }
}

/// The answer where exceptions were not counted: samples show what they cost, and not why.
fn without_a_count(comparison: &Comparison<'_>) -> Finding {
    let below = stacks::below(comparison, MAKING);
    let is_dear = below.share.0 >= MIN_CPU_SHARE && growth::grew(below.share);
    match stacks::has_native_frames(comparison) && is_dear {
        true => by_samples(comparison, "how many exceptions were made was not recorded"),
        false => Finding::needs_jfr("how many exceptions were made was not recorded"),
    }
}

/// Samples with the JVM's own frames show what making exceptions takes.
fn by_samples(comparison: &Comparison<'_>, text: &str) -> Finding {
    let below = stacks::below(comparison, MAKING);
    let says = format!(
        "{text}; making them takes {} of the application's CPU{}",
        format::percent(below.share.0),
        format::baseline(below.share.1, format::percent)
    );
    let share = comparison.evidence("CPU below the making of exceptions", below.share, "ratio", "samples");
    let share = Evidence { stack: comparison.stack_text(below.stack, 16), ..share.of(&[event::CPU]) };
    if below.share.0 < MIN_CPU_SHARE {
        return Finding::absent(says).with(share);
    }
    let mut finding = Finding::new(Support::Observed, says).with(share);
    finding.claims = below.claims;
    finding.crowding(comparison)
}

/// JFR's own samples do not see threads that are in the JVM: how many there were says what they took at least.
fn by_number(comparison: &Comparison<'_>, text: &str, rate: (f64, Option<f64>)) -> Finding {
    let more = (rate.0 - rate.1.unwrap_or(0.0)).max(0.0);
    let cores = more * CHEAPEST_NS / 1e9;
    let says = format!("{text}; making them takes {} cores more at least", format::number(cores));
    let needs = Finding::unknown(
        "what making exceptions took was not sampled",
        "sudo fathom record --pid PID --for 60s, which samples the JVM's own frames",
    );
    let claims: Vec<Claim> = syscalls::running_claims(comparison, cores * comparison.excess().slow_ns);
    Finding { claims, missing: needs.missing, ..Finding::new(Support::Weak, says) }.crowding(comparison)
}
