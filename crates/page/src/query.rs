//! The parameters of a question, taken from an address.
//!
//! They are untrusted: every number has bounds, every list a length, and what is out of bounds is refused with a line
//! that says what is allowed.

use crate::refused::Refused;

/// More parameters than this are not read.
const PARAMETERS_MAX: usize = 64;

/// Time is given as a number of ns since the recording's origin; larger ones would not be exact.
const TIME_MAX_NS: f64 = 9.0e18;

/// A question's parameters.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// From the part of an address behind the question mark.
    pub fn parse(text: &str) -> Query {
        let pairs = form_urlencoded::parse(text.as_bytes()).take(PARAMETERS_MAX);
        Query { pairs: pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect() }
    }

    /// From names and values.
    pub fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Query {
        Query { pairs: pairs.into_iter().take(PARAMETERS_MAX).collect() }
    }

    /// The value of a parameter; an empty one is as good as none.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A parameter that must be there.
    pub(crate) fn required(&self, name: &'static str, expected: &'static str) -> Result<&str, Refused> {
        self.text(name).ok_or_else(|| Refused::parameter(name, "", expected))
    }

    /// The values of a list separated by commas; `None` without one, and for `all`.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<&str>> {
        let text = self.text(name).filter(|text| *text != "all")?;
        Some(text.split(',').filter(|item| !item.is_empty()).collect())
    }

    /// A whole number within bounds.
    pub(crate) fn count(
        &self,
        name: &'static str,
        default: usize,
        max: usize,
        expected: &'static str,
    ) -> Result<usize, Refused> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let number: Option<usize> = text.parse().ok();
        number.filter(|number| *number <= max).ok_or_else(|| Refused::parameter(name, text, expected))
    }

    /// A share, 0 to 1.
    pub(crate) fn share(&self, name: &'static str, default: f64) -> Result<f64, Refused> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let number: Option<f64> = text.parse().ok();
        let within = number.filter(|number| (0.0..=1.0).contains(number));
        within.ok_or_else(|| Refused::parameter(name, text, "a number from 0 to 1"))
    }

    /// `0` or `1`.
    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, Refused> {
        match self.text(name) {
            None | Some("0" | "false") => Ok(false),
            Some("1" | "true") => Ok(true),
            Some(other) => Err(Refused::parameter(name, other, "0 or 1")),
        }
    }

    /// A time in ns since the origin.
    pub(crate) fn time_ns(&self, name: &'static str, default: i64) -> Result<i64, Refused> {
        self.text(name).map_or(Ok(default), |text| time_ns(name, text))
    }
}

/// Reads a time in ns since the origin, whole or not.
pub(crate) fn time_ns(name: &'static str, text: &str) -> Result<i64, Refused> {
    let number: Option<f64> = text.trim().parse().ok();
    let within = number.filter(|number| number.abs() <= TIME_MAX_NS);
    within
        .map(|number| number.round() as i64)
        .ok_or_else(|| Refused::parameter(name, text, "nanoseconds since the origin of the recording"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_or_refused() {
        let query = Query::parse("a=1&b=x%26y&c=&d=1e9&e=-3.6&f=NaN&g=2,,3&h=all&share=1.5&flag=1");
        assert_eq!(query.text("b"), Some("x&y"));
        assert_eq!(query.text("c"), None);
        assert_eq!(query.count("a", 7, 10, "").as_ref(), Ok(&1));
        assert_eq!(query.count("missing", 7, 10, "").as_ref(), Ok(&7));
        assert!(query.count("a", 7, 0, "").is_err() && query.count("b", 7, 10, "").is_err());
        assert_eq!(query.time_ns("d", 0).as_ref(), Ok(&1_000_000_000));
        assert_eq!(query.time_ns("e", 0).as_ref(), Ok(&-4));
        assert!(query.time_ns("f", 0).is_err() && query.share("share", 0.0).is_err());
        assert_eq!(query.list("g"), Some(vec!["2", "3"]));
        assert_eq!(query.list("h"), None);
        assert_eq!(query.flag("flag").as_ref(), Ok(&true));
        assert!(query.flag("a").is_ok() && query.flag("d").is_err());
    }
}
