//! The comparison of two sides and its verdict.

use serde::Serialize;

use crate::comparable::{self, Accepted, Reason, percent};
use crate::facts::{Facts, FactsCompared};
use crate::latencies::Latencies;
use crate::lost::{self, LostDifference};
use crate::measures::{self, MeasureDifference};
use crate::profiles::{self, ProfileDifference};
use crate::requirement::{Outcome, Requirement};
use crate::run::Run;
use crate::statistics::Order;

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// The second side against the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Something that decides is less, and nothing is more.
    Better,
    /// Something that decides is more.
    Worse,
    /// Nothing was found; the sentence says what would have been.
    NoDifference,
    /// Something other than the program may have made a difference, or hidden one.
    NotComparable,
    /// A side has one run: how much runs differ is not known.
    NoVerdict,
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Which.
    pub kind: VerdictKind,
    /// One sentence.
    pub says: String,
    /// Why the sides cannot be compared.
    pub because: Vec<Reason>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// Its runs.
    pub runs: Vec<Run>,
    /// Requests per second, all runs taken together; none where requests are not known.
    pub requests_per_s: Option<f64>,
}

/// Two sides, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The second side against the first.
    pub verdict: Verdict,
    /// What differs in what was set, built in or given.
    pub facts: FactsCompared,
    /// How the runs follow each other.
    pub order: Order,
    /// What was measured.
    pub measures: Vec<MeasureDifference>,
    /// Whether thread time is given per request; per second otherwise.
    pub per_request: bool,
    /// Lost time by cause.
    pub causes: Vec<LostDifference>,
    /// Thread time by state.
    pub states: Vec<LostDifference>,
    /// Frames of profiles that have no time of each sample, by what was sampled; empty for all other runs.
    pub profiles: Vec<ProfileDifference>,
    /// What only one side of these sampled.
    pub profiles_one_sided: Vec<String>,
    /// What came of the requirements.
    pub requirements: Vec<Outcome>,
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
}

/// Compares two sides. `accepted` are reasons that a person knows to be none.
pub fn compare(a: Vec<Run>, b: Vec<Run>, accepted: &[Accepted], requirements: &[Requirement]) -> Comparison {
    let times = [&a, &b].map(|side| side.iter().map(|run| run.from_ns).collect::<Vec<i64>>());
    let order = Order::of(&times[0], &times[1]);
    let facts_of = |side: &[Run]| -> Vec<Facts> { side.iter().map(|run| run.facts.clone()).collect() };
    let (facts_a, facts_b) = (facts_of(&a), facts_of(&b));
    let facts = FactsCompared::of(&facts_a.iter().collect::<Vec<_>>(), &facts_b.iter().collect::<Vec<_>>());
    let measures = measures::compare(&a, &b, &order);
    let mut because = comparable::reasons(&a, &b, &measures, &facts);
    because.extend(comparable::drift(&measures));
    because.retain(|reason| !accepted.contains(&reason.kind));
    let are_profiles = a.iter().chain(&b).all(Run::is_profile);
    let profiles_of = |side: &[Run]| profiles::sum(side.iter().filter(|_| are_profiles).map(|run| &run.profiles));
    let (profiles_a, profiles_b) = (profiles_of(&a), profiles_of(&b));
    let verdict = match are_profiles {
        true => of_profiles(),
        false => verdict([a.len(), b.len()], &measures, because),
    };
    let is_comparable = !matches!(verdict.kind, VerdictKind::NotComparable | VerdictKind::NoVerdict);
    Comparison {
        schema: SCHEMA,
        requirements: requirements.iter().map(|one| one.judge(&measures, is_comparable)).collect(),
        verdict,
        facts,
        order,
        measures,
        per_request: a.iter().chain(&b).all(|run| run.latencies.is_some()),
        causes: lost::compare(&a, &b, |run| &run.causes),
        states: lost::compare(&a, &b, |run| &run.states),
        profiles: profiles::compare([&profiles_a, &profiles_b]),
        profiles_one_sided: profiles::one_sided([&profiles_a, &profiles_b]),
        a: Side::of(a),
        b: Side::of(b),
    }
}

impl Side {
    fn of(runs: Vec<Run>) -> Side {
        let sum_of =
            |of: fn(&Latencies) -> f64| runs.iter().map(|run| run.latencies.as_ref().map(of)).sum::<Option<f64>>();
        let sums = sum_of(|latencies| latencies.count).zip(sum_of(|latencies| latencies.seconds));
        Side { requests_per_s: sums.map(|(count, seconds)| count / seconds), runs }
    }
}

