//! The one check: explains a world as its recorders saw it, and compares.

use fathom_causes::explanation::{CauseVerdict, Explanation, Verdict};
use fathom_causes::{ExplainOptions, catalog, explain};

use crate::expect::{Expectation, slow_failure};
use crate::recorders::{BEGIN_NS, record, record_baseline};
use crate::world::{View, World};

/// What is wrong with the answers for one `seen by`, each failure with the whole answer.
pub(crate) fn check(world: &World, view: &View) -> Vec<String> {
    let slow = world.slow.map(|(from, to)| (BEGIN_NS + from, BEGIN_NS + to));
    let of_recorders = |recorders: &Vec<String>| {
        let baseline = record_baseline(world, recorders);
        let options = ExplainOptions { slow, baseline: baseline.as_ref() };
        let answer = explain(&record(world, recorders), &options);
        let failures = failures(&view.expectations, &answer);
        (!failures.is_empty())
            .then(|| format!("seen by {}\n{}{}", recorders.join(" "), failures.concat(), shown(&answer)))
    };
    view.recorders.iter().filter_map(of_recorders).collect()
}

fn failures(expectations: &[Expectation], answer: &Explanation) -> Vec<String> {
    let json = serde_json::to_value(answer).expect("an answer is JSON");
    let of_line = |line: &Expectation| {
        line.failure(answer, &json).map(|failure| format!("  line {}: {}\n    {failure}\n", line.line, line.text))
    };
    let general = [slow_failure(expectations, answer), order(expectations, answer), accused(expectations, answer)];
    let general = general.into_iter().flatten().chain(broken_rules(answer)).map(|failure| format!("  {failure}\n"));
    expectations.iter().filter_map(of_line).chain(general).collect()
}

/// A mechanism that was seen is said to have been seen: with less than this of the lost time it is no accusation. (Harm that is
/// no lost time has none of it.)
const NEXT_TO_NOTHING: f64 = 0.03;

fn is_accused(cause: &&CauseVerdict) -> bool {
    let counts = cause.share >= NEXT_TO_NOTHING || cause.share == 0.0;
    matches!(cause.verdict, Verdict::Shown | Verdict::Likely) && counts
}

/// The accused come in the order of their lines.
fn order(expectations: &[Expectation], answer: &Explanation) -> Option<String> {
    let line_of =
        |cause: &CauseVerdict| expectations.iter().position(|e| e.accused().is_some_and(|c| c.id == cause.id));
    let lines: Vec<usize> = answer.causes.iter().filter(is_accused).filter_map(line_of).collect();
    (!lines.is_sorted()).then(|| "the causes found are not in the order of the lines".to_owned())
}

/// A cause that no line names must not be accused.
fn accused(expectations: &[Expectation], answer: &Explanation) -> Option<String> {
    let is_named = |cause: &CauseVerdict| expectations.iter().any(|e| e.names(&cause.id));
    let others = answer.causes.iter().filter(is_accused).filter(|cause| !is_named(cause));
    let others: Vec<String> = others.map(|cause| format!("{} {:?}", cause.id, cause.verdict)).collect();
    (!others.is_empty()).then(|| format!("accused without reason: {}", others.join(", ")))
}

/// What holds for every answer, whatever the world.
fn broken_rules(answer: &Explanation) -> Vec<String> {
    let shares: f64 = answer.causes.iter().map(|cause| cause.share).sum();
    let whole = if answer.slow.is_empty() { 0.0 } else { 1.0 };
    let mut ids: Vec<&str> = answer.causes.iter().map(|cause| cause.id.as_str()).collect();
    ids.sort_unstable();
    let is_clueless = |cause: &&CauseVerdict| {
        cause.verdict == Verdict::NotEnough && !cause.missing.iter().any(|missing| !missing.record_with.is_empty())
    };
    let rules = [
        (
            (shares + answer.unexplained.share - whole).abs() <= 1e-3,
            "shares and unexplained do not make 1 (0 when nothing was slow)".to_owned(),
        ),
        (is_sorted(answer), "causes are not sorted: those that explain something by share, then the rest".to_owned()),
        (
            ids.iter().copied().eq(catalog().iter().map(|cause| cause.id)),
            "not every cause is in the answer once".to_owned(),
        ),
        (answer.causes.iter().all(|cause| !cause.says.is_empty()), "a cause says nothing".to_owned()),
        (!answer.causes.iter().any(|cause| is_clueless(&cause)), "not_enough without a command".to_owned()),
        (
            !answer.slow.is_empty() || !answer.causes.iter().any(|cause| cause.verdict <= Verdict::Possible),
            "a cause of nothing".to_owned(),
        ),
    ];
    rules.into_iter().filter(|(holds, _)| !holds).map(|(_, failure)| failure).collect()
}

/// Causes that explain something come first, those that explain more before others (harm before lost time); then those of
/// which too little is known; then those that are ruled out.
fn is_sorted(answer: &Explanation) -> bool {
    let class = |cause: &CauseVerdict| match cause.verdict {
        Verdict::NotEnough => 1,
        Verdict::RuledOut => 2,
        _ => 0,
    };
    let timed = answer.causes.iter().filter(|cause| class(cause) == 0 && cause.share > 0.0);
    answer.causes.is_sorted_by_key(class) && timed.is_sorted_by(|a, b| a.share >= b.share)
}

/// The answer as a person debugging a case wants it.
fn shown(answer: &Explanation) -> String {
    let second = |ns: i64| (ns - BEGIN_NS) as f64 / 1e9;
    let mut text = String::from("  the answer:\n");
    for slow in &answer.slow {
        text += &format!(
            "    slow {:.1}s..{:.1}s by {}: {}\n",
            second(slow.from_ns),
            second(slow.to_ns),
            slow.signal,
            slow.says
        );
    }
    text += &format!("    baseline {}: {}\n", answer.baseline.kind, answer.baseline.says);
    for cause in answer.causes.iter().filter(|cause| cause.verdict != Verdict::NotEnough) {
        text += &format!("    {:5.1} % {:?} {}: {}\n", cause.share * 100.0, cause.verdict, cause.id, cause.says);
        let evidence = cause.evidence.iter().filter(|_| cause.verdict <= Verdict::Possible);
        evidence.for_each(|e| {
            text += &format!("              {}: {} against {:?} {}\n", e.says, e.value, e.baseline, e.unit)
        });
    }
    let open = answer.causes.iter().filter(|cause| cause.verdict == Verdict::NotEnough);
    text += &format!("    NotEnough {}\n", open.map(|cause| cause.id.as_str()).collect::<Vec<_>>().join(" "));
    text + &format!("    {:5.1} % unexplained {}\n", answer.unexplained.share * 100.0, answer.unexplained.says)
}
