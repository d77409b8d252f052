//! CSV with a heading: the column names show which columns hold time and latency.

use memchr::memchr;

use crate::cursor::trim;
use crate::latency::parse_request::{Request, TimeIs, Unit, duration_ns, request, time_ns};
use crate::time::IsoTimes;

/// Longest heading and most columns that are looked at.
pub(super) const MAX_HEADING_BYTES: usize = 8 * 1024;
pub(super) const MAX_COLUMNS: usize = 256;

pub(super) const START_NAMES: &[&str] = &[
    "time",
    "timestamp",
    "ts",
    "date",
    "datetime",
    "epoch",
    "start",
    "starttime",
    "begin",
    "begintime",
    "started",
    "startedat",
    "at",
];
const END_NAMES: &[&str] =
    &["end", "endtime", "ended", "endedat", "finish", "finished", "finishedat", "completed", "completedat"];
const LATENCY_NAMES: &[&str] =
    &["latency", "duration", "elapsed", "responsetime", "requesttime", "servicetime", "took", "rt", "elapsedtime"];
pub(super) const KIND_NAMES: &[&str] =
    &["label", "name", "operation", "op", "endpoint", "request", "path", "uri", "url", "kind"];

/// What the heading says.
#[derive(Debug)]
pub(super) struct Columns {
    delimiter: u8,
    time: usize,
    time_is: TimeIs,
    time_unit: Option<Unit>,
    latency: usize,
    latency_unit: Unit,
    kind: Option<usize>,
    times: IsoTimes,
}

impl Columns {
    /// Reads a heading; `None` when it does not name a time and a latency.
    pub(super) fn of_heading(line: &[u8]) -> Option<Columns> {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        (line.len() <= MAX_HEADING_BYTES).then_some(())?;
        let delimiter = [b'\t', b';', b','].into_iter().find(|byte| line.contains(byte))?;
        let names: Vec<_> = fields(line, delimiter).take(MAX_COLUMNS).map(name_and_unit).collect();
        let find = |known: &[&str]| names.iter().position(|(name, _)| known.contains(&name.as_str()));
        let (start, end) = (find(START_NAMES), find(END_NAMES));
        let latency = find(LATENCY_NAMES)?;
        Some(Columns {
            delimiter,
            time: start.or(end)?,
            time_is: if start.is_some() { TimeIs::Start } else { TimeIs::End },
            time_unit: names[start.or(end)?].1,
            latency,
            // JMeter's `elapsed` and most others without a unit are in ms.
            latency_unit: names[latency].1.unwrap_or(Unit::Millisecond),
            kind: find(KIND_NAMES),
            times: IsoTimes::default(),
        })
    }

    /// Reads a row.
    pub(super) fn request<'a>(&mut self, line: &'a [u8]) -> Option<Request<'a>> {
        let (mut time, mut latency, mut name) = (None, None, &b""[..]);
        let last = self.time.max(self.latency).max(self.kind.unwrap_or(0));
        for (at, field) in fields(line, self.delimiter).take(last + 1).enumerate() {
            if at == self.time {
                time = Some(field);
            } else if at == self.latency {
                latency = Some(field);
            } else if Some(at) == self.kind {
                name = field;
            }
        }
        let time_ns = time_ns(time?, self.time_unit, &mut self.times)?;
        let duration_ns = duration_ns(latency?, self.latency_unit)?;
        request(time_ns, self.time_is, duration_ns, name)
    }
}

/// The fields of a line, without quotes and blanks around them.
pub(super) fn fields(line: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let is_quoted = text.first() == Some(&b'"');
        let quoted = is_quoted.then(|| memchr(b'"', &text[1..])).flatten().map_or(0, |length| length + 2);
        let end = memchr(delimiter, &text[quoted..]).map(|length| quoted + length);
        rest = end.map(|end| &text[end + 1..]);
        let field = trim(&text[..end.unwrap_or(text.len())]);
        Some(field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field))
    })
}

/// `latency` and ms for `latency_ms`, `Latency (ms)`, `latencyMs` and `latency[ms]`.
pub(super) fn name_and_unit(field: &[u8]) -> (String, Option<Unit>) {
    const UNITS: &[(&str, Unit)] = &[
        ("milliseconds", Unit::Millisecond),
        ("microseconds", Unit::Microsecond),
        ("nanoseconds", Unit::Nanosecond),
        ("seconds", Unit::Second),
        ("millis", Unit::Millisecond),
        ("micros", Unit::Microsecond),
        ("nanos", Unit::Nanosecond),
        ("secs", Unit::Second),
        ("sec", Unit::Second),
        ("ms", Unit::Millisecond),
        ("us", Unit::Microsecond),
        ("ns", Unit::Nanosecond),
        ("s", Unit::Second),
    ];
    let text = String::from_utf8_lossy(field).to_lowercase();
    let words: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    for (suffix, unit) in UNITS {
        let Some(name) = words.strip_suffix(suffix) else { continue };
        let is_known = [START_NAMES, END_NAMES, LATENCY_NAMES].iter().any(|names| names.contains(&name));
        // `ts` is a name and not `t` in seconds.
        if is_known && !START_NAMES.contains(&words.as_str()) {
            return (name.to_owned(), Some(*unit));
        }
    }
    (words, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_by_their_heading() {
        const T: i64 = 1_795_156_200_000_000_000;
        for (heading, row, expected) in [
            ("time,latency_ms", "1795156200,1.5", Some((T, 1_500_000, ""))),
            ("latency_us;x;Time", "250;;2026-11-20T06:30:00Z", Some((T, 250_000, ""))),
            ("timestamp\tduration_s\tpath", "1795156200000\t2\t/a b", Some((T, 2_000_000_000, "/a b"))),
            ("end_time,latency_ms", "1795156201,1000", Some((T, 1_000_000_000, ""))),
            ("timeStamp,elapsed,label", "1795156200000,12,\"a, b\"", Some((T, 12_000_000, "a, b"))),
            ("time_us,Latency (ms)", "1795156200000000, 3 ", Some((T, 3_000_000, ""))),
            ("ts,took", "1795156200,7", Some((T, 7_000_000, ""))),
            ("time,latency_ms", "1795156200", None),
            ("time,latency_ms", "1795156200,-1", None),
            ("time,latency_ms", "12,5", None),
            ("time,latency_ms", "\"", None),
            ("time,latency_ms", "", None),
        ] {
            let mut columns = Columns::of_heading(heading.as_bytes()).unwrap();
            let found = columns.request(row.as_bytes());
            let found = found.map(|r| (r.start_ns, r.duration_ns, std::str::from_utf8(r.name).unwrap()));
            assert_eq!(found, expected, "{heading} / {row}");
        }
    }
}
