//! Whether an explanation is the one that the lab is made for, or whether the machine kept the lab from showing it.

use std::process::ExitCode;

use fathom_causes::explanation::{CauseVerdict, Evidence, Explanation, Verdict};
use fathom_labs::{Dose, Expectation, Found, PhaseLatency, PhaseRole};
use serde::Serialize;
use serde_json::Value;

/// Of the requests that were due in a phase in which nothing is wrong, at least this part is answered before it ends; else the
/// load was more than the machine could carry.
const ANSWERED_LEAST: f64 = 0.9;

/// How a run ended, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    AsExpected,
    /// It is not as expected, and the machine was not what the lab needs: nothing follows from it.
    Inconclusive,
    NotAsExpected,
}

impl Outcome {
    /// Of several: what is wrong counts more than what is open.
    pub(super) fn code(outcomes: impl Iterator<Item = Outcome>) -> ExitCode {
        /// Nothing was shown, and nothing refuted.
        const OPEN: u8 = 4;
        match outcomes.max() {
            None | Some(Outcome::AsExpected) => ExitCode::SUCCESS,
            Some(Outcome::Inconclusive) => ExitCode::from(OPEN),
            Some(Outcome::NotAsExpected) => ExitCode::FAILURE,
        }
    }
}

/// What became of a run; nothing of one that was skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Judgement {
    as_expected: Option<bool>,
    pub(super) outcome: Option<Outcome>,
    /// In what it is not as expected.
    problems: Vec<String>,
    /// What of the machine changed its figures.
    disturbances: Vec<String>,
}

impl Judgement {
    pub(super) fn new(outcome: Outcome, problems: Vec<String>, disturbances: Vec<String>) -> Judgement {
        let as_expected = Some(outcome == Outcome::AsExpected);
        Judgement { as_expected, outcome: Some(outcome), problems, disturbances }
    }

    /// For example `INCONCLUSIVE, other processes took 60 % of the CPUs: nothing was slow`.
    pub(super) fn text(&self) -> String {
        let (problems, disturbances) = (self.problems.join("; "), self.disturbances.join("; "));
        let Some(outcome) = self.outcome else { return String::new() };
        match outcome {
            Outcome::AsExpected if disturbances.is_empty() => "as expected".to_owned(),
            Outcome::AsExpected => format!("as expected, though {disturbances}"),
            Outcome::NotAsExpected => format!("NOT as expected: {problems}"),
            Outcome::Inconclusive if problems.is_empty() => format!("INCONCLUSIVE, {disturbances}"),
            Outcome::Inconclusive => format!("INCONCLUSIVE, {disturbances}: {problems}"),
        }
    }
}

/// `dose` is what the program noted, as JSON; `disturbances` is what was seen of the machine.
pub(super) fn judge(
    expected: &Expectation,
    explanation: &Explanation,
    dose: &str,
    mut disturbances: Vec<String>,
) -> Judgement {
    let problems = problems(expected, explanation, dose);
    let taken = of_the_machine(expected, explanation);
    disturbances.extend(taken.iter().map(|id| format!("{id} is true of this machine")));
    // A slow run of which only the machine is accused shows nothing of a lab in which nothing may be slow.
    let is_open = matches!(expected, Expectation::Nothing(_)) && !explanation.slow.is_empty();
    let outcome = match problems.is_empty() && !is_open {
        true => Outcome::AsExpected,
        false if disturbances.is_empty() => Outcome::NotAsExpected,
        false => Outcome::Inconclusive,
    };
    Judgement::new(outcome, problems, disturbances)
}

/// Phases in which nothing is wrong and whose requests were not answered: the machine could not carry the load.
pub(super) fn load_not_kept(expected: &Expectation, phases: &[PhaseLatency]) -> Option<String> {
    let is_healthy = |phase: &&PhaseLatency| match phase.role {
        PhaseRole::WarmUp => false,
        PhaseRole::Baseline => true,
        PhaseRole::Exposed => matches!(expected, Expectation::Nothing(_)),
    };
    let is_kept = |phase: &PhaseLatency| phase.answered as f64 >= ANSWERED_LEAST * phase.requests as f64;
    let late = phases.iter().filter(is_healthy).find(|phase| !is_kept(phase))?;
    let PhaseLatency { name, requests, answered, .. } = late;
    Some(format!("the load could not be kept: {answered} of {requests} requests of \"{name}\" were answered in it"))
}

