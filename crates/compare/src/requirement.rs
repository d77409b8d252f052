//! What a build may demand of the second side: `p99 <= +10%`.

use std::str::FromStr;

use serde::Serialize;

use crate::comparable::percent;
use crate::measures::{Measure, MeasureDifference};

/// A limit of how much a measure may rise.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    text: String,
    measure: Measure,
    /// 0.1 is 10 %.
    limit: f64,
}

/// A text that is no requirement.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("expected a measure and a limit, such as 'p99 <= +10%'; measures are {}", Measure::ALL.map(Measure::name).join(", "))]
pub struct RequirementError;

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Requirement, RequirementError> {
        let (measure, limit) = text.split_once("<=").ok_or(RequirementError)?;
        let measure = Measure::ALL.into_iter().find(|known| known.name() == measure.trim()).ok_or(RequirementError)?;
        let limit = limit.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let limit = limit.filter(|limit| limit.is_finite() && *limit > -100.0).ok_or(RequirementError)?;
        Ok(Requirement { text: text.trim().to_owned(), measure, limit: limit / 100.0 })
    }
}

/// Whether a requirement holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The whole confidence interval is within the limit.
    Met,
    /// The whole confidence interval is beyond the limit.
    Broken,
    /// The limit lies within the confidence interval, or the sides cannot be compared.
    Undecided,
}

/// What came of a requirement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// As it was given.
    pub requirement: String,
    /// Whether it holds.
    pub state: State,
    /// One sentence.
    pub says: String,
}

impl Requirement {
    /// Against what was measured; `is_comparable` is whether the sides can be compared at all.
    pub(crate) fn judge(&self, measures: &[MeasureDifference], is_comparable: bool) -> Outcome {
        let change = measures.iter().find(|one| one.measure == self.measure).and_then(|one| one.change);
        let (state, says) = match change {
            _ if !is_comparable => (State::Undecided, "the sides cannot be compared".to_owned()),
            None => (State::Undecided, format!("{} is not known in two runs of each side", self.measure.name())),
            Some(change) => {
                let range = format!("95 % interval {} to {}", percent(change.low), percent(change.high));
                let state = match () {
                    () if change.low > self.limit => State::Broken,
                    () if change.high <= self.limit => State::Met,
                    () => State::Undecided,
                };
                (state, format!("{} by {}, {range}", self.measure.name(), percent(change.by)))
            }
        };
        Outcome { requirement: self.text.clone(), state, says }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read() {
        for (text, expected) in [
            ("p99 <= +10%", Some((Measure::P99, 0.1))),
            ("p50<=0 %", Some((Measure::P50, 0.0))),
            ("lost <= -20%", Some((Measure::Lost, -0.2))),
            ("p95 <= +10%", None),
            ("p99 < +10%", None),
            ("p99 <= ten", None),
            ("p99 <= nan%", None),
            ("", None),
        ] {
            let read = text.parse::<Requirement>().ok().map(|one| (one.measure, one.limit));
            assert_eq!(read, expected, "{text}");
        }
    }
}
