//! Requests from lines, whatever the format. Knows no evidence.

use crate::cursor::trim;
use crate::latency::parse_access::AccessLog;
use crate::latency::parse_csv::Columns;
use crate::latency::parse_pattern::Pattern;
use crate::latency::parse_request::Request;
use crate::lines;

/// How many lines may come before the first that shows the format.
const LINES_TO_RECOGNISE: usize = 20;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::parse_request::{Unit, duration_ns, time_ns};
    use crate::time::IsoTimes;

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