/// In what an explanation is not as expected; nothing when it is.
fn problems(expected: &Expectation, explanation: &Explanation, dose: &str) -> Vec<String> {
    let of_the_machine = of_the_machine(expected, explanation);
    let of_the_lab = accused(explanation).map(|cause| cause.id.as_str()).filter(|id| !of_the_machine.contains(id));
    let accused: Vec<&str> = of_the_lab.collect();
    match expected {
        Expectation::Nothing(_) if explanation.slow.is_empty() => Vec::new(),
        Expectation::Nothing(_) if accused.is_empty() && !of_the_machine.is_empty() => Vec::new(),
        Expectation::Nothing(_) => vec![match accused.as_slice() {
            [] => "something was slow".to_owned(),
            accused => format!("something was slow, and {} accused", accused.join(", ")),
        }],
        Expectation::Found(found) => {
            let mut problems = wrong_accusations(found, explanation, &accused);
            problems.extend(found.verdicts.iter().filter_map(|(id, verdict)| wrong_verdict(id, verdict, explanation)));
            problems.extend(found.shares.iter().filter_map(|(id, band)| wrong_share(id, *band, explanation)));
            problems.extend(found.doses.iter().filter_map(|wanted| wrong_dose(wanted, explanation, dose)));
            problems
        }
    }
}

/// Causes that are at least likely, the best first.
pub(super) fn accused(explanation: &Explanation) -> impl Iterator<Item = &CauseVerdict> {
    explanation.causes.iter().filter(|cause| cause.verdict <= Verdict::Likely)
}

/// Causes that are accused because other processes took the CPUs, or the host did, in a lab that is made for another: it is
/// true of the machine.
fn of_the_machine(expected: &Expectation, explanation: &Explanation) -> Vec<&'static str> {
    /// Each with the evidence that tells so, and how much of it a machine at rest does not have: cores, and ns per second.
    const SIGNS_OF_OTHERS: [(&str, &str, f64); 2] =
        [("run_queue_wait", Evidence::CPU_OF_OTHERS, 0.2), ("stolen_cpu", Evidence::STOLEN_CPU, 5e7)];
    let is_busy = |(id, says, least): &(&str, &str, f64)| {
        let tells = |evidence: &Evidence| evidence.says == *says && evidence.value >= *least;
        let mut accused = accused(explanation).filter(|cause| cause.id == *id && expected.cause() != Some(id));
        accused.any(|cause| cause.evidence.iter().any(tells))
    };
    SIGNS_OF_OTHERS.into_iter().filter(is_busy).map(|(id, ..)| id).collect()
}

/// As JSON has it: `not_enough`.
pub(super) fn name(verdict: Verdict) -> String {
    let value = serde_json::to_value(verdict).ok();
    value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn cause<'e>(id: &str, explanation: &'e Explanation) -> Option<&'e CauseVerdict> {
    explanation.causes.iter().find(|cause| cause.id == id)
}

fn wrong_accusations(found: &Found, explanation: &Explanation, accused: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(first) = found.first.as_deref() {
        match (explanation.slow.is_empty(), accused.first()) {
            (true, _) => problems.push("nothing was slow".to_owned()),
            (false, Some(best)) if *best == first => {}
            (false, _) => problems.push(format!("{first} does not come first")),
        }
        let chain = cause(first, explanation).map_or(&[][..], |cause| &cause.chain);
        if chain != found.chain.as_slice() && !found.chain.is_empty() {
            problems.push(format!("the chain behind {first} is {chain:?}"));
        }
    }
    let is_allowed = |id: &str| found.first.as_deref() == Some(id) || found.also.iter().any(|also| also == id);
    let others = accused.iter().filter(|id| !is_allowed(id));
    problems.extend(others.map(|id| format!("{id} is accused too")));
    problems
}

fn wrong_verdict(id: &str, wanted: &str, explanation: &Explanation) -> Option<String> {
    let verdict = name(cause(id, explanation)?.verdict);
    (verdict != wanted).then(|| format!("{id} is {verdict}, not {wanted}"))
}

fn wrong_share(id: &str, (least, most): (f64, f64), explanation: &Explanation) -> Option<String> {
    let share = cause(id, explanation).map_or(0.0, |cause| cause.share);
    let percent = |part: f64| (part * 100.0).round();
    (share < least || share > most)
        .then(|| format!("{id} has {} %, not {} to {} %", percent(share), percent(least), percent(most)))
}

