//! Requests from lines, whatever the format. Knows no evidence.

use crate::cursor::{Cursor, trim};
use crate::latency::parse_access::AccessLog;
use crate::latency::parse_csv::Columns;
use crate::latency::parse_pattern::Pattern;
use crate::lines;
use crate::time::IsoTimes;

/// Longest request that is believed.
const MAX_DURATION_NS: i64 = 7 * 86_400 * 1_000_000_000;

/// Times that are believed: 1990 to 2190.
const TIMES_NS: std::ops::Range<i64> = 631_152_000_000_000_000..6_942_672_000_000_000_000;

/// How many lines may come before the first that shows the format.
const LINES_TO_RECOGNISE: usize = 20;

/// One request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// When it began, in ns since the Unix epoch.
    pub(super) start_ns: i64,
    /// How long it took.
    pub(super) duration_ns: i64,
    /// What kind of request, if the file says.
    pub(super) name: &'a [u8],
}

/// A number's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl Unit {
    /// How many decimal digits of nanoseconds the unit has.
    pub(super) fn scale(self) -> u32 {
        match self {
            Unit::Second => 9,
            Unit::Millisecond => 6,
            Unit::Microsecond => 3,
            Unit::Nanosecond => 0,
        }
    }
}

/// Which end of the request the file's time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeIs {
    Start,
    End,
}

/// How lines are read.
#[derive(Debug)]
pub(super) enum Format {
    Csv(Columns),
    Access(AccessLog),
    Pattern(Box<Pattern>),
}

impl Format {
    /// The request of a line; `None` when there is none in it.
    pub(super) fn request<'a>(&mut self, line: &'a [u8]) -> Option<Request<'a>> {
        match self {
            Format::Csv(columns) => columns.request(line),
            Format::Access(log) => log.request(line),
            Format::Pattern(pattern) => pattern.request(line),
        }
    }

    /// Whether `line` is the heading, which holds no request.
    pub(super) fn is_heading(&self, line: &[u8]) -> bool {
        matches!(self, Format::Csv(_)) && Columns::of_heading(line).is_some()
    }
}

/// The format of a file that begins with `head`.
pub(super) fn recognise(head: &[u8]) -> Option<Format> {
    let lines = first_lines(head);
    let heading = lines.first().and_then(|first| Columns::of_heading(first)).map(Format::Csv);
    heading.or_else(|| access(&lines))
}

fn first_lines(head: &[u8]) -> Vec<&[u8]> {
    lines::of_head(head).map(trim).filter(|line| !line.is_empty()).take(LINES_TO_RECOGNISE).collect()
}

/// What a file that begins with `head` would have to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lacking {
    /// It is an access log without the time that requests took.
    TimeTaken,
    /// Its lines are JSON, whose keys are anybody's.
    Pattern,
    /// It is something else.
    Format,
}

/// Why a file that begins with `head` and is not recognised is not.
pub(super) fn lacking(head: &[u8]) -> Lacking {
    let lines = first_lines(head);
    if lines.iter().any(|line| AccessLog::default().lacks_latency(line)) {
        return Lacking::TimeTaken;
    }
    match lines.first() {
        Some([b'{', b'"', ..]) => Lacking::Pattern,
        _ => Lacking::Format,
    }
}

/// An access log, if most of its lines say how long the request took: by chance one may end with a number.
fn access(lines: &[&[u8]]) -> Option<Format> {
    let mut log = AccessLog::default();
    let with = lines.iter().filter(|line| log.request(line).is_some()).count();
    let without = lines.iter().filter(|line| log.lacks_latency(line)).count();
    (with > without).then(|| Format::Access(AccessLog::default()))
}

/// Puts a request together, unless it cannot be true.
pub(super) fn request<'a>(time_ns: i64, time_is: TimeIs, duration_ns: i64, name: &'a [u8]) -> Option<Request<'a>> {
    (0..=MAX_DURATION_NS).contains(&duration_ns).then_some(())?;
    let start_ns = match time_is {
        TimeIs::Start => time_ns,
        TimeIs::End => time_ns.checked_sub(duration_ns)?,
    };
    TIMES_NS.contains(&start_ns).then_some(Request { start_ns, duration_ns, name })
}

