//! What was seen at times that are not called slow.
//!
//! If requests or a person define when it was slow, a mechanism that was not at work then is excluded. If only the
//! program's own signs define it, requests may have waited at other times as well: what was seen then stays open.

use fathom_timeline::{Analysis, Excess, SignalKind, Slowdown, ThreadState};

use crate::cause::{Cause, Support};
use crate::chains::Judged;
use crate::comparison::Comparison;
use crate::explanation::{Missing, Verdict};
use crate::gaps;
use crate::measure::growth;

/// Opens the causes that are excluded in the slow time and were more at work in the rest, where it is not known whether that was slow.
pub(crate) fn open(analysis: &Analysis<'_>, judged: &mut [Judged]) {
    // A latency that is not exact tells when it was slow, though not how slow: that is enough here.
    let is_known = |kind: &SignalKind| kind.is_latency() || *kind == SignalKind::Given;
    let slowdown = &analysis.slowdown;
    let is_time_known = slowdown.signals.iter().any(is_known) || analysis.account.exact_requests().is_some();
    if slowdown.intervals.is_empty() || is_time_known {
        return;
    }
    let states = analysis.account.states.iter();
    let more: Vec<ThreadState> =
        states.filter(|(_, ns)| is_more_in_the_rest(analysis, ns)).map(|(state, _)| *state).collect();
    if more.is_empty() {
        return;
    }
    let whole = Comparison::with(analysis, Slowdown::default(), Excess::default());
    for one in judged.iter_mut().filter(|one| one.verdict.verdict == Verdict::RuledOut) {
        let Some(cause) = crate::cause(&one.verdict.id) else { continue };
        let Some(says) = seen(&whole, cause, &more) else { continue };
        one.verdict.verdict = Verdict::NotEnough;
        one.verdict.says = format!("more of it at other times than in those that are called slow: {says}");
        one.verdict.missing.push(Missing::from_requests("whether requests waited for it at other times"));
        gaps::without_use(&whole, cause, &mut one.verdict.missing);
    }
}

/// What is said of a mechanism that claims a state which is more frequent in the rest than in the slow time, by more than
/// noise.
fn seen(whole: &Comparison<'_>, cause: &Cause, more: &[ThreadState]) -> Option<String> {
    let finding = (cause.decide)(whole);
    let is_material = finding.grown_ns(whole) >= whole.material_ns();
    let is_more = finding.claims.iter().any(|claim| more.contains(&claim.state));
    (finding.support <= Support::Consistent && is_material && is_more).then_some(finding.says)
}

/// Whether a state, by its ns in each second, was more in the rest of the recording than in the slow time.
fn is_more_in_the_rest(analysis: &Analysis<'_>, ns: &[f64]) -> bool {
    let mean = |slow: bool| {
        let values = ns.iter().zip(&analysis.slowdown.slow).filter(|(_, is_slow)| **is_slow == slow);
        let (count, sum) = values.fold((0.0, 0.0), |(count, sum), (ns, _)| (count + 1.0, sum + ns));
        (count > 0.0).then_some(sum / count)
    };
    mean(false).is_some_and(|rest| growth::grew((rest, mean(true))))
}