fn wrong_dose(wanted: &Dose, explanation: &Explanation, dose: &str) -> Option<String> {
    let Dose { cause: id, evidence: name, noted, within } = wanted;
    let given = serde_json::from_str::<Value>(dose).ok().and_then(|dose| dose["dose"][noted].as_f64());
    let evidence =
        cause(id, explanation).and_then(|cause| cause.evidence.iter().find(|evidence| evidence.says == *name));
    let measured = evidence.map(|evidence| in_all(evidence, explanation));
    let (Some(given), Some(measured)) = (given, measured) else {
        return Some(format!("{id} does not measure {name}, or the program did not note {noted}"));
    };
    let is_close = (measured - given).abs() <= within * given.abs();
    (!is_close).then(|| format!("{name} is {measured:.4e}, and {given:.4e} was given"))
}

/// What was measured per second, over all of the slow time: how much time is slow is not the program's to know.
fn in_all(evidence: &Evidence, explanation: &Explanation) -> f64 {
    let slow_ns: i64 = explanation.slow.iter().map(|slow| slow.to_ns.saturating_sub(slow.from_ns)).sum();
    if evidence.unit.ends_with("/s") { evidence.value * slow_ns as f64 / 1e9 } else { evidence.value }
}

#[cfg(test)]
mod tests {
    use fathom_causes::explanation::{Baseline, Headline, HeadlineKind, SCHEMA, SlowInterval, Unexplained};

    use super::*;

    fn verdict(id: &str, verdict: Verdict, share: f64, chain: &[&str]) -> CauseVerdict {
        let evidence = Evidence {
            says: "time lost".to_owned(),
            value: 100.0,
            unit: "ns/s".to_owned(),
            table: "spans".to_owned(),
            to_ns: 1,
            ..Evidence::default()
        };
        CauseVerdict {
            verdict,
            share,
            evidence: vec![evidence],
            chain: chain.iter().map(|id| (*id).to_owned()).collect(),
            ..CauseVerdict::nothing(id)
        }
    }

    fn explanation(slow: bool, causes: Vec<CauseVerdict>) -> Explanation {
        let interval = SlowInterval { to_ns: 2_000_000_000, signal: "given".to_owned(), ..SlowInterval::default() };
        Explanation {
            schema: SCHEMA,
            recording: Default::default(),
            headline: Headline { kind: HeadlineKind::NothingSlow, says: String::new(), but: Vec::new() },
            requests: Vec::new(),
            changed: Vec::new(),
            messages: Vec::new(),
            request_kinds: Vec::new(),
            statuses: Vec::new(),
            slow: slow.then_some(interval).into_iter().collect(),
            rhythm: None,
            baseline: Baseline { kind: "none".to_owned(), says: String::new(), duration_ns: 0 },
            figures: Vec::new(),
            causes,
            unexplained: Unexplained {
                share: 0.0,
                says: String::new(),
                stacks: Vec::new(),
                drill_down: Default::default(),
            },
            losses: Vec::new(),
        }
    }

    fn phase(role: PhaseRole, answered: usize) -> PhaseLatency {
        let name = "before".to_owned();
        PhaseLatency {
            name,
            role,
            from_ms: 0,
            to_ms: 0,
            requests: 100,
            answered,
            p50_ms: 0.0,
            p99_ms: 0.0,
            max_ms: 0.0,
        }
    }

