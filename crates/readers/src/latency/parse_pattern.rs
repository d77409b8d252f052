//! Lines of any log, by a regular expression of the user.

use regex::bytes::Regex;

use crate::cursor::Cursor;
use crate::latency::parse_request::{Request, TimeIs, Unit, duration_ns, request, time_ns};
use crate::time::{IsoTimes, clf_time_ns};

/// Groups that a pattern may have for the latency.
const LATENCY_GROUPS: [(&str, Unit); 4] = [
    ("latency_ms", Unit::Millisecond),
    ("latency_us", Unit::Microsecond),
    ("latency_s", Unit::Second),
    ("latency_ns", Unit::Nanosecond),
];

/// A pattern whose groups are known to be there.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    time: &'static str,
    latency: (&'static str, Unit),
    times: IsoTimes,
}

impl Pattern {
    /// Reads a pattern; the error says what is wrong with it.
    pub(super) fn new(pattern: &str) -> Result<Pattern, String> {
        let regex =
            Regex::new(pattern).map_err(|error| format!("the latency pattern is not a regular expression: {error}"))?;
        let has = |name: &str| regex.capture_names().flatten().any(|group| group == name);
        let time = ["time", "end_time"].into_iter().find(|name| has(name));
        let latency = LATENCY_GROUPS.into_iter().find(|(name, _)| has(name));
        match time.zip(latency) {
            Some((time, latency)) => Ok(Pattern { regex, time, latency, times: IsoTimes::default() }),
            None => Err("the latency pattern needs a group (?<time>…) or (?<end_time>…) and one of (?<latency_ms>…), \
                         (?<latency_us>…), (?<latency_s>…), (?<latency_ns>…); (?<name>…) may name the kind of request"
                .to_owned()),
        }
    }

    /// The request of a line.
    pub(super) fn request<'a>(&mut self, line: &'a [u8]) -> Option<Request<'a>> {
        let found = self.regex.captures(line)?;
        let time = found.name(self.time)?.as_bytes();
        let time_ns = time_ns(time, None, &mut self.times).or_else(|| clf_time_ns(&mut Cursor(time)))?;
        let duration_ns = duration_ns(found.name(self.latency.0)?.as_bytes(), self.latency.1)?;
        let time_is = if self.time == "time" { TimeIs::Start } else { TimeIs::End };
        request(time_ns, time_is, duration_ns, found.name("name").map_or(b"", |name| name.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        const T: i64 = 1_795_156_200_000_000_000;
        let line = "2026-11-20T06:30:00Z INFO [api] GET /x took 250 ms (end 1795156201) 20/Nov/2026:06:30:00 +0000";
        for (pattern, expected) in [
            (r"^(?<time>\S+) .* took (?<latency_ms>\d+) ms", Some((T, 250_000_000, ""))),
            (r"^(?<time>\S+) .*\] (?<name>\S+ \S+) took (?<latency_us>\d+)", Some((T, 250_000, "GET /x"))),
            (r"took (?<latency_ms>\d+) ms \(end (?<end_time>\d+)", Some((T + 750_000_000, 250_000_000, ""))),
            (r"took (?<latency_ms>\d+) .*\) (?<time>.*)$", Some((T, 250_000_000, ""))),
            (r"(?<time>nothing) (?<latency_ms>\d+)", None),
        ] {
            let mut pattern = Pattern::new(pattern).unwrap();
            let found = pattern.request(line.as_bytes());
            let found = found.map(|r| (r.start_ns, r.duration_ns, std::str::from_utf8(r.name).unwrap()));
            assert_eq!(found, expected, "{pattern:?}");
        }
        for bad in ["(", "(?<time>.)", "(?<latency_ms>.)"] {
            assert!(Pattern::new(bad).is_err(), "{bad}");
        }
    }
}
