//! From findings to verdicts: hands out the lost time, once each, and says how sure we are.

use std::collections::BTreeMap;

use fathom_evidence::Recording;
use fathom_timeline::{Analysis, Cell, Options, analyse};

use crate::case::Case;
use crate::cause::{Cause, Claim, Finding, Standing};
use crate::chains::{self, Judged};
use crate::explanation::{CauseVerdict, Explanation, SCHEMA, Verdict};
use crate::{catalog, say, summary, unexplained};

/// A cause that explains less of the lost time than this is not worth acting on.
const MINOR_SHARE: f64 = 0.10;

/// A cause that explains less than this does not matter in this slowdown.
const NEGLIGIBLE_SHARE: f64 = 0.02;

/// Lost time below this part of one thread is noise, whatever its share of the rest.
pub(crate) const MATERIAL_THREADS: f64 = 0.01;

/// What the caller knows.
#[derive(Debug, Default, Clone, Copy)]
pub struct ExplainOptions<'a> {
    /// When it was slow, in ns since the Unix epoch.
    pub slow: Option<(i64, i64)>,
    /// A recording of the same service when it was well.
    pub baseline: Option<&'a Recording>,
}

/// A cause that names a mechanism answers a suspicion when it explains this part of it.
const ANSWERS_SUSPICION: f64 = 0.5;

/// Explains a recording.
pub fn explain(recording: &Recording, options: &ExplainOptions<'_>) -> Explanation {
    investigate(recording, options).map_or_else(|| explain_nothing(recording), |(_, explanation)| explanation)
}

/// The answer for a recording without anything in it that has a time.
pub fn explain_nothing(recording: &Recording) -> Explanation {
    summary::of_nothing(recording)
}

/// Explains a recording and gives the account that the explanation is about. `None` when nothing in
/// the recording has a time.
pub fn investigate<'a>(recording: &'a Recording, options: &ExplainOptions<'a>) -> Option<(Analysis<'a>, Explanation)> {
    let mut analysis = analyse(recording, &Options { slow: options.slow, baseline: options.baseline })?;
    let answer = Answer::new(&analysis);
    // Who knows how long requests took knows whether it was slow.
    let is_known = options.slow.is_some() || analysis.account.requests.is_some();
    let is_settled = is_known || answer.names_a_cause();
    let explanation = answer.explanation(&analysis);
    let suspicion = if is_settled { None } else { analysis.suspicion() };
    let Some((pain, excess)) = suspicion else { return Some((analysis, explanation)) };
    let asked = (std::mem::replace(&mut analysis.pain, pain), std::mem::replace(&mut analysis.excess, excess));
    let answer = Answer::new(&analysis);
    if answer.explains_what_is_below_java() >= ANSWERS_SUSPICION {
        let explanation = answer.explanation(&analysis);
        return Some((analysis, explanation));
    }
    (analysis.pain, analysis.excess) = asked;
    Some((analysis, explanation))
}

/// What the causes say about one choice of slow seconds.
struct Answer {
    judged: Vec<Judged>,
    /// The lost time that nobody claimed.
    left: BTreeMap<Cell, f64>,
    lost_ns: f64,
    below_java_ns: f64,
}

impl Answer {
    fn new(analysis: &Analysis<'_>) -> Answer {
        let case = Case::new(analysis);
        let lost_ns = case.excess().lost_ns();
        let mut ledger = Ledger::new(&case);
        let below_java_ns = ledger.left.iter().filter(|(cell, _)| cell.is_below_java()).map(|(_, ns)| ns).sum();
        let mut by_rank: Vec<&Cause> = catalog().to_vec();
        by_rank.sort_by_key(|cause| (cause.rank, cause.id));
        let mut judged: Vec<Judged> = by_rank.iter().map(|cause| judge(cause, &case, &mut ledger, lost_ns)).collect();
        chains::complete(&mut judged);
        judged.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        Answer { judged, left: ledger.left, lost_ns, below_java_ns }
    }

    fn names_a_cause(&self) -> bool {
        self.judged.iter().any(|judged| judged.verdict.verdict <= Verdict::Likely)
    }

