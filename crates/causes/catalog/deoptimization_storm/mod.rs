//! Compiled code is deoptimized and compiled again, over and over, because what the compiler assumed does not hold.

mod recompiled;

use std::collections::HashMap;

use fathom_evidence::StrId;
use fathom_evidence::detail::Deoptimization;
use fathom_evidence::kinds::{counter, span};
use fathom_timeline::{Layer, ThreadState};

use crate::measure::code_cache::CodeCache;
use crate::{Cause, Claim, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "deoptimization_storm",
    readme: include_str!("README.md"),
    family: Family::Compiler,
    refines: &[
        Refined::Cause("class_loading"),
        Refined::Cause("jit_warm_up"),
        Refined::Family(Family::Cpu),
        Refined::Family(Family::Load),
    ],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[
        Need::Event("jdk.Deoptimization"),
        Need::Spans(span::DEOPTIMIZATION, "deoptimization"),
        Need::Counter(counter::COMPILE_COUNT),
    ]],
    actions: &[
        "look at the method and reason: a class loaded late, a type or branch that flips between phases",
        "-Xlog:deoptimization=debug names them all; a newer JDK may have the compiler bug fixed",
    ],
    decide,
};

/// The JVM recompiles a method that fails a few times with fewer assumptions each time, then it
/// holds. Many more for the same method and reason is a loop.
const MIN_SAME_METHOD_AND_REASON: usize = 20;

/// Times more often than in the baseline.
const MIN_RATE_RATIO: f64 = 5.0;

/// What is given up is at most compiled again by both compilers, each as a method and as a loop that is running.
const COMPILATIONS_EACH: f64 = 4.0;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let rate = comparison.both(|period| period.spans(span::DEOPTIMIZATION).count() as f64 / period.seconds());
    let Some((text, count, total)) = most_often(comparison) else {
        return match comparison.is_recorded("jdk.Deoptimization") {
            true => Finding::absent("no deoptimization in the slow time"),
            false => recompiled::decide(comparison)
                .unwrap_or_else(|| Finding::needs_jfr("deoptimizations were not recorded (JFR has them since JDK 14)")),
        };
    };
    let evidence = [
        comparison.evidence("deoptimizations", rate, "1/s", "spans").of(&[span::DEOPTIMIZATION]),
        comparison
            .evidence(&format!("the most frequent: {text}"), (count as f64, None), "count", "spans")
            .of(&[span::DEOPTIMIZATION]),
    ];
    let grew = rate.1.is_none_or(|baseline| rate.0 >= MIN_RATE_RATIO * baseline);
    if count < MIN_SAME_METHOD_AND_REASON || !grew {
        let says = format!(
            "{} per second, {} of the most frequent",
            format::number(rate.0),
            format::count(count, "repetition")
        );
        return Finding::absent(says).with_all(evidence);
    }
    let says = format!("{total} deoptimizations, {count} of them {text}");
    let finding = Finding::new(Support::Observed, says).with_all(evidence).with_stacks_of("spans/deoptimization");
    claiming(finding, comparison, part_of_compilations(comparison, rate.0))
}

/// A part of what the compilers and the interpreter do more.
fn claiming(finding: Finding, comparison: &Comparison<'_>, part: f64) -> Finding {
    let mut finding = finding.claiming(comparison, |state| {
        matches!(state, ThreadState::Compiler | ThreadState::Running(Layer::Interpreted))
    });
    for claim in &mut finding.claims {
        *claim = Claim::part(claim.state, part * claim.grown_ns(comparison));
    }
    finding
}

/// The part of the compilations that so many deoptimizations per second can have; all where they were not counted.
fn part_of_compilations(comparison: &Comparison<'_>, per_second: f64) -> f64 {
    let counted = CodeCache::of(comparison).compilations_per_second.map(|(slow, _)| slow).filter(|slow| *slow > 0.0);
    counted.map_or(1.0, |compilations| (COMPILATIONS_EACH * per_second / compilations).min(1.0))
}

/// The method and reason that occur most: text, how often, and how many there are in all.
fn most_often(comparison: &Comparison<'_>) -> Option<(String, usize, usize)> {
    let mut counts: HashMap<(StrId, String), usize> = HashMap::new();
    let mut total = 0;
    for mark in comparison.slow.spans(span::DEOPTIMIZATION) {
        let detail: Deoptimization = comparison.slow.detail(&mark);
        *counts.entry((mark.name, detail.reason.unwrap_or_default())).or_default() += 1;
        total += 1;
    }
    let told = counts.into_iter().map(|((method, reason), count)| (count, comparison.recording().text(method), reason));
    let (count, method, reason) = told.max()?;
    Some((format!("{reason} in {method}"), count, total))
}
