//! Durations and sizes as people write them.

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

/// A number that the system gives to processes.
pub(crate) fn pid(text: &str) -> Result<u32, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or("a process id is a number: fathom ps lists the JVMs".to_owned())
}

/// A regular expression; what is wrong with one is told in one line.
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

/// `200M`, `2G`, `500K`; a K is 1,024 bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: &[(&str, f64)] =
        &[("K", 1024.0), ("M", 1_048_576.0), ("G", 1_073_741_824.0), ("T", 1_099_511_627_776.0)];
    let bytes = scaled(text.trim_end_matches(['B', 'b', 'i']), UNITS).ok_or("a size is written like 200M or 2G")?;
    match (1.0..1e18).contains(&bytes) {
        true => Ok(bytes as u64),
        false => Err("a size is between one byte and a million terabytes".to_owned()),
    }
}

/// A positive number with one of `units` behind it.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let (unit, factor) =
        units.iter().find(|(unit, _)| text.to_ascii_lowercase().ends_with(&unit.to_ascii_lowercase()))?;
    let number: f64 = text.get(..text.len() - unit.len())?.trim().parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number * factor)
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
    fn processes_and_patterns() {
        assert_eq!(pid("4242"), Ok(4242));
        for text in ["", "0", "-1", "x", "4294967296"] {
            assert!(pid(text).unwrap_err().contains("fathom ps"), "{text}");
        }
        assert!(pattern("shop.*Server").unwrap().is_match("shop.Server"));
        assert_eq!(
            pattern("([").unwrap_err(),
            "not a regular expression: unclosed character class (a character that means itself takes \\ before it)"
        );
    }

    #[test]
    fn sizes() {
        for (text, size) in [("1K", 1 << 10), ("200M", 200 << 20), ("2GiB", 2 << 30), ("0.5g", 1 << 29)] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "G", "12", "-1G", "1e40T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
