//! Removes what containers and system logs put around each line of a log.
//!
//! The first line that is a collector's, with or without a wrapping, decides which wrapping the log has. Lines without
//! it, and logs without any wrapping, are left as they are.

use crate::cursor::Cursor;
use crate::gc_log::decorations::{self, Topic};
use crate::gc_log::legacy;
use crate::gc_log::unified;
use crate::lines::MAX_LINE_BYTES;
use crate::time::IsoTimes;

/// Longest name of a container, or of a host with its process.
const MAX_WRITER_BYTES: usize = 512;

/// Most writers of one file that are separated.
const MAX_WRITERS: usize = 64;

/// What is around the lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing.
    Bare,
    /// Files of Kubernetes: `2026-11-20T06:30:00.123456789Z stdout F …`
    Cri,
    /// `kubectl logs --timestamps`, `docker logs -t`: `2026-11-20T06:30:00.123456789Z …`
    Stamped,
    /// Files of Docker: `{"log":"…\n","stream":"stdout","time":"2026-11-20T06:30:00.123456789Z"}`
    Docker,
    /// `docker compose logs`: `app-1  | …`
    Compose,
    /// syslog and journald: `Nov 20 06:30:00 host java[4711]: …`, or with a date as above.
    Syslog,
}

/// The date of an older log could be a host: dates alone come before those with host and process.
const KINDS: [Kind; 5] = [Kind::Cri, Kind::Docker, Kind::Stamped, Kind::Compose, Kind::Syslog];

/// Takes off what is around the lines of one file.
#[derive(Debug, Default)]
pub(crate) struct Wrapping {
    kind: Option<Kind>,
    times: IsoTimes,
    /// A line whose escapes had to be replaced.
    unescaped: Vec<u8>,
    /// Who writes the log: one file may have the lines of several JVMs.
    writers: Writers,
}

impl Wrapping {
    /// The line as the JVM wrote it.
    pub(crate) fn off<'a>(&'a mut self, line: &'a [u8]) -> &'a [u8] {
        if self.kind.is_none() {
            self.kind = self.kind_of(line);
        }
        let Some(kind) = self.kind.filter(|kind| *kind != Kind::Bare) else { return line };
        let Some((writer, inner)) = kind.split(line, &mut self.times) else { return line };
        if kind == Kind::Docker {
            return unescape(inner, &mut self.unescaped);
        }
        let times = &mut self.times;
        match self.writers.is_wanted(writer, || is_of_gc_log(inner, times)) {
            true => inner,
            false => line,
        }
    }

    /// What is around `line`, if it is a line of a collector's log.
    fn kind_of(&mut self, line: &[u8]) -> Option<Kind> {
        if is_of_gc_log(line, &mut self.times) {
            return Some(Kind::Bare);
        }
        KINDS.into_iter().find(|kind| {
            kind.split(line, &mut self.times).is_some_and(|(_, inner)| is_of_gc_log(inner, &mut self.times))
        })
    }
}

impl Kind {
    /// The writer of the line, if the line names it, and the rest of the line.
    fn split<'a>(self, line: &'a [u8], times: &mut IsoTimes) -> Option<(&'a [u8], &'a [u8])> {
        let mut cursor = Cursor(line);
        let writer = match self {
            Kind::Bare => return None,
            Kind::Cri => {
                iso(&mut cursor, times)?;
                let is_stream = cursor.eat(b"stdout ") || cursor.eat(b"stderr ");
                (is_stream && (cursor.eat(b"F ") || cursor.eat(b"P "))).then_some(&b""[..])?
            }
            Kind::Stamped => iso(&mut cursor, times).map(|()| &b""[..])?,
            Kind::Docker => {
                cursor.expect(b"{\"log\":")?;
                cursor.spaces();
                cursor.expect(b"\"").map(|()| &b""[..])?
            }
            Kind::Compose => compose(&mut cursor)?,
            Kind::Syslog => syslog(&mut cursor, times)?,
        };
        (writer.len() <= MAX_WRITER_BYTES).then_some((writer, cursor.0))
    }
}