/// A time: ISO-8601, or a number since the epoch whose unit is given or told by its size.
pub(super) fn time_ns(text: &[u8], unit: Option<Unit>, times: &mut IsoTimes) -> Option<i64> {
    let mut cursor = Cursor(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ns = match (digits, unit) {
        (4, _) if text.get(4) == Some(&b'-') => times.read(&mut cursor)?,
        (_, Some(unit)) => cursor.fixed(unit.scale())?,
        (9..=10, None) => cursor.fixed(9)?,
        (11..=13, None) => cursor.fixed(6)?,
        (14..=16, None) => cursor.fixed(3)?,
        (17..=19, None) => cursor.fixed(0)?,
        _ => return None,
    };
    cursor.is_done().then_some(ns)
}

/// A duration, in `unit` unless it carries its own: `12`, `0.5`, `1.2e3`, `12ms`.
pub(super) fn duration_ns(text: &[u8], unit: Unit) -> Option<i64> {
    let mut cursor = Cursor(text);
    if let Some(ns) = cursor.fixed(unit.scale()).filter(|_| cursor.is_done()) {
        return Some(ns);
    }
    let own =
        [(&b"ms"[..], Unit::Millisecond), (b"us", Unit::Microsecond), (b"ns", Unit::Nanosecond), (b"s", Unit::Second)];
    for (suffix, unit) in own {
        if let Some(number) = text.strip_suffix(suffix) {
            let mut cursor = Cursor(trim(number));
            return cursor.fixed(unit.scale()).filter(|_| cursor.is_done());
        }
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let ns = value * 10_f64.powi(unit.scale() as i32);
    // The range check also refuses what is not a number.
    (0.0..=MAX_DURATION_NS as f64).contains(&ns).then_some(ns as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_all_units() {
        let expected = Some(1_795_156_200_123_000_000);
        for text in [
            "1795156200.123",
            "1795156200123",
            "1795156200123000",
            "1795156200123000000",
            "2026-11-20T06:30:00.123Z",
            "2026-11-20T07:30:00.123+01:00",
            "2026-11-20 06:30:00.123",
        ] {
            assert_eq!(time_ns(text.as_bytes(), None, &mut IsoTimes::default()), expected, "{text}");
        }
        for text in ["12.5", "", "soon", "1795156200.123x", "99999999999999999999"] {
            assert_eq!(time_ns(text.as_bytes(), None, &mut IsoTimes::default()), None, "{text}");
        }
    }

    #[test]
    fn durations_in_all_shapes() {
        for (text, expected) in [
            ("12", Some(12_000_000)),
            ("0.5", Some(500_000)),
            ("1.2e3", Some(1_200_000_000)),
            ("3s", Some(3_000_000_000)),
            ("7 us", Some(7_000)),
            ("1e300", None),
            ("nan", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(duration_ns(text.as_bytes(), Unit::Millisecond), expected, "{text}");
        }
    }

    #[test]
    fn what_is_lacking() {
        for (head, expected) in [
            ("h - - [20/Nov/2026:06:30:00 +0000] \"GET / HTTP/1.1\" 200 12 \"-\" \"curl\"\n", Lacking::TimeTaken),
            ("{\"ts\":\"2026-11-20T06:30:00Z\",\"status\":200}\n", Lacking::Pattern),
            ("time,value\n1,2\n", Lacking::Format),
            ("", Lacking::Format),
        ] {
            assert_eq!(lacking(head.as_bytes()), expected, "{head}");
        }
    }

    #[test]
    fn formats_and_what_is_none() {
        let format = |head: &str| match recognise(head.as_bytes()) {
            Some(Format::Csv(_)) => "csv",
            Some(Format::Access(_)) => "access",
            _ => "none",
        };
        for (head, expected) in [
            ("time,latency_ms\n1,2\n", "csv"),
            ("\u{feff}Timestamp;Duration (us);Path\n", "csv"),
            ("timeStamp,elapsed,label,responseCode\n", "csv"),
            ("127.0.0.1 - - [20/Nov/2026:06:30:00 +0000] \"GET / HTTP/1.1\" 200 12 345\n", "access"),
            ("127.0.0.1 - - [20/Nov/2026:06:30:00 +0000] \"GET / HTTP/1.1\" 200 12 \"-\" \"curl\"\n", "none"),
            (
                "h - - [20/Nov/2026:06:30:00 +0000] \"GET /\" 200 1\nh - - [20/Nov/2026:06:30:00 +0000] \"GET /\" x\" 200 1\n",
                "none",
            ),
            ("time,value\n1,2\n", "none"),
            ("[0.005s][info][gc] Using G1\n", "none"),
            ("2026-11-20 06:30:00 INFO started\n", "none"),
            ("", "none"),
        ] {
            assert_eq!(format(head), expected, "{head}");
        }
    }
}
