//! Access logs in the common or combined format with the time taken as the last field.
//!
//! Apache's `%D` is in microseconds, as is Tomcat's from version 10.1 on; nginx's `$request_time` is in seconds with
//! decimals. Older Tomcats, Undertow and Reactor Netty write milliseconds and look like Apache: they need a pattern,
//! and the assumption is reported.

use memchr::{memchr, memrchr};

use crate::cursor::{Cursor, trim};
use crate::latency::parse_request::{Arrival, Request, TimeIs, Unit, duration_ns, request};
use crate::time::{IsoTimes, clf_time_ns};

/// Reads lines of an access log.
#[derive(Debug, Default)]
pub(super) struct AccessLog {
    times: IsoTimes,
    /// Requests of which nothing but custom says in which unit they are.
    pub(super) without_unit: i64,
}

/// Time and request, and what stands behind them.
type Head<'a> = (i64, &'a [u8], &'a [u8]);

impl AccessLog {
    /// `host - user [20/Nov/2026:06:30:00 +0000] "GET /path HTTP/1.1" 200 123 … 4567`
    pub(super) fn request<'a>(&mut self, line: &'a [u8]) -> Option<Request<'a>> {
        let head = self.head(line)?;
        self.timed(line, head)
    }

    /// The request of a line whose head is read, if it says how long it took.
    fn timed<'a>(&mut self, line: &'a [u8], (time_ns, asked, rest): Head<'a>) -> Option<Request<'a>> {
        let last = taken(trim(&line[memrchr(b' ', trim(line))?..]));
        // Status and size stand before it; a log without the time taken ends with one of them.
        let fields = rest.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
        (fields.count() >= 3 && last.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')).then_some(())?;
        let is_seconds = memchr(b'.', last).is_some();
        let (unit, time_is) = if is_seconds { (Unit::Second, TimeIs::End) } else { (Unit::Microsecond, TimeIs::Start) };
        let found = request(time_ns, time_is, duration_ns(last, unit)?, method_and_path(asked))?;
        self.without_unit += i64::from(!is_seconds);
        Some(Request { status: status(rest), ..found })
    }

    /// Whether a line is of an access log that does not say how long the request took.
    pub(super) fn lacks_latency(&mut self, line: &[u8]) -> bool {
        self.answered(line).is_some_and(|head| self.timed(line, head).is_none())
    }

    /// What arrived when, whether or not the line says how long it took.
    pub(super) fn arrival<'a>(&mut self, line: &'a [u8]) -> Option<Arrival<'a>> {
        let head = self.answered(line)?;
        let (time_ns, asked, _) = head;
        let before_ns = self.timed(line, head).map_or(0, |request| time_ns - request.start_ns);
        Some(Arrival { time_ns, before_ns, asked })
    }

    /// The head of a line that has a status behind it.
    fn answered<'a>(&mut self, line: &'a [u8]) -> Option<Head<'a>> {
        self.head(line).filter(|(.., rest)| rest.trim_ascii_start().first().is_some_and(u8::is_ascii_digit))
    }

    fn head<'a>(&mut self, line: &'a [u8]) -> Option<Head<'a>> {
        let mut cursor = Cursor(line);
        cursor.until(b'[')?;
        let time_ns = self.time_ns(cursor.until(b']')?)?;
        cursor.expect(b" \"")?;
        let asked = quoted(&mut cursor)?;
        Some((time_ns, asked, cursor.0))
    }

    fn time_ns(&mut self, text: &[u8]) -> Option<i64> {
        let mut cursor = Cursor(text);
        let ns = self.times.read(&mut cursor).or_else(|| clf_time_ns(&mut cursor))?;
        cursor.is_done().then_some(ns)
    }
}

/// `503` of ` 503 123 …`.
fn status(rest: &[u8]) -> Option<u16> {
    let word = rest.trim_ascii_start().split(|byte| *byte == b' ').next()?;
    let status: u16 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (100..1_000).contains(&status).then_some(status)
}

/// What stands before the quote that ends it; Apache writes one of the request's own as `\"`.
fn quoted<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let mut is_escaped = false;
    let ends = |byte: &u8| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    };
    let length = cursor.0.iter().position(ends)?;
    let text = &cursor.0[..length];
    cursor.skip(length + 1);
    Some(text)
}

