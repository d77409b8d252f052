//! From lines of a log to entries, whatever surrounds them. Knows no evidence.
//!
//! A line without a time belongs to the entry before it. Of such lines only the names of exceptions are kept.

use memchr::memchr;

use crate::app_log::export::{self, Export};
use crate::app_log::head::{self, Entry, Head, Level};
use crate::app_log::json;
use crate::app_log::stamp::{self, Clock, Stamp, Stamps};
use crate::cursor::{Cursor, trim};
use crate::lines;

/// How many lines may be looked at to recognise a log.
const LINES_TO_RECOGNISE: usize = 300;

/// How many may come before its first entry: banners.
const LINES_BEFORE: usize = 30;

/// Longest name of a container, or of a host and its process.
const WRITER_MAX_BYTES: usize = 128;

/// Longest time of a container, and what follows it.
const TIME_MAX_BYTES: usize = 64;

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Entry(Entry<'a>),
    /// The class of an exception that belongs to the entry before.
    Exception(&'a [u8]),
    /// What else belongs to it, or to nothing.
    Other,
}

/// Whether a file that begins with `head` is a log: of a program, or of a system.
pub(super) fn is_log(head: &[u8]) -> bool {
    let mut parser = Parser::default();
    let (mut before, mut entries, mut sure) = (0, 0_usize, 0_usize);
    // There empty lines end entries, each of which has many fields.
    let is_export = export::begins(head);
    for line in lines::of_head(head).filter(|line| is_export || !trim(line).is_empty()).take(LINES_TO_RECOGNISE) {
        match parser.line(line) {
            Line::Entry(entry) => {
                entries += 1;
                sure += usize::from(entry.head.level != Level::None || !entry.head.logger.is_empty());
            }
            _ if entries == 0 && !is_export => before += 1,
            _ => {}
        }
    }
    let is_short = head.len() < crate::SNIFF_BYTES && entries == 1 && before == 0;
    let is_text = is_export || memchr(0, head).is_none();
    is_text && before <= LINES_BEFORE && (sure >= 2 || is_short && sure == 1) && sure * 2 > entries
}

/// Reads line after line.
#[derive(Debug, Default)]
pub(super) struct Parser {
    stamps: Stamps,
    /// The first of the two lines of `java.util.logging`: time and class.
    begun: Option<(Stamp, Vec<u8>)>,
    export: Export,
    json: json::Fields,
    /// Of an object that is the text of another one.
    inner: json::Fields,
}

impl Parser {
    pub(super) fn line<'a>(&'a mut self, line: &'a [u8]) -> Line<'a> {
        if self.export.takes(line) {
            let entry = self.export.line(line);
            return entry.map_or(Line::Other, |entry| of_journal(entry.stamp, entry.head, &mut self.stamps));
        }
        let line = without_container(line);
        if line.first() == Some(&b'{') {
            return if self.json.read(line) { self.of_fields(None) } else { Line::Other };
        }
        if let Some((text, stamp)) = json_behind_time(line, &mut self.stamps)
            && self.json.read(text)
            && self.json.has_message()
        {
            return self.of_fields(Some(stamp));
        }
        if let Some((stamp, logger)) = self.begin_jul(line) {
            self.begun = Some((stamp, logger));
            return Line::Other;
        }
        if let Some((stamp, logger)) = &self.begun
            && let Some((level, message)) = of_jul(line)
        {
            let head = Head { level, logger, message };
            return Line::Entry(Entry { stamp: *stamp, head, exception: b"" });
        }
        bare(line, &mut self.stamps).unwrap_or_else(|| exception(line).map_or(Line::Other, Line::Exception))
    }

    /// `Nov 28, 2026 3:38:57 AM shop.Cart add`.
    fn begin_jul(&self, line: &[u8]) -> Option<(Stamp, Vec<u8>)> {
        let mut cursor = Cursor(line);
        let stamp = stamp::of_jul(&mut cursor)?;
        let class = trim(cursor.0).split(|byte| *byte == b' ').next().unwrap_or_default();
        Some((stamp, class.to_vec()))
    }

    /// What was read of an object, behind the time of a container or within another object.
    fn of_fields(&mut self, outer: Option<Stamp>) -> Line<'_> {
        let Parser { stamps, json, inner, .. } = self;
        let mut stamp = outer.or_else(|| json.stamp(stamps));
        let mut fields: &json::Fields = json;
        if !fields.wrapped.is_empty() {
            let line = trim(fields.wrapped.as_bytes());
            if line.first() != Some(&b'{') || !inner.read(line) {
                return wrapped(line, stamp, stamps);
            }
            stamp = stamp.or_else(|| inner.stamp(stamps));
            fields = inner;
        }
        let Some(stamp) = stamp else { return Line::Other };
        let message = trim(fields.message.as_bytes());
        let head = Head { level: fields.level, logger: fields.logger.as_bytes(), message };
        if fields.is_of_journal {
            return of_journal(stamp, head, stamps);
        }
        Line::Entry(Entry { stamp, head, exception: exception(fields.exception.as_bytes()).unwrap_or_default() })
    }
}

