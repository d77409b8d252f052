//! Compares two answers to the same truth.

use fathom_causes::explanation::{CauseVerdict, Explanation, Verdict};
use serde_json::Value;

/// From this share of the lost time on a cause counts when two answers are compared: below it, edges of seconds decide.
const COUNTS: f64 = 0.1;

/// So much may a share differ between answers that should be the same.
pub(crate) const SHARE_SLACK: f64 = 0.1;

/// Slow time that may come or go at the edges, in ns.
const EDGES_NS: i64 = 3_000_000_000;

/// A cause that is no smaller part of one of two troubles has to be found when both are in one recording.
const MAIN: f64 = 0.3;

fn is_accused(cause: &CauseVerdict) -> bool {
    // Harm that is no lost time has no share.
    matches!(cause.verdict, Verdict::Shown | Verdict::Likely) && (cause.share >= COUNTS || cause.share == 0.0)
}

/// Whether a cause is accused whose mechanism is a special case of that of `id`.
fn is_refined(answer: &Explanation, id: &str) -> bool {
    let refines = |accused: &CauseVerdict| {
        fathom_causes::cause(&accused.id)
            .zip(fathom_causes::cause(id))
            .is_some_and(|(accused, cause)| accused.refines(cause))
    };
    answer.causes.iter().any(|cause| is_accused(cause) && refines(cause))
}

fn of<'a>(answer: &'a Explanation, id: &str) -> Option<&'a CauseVerdict> {
    answer.causes.iter().find(|cause| cause.id == id)
}

/// Whether an answer says that nothing was slow, rather than that nothing is known of it, or what was all the same.
fn is_all_clear(answer: &Explanation) -> bool {
    says_all_clear(&serde_json::to_value(answer).unwrap_or_default())
}

/// The same of an answer as JSON.
pub(crate) fn says_all_clear(json: &Value) -> bool {
    let says_so = match &json["headline"] {
        Value::Object(headline) => {
            let has_but = headline.get("but").and_then(Value::as_array).is_some_and(|but| !but.is_empty());
            headline.get("kind").is_some_and(|kind| kind == "nothing_slow") && !has_but
        }
        _ => true,
    };
    let was_slow = json["slow"].as_array().is_some_and(|slow| !slow.is_empty());
    !was_slow && says_so
}

/// What `less`, which knows less than `full`, gets wrong. It may be less sure, or name a more general mechanism that
/// includes the true one. It must not say the contrary.
pub(crate) fn weaker(full: &Explanation, less: &Explanation) -> Vec<String> {
    if less.slow.is_empty() {
        let is_false = !full.slow.is_empty() && is_all_clear(less);
        let all_clear = is_false.then(|| "it says that nothing was slow".to_owned());
        return all_clear.into_iter().collect();
    }
    let failure = |cause: &CauseVerdict| {
        let other = of(less, &cause.id)?;
        let turned = match (is_accused(cause), is_accused(other)) {
            (true, _) if other.verdict == Verdict::RuledOut => "is acquitted",
            (_, true) if cause.verdict >= Verdict::NotEnough && !is_refined(full, &cause.id) => "is accused",
            _ => return None,
        };
        Some(format!(
            "{} {turned}: {:?} {:.2}, was {:?} {:.2}; it says {}",
            cause.id, other.verdict, other.share, cause.verdict, cause.share, other.says
        ))
    };
    full.causes.iter().filter_map(failure).collect()
}

/// Causes that are ruled out by less evidence, and were not by more: causes that were seen, whatever was slow; others only
/// if both answers are about the same time.
pub(crate) fn acquitted(full: &Explanation, less: &Explanation) -> Vec<String> {
    let is_same_time = is_about_the_same_time(full, less);
    let acquitted = |cause: &CauseVerdict| {
        let other = of(less, &cause.id)?;
        let was_open = match cause.verdict {
            Verdict::RuledOut => false,
            Verdict::NotEnough => is_same_time,
            _ => cause.share >= NEGLIGIBLE,
        };
        let text = || format!("{} is ruled out: {}; was {:?}: {}", cause.id, other.says, cause.verdict, cause.says);
        (was_open && other.verdict == Verdict::RuledOut).then(text)
    };
    full.causes.iter().filter_map(acquitted).collect()
}