/// `0.012` of `rt=0.012`, `request_time=0.012` and `"0.012"`, as formats of nginx often have it. A quote that only ends here
/// began in another word: `"check 2.5"` is the name of a client.
fn taken(field: &[u8]) -> &[u8] {
    let field = bare(field);
    bare(memchr(b'=', field).map_or(field, |at| &field[at + 1..]))
}

fn bare(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

/// `GET /path` of `GET /path?query HTTP/1.1`.
fn method_and_path(asked: &[u8]) -> &[u8] {
    let path = asked.iter().position(|byte| *byte == b' ').map_or(0, |at| at + 1);
    let length = asked[path..].iter().position(|byte| matches!(byte, b' ' | b'?')).unwrap_or(asked.len() - path);
    &asked[..path + length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_the_time_taken() {
        for (line, lacks) in [
            (r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET / HTTP/1.1" 200 123 "-" "curl/8""#, true),
            (r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET / HTTP/1.1" 200 123"#, true),
            (r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET / HTTP/1.1" 200 123 "-" "check 2.5""#, true),
            (r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET / HTTP/1.1" 200 123 "-" "check rt=2.5""#, true),
            (r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET /a\"b HTTP/1.1" 200 5123"#, true),
            (r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET / HTTP/1.1" 200 123 45"#, false),
            (r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET /a\"b HTTP/1.1" 200 123 45"#, false),
            (r#"[2026-11-20T06:30:00Z] "x" is not one"#, false),
            ("[0.005s][info][gc] Using G1", false),
        ] {
            assert_eq!(AccessLog::default().lacks_latency(line.as_bytes()), lacks, "{line}");
        }
    }

    #[test]
    fn status_of_an_answer() {
        for (rest, expected) in
            [(" 200 123 4", Some(200)), (" 503", Some(503)), (" 42 1", None), (" - 1", None), ("", None)]
        {
            assert_eq!(status(rest.as_bytes()), expected, "{rest}");
        }
    }

    #[test]
    fn lines_of_access_logs() {
        const T: i64 = 1_795_156_200_000_000_000;
        for (line, expected) in [
            (
                r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET /a?b=c HTTP/1.1" 200 123 4567"#,
                Some((T, 4_567_000, "GET /a")),
            ),
            (
                r#"::1 - bob [20/Nov/2026:07:30:00 +0100] "POST / HTTP/2" 500 - "-" "curl/8 (x)" 90"#,
                Some((T, 90_000, "POST /")),
            ),
            (
                r#"h - - [20/Nov/2026:06:30:01 +0000] "GET / HTTP/1.1" 200 5 "-" "agent" 1.000"#,
                Some((T, 1_000_000_000, "GET /")),
            ),
            (r#"h - - [20/Nov/2026:06:30:00 +0000] "-" 408 - 12"#, Some((T, 12_000, "-"))),
            (
                r#"h - - [20/Nov/2026:06:30:01 +0000] "GET / HTTP/1.1" 200 5 "-" "agent" rt=1.000"#,
                Some((T, 1_000_000_000, "GET /")),
            ),
            (r#"h - - [20/Nov/2026:06:30:01 +0000] "GET / HTTP/1.1" 200 5 "1.000""#, Some((T, 1_000_000_000, "GET /"))),
            (
                r#"h - - [20/Nov/2026:06:30:01 +0000] "GET / HTTP/1.1" 200 5 rt="1.000""#,
                Some((T, 1_000_000_000, "GET /")),
            ),
            (r#"h - - [20/Nov/2026:06:30:00 +0000] "GET /a\"b\\" 200 5 12"#, Some((T, 12_000, r#"GET /a\"b\\"#))),
            (r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET / HTTP/1.1" 200 123"#, None),
            (r#"1.2.3.4 - - [20/Foo/2026:06:30:00 +0000] "GET / HTTP/1.1" 200 123 4"#, None),
            (r#"1.2.3.4 - - [20/Nov/2026:06:30:00 +0000] "GET / HTTP/1.1" 200 123 99999999999999999999"#, None),
            ("[", None),
        ] {
            let mut log = AccessLog::default();
            let found = log.request(line.as_bytes());
            let found = found.map(|r| (r.start_ns, r.duration_ns, std::str::from_utf8(r.name).unwrap()));
            assert_eq!(found, expected, "{line}");
        }
    }
}
