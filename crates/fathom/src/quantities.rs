//! Times and patterns as users write them.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use regex::Regex;

/// `30s`, `5m`, `500ms`, `250us`, `1h30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration: Option<SignedDuration> = text.trim().parse().ok();
    let duration = duration.filter(SignedDuration::is_positive);
    duration
        .map(|duration| duration.unsigned_abs())
        .ok_or("a time is written like 30s, 5m or 500ms, and longer than none".to_owned())
}

/// `FILE=+1h`, `FILE=-2.5s`: a file and what is added to its times, in ns.
pub(crate) fn clock_offset(text: &str) -> Result<(PathBuf, i64), String> {
    let how = || "a file and what to add to its times, such as dumps.txt=-2h or vmstat.txt=+1.5s".to_owned();
    let (file, offset) = text.rsplit_once('=').filter(|(file, _)| !file.is_empty()).ok_or_else(how)?;
    let (sign, size) = match offset.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, offset.strip_prefix('+').unwrap_or(offset)),
    };
    let ns = duration(size).ok().and_then(|size| i64::try_from(size.as_nanos()).ok()).ok_or_else(how)?;
    Ok((file.into(), sign * ns))
}

/// A regular expression; an error in it is reported in one line.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let says = error.to_string();
        let last = says.lines().last().unwrap_or_default();
        format!(
            "not a regular expression: {} (a character that means itself takes \\ before it)",
            last.strip_prefix("error: ").unwrap_or(last)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_offsets() {
        for (text, file, ns) in [
            ("a=b.txt=-2h", "a=b.txt", -7_200_000_000_000),
            ("vmstat.txt=+1.5s", "vmstat.txt", 1_500_000_000),
            ("x=5ms", "x", 5_000_000),
        ] {
            assert_eq!(clock_offset(text), Ok((file.into(), ns)));
        }
        for text in ["x", "=1s", "x=", "x=+-1s", "x=soon"] {
            assert!(clock_offset(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, ms) in
            [("30s", 30_000), ("5m", 300_000), ("500ms", 500), ("0.5s", 500), ("1h", 3_600_000), (" 2 s ", 2_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "-1s", "5", "1d", "nans", "infs", "1e300h", "ä"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn patterns() {
        assert!(pattern("shop.*Server").unwrap().is_match("shop.Server"));
        assert_eq!(
            pattern("([").unwrap_err(),
            "not a regular expression: unclosed character class (a character that means itself takes \\ before it)"
        );
    }
}
