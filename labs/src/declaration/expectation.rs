//! What a recording of a variant must be explained as.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What a recording of a variant must be explained as.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Expectation {
    /// `"nothing_slow"`.
    Nothing(Nothing),
    /// A cause, or none, and what else the answer must contain.
    Found(Found),
}

/// Nothing was slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nothing {
    /// Nothing was slow.
    NothingSlow,
}

/// Something was slow.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The cause that comes first and is at least likely. If there is none, no cause may be likely.
    #[serde(default)]
    pub first: Option<String>,
    /// Other causes that may be at least likely. All others must not be.
    #[serde(default)]
    pub also: Vec<String>,
    /// Least and greatest share of the lost time, by cause; 0 to 1.
    #[serde(default)]
    pub shares: BTreeMap<String, (f64, f64)>,
    /// Causes behind the first one, the nearest first.
    #[serde(default)]
    pub chain: Vec<String>,
    /// Verdicts that causes must get, by cause: `shown`, `not_enough`, ...
    #[serde(default)]
    pub verdicts: BTreeMap<String, String>,
    /// Measurements that must agree with what the program did.
    #[serde(default)]
    pub doses: Vec<Dose>,
}

/// A measurement behind a verdict that must agree with what the program wrote down.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dose {
    /// The cause that it is evidence for.
    pub cause: String,
    /// The label of the evidence.
    pub evidence: String,
    /// What the program wrote down, in the same unit; over the whole run if the evidence is per second.
    pub noted: String,
    /// How much the measurement may differ from it, as a fraction.
    pub within: f64,
}

impl Expectation {
    /// The cause that comes first.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        match self {
            Expectation::Nothing(_) => None,
            Expectation::Found(found) => found.first.as_deref(),
        }
    }

    /// For people: "nothing slow", "`gc_log_blocked` first".
    #[must_use]
    pub fn says(&self) -> String {
        match self {
            Expectation::Nothing(_) => "nothing slow".to_owned(),
            Expectation::Found(found) => match (&found.first, found.verdicts.iter().next()) {
                (Some(cause), _) => format!("{cause} first"),
                (None, Some((cause, verdict))) => format!("no cause named, {cause} {verdict}"),
                (None, None) => "no cause named".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_are_read() {
        for (text, expected) in [
            (r#""nothing_slow""#, "nothing slow"),
            (r#"{"first": "swap_in"}"#, "swap_in first"),
            (r#"{"first": "swap_in", "shares": {"swap_in": [0.6, 1.0]}, "chain": ["more_traffic"]}"#, "swap_in first"),
            (r#"{"verdicts": {"swap_in": "not_enough"}}"#, "no cause named, swap_in not_enough"),
            ("{}", "no cause named"),
        ] {
            let read: Expectation = serde_json::from_str(text).expect(text);
            assert_eq!(read.says(), expected);
        }
        for text in [r#""nothing""#, r#"{"fist": "swap_in"}"#, r#"{"first": 1}"#] {
            assert!(serde_json::from_str::<Expectation>(text).is_err(), "{text}");
        }
    }
}