/// What Docker has put a time beside: an entry if it has a time or a level itself.
fn wrapped<'a>(line: &'a [u8], stamp: Option<Stamp>, stamps: &mut Stamps) -> Line<'a> {
    match bare(line, stamps) {
        Some(Line::Entry(entry)) => return Line::Entry(Entry { stamp: stamp.unwrap_or(entry.stamp), ..entry }),
        Some(other) => return other,
        None => {}
    }
    let head = head::read(line, Level::None);
    match stamp.filter(|_| head.level != Level::None) {
        Some(stamp) => Line::Entry(Entry { stamp, head, exception: b"" }),
        None => exception(line).map_or(Line::Other, Line::Exception),
    }
}

/// What journald has of a program: each line that it wrote to its output, with the program's name and a level of journald's own.
fn of_journal<'a>(stamp: Stamp, outer: Head<'a>, stamps: &mut Stamps) -> Line<'a> {
    if let Some(below) = below(outer.message) {
        return below;
    }
    if let Some(Line::Entry(entry)) = bare(outer.message, stamps) {
        return Line::Entry(Entry { stamp, ..entry });
    }
    let own = head::read(outer.message, Level::None);
    let logger = if own.logger.is_empty() { outer.logger } else { own.logger };
    let head = if own.level == Level::None { outer } else { Head { logger, ..own } };
    Line::Entry(Entry { stamp, head, exception: b"" })
}

/// What a program writes below an entry, if a line is that: where each line gets a time these are no entries. syslog writes a
/// tabulator as `#011`.
fn below(line: &[u8]) -> Option<Line<'_>> {
    let line = trim(line);
    let line = trim(line.strip_prefix(b"#011").unwrap_or(line));
    let is_frame = line.starts_with(b"at ") && memchr(b'(', line).is_some();
    let is_rest = line.starts_with(b"... ") && line.ends_with(b" more");
    // The first of the two lines of `java.util.logging`.
    let is_begin = stamp::of_jul(&mut Cursor(line)).is_some();
    if is_frame || is_rest || is_begin { Some(Line::Other) } else { exception(line).map(Line::Exception) }
}

/// `WARNING: no item`, the second line of `java.util.logging`.
fn of_jul(line: &[u8]) -> Option<(Level, &[u8])> {
    let end = memchr(b':', line.get(..12).unwrap_or(line))?;
    Some((Level::of(&line[..end])?, trim(&line[end + 1..])))
}

/// What follows `app-1  | `, as `docker compose logs` puts it before each line.
fn without_container(line: &[u8]) -> &[u8] {
    let mut cursor = Cursor(line);
    let name = cursor.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    let is_name = name.first().is_some_and(u8::is_ascii_alphabetic) && name.len() <= WRITER_MAX_BYTES;
    cursor.spaces();
    if is_name && cursor.eat(b"| ") { cursor.0 } else { line }
}

/// An object behind the time that Docker or Kubernetes writes before each line, and that time.
fn json_behind_time<'a>(line: &'a [u8], stamps: &mut Stamps) -> Option<(&'a [u8], Stamp)> {
    memchr(b'{', line.get(..TIME_MAX_BYTES).unwrap_or(line))?;
    let mut cursor = Cursor(line);
    let stamp = stamps.read(&mut cursor).filter(|stamp| stamp.clock == Clock::Exact)?;
    of_container(&mut cursor);
    cursor.spaces();
    (cursor.peek() == Some(b'{')).then_some((cursor.0, stamp))
}