    #[test]
    fn a_load_that_the_machine_cannot_carry_is_seen_where_nothing_is_wrong() {
        let nothing: Expectation = serde_json::from_str(r#""nothing_slow""#).unwrap();
        let sick: Expectation = serde_json::from_str(r#"{"first": "a"}"#).unwrap();
        for (expected, role, answered, is_late) in [
            (&sick, PhaseRole::Baseline, 95, false),
            (&sick, PhaseRole::Baseline, 40, true),
            (&sick, PhaseRole::Exposed, 40, false),
            (&nothing, PhaseRole::Exposed, 40, true),
            (&nothing, PhaseRole::WarmUp, 40, false),
        ] {
            assert_eq!(load_not_kept(expected, &[phase(role, answered)]).is_some(), is_late, "{role:?} {answered}");
        }
    }

    #[test]
    fn what_the_machine_did_leaves_a_run_open() {
        let sick: Expectation = serde_json::from_str(r#"{"first": "a"}"#).unwrap();
        let nothing: Expectation = serde_json::from_str(r#""nothing_slow""#).unwrap();
        let shown = explanation(true, vec![verdict("a", Verdict::Shown, 0.7, &[])]);
        let unseen = explanation(false, vec![]);
        let disturbed = || vec!["other processes took 60 % of the CPUs".to_owned()];
        for (expected, explanation, disturbances, outcome) in [
            (&sick, &shown, vec![], Outcome::AsExpected),
            (&sick, &shown, disturbed(), Outcome::AsExpected),
            (&sick, &unseen, vec![], Outcome::NotAsExpected),
            (&sick, &unseen, disturbed(), Outcome::Inconclusive),
            (&nothing, &unseen, disturbed(), Outcome::AsExpected),
            (&nothing, &shown, disturbed(), Outcome::Inconclusive),
            (&nothing, &shown, vec![], Outcome::NotAsExpected),
        ] {
            assert_eq!(judge(expected, explanation, "", disturbances).outcome, Some(outcome), "{expected:?}");
        }
    }

    #[test]
    fn explanations_are_judged() {
        let sick = || {
            explanation(
                true,
                vec![
                    verdict("a", Verdict::Shown, 0.7, &["b"]),
                    verdict("b", Verdict::Likely, 0.2, &[]),
                    verdict("c", Verdict::NotEnough, 0.0, &[]),
                ],
            )
        };
        let dose = r#"{"dose": {"lost": 210}}"#;
        let measured = |within: &str| {
            format!(
                r#"{{"first": "a", "also": ["b"], "doses": [{{"cause": "a", "evidence": "time lost", "noted": "lost", "within": {within}}}]}}"#
            )
        };
        let busy = |cores: f64| {
            let mut waiting = verdict("run_queue_wait", Verdict::Shown, 0.2, &[]);
            waiting.evidence.push(Evidence {
                says: "CPU of other processes".to_owned(),
                value: cores,
                ..Evidence::default()
            });
            explanation(true, vec![verdict("a", Verdict::Shown, 0.7, &[]), waiting])
        };
        let stolen = |ns_per_s: f64| {
            let mut stolen = verdict("stolen_cpu", Verdict::Likely, 0.5, &[]);
            stolen.evidence.push(Evidence {
                says: Evidence::STOLEN_CPU.to_owned(),
                value: ns_per_s,
                ..Evidence::default()
            });
            explanation(true, vec![stolen])
        };
        let only_busy = || {
            let mut explanation = busy(0.9);
            explanation.causes.remove(0);
            explanation
        };
        for (expected, explanation, problem) in [
            (r#"{"first": "a"}"#.to_owned(), busy(0.9), None),
            (r#"{"first": "a"}"#.to_owned(), busy(0.1), Some("run_queue_wait is accused too")),
            (r#"{"first": "run_queue_wait"}"#.to_owned(), busy(0.9), Some("run_queue_wait does not come first")),
            (r#""nothing_slow""#.to_owned(), only_busy(), None),
            (r#""nothing_slow""#.to_owned(), busy(0.9), Some("something was slow, and a accused")),
            (r#""nothing_slow""#.to_owned(), stolen(2e8), None),
            (r#""nothing_slow""#.to_owned(), stolen(1e6), Some("something was slow, and stolen_cpu accused")),
            (r#""nothing_slow""#.to_owned(), explanation(false, vec![]), None),
            (r#""nothing_slow""#.to_owned(), sick(), Some("something was slow, and a, b accused")),
            (r#"{"first": "a"}"#.to_owned(), sick(), Some("b is accused too")),
            (r#"{"first": "a", "also": ["b"], "chain": ["b"], "shares": {"a": [0.6, 0.8]}}"#.to_owned(), sick(), None),
            (
                r#"{"first": "a", "also": ["b"], "chain": ["c"]}"#.to_owned(),
                sick(),
                Some("the chain behind a is [\"b\"]"),
            ),
            (
                r#"{"first": "a", "also": ["b"], "shares": {"b": [0.5, 1]}}"#.to_owned(),
                sick(),
                Some("b has 20 %, not 50 to 100 %"),
            ),
            (r#"{"first": "b", "also": ["a"]}"#.to_owned(), sick(), Some("b does not come first")),
            (r#"{"first": "a"}"#.to_owned(), explanation(false, vec![]), Some("nothing was slow")),
            (r#"{"also": ["a", "b"], "verdicts": {"c": "not_enough"}}"#.to_owned(), sick(), None),
            (
                r#"{"also": ["a", "b"], "verdicts": {"c": "shown"}}"#.to_owned(),
                sick(),
                Some("c is not_enough, not shown"),
            ),
            (measured("0.1"), sick(), None),
            (measured("0.01"), sick(), Some("time lost is 2.0000e2, and 2.1000e2 was given")),
        ] {
            let expectation = serde_json::from_str(&expected).unwrap();
            let found = problems(&expectation, &explanation, dose);
            assert_eq!(found.first().map(String::as_str), problem, "{expected}");
        }
    }
}