/// With less of the lost time than this a cause does not matter.
const NEGLIGIBLE: f64 = 0.02;

fn is_about_the_same_time(one: &Explanation, other: &Explanation) -> bool {
    let is_near = |(one, other): (i64, i64)| (one - other).abs() <= EDGES_NS;
    let times = |answer: &Explanation| answer.slow.iter().map(|slow| (slow.from_ns, slow.to_ns)).collect::<Vec<_>>();
    let (one, other) = (times(one), times(other));
    let mut both = one.iter().zip(&other);
    one.len() == other.len() && both.all(|(one, other)| is_near((one.0, other.0)) && is_near((one.1, other.1)))
}

/// How two answers differ that should be the same.
pub(crate) fn same(one: &Explanation, other: &Explanation, share_slack: f64) -> Vec<String> {
    let slow_ns = |answer: &Explanation| answer.slow.iter().map(|slow| slow.to_ns - slow.from_ns).sum::<i64>();
    let (one_ns, other_ns) = (slow_ns(one), slow_ns(other));
    let slack = EDGES_NS.saturating_mul(one.slow.len().max(1) as i64);
    if one.slow.is_empty() != other.slow.is_empty() || (one_ns - other_ns).abs() > slack {
        let by = |answer: &Explanation| answer.slow.iter().map(|slow| format!(" {}", slow.signal)).collect::<String>();
        let (other_s, one_s) = (other_ns as f64 / 1e9, one_ns as f64 / 1e9);
        return vec![format!("slow for {other_s:.1} s{}, was {one_s:.1} s{}", by(other), by(one))];
    }
    let differs = |cause: &CauseVerdict| {
        let other = of(other, &cause.id)?;
        let is_known = |cause: &CauseVerdict| cause.verdict <= Verdict::Possible;
        let turned = is_accused(cause) && !is_known(other) || is_accused(other) && !is_known(cause);
        let moved = (is_accused(cause) || is_accused(other)) && (cause.share - other.share).abs() > share_slack;
        let text =
            format!("{} {:?} {:.2}, was {:?} {:.2}", cause.id, other.verdict, other.share, cause.verdict, cause.share);
        (turned || moved).then_some(text)
    };
    one.causes.iter().filter_map(differs).collect()
}

/// How the answers about a whole and about a part of it contradict each other.
pub(crate) fn agree(whole: &Explanation, part: &Explanation) -> Vec<String> {
    let is_main = |cause: &CauseVerdict| is_accused(cause) && cause.share >= MAIN;
    let differs = |cause: &CauseVerdict| {
        let other = of(part, &cause.id)?;
        let is_acquitted = |cause: &CauseVerdict| cause.verdict == Verdict::RuledOut;
        let turned = is_main(cause) && is_acquitted(other) || is_main(other) && cause.verdict >= Verdict::NotEnough;
        turned.then(|| {
            format!("{} {:?} {:.2}, was {:?} {:.2}", cause.id, other.verdict, other.share, cause.verdict, cause.share)
        })
    };
    whole.causes.iter().filter_map(differs).collect()
}

/// What is missing from the answer to two troubles in one recording, and who is accused of neither alone.
pub(crate) fn contains_both(first: &Explanation, second: &Explanation, both: &Explanation) -> Vec<String> {
    let is_main = |cause: &&CauseVerdict| is_accused(cause) && cause.share >= MAIN;
    let lost = |cause: &CauseVerdict| {
        let found = of(both, &cause.id).is_some_and(|cause| cause.verdict <= Verdict::Possible);
        let says = of(both, &cause.id).map(|cause| cause.says.as_str()).unwrap_or_default();
        (!found).then(|| format!("{} is not found; it says {says}", cause.id))
    };
    let of_both = [first, second].into_iter().flat_map(|answer| answer.causes.iter().filter(is_main));
    let is_known = |id: &str| {
        [first, second].iter().any(|answer| of(answer, id).is_some_and(|cause| cause.verdict <= Verdict::Possible))
    };
    let new = both.causes.iter().filter(|cause| is_accused(cause) && !is_known(&cause.id));
    let accused = |cause: &CauseVerdict| {
        format!("{} is accused: {:?} {:.2}; it says {}", cause.id, cause.verdict, cause.share, cause.says)
    };
    of_both.filter_map(lost).chain(new.map(accused)).collect()
}
