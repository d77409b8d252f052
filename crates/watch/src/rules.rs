//! Rules of the configuration: `gc.full_per_min > 3 for 30s`.

use serde::Deserialize;

use crate::signals::{NAMES, Values};

/// A rule of the configuration.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Rule {
    /// As it is named in what is reported.
    pub name: String,
    /// What has to be.
    pub when: When,
}

/// As it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    when: String,
}

impl TryFrom<Written> for Rule {
    type Error = String;

    fn try_from(Written { name, when }: Written) -> Result<Rule, String> {
        match When::parse(&when) {
            Ok(when) => Ok(Rule { name, when }),
            Err(error) => Err(format!("rule {name}: {error}")),
        }
    }
}

/// What has to be, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct When {
    signal: String,
    is_above: bool,
    limit: f64,
    /// For how many seconds in a row; 1 at least.
    for_s: u32,
    text: String,
}

/// Why a rule is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRule {
    /// It has another form.
    #[error("{0:?} is no rule: write it like `gc.full_per_min > 3 for 30s`")]
    Form(String),
    /// Nothing has this name.
    #[error("no signal is called {0}; there are {names}", names = NAMES.map(|(name, _)| name).join(", "))]
    Unknown(String),
}

impl When {
    /// Reads `SIGNAL > NUMBER` or `SIGNAL < NUMBER`, with ` for TIME` behind it or not.
    pub fn parse(text: &str) -> Result<When, NoRule> {
        let form = || NoRule::Form(text.to_owned());
        let words: Vec<&str> = text.split_whitespace().collect();
        let (signal, relation, limit, time) = match words[..] {
            [signal, relation, limit] => (signal, relation, limit, "1s"),
            [signal, relation, limit, "for", time] => (signal, relation, limit, time),
            _ => return Err(form()),
        };
        let is_above = match relation {
            ">" => true,
            "<" => false,
            _ => return Err(form()),
        };
        if !NAMES.iter().any(|(name, _)| *name == signal) {
            return Err(NoRule::Unknown(signal.to_owned()));
        }
        let limit: f64 = limit.parse().ok().filter(|limit: &f64| limit.is_finite()).ok_or_else(form)?;
        let for_s = crate::times::time(time).map_err(|_| form())?.as_secs().clamp(1, 86_400) as u32;
        Ok(When { signal: signal.to_owned(), is_above, limit, for_s, text: text.to_owned() })
    }

    fn holds(&self, values: &Values) -> Option<f64> {
        let value = *values.get(self.signal.as_str())?;
        let holds = if self.is_above { value > self.limit } else { value < self.limit };
        holds.then_some(value)
    }
}

/// A rule over time.
#[derive(Debug, Clone)]
pub struct Watched {
    rule: Rule,
    held_s: u32,
}

impl Watched {
    /// A rule that has not held yet.
    pub fn new(rule: Rule) -> Watched {
        Watched { rule, held_s: 0 }
    }

    /// The rule's name.
    pub fn name(&self) -> &str {
        &self.rule.name
    }

    /// Whether it holds, for as long as it has to at least.
    pub fn holds(&self) -> bool {
        self.held_s >= self.rule.when.for_s
    }

    /// Takes the next second. What to say when the rule has come to hold; once, until it has not held again.
    pub fn see(&mut self, values: &Values) -> Option<String> {
        let when = &self.rule.when;
        let Some(value) = when.holds(values) else {
            self.held_s = 0;
            return None;
        };
        self.held_s = self.held_s.saturating_add(1);
        (self.held_s == when.for_s).then(|| format!("{} (now {value:.3}, for {} s)", when.text, when.for_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_one_form() {
        for (text, is_rule) in [
            ("gc.full_per_min > 3 for 30s", true),
            ("gc.full_per_min > 3", true),
            ("requests.per_s < 0.5 for 2m", true),
            ("gc.full_per_min >= 3", false),
            ("gc.full_per_min > x", false),
            ("gc.full_per_min > inf", false),
            ("gc.full_per_min > 3 for", false),
            ("gc.full_per_min > 3 for ever", false),
            ("", false),
        ] {
            assert_eq!(When::parse(text).is_ok(), is_rule, "{text}");
        }
        let unknown = When::parse("gc.fully > 3").unwrap_err();
        assert!(unknown.to_string().contains("gc.full_per_min"), "{unknown}");
    }

    #[test]
    fn a_rule_tells_once_each_time_it_comes_to_hold() {
        let rule = Rule { name: "collections".to_owned(), when: When::parse("gc.full_per_min > 3 for 3s").unwrap() };
        let mut watched = Watched::new(rule);
        let reported: Vec<usize> = [4, 4, 2, 4, 4, 4, 4, 4, 0, 5, 5, 5]
            .into_iter()
            .enumerate()
            .filter(|(_, value)| {
                let values = Values::from([("gc.full_per_min", f64::from(*value))]);
                watched.see(&values).is_some()
            })
            .map(|(at, _)| at)
            .collect();
        assert_eq!(reported, [5, 11]);
        assert!(watched.holds());
        assert_eq!(watched.see(&Values::new()), None, "a signal that is not there");
        assert!(!watched.holds());
    }
}
