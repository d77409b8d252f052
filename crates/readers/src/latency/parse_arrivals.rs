//! Which request arrived when: lines of access logs, and CSV with a path and a time, a weight or both. Knows no evidence.

use crate::latency::parse_access::AccessLog;
use crate::latency::parse_csv::{KIND_NAMES, MAX_COLUMNS, MAX_HEADING_BYTES, START_NAMES, fields, name_and_unit};
use crate::latency::parse_request::{Arrival, Unit, time_ns};
use crate::time::IsoTimes;

const TARGET_NAMES: &[&str] = &["target", "route"];
const METHOD_NAMES: &[&str] = &["method", "verb"];
const WEIGHT_NAMES: &[&str] = &["weight", "count", "requests", "share"];

/// A row of any of the formats.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    /// Time and how long before it the request began, if the file has times.
    pub(super) time_ns: Option<(i64, i64)>,
    /// `GET /path?query`
    pub(super) request: String,
    pub(super) weight: f64,
}

/// How lines are read.
#[derive(Debug)]
pub(super) enum Format {
    Access(AccessLog),
    Csv(Columns),
}

impl Format {
    /// The format of a file with these first lines.
    pub(super) fn of(first: &[&[u8]]) -> Option<Format> {
        if let Some(columns) = first.first().and_then(|line| Columns::of_heading(line)) {
            return Some(Format::Csv(columns));
        }
        let mut log = AccessLog::default();
        first.iter().any(|line| log.arrival(line).is_some()).then(|| Format::Access(AccessLog::default()))
    }

    pub(super) fn row(&mut self, line: &[u8]) -> Option<Row> {
        match self {
            Format::Access(log) => {
                let Arrival { time_ns, before_ns, asked } = log.arrival(line)?;
                let mut words = asked.split(|byte| *byte == b' ');
                let request = sendable(words.next()?, words.next()?)?;
                Some(Row { time_ns: Some((time_ns, before_ns)), request, weight: 1.0 })
            }
            Format::Csv(columns) => columns.row(line),
        }
    }

    /// Whether `line` is the heading, which is no request.
    pub(super) fn is_heading(&self, line: &[u8]) -> bool {
        matches!(self, Format::Csv(_)) && Columns::of_heading(line).is_some()
    }
}

/// What the heading of a CSV says.
#[derive(Debug)]
pub(super) struct Columns {
    delimiter: u8,
    target: usize,
    method: Option<usize>,
    time: Option<(usize, Option<Unit>)>,
    weight: Option<usize>,
    times: IsoTimes,
}

impl Columns {
    fn of_heading(line: &[u8]) -> Option<Columns> {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        (line.len() <= MAX_HEADING_BYTES).then_some(())?;
        let delimiter = [b'\t', b';', b','].into_iter().find(|byte| line.contains(byte))?;
        let names: Vec<_> = fields(line, delimiter).take(MAX_COLUMNS).map(name_and_unit).collect();
        let find = |known: &[&str]| names.iter().position(|(name, _)| known.contains(&name.as_str()));
        let (time, weight) = (find(START_NAMES).map(|at| (at, names[at].1)), find(WEIGHT_NAMES));
        (time.is_some() || weight.is_some()).then_some(())?;
        let target = find(TARGET_NAMES).or_else(|| find(KIND_NAMES))?;
        Some(Columns { delimiter, target, method: find(METHOD_NAMES), time, weight, times: IsoTimes::default() })
    }

    /// Reads a row. The path may have the method before it.
    fn row(&mut self, line: &[u8]) -> Option<Row> {
        let fields: Vec<&[u8]> = fields(line, self.delimiter).take(MAX_COLUMNS).collect();
        let target = *fields.get(self.target)?;
        let (own, target) = match target.iter().position(|byte| *byte == b' ') {
            Some(at) => (Some(&target[..at]), &target[at + 1..]),
            None => (None, target),
        };
        let method = self.method.and_then(|at| fields.get(at).copied()).or(own).unwrap_or(b"GET");
        let time_ns = match self.time {
            Some((at, unit)) => Some((time_ns(fields.get(at)?, unit, &mut self.times)?, 0)),
            None => None,
        };
        let weight: f64 = match self.weight {
            Some(at) => std::str::from_utf8(fields.get(at)?).ok()?.parse().ok()?,
            None => 1.0,
        };
        let is_weight = (0.0..1e18).contains(&weight);
        is_weight.then_some(Row { time_ns, request: sendable(method, target)?, weight })
    }
}

