//! Times as people write them.

use std::time::Duration;

/// A time, `30s`, `5m`, `500ms`.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<jiff::SignedDuration>().ok().filter(jiff::SignedDuration::is_positive);
    parsed.map(|time| time.unsigned_abs()).ok_or_else(|| format!("{text:?} is no time: write it like 30s, 5m or 500ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_a_length() {
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert!(time("-5s").is_err());
        assert!(time("5").is_err());
    }
}