/// A line that begins with a time, perhaps behind its level or the name of a service.
fn bare<'a>(line: &'a [u8], stamps: &mut Stamps) -> Option<Line<'a>> {
    let mut cursor = Cursor(line);
    let mut level = head::severity(&mut cursor).unwrap_or_default();
    let mut stamp = bracketed(&mut cursor, stamps);
    let mut is_named = false;
    if stamp.is_none() {
        let leading = leading_level(&mut cursor);
        is_named = leading.is_none() && cursor.run(|byte| byte != b' ').len() <= WRITER_MAX_BYTES && cursor.eat(b" ");
        level = leading.or(is_named.then_some(Level::None))?;
        stamp = bracketed(&mut cursor, stamps);
    }
    let mut stamp = stamp?;
    let is_of_container = stamp.clock == Clock::Exact && of_container(&mut cursor);
    let writer = if is_of_container { &b""[..] } else { writer(&mut cursor, stamp).unwrap_or_default() };
    if (is_of_container || !writer.is_empty())
        && let Some(below) = below(cursor.0)
    {
        return Some(below);
    }
    // Another time behind it is what the program wrote itself.
    let mut inner = cursor;
    inner.spaces();
    let own = bracketed(&mut inner, stamps);
    if let Some(own) = own {
        stamp = if own.clock > stamp.clock { own } else { stamp };
        cursor = inner;
    }
    let mut head = head::read(cursor.0, Level::None);
    // Times of day stand in any text, and any time behind a word.
    if own.is_none() && (stamp.clock == Clock::OfDay || is_named) && head.level == Level::None {
        return None;
    }
    if head.level == Level::None && level != Level::None {
        head = head::read(cursor.0, level);
    }
    let logger = if head.logger.is_empty() { writer } else { head.logger };
    Some(Line::Entry(Entry { stamp, head: Head { logger, ..head }, exception: b"" }))
}

/// `[2026-11-28 03:38:57,123]`, or without the brackets.
fn bracketed(cursor: &mut Cursor<'_>, stamps: &mut Stamps) -> Option<Stamp> {
    let mut rest = *cursor;
    let is_open = rest.eat(b"[");
    let stamp = stamps.read(&mut rest)?;
    if is_open {
        rest.expect(b"]")?;
    }
    let is_end = matches!(rest.peek(), None | Some(b' ' | b'\t' | b'[' | b'|' | b':' | b';'));
    *cursor = rest;
    is_end.then_some(stamp)
}

/// `INFO  [2026-11-28 03:38:57,123]`, `[WARN ] 2026-…`.
fn leading_level(cursor: &mut Cursor<'_>) -> Option<Level> {
    let mut rest = *cursor;
    rest.eat(b"[");
    let level = Level::of(rest.run(|byte| byte.is_ascii_alphabetic()))?;
    rest.run(|byte| matches!(byte, b' ' | b']' | b':' | b'|'));
    *cursor = rest;
    Some(level)
}

/// `stdout F `, as Kubernetes writes behind its time.
fn of_container(cursor: &mut Cursor<'_>) -> bool {
    let mut rest = *cursor;
    let is_stream = rest.eat(b" stdout ") || rest.eat(b" stderr ");
    let is_of_container = is_stream && (rest.eat(b"F ") || rest.eat(b"P "));
    if is_of_container {
        *cursor = rest;
    }
    is_of_container
}

/// The process of `host java[4711]: `, as syslog and journald write it, or of `host java 4711 - - ` (RFC 5424).
fn writer<'a>(cursor: &mut Cursor<'a>, stamp: Stamp) -> Option<&'a [u8]> {
    let mut rest = *cursor;
    let is_word = |byte: u8| !byte.is_ascii_whitespace();
    rest.expect(b" ")?;
    let host = rest.run(is_word);
    rest.expect(b" ").filter(|()| Level::of(host).is_none() && !host.is_empty() && host.len() <= WRITER_MAX_BYTES)?;
    let process = rest.run(is_word);
    let name_length = process.iter().position(|byte| matches!(byte, b'[' | b':')).unwrap_or(process.len());
    let name = Some(&process[..name_length]).filter(|name| !name.is_empty() && Level::of(name).is_none())?;
    let is_marked = process.ends_with(b"]:") || stamp.clock == Clock::OfYear && process.ends_with(b":");
    if !is_marked {
        rest.expect(b" ").filter(|()| stamp.clock == Clock::Exact)?;
        let number = rest.run(is_word);
        rest.expect(b" ")
            .filter(|()| !number.is_empty() && (number == b"-" || number.iter().all(u8::is_ascii_digit)))?;
        rest.run(is_word);
        rest.expect(b" -").or_else(|| rest.expect(b" ["))?;
    }
    *cursor = rest;
    (name.len() <= WRITER_MAX_BYTES).then_some(name)
}