/// Of profiles alone.
fn of_profiles() -> Verdict {
    let says = "not comparable: there are no requests in profiles without times, which say where time went and not how long anything took";
    Verdict { kind: VerdictKind::NotComparable, says: says.to_owned(), because: Vec::new() }
}

fn verdict(runs: [usize; 2], measures: &[MeasureDifference], because: Vec<Reason>) -> Verdict {
    let deciding: Vec<&MeasureDifference> = measures.iter().filter(|one| one.decides).collect();
    let found = || deciding.iter().copied().filter(|one| one.found);
    let steady: Vec<&MeasureDifference> = found().filter(|one| !one.may_be_drift).collect();
    // A person may have accepted the drift.
    let found = if steady.is_empty() { found().collect() } else { steady };
    let kind = match () {
        () if deciding.is_empty() => VerdictKind::NotComparable,
        () if runs.iter().any(|count| *count < 2) => VerdictKind::NoVerdict,
        () if !because.is_empty() => VerdictKind::NotComparable,
        () if found.is_empty() => VerdictKind::NoDifference,
        () if found.iter().any(|one| one.is_worse()) => VerdictKind::Worse,
        () => VerdictKind::Better,
    };
    let says = match kind {
        VerdictKind::NoVerdict => {
            "no verdict: a side has one run, so it is not known how much runs differ by themselves".to_owned()
        }
        VerdictKind::NotComparable if deciding.is_empty() => {
            "not comparable, because no measure is known in all runs".to_owned()
        }
        VerdictKind::NotComparable => {
            let reasons: Vec<&str> = because.iter().map(|reason| reason.says.as_str()).collect();
            format!("not comparable, because {}", reasons.join("; and because "))
        }
        VerdictKind::NoDifference => format!("no difference found ({})", would_have_been(&deciding)),
        VerdictKind::Better => format!("better: {}{}", changes(&found), although(measures, false)),
        VerdictKind::Worse => format!("worse: {}{}", changes(&found), although(measures, true)),
    };
    Verdict { kind, says, because }
}

/// What was found in latencies that speaks against the verdict: the slowest requests may be quicker where the median is not.
fn although(measures: &[MeasureDifference], is_worse: bool) -> String {
    let is_against = |one: &&MeasureDifference| one.found && !one.may_be_drift && one.is_worse() != is_worse;
    let against: Vec<_> = measures.iter().filter(|one| one.unit == "ns").filter(is_against).collect();
    if against.is_empty() { String::new() } else { format!(", although {}", changes(&against)) }
}

fn changes(found: &[&MeasureDifference]) -> String {
    let one = |one: &&MeasureDifference| {
        let change = one.change?;
        let range = format!("95 % interval {} to {}", percent(change.low), percent(change.high));
        Some(format!("{} {} ({range})", one.measure.name(), percent(change.by)))
    };
    found.iter().filter_map(one).collect::<Vec<_>>().join(", ")
}

/// What no difference means: how large one would have been found.
fn would_have_been(deciding: &[&MeasureDifference]) -> String {
    let one = |one: &&MeasureDifference| {
        let from = percent(one.found_from?);
        Some(format!("of {} or more in {}", from.trim_start_matches('+'), one.measure.name()))
    };
    let all: Vec<String> = deciding.iter().filter_map(one).collect();
    format!("a difference {} would have been found", all.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Measure;
    use crate::statistics::Change;

    fn found(measure: Measure, by: f64) -> MeasureDifference {
        let change = Some(Change { by, low: by - 0.1, high: by + 0.1 });
        let decides = measure.decides(true);
        let (a, b, unit) = (None, None, measure.unit());
        MeasureDifference {
            measure,
            unit,
            decides,
            a,
            b,
            change,
            chance: None,
            found_from: None,
            may_be_drift: false,
            found: true,
        }
    }

    #[test]
    fn what_speaks_against_the_verdict_is_said() {
        let measures = [found(Measure::P50, 0.3), found(Measure::P99, -0.8), found(Measure::Lost, -0.9)];
        let says = |measures: &[MeasureDifference]| verdict([5, 5], measures, Vec::new()).says;
        let p50 = "worse: p50 +30 % (95 % interval +20 % to +40 %)";
        assert_eq!(says(&measures), format!("{p50}, although p99 -80 % (95 % interval -90 % to -70 %)"));
        assert_eq!(says(&measures[..1]), p50);
        assert!(says(&[found(Measure::Mean, -0.3), found(Measure::P90, 0.5)]).contains("although p90 +50 %"));
    }
}