/// `2026-11-20T06:30:00.123456789Z `. Behind the date of an older log comes a colon.
fn iso(cursor: &mut Cursor<'_>, times: &mut IsoTimes) -> Option<()> {
    (cursor.0.get(10) == Some(&b'T')).then_some(())?;
    times.read(cursor)?;
    cursor.expect(b" ")
}

fn compose<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let name = cursor.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    cursor.spaces();
    cursor.expect(b"| ")?;
    (!name.is_empty()).then_some(name)
}

/// Host and process of `Nov 20 06:30:00.123 host java[4711]: `.
fn syslog<'a>(cursor: &mut Cursor<'a>, times: &mut IsoTimes) -> Option<&'a [u8]> {
    let is_word = |byte: u8| !byte.is_ascii_whitespace();
    if iso(cursor, times).is_none() {
        let month = cursor.run(|byte| byte.is_ascii_alphabetic());
        cursor.spaces();
        cursor.integer().filter(|day| month.len() == 3 && *day <= 31)?;
        cursor.expect(b" ")?;
        let time = cursor.run(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
        (time.iter().filter(|byte| **byte == b':').count() == 2).then_some(())?;
        cursor.expect(b" ")?;
    }
    let from = cursor.0;
    cursor.run(is_word);
    cursor.expect(b" ")?;
    let is_process = cursor.run(is_word).ends_with(b":");
    let writer = &from[..from.len() - cursor.0.len()];
    cursor.expect(b" ").filter(|()| is_process)?;
    Some(writer)
}

/// Whether a line is surely of a collector's log.
fn is_of_gc_log(line: &[u8], times: &mut IsoTimes) -> bool {
    unified::is_unmistakable(line)
        || decorations::split(line, times).is_some_and(|found| found.topic != Topic::Foreign)
        || legacy::is_unmistakable(line, times)
}

/// The text of a JSON string up to its end, without the line end that is in it.
fn unescape<'a>(text: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    buffer.clear();
    let mut cursor = Cursor(text);
    while let Some(byte) = cursor.peek().filter(|byte| *byte != b'"' && buffer.len() < MAX_LINE_BYTES) {
        cursor.skip(1);
        match byte {
            b'\\' => escaped(&mut cursor, buffer),
            _ => buffer.push(byte),
        }
    }
    buffer.trim_ascii_end()
}