    /// The part of the time below Java that causes explain whose mechanism was seen.
    fn explains_what_is_below_java(&self) -> f64 {
        let shown = self.judged.iter().filter(|judged| judged.verdict.verdict == Verdict::Shown);
        let taken = shown.flat_map(|judged| &judged.taken).filter(|(cell, _)| cell.is_below_java());
        taken.map(|(_, ns)| ns).sum::<f64>() / self.below_java_ns.max(f64::MIN_POSITIVE)
    }

    fn explanation(self, analysis: &Analysis<'_>) -> Explanation {
        let case = Case::new(analysis);
        let causes: Vec<CauseVerdict> = self.judged.into_iter().map(|one| one.verdict).collect();
        let explained: f64 = causes.iter().map(|cause| cause.share).sum();
        let is_slow = self.lost_ns > 0.0 || !analysis.pain.intervals.is_empty();
        let rest = if is_slow { (1.0 - explained).max(0.0) } else { 0.0 };
        Explanation {
            schema: SCHEMA,
            recording: summary::recording(&case),
            slow: summary::slow(&case),
            baseline: summary::baseline(&case),
            figures: summary::figures(&case),
            unexplained: unexplained::of(&case, &self.left, rest),
            causes,
            losses: summary::losses(case.recording()),
        }
    }
}

/// Harm that was done comes before who lost time: its chain says how they belong together.
fn order(judged: &Judged) -> (Verdict, bool, f64) {
    (judged.verdict.verdict, judged.harm.is_none(), -judged.verdict.share)
}

/// The lost time that nobody has claimed yet.
struct Ledger {
    left: BTreeMap<Cell, f64>,
}

impl Ledger {
    fn new(case: &Case<'_>) -> Ledger {
        Ledger { left: case.excess().cells.iter().map(|excess| (excess.cell, excess.lost_ns())).collect() }
    }

    /// Takes what a finding claims as far as it is left; gives the taken amounts.
    fn take(&mut self, finding: &Finding) -> Vec<(Cell, f64)> {
        let taken = finding.claims.iter().map(|claim| (claim.cell, self.take_of(claim.cell, claim.at_most_ns)));
        taken.collect()
    }

    /// The same of the waiting for locks that goes along with what a cause was given: others waited for threads that lost it.
    fn take_along(&mut self, case: &Case<'_>, taken: &[(Cell, f64)]) -> Vec<(Cell, f64)> {
        let mut along = Vec::new();
        for (cell, ns) in taken {
            let lost_ns = case.excess().of(*cell).map_or(0.0, |excess| excess.lost_ns());
            for (waits, with_all_ns) in case.holders().along_with(case, *cell) {
                along.push((waits, self.take_of(waits, with_all_ns * ns / lost_ns.max(1.0))));
            }
        }
        along
    }

    fn take_of(&mut self, cell: Cell, at_most_ns: f64) -> f64 {
        let Some(left) = self.left.get_mut(&cell) else { return 0.0 };
        let ns = left.min(at_most_ns).max(0.0);
        *left -= ns;
        ns
    }

    fn give_back(&mut self, taken: &[(Cell, f64)]) {
        for (cell, ns) in taken {
            *self.left.entry(*cell).or_default() += ns;
        }
    }
}