/// Method and target as one text, if they can be sent as they are. Servers write what they did not understand with `\x`.
pub(super) fn sendable(method: &[u8], target: &[u8]) -> Option<String> {
    let is_method = !method.is_empty() && method.len() <= 20 && method.iter().all(u8::is_ascii_uppercase);
    let is_plain = target.iter().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'#'));
    let is_path = target.first() == Some(&b'/') && !target.starts_with(b"//");
    let is_escaped = |rest: &[u8]| rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit);
    let mut escapes = target.split(|byte| *byte == b'%').skip(1);
    (is_method && is_plain && is_path && escapes.all(is_escaped))
        .then(|| format!("{} {}", String::from_utf8_lossy(method), String::from_utf8_lossy(target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When it is due, what is asked for, and the weight.
    type Row = (Option<(i64, i64)>, String, f64);

    fn row(first: &str, line: &str) -> Option<Row> {
        let mut format = Format::of(&[first.as_bytes()]).expect("a format");
        format.row(line.as_bytes()).map(|row| (row.time_ns, row.request, row.weight))
    }

    const T: i64 = 1_795_156_200_000_000_000;

    #[test]
    fn lines_of_access_logs() {
        let line = |asked: &str, rest: &str| format!("h - - [20/Nov/2026:06:30:00 +0000] \"{asked}\" 200 12{rest}");
        let first = line("GET / HTTP/1.1", "");
        for (line, expected) in [
            (line("GET /a?b=c%20d HTTP/1.1", ""), Some((0, "GET /a?b=c%20d"))),
            (line("POST /a HTTP/2.0", " \"-\" \"agent\" 250"), Some((0, "POST /a"))),
            (line("GET /a HTTP/1.1", " 1.250"), Some((1_250_000_000, "GET /a"))),
            (line("-", ""), None),
            (line("OPTIONS * HTTP/1.1", ""), None),
            (line("GET http://x/ HTTP/1.1", ""), None),
            (line("GET //x/ HTTP/1.1", ""), None),
            (line("GET /%zz HTTP/1.1", ""), None),
            (line("GET /a%2 HTTP/1.1", ""), None),
            (line(r"\x16\x03 /", ""), None),
            (line(r"GET /\xe4 HTTP/1.1", ""), None),
            ("oops".to_owned(), None),
        ] {
            let expected = expected.map(|(before, asked)| (Some((T, before)), asked.to_owned(), 1.0));
            assert_eq!(row(&first, &line), expected, "{line}");
        }
    }

    #[test]
    fn rows_by_their_heading() {
        for (heading, line, expected) in [
            ("time,method,path,weight", "1795156200,PUT,/a,2", Some((Some(T), "PUT /a", 2.0))),
            ("path;weight", "/a?x=1;0.25", Some((None, "GET /a?x=1", 0.25))),
            ("time,latency_ms,request", "2026-11-20T06:30:00Z,5,HEAD /b", Some((Some(T), "HEAD /b", 1.0))),
            ("path,weight", "/a,-1", None),
            ("path,weight", "/a,nan", None),
            ("path,weight", "/a", None),
            ("time,path", "soon,/a", None),
            ("time,path", "1795156200,get /a", None),
            ("time,path", "1795156200,:8080", None),
        ] {
            let expected =
                expected.map(|(time, asked, weight)| (time.map(|time: i64| (time, 0)), asked.to_owned(), weight));
            assert_eq!(row(heading, line), expected, "{heading} / {line}");
        }
        for heading in ["path,size", "time,latency_ms", "x", "{\"path\":1}"] {
            assert!(Format::of(&[heading.as_bytes()]).is_none(), "{heading}");
        }
    }
}