/// What stands behind a backslash.
fn escaped(cursor: &mut Cursor<'_>, buffer: &mut Vec<u8>) {
    let Some(byte) = cursor.peek() else { return };
    cursor.skip(1);
    match byte {
        b'n' | b'r' => buffer.push(b'\n'),
        b't' => buffer.push(b'\t'),
        b'u' => {
            let digits = cursor.0.get(..4).and_then(|digits| std::str::from_utf8(digits).ok());
            let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            cursor.skip(4);
            let letter = code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
            buffer.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        other => buffer.push(other),
    }
}

/// Tells whose lines are read where several processes write into one file.
///
/// A JVM that was started again has another number, and its log is the same one. Of two at once the lines of the one that
/// came first are left from where the other one begins, or their collections would be mixed.
#[derive(Debug, Default)]
struct Writers {
    now: Vec<u8>,
    before: Vec<Vec<u8>>,
}

impl Writers {
    fn is_wanted(&mut self, writer: &[u8], is_of_gc_log: impl FnOnce() -> bool) -> bool {
        if self.now == writer {
            return true;
        }
        if self.before.len() >= MAX_WRITERS || self.before.iter().any(|gone| gone == writer) {
            return false;
        }
        if !is_of_gc_log() {
            return true;
        }
        let gone = std::mem::replace(&mut self.now, writer.to_owned());
        self.before.push(gone);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(lines: &[String]) -> Vec<String> {
        let mut wrapping = Wrapping::default();
        lines.iter().map(|line| String::from_utf8_lossy(wrapping.off(line.as_bytes())).into_owned()).collect()
    }

    #[test]
    fn what_is_around_a_line_is_taken_off() {
        const DATE: &str = "2026-11-20T06:30:00.123456789Z";
        let wrappings: [fn(&str) -> String; 8] = [
            |line| line.to_owned(),
            |line| format!("{DATE} stdout F {line}"),
            |line| format!("{DATE} {line}"),
            |line| format!("2026-11-20T07:30:00.123456789+01:00 stderr F {line}"),
            |line| {
                format!(
                    "{{\"log\":\"{}\\r\\n\",\"stream\":\"stdout\"}}",
                    line.replace('"', "\\\"").replace('>', "\\u003e")
                )
            },
            |line| format!("app-1  | {line}"),
            |line| format!("Nov  2 06:30:00 host java[4711]: {line}"),
            |line| format!("2026-11-20T06:30:00+00:00 host app: {line}"),
        ];
        let logs = [
            "  .   ____ \\/ of an application\n[0.1s][info][gc] Using G1\n[0.2s][info][safepoint] Safepoint \"A\", x\nthe end",
            "2026-11-20T06:30:00.000+0000: 1.0: [GC 9K->6K(12K), 0.1 secs]\n [Times: user=0.1]\n2.0: [GC 9K->6K(12K), 0.1 secs]",
            "[GC (Allocation Failure)  9K->6K(12K), 0.1 secs]\n[Full GC 9K->6K(12K), 0.1 secs]",
            "GC(0) Pause Young (Normal) 9M->6M(12M) 1.0ms",
        ];
        for (wrap, log) in wrappings.iter().flat_map(|wrap| logs.map(|log| (wrap, log))) {
            let decides = log.lines().next().filter(|line| line.contains("application")).map_or(0, |_| 1);
            let lines: Vec<String> = log.lines().map(wrap).collect();
            let bare: Vec<&str> = log.lines().collect();
            assert_eq!(off(&lines)[decides..], bare[decides..], "{lines:?}");
        }
    }

    #[test]
    fn lines_that_nothing_is_around_stay() {
        for lines in [
            &["[0.1s][info][gc] Using G1", "app-1  | [0.2s][info][gc] Using G1"][..],
            &["2026-11-20T06:30:00.123Z  INFO 1 --- [main] started", "[0.2s][info][gc] Using G1"],
            &["app-1  | [0.2s][info][class,load] java.lang.Object", "{\"log\":\"text\"}", "", "| ", "Nov "],
        ] {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(off(&lines), lines);
        }
    }

    #[test]
    fn two_jvms_in_one_file_are_not_mixed() {
        let line = |writer: &str, ms: u32| format!("{writer}  | [{ms}ms][info][gc] GC(1) Pause Young (Normal) 1.0ms");
        let lines = [line("a", 1), line("b", 2), line("a", 3), "db  | ready".to_owned(), line("b", 4)];
        let starts: Vec<String> = off(&lines).iter().map(|line| line[..5].to_owned()).collect();
        assert_eq!(starts, ["[1ms]", "[2ms]", "a  | ", "ready", "[4ms]"].map(|start| start[..5].to_owned()));
        let many: Vec<String> = (0..100).map(|number| line(&format!("w{number}"), number)).collect();
        assert_eq!(off(&many).iter().filter(|line| line.starts_with('[')).count(), MAX_WRITERS);
    }

    #[test]
    fn escapes_that_are_none() {
        for (text, expected) in [
            (r"a\\b\/\t\u00e9\ud800\q", "a\\b/\t\u{e9}\u{fffd}q"),
            (r"a\", "a"),
            (r"a\u12", "a\u{fffd}"),
            (r"a\uxyz1b", "a\u{fffd}b"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8_lossy(unescape(text.as_bytes(), &mut Vec::new())), expected, "{text}");
        }
    }
}