fn judge(cause: &Cause, case: &Case<'_>, ledger: &mut Ledger, lost_ns: f64) -> Judged {
    let finding = (cause.decide)(case);
    let mut taken = ledger.take(&finding);
    let along = ledger.take_along(case, &taken);
    let along_ns: f64 = along.iter().map(|(_, ns)| ns).sum();
    taken.extend(along);
    // The sum of nothing is minus zero; added to zero it is plain zero.
    let taken_ns = 0.0 + taken.iter().map(|(_, ns)| ns).sum::<f64>();
    let share = if lost_ns > 0.0 { (taken_ns / lost_ns).min(1.0) } else { 0.0 };
    let material = taken_ns >= MATERIAL_THREADS * case.excess().slow_ns && lost_ns > 0.0;
    let verdict = match (&finding.harm, case.analysis.pain.intervals.is_empty()) {
        (Some(_), false) => verdict(finding.standing, 1.0, true),
        _ => verdict(finding.standing, share, material),
    };
    let counts = verdict <= Verdict::Possible;
    if !counts {
        ledger.give_back(&taken);
    }
    let says = match counts {
        true => told(case, &finding, along_ns, taken_ns),
        false => not_told(case, &finding, lost_ns),
    };
    let mut actions = finding.actions;
    actions.extend(cause.actions.iter().map(|action| (*action).to_owned()));
    let verdict = CauseVerdict {
        id: cause.id.to_owned(),
        verdict,
        share: if counts { share } else { 0.0 },
        says,
        evidence: finding.evidence,
        missing: finding.missing,
        chain: finding.chain.iter().map(|id| (*id).to_owned()).collect(),
        actions,
        prove: if cause.has_lab { format!("fathom lab run {}", cause.id) } else { String::new() },
    };
    Judged { verdict, harm: finding.harm, when: finding.when, taken: if counts { taken } else { Vec::new() } }
}

/// What is said of a cause that counts.
fn told(case: &Case<'_>, finding: &Finding, along_ns: f64, taken_ns: f64) -> String {
    if along_ns <= MINOR_SHARE * taken_ns {
        return finding.says.clone();
    }
    let waited = say::number(along_ns / case.excess().slow_ns.max(1.0));
    format!("{}; {waited} threads more waited for locks that such threads held meanwhile", finding.says)
}

/// What is said of one that does not.
fn not_told(case: &Case<'_>, finding: &Finding, lost_ns: f64) -> String {
    match finding.standing {
        Standing::Absent | Standing::Unknown => finding.says.clone(),
        _ if case.analysis.pain.intervals.is_empty() => "nothing was slow".to_owned(),
        _ if would_matter(case, finding, lost_ns) => format!("other causes explain that time: {}", finding.says),
        _ => format!("too little to matter here: {}", finding.says),
    }
}

/// Whether a cause would explain a part that counts, had no other cause come first.
fn would_matter(case: &Case<'_>, finding: &Finding, lost_ns: f64) -> bool {
    let of = |claim: &Claim| case.excess().of(claim.cell).map_or(0.0, |excess| excess.lost_ns()).min(claim.at_most_ns);
    lost_ns > 0.0 && finding.claims.iter().map(of).sum::<f64>() >= NEGLIGIBLE_SHARE * lost_ns
}

/// How sure we are: how well the signature was seen, and whether it covers time that matters.
fn verdict(standing: Standing, share: f64, material: bool) -> Verdict {
    let share = if material { share } else { 0.0 };
    match standing {
        Standing::Unknown => Verdict::NotEnough,
        Standing::Absent => Verdict::RuledOut,
        _ if share < NEGLIGIBLE_SHARE => Verdict::RuledOut,
        Standing::Seen if share >= MINOR_SHARE => Verdict::Shown,
        Standing::Indicated if share >= MINOR_SHARE => Verdict::Likely,
        Standing::Seen | Standing::Indicated | Standing::Faint => Verdict::Possible,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_need_both_signature_and_time() {
        for (standing, share, material, expected) in [
            (Standing::Seen, 0.7, true, Verdict::Shown),
            (Standing::Seen, 0.7, false, Verdict::RuledOut),
            (Standing::Seen, 0.05, true, Verdict::Possible),
            (Standing::Seen, 0.01, true, Verdict::RuledOut),
            (Standing::Indicated, 0.7, true, Verdict::Likely),
            (Standing::Indicated, 0.05, true, Verdict::Possible),
            (Standing::Faint, 0.9, true, Verdict::Possible),
            (Standing::Absent, 0.9, true, Verdict::RuledOut),
            (Standing::Unknown, 0.0, true, Verdict::NotEnough),
        ] {
            assert_eq!(verdict(standing, share, material), expected, "{standing:?} {share} {material}");
        }
    }
}