/// The class of the exception that a line begins with: `Caused by: java.net.SocketTimeoutException: Read timed out`.
pub(super) fn exception(line: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor(line);
    cursor.eat(b"Caused by: ");
    if cursor.eat(b"Exception in thread \"") {
        cursor.until(b'"')?;
        cursor.spaces();
    }
    let class = cursor.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$'));
    let is_end = matches!(cursor.peek(), None | Some(b':' | b'\n' | b'\r'));
    let ends = [&b"Exception"[..], b"Error", b"Throwable"].iter().any(|end| class.ends_with(end));
    (is_end && ends && class.contains(&b'.')).then_some(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: i64 = 1_795_837_137_123_000_000;

    fn entries(text: &str) -> Vec<(i64, Clock, &'static str, String, String)> {
        let mut parser = Parser::default();
        let mut found = Vec::new();
        for line in text.lines() {
            if let Line::Entry(entry) = parser.line(line.as_bytes()) {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let Head { level, logger, message } = entry.head;
                found.push((entry.stamp.ns, entry.stamp.clock, level.word(), text(logger), text(message)));
            }
        }
        found
    }

    #[test]
    fn entries_of_all_forms() {
        for (text, clock, level, logger, message) in [
            ("2026-11-28 03:38:57,123 [main] INFO  c.e.App - Started", Clock::Local, "INFO", "c.e.App", "Started"),
            ("2026-11-28T03:38:57.123Z  WARN 1 --- [x] c.e.App : a", Clock::Exact, "WARN", "c.e.App", "a"),
            ("INFO  [2026-11-28 03:38:57,123] c.e.App: Started", Clock::Local, "INFO", "c.e.App", "Started"),
            ("[2026-11-28T03:38:57,123][WARN ][o.e.n.Node] [n1] a", Clock::Local, "WARN", "o.e.n.Node", "a"),
            (
                "2026-11-28T03:38:57.123Z stdout F 04:38:57.120 [main] WARN a.b.C - x",
                Clock::Exact,
                "WARN",
                "a.b.C",
                "x",
            ),
            ("2026-11-28T03:38:57.123+00:00 host java[12]: WARN x", Clock::Exact, "WARN", "java", "x"),
            (
                "<28>1 2026-11-28T03:38:57.123Z host shop 12 - - pool is empty",
                Clock::Exact,
                "WARN",
                "shop",
                "pool is empty",
            ),
            ("1795837137.123000 host java[12]: x", Clock::Exact, "", "java", "x"),
            ("web-1  | 2026-11-28T03:38:57.123Z ERROR x", Clock::Exact, "ERROR", "", "x"),
            ("28-Nov-2026 03:38:57.123 SEVERE [main] a.b.C.d no", Clock::Local, "ERROR", "a.b.C.d", "no"),
            (
                r#"{"@timestamp":"2026-11-28T03:38:57.123Z","log.level":"WARN","log.logger":"a.B","message":"x\ty"}"#,
                Clock::Exact,
                "WARN",
                "a.B",
                "x\ty",
            ),
            (
                r#"{"@timestamp":"2026-11-28T03:38:57.123Z","level":"WARN","logger":"a.B","message":"x","time":35}"#,
                Clock::Exact,
                "WARN",
                "a.B",
                "x",
            ),
            (
                r#"{"instant":{"epochSecond":1795837137,"nanoOfSecond":123000000},"level":"ERROR","loggerName":"a.B","message":"x"}"#,
                Clock::Exact,
                "ERROR",
                "a.B",
                "x",
            ),
            (
                r#"{"__REALTIME_TIMESTAMP":"1795837137123000","PRIORITY":"4","SYSLOG_IDENTIFIER":"java","MESSAGE":"x"}"#,
                Clock::Exact,
                "WARN",
                "java",
                "x",
            ),
            (
                r#"{"log":"{\"level\":\"WARN\",\"logger\":\"a.B\",\"message\":\"x\"}\n","time":"2026-11-28T03:38:57.123Z"}"#,
                Clock::Exact,
                "WARN",
                "a.B",
                "x",
            ),
            (
                r#"2026-11-28T03:38:57.123Z stdout F {"level":"WARN","logger":"a.B","message":"x"}"#,
                Clock::Exact,
                "WARN",
                "a.B",
                "x",
            ),
            (
                r#"web-1  | {"level":"WARN","logger":"a.B","message":"x","time":"2026-11-28T03:38:57.123Z"}"#,
                Clock::Exact,
                "WARN",
                "a.B",
                "x",
            ),
            (
                r#"{"log":"2026-11-28 04:38:57,123 WARN a.b.C - x\n","stream":"stdout","time":"2026-11-28T03:38:57.123Z"}"#,
                Clock::Exact,
                "WARN",
                "a.b.C",
                "x",
            ),
        ] {
            assert_eq!(entries(text), [(NS, clock, level, logger.to_owned(), message.to_owned())], "{text}");
        }
        let jul = "Nov 28, 2026 3:38:57 AM shop.Cart add\nWARNING: no item\nsecond line";
        assert_eq!(
            entries(jul).iter().map(|entry| (entry.2, entry.3.as_str(), entry.4.as_str())).collect::<Vec<_>>(),
            [("WARN", "shop.Cart", "no item")]
        );
        let export = "__REALTIME_TIMESTAMP=1795837137123000\nPRIORITY=3\nSYSLOG_IDENTIFIER=java\nMESSAGE=x\n\n__REALTIME_TIMESTAMP=1\nMESSAGE=y\n\n";
        assert_eq!(entries(export)[0], (NS, Clock::Exact, "ERROR", "java".to_owned(), "x".to_owned()));
    }

    #[test]
    fn what_stands_below_an_entry_is_none_where_each_line_has_a_time() {
        for before in [
            "Nov 28 03:38:57 host shop[7]: ",
            "2026-11-28T03:38:57.123+00:00 host shop[7]: ",
            "<14>1 2026-11-28T03:38:57.123Z host shop 7 - - ",
            "2026-11-28T03:38:57.123Z stderr F ",
        ] {
            let mut parser = Parser::default();
            let mut kind = |text: &str| match parser.line(format!("{before}{text}").as_bytes()) {
                Line::Entry(entry) => {
                    format!("{} {}", entry.head.level.word(), String::from_utf8_lossy(entry.head.message))
                }
                Line::Exception(class) => String::from_utf8_lossy(class).into_owned(),
                Line::Other => String::new(),
            };
            for (text, expected) in [
                ("[main] WARN a.b.C - no answer", "WARN no answer"),
                ("java.net.SocketTimeoutException: Read timed out", "java.net.SocketTimeoutException"),
                ("\tat a.b.C.d(C.java:1)", ""),
                ("#011at a.b.C.d(C.java:1) ~[x.jar:1]", ""),
                ("Caused by: java.io.IOException", "java.io.IOException"),
                ("\t... 12 more", ""),
                ("Nov 28, 2026 3:38:57 AM shop.Cart add", ""),
            ] {
                assert_eq!(kind(text), expected, "{before}{text}");
            }
        }
        let json = |text: &str| {
            format!(
                r#"{{"__REALTIME_TIMESTAMP":"1795837137123000","PRIORITY":"6","SYSLOG_IDENTIFIER":"shop","MESSAGE":"{text}"}}"#
            )
        };
        let all = [json("[main] WARN a.b.C - x"), json("\\tat a.b.C.d(C.java:1)"), json("plain")].join("\n");
        let found: Vec<_> = entries(&all).into_iter().map(|entry| (entry.2, entry.3, entry.4)).collect();
        let entry = |level, logger: &str, message: &str| (level, logger.to_owned(), message.to_owned());
        assert_eq!(found, [entry("WARN", "a.b.C", "x"), entry("INFO", "shop", "plain")]);
    }

    #[test]
    fn what_is_a_log() {
        let line = "2026-11-28 03:38:57,123 [main] INFO  c.e.App - Started\n";
        for (head, expected) in [
            (line.to_owned(), true),
            (format!("  .   ____\n :: Spring ::\n{}", line.repeat(3)), true),
            (format!("{line}java.lang.IllegalStateException: x\n\tat a.B.c(B.java:1)\n{line}"), true),
            ("Nov 28 03:38:57 host java[1]: x\n".repeat(2), true),
            ("# Notes\n2026-11-28 we went there\n2026-11-29 03:00:00 and back\n".to_owned(), false),
            ("12:00:01 is noon\n".repeat(9), false),
            ("text\n".repeat(100) + line, false),
            (format!("{line}\0{line}"), false),
            ("__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795837137123000\nPRIORITY=3\nMESSAGE=x\n\n".repeat(2), true),
            (String::new(), false),
        ] {
            assert_eq!(is_log(head.as_bytes()), expected, "{head}");
        }
    }

    #[test]
    fn exceptions() {
        for (line, expected) in [
            ("java.net.SocketTimeoutException: Read timed out", Some("java.net.SocketTimeoutException")),
            ("Caused by: a.b.C$DError", Some("a.b.C$DError")),
            (
                "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space",
                Some("java.lang.OutOfMemoryError"),
            ),
            ("\tat a.b.C.d(C.java:1)", None),
            ("Error: x", None),
            ("", None),
        ] {
            assert_eq!(exception(line.as_bytes()).map(String::from_utf8_lossy).as_deref(), expected, "{line}");
        }
    }
}
