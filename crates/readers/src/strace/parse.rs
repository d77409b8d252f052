//! Lines of strace. Knows no evidence.

use crate::calls::Call;
use crate::cursor::{Cursor, trim};
use crate::lines;
use crate::time::TIMES_NS;

/// How many lines may be looked at to recognise a trace.
const LINES_TO_RECOGNISE: usize = 200;

/// So many of them have to be lines of a trace.
const LEAST_LINES: usize = 2;

/// Longest path that is kept, in bytes.
const PATH_MAX_BYTES: usize = 4_096;

/// What the times of a trace are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// Since the epoch: `-ttt`.
    Epoch,
    /// Of a day that is not told: `-t` or `-tt`.
    OfDay,
    /// Since the line before: `-r`.
    Relative,
    /// There are none.
    None,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The thread, with `-f`.
    pub(super) tid: Option<i64>,
    pub(super) time: (Times, i64),
    pub(super) says: Says<'a>,
}

/// What it says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Says<'a> {
    /// `close(3) = 0 <0.000012>`.
    Whole(Call<'a>),
    /// `read(3,  <unfinished ...>`.
    Begins(Call<'a>),
    /// `<... read resumed>"x", 1) = 1 <0.000012>`.
    Ends(Call<'a>),
    /// A signal, an exit, a note of strace's.
    Note(&'a [u8]),
}

/// Whether a file that begins with `head` is a trace, whatever its times.
pub(super) fn is_trace(head: &[u8]) -> bool {
    if is_summary(head) {
        return true;
    }
    let lines: Vec<&[u8]> =
        lines::of_head(head).filter(|line| !trim(line).is_empty()).take(LINES_TO_RECOGNISE).collect();
    // The last one may be cut.
    let lines = &lines[..lines.len().saturating_sub(1).max(1).min(lines.len())];
    let of_trace = lines.iter().filter(|text| line(text).is_some()).count();
    let calls = lines.iter().filter_map(|text| line(text)).filter(|line| !matches!(line.says, Says::Note(_))).count();
    calls >= LEAST_LINES && of_trace * 10 >= lines.len() * 9
}

/// Whether it is the table of `-c`, which may stand at the end of a trace as well.
pub(super) fn is_summary(head: &[u8]) -> bool {
    let mut lines = lines::of_head(head).map(trim).filter(|line| !line.is_empty());
    lines.next().is_some_and(|line| line.starts_with(b"% time ") && line.ends_with(b"syscall"))
}

/// Reads a line of a trace.
pub(super) fn line(text: &[u8]) -> Option<Line<'_>> {
    let mut cursor = Cursor(text);
    cursor.spaces();
    let tid = tid(&mut cursor);
    let time = time(&mut cursor);
    cursor.spaces();
    says(cursor.0).map(|says| Line { tid, time, says })
}

/// `[pid 24140] ` or `24140 `: a number that no name of a call and no point follows.
fn tid(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut rest = *cursor;
    let is_named = rest.eat(b"[pid ");
    rest.spaces();
    let tid = i64::try_from(rest.integer()?).ok()?;
    if is_named {
        rest.expect(b"]")?;
    }
    matches!(rest.peek(), Some(b' ')).then_some(())?;
    rest.spaces();
    *cursor = rest;
    Some(tid)
}

fn time(cursor: &mut Cursor<'_>) -> (Times, i64) {
    let mut rest = *cursor;
    let found = epoch(&mut rest).or_else(|| of_day(&mut rest)).or_else(|| relative(&mut rest));
    let Some(found) = found else { return (Times::None, 0) };
    // With -r beside -ttt: `(+     0.000102)`.
    rest.spaces();
    if rest.0.starts_with(b"(+") {
        rest.until(b')');
    }
    *cursor = rest;
    found
}

fn epoch(cursor: &mut Cursor<'_>) -> Option<(Times, i64)> {
    let mut rest = *cursor;
    let ns = rest.fixed(9).filter(|ns| TIMES_NS.contains(ns))?;
    (rest.peek() == Some(b' ')).then_some(())?;
    *cursor = rest;
    Some((Times::Epoch, ns))
}

fn of_day(cursor: &mut Cursor<'_>) -> Option<(Times, i64)> {
    let mut rest = *cursor;
    let hour = rest.integer().filter(|hour| *hour < 24)? as i64;
    rest.expect(b":")?;
    let minute = rest.integer().filter(|minute| *minute < 60)? as i64;
    rest.expect(b":")?;
    let ns = rest.fixed(9)?;
    *cursor = rest;
    Some((Times::OfDay, (hour * 3_600 + minute * 60) * 1_000_000_000 + ns))
}

fn relative(cursor: &mut Cursor<'_>) -> Option<(Times, i64)> {
    let mut rest = *cursor;
    rest.eat(b"+");
    rest.spaces();
    let ns = rest.fixed(9)?;
    (rest.peek() == Some(b' ')).then_some(())?;
    *cursor = rest;
    Some((Times::Relative, ns))
}

fn says(text: &[u8]) -> Option<Says<'_>> {
    // Releases before 4.9 wrote `Process 12 attached` without their name.
    let is_note = [&b"--- "[..], b"+++ ", b"strace: ", b"Process "].iter().any(|start| text.starts_with(start));
    if is_note {
        return Some(Says::Note(text));
    }
    if let Some(rest) = text.strip_prefix(b"<... ") {
        return ends(rest);
    }
    let mut cursor = Cursor(text);
    let name = name(&mut cursor)?;
    if let Some(arguments) = cursor.0.strip_suffix(b"<unfinished ...>") {
        return Some(Says::Begins(with_arguments(name, arguments)));
    }
    let (arguments, result) = split_result(cursor.0)?;
    Some(Says::Whole(with_result(with_arguments(name, arguments), result)))
}

fn ends(rest: &[u8]) -> Option<Says<'_>> {
    let mut cursor = Cursor(rest);
    let name = std::str::from_utf8(cursor.run(is_of_name)).ok()?;
    cursor.expect(b" resumed>")?;
    let (_, result) = split_result(cursor.0)?;
    Some(Says::Ends(with_result(Call { name, ..Call::default() }, result)))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

/// `read(`.
fn name<'a>(cursor: &mut Cursor<'a>) -> Option<&'a str> {
    let name = std::str::from_utf8(cursor.run(is_of_name)).ok()?;
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    (is_name && cursor.eat(b"(")).then_some(name)
}

/// Arguments, and what stands behind the last equals sign that a closing parenthesis is before: texts among the arguments, and
/// files, may hold others.
fn split_result(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut signs = memchr::memrchr_iter(b'=', text);
    signs.find_map(|at| {
        let (before, after) = (text[..at].strip_suffix(b" ")?, text[at + 1..].strip_prefix(b" ")?);
        Some((before.trim_ascii_end().strip_suffix(b")")?, after))
    })
}

/// `3</a/b>, "x", 1`.
fn with_arguments<'a>(name: &'a str, arguments: &'a [u8]) -> Call<'a> {
    let mut cursor = Cursor(arguments);
    let number = cursor.integer().and_then(|number| i64::try_from(number).ok());
    let descriptor = number.filter(|_| matches!(cursor.peek(), None | Some(b',' | b'<' | b' ')));
    let target = if descriptor.is_some() && cursor.eat(b"<") { in_angles(cursor.0) } else { &[] };
    let path = memchr::memchr(b'"', arguments).map(|at| &arguments[at + 1..]).and_then(|rest| {
        let end = memchr::memchr(b'"', rest)?;
        rest.get(..end.min(PATH_MAX_BYTES))
    });
    Call { name, descriptor, target, path: path.unwrap_or_default(), ..Call::default() }
}

/// What stands before the closing angle; an arrow between two addresses closes nothing.
fn in_angles(text: &[u8]) -> &[u8] {
    let mut ends = memchr::memchr_iter(b'>', text);
    let end = ends.find(|at| text.get(at.wrapping_sub(1)) != Some(&b'-'));
    &text[..end.unwrap_or(0).min(PATH_MAX_BYTES)]
}

/// `-1 EAGAIN (Resource temporarily unavailable) <0.000012>`, `3<socket:[7]>`, `0x7f00`, `?`.
fn with_result<'a>(call: Call<'a>, text: &[u8]) -> Call<'a> {
    let mut cursor = Cursor(text);
    let is_negative = cursor.eat(b"-");
    let number = match cursor.0 {
        [b'0', b'x', ..] => Some(0),
        _ => cursor.integer().and_then(|number| i64::try_from(number).ok()),
    };
    let at = memchr::memrchr(b'<', text);
    let duration = at.map(|at| Cursor(&text[at + 1..])).and_then(|mut rest| {
        let ns = rest.fixed(9)?;
        (rest.0 == b">").then_some(ns)
    });
    let result = number.map(|number| if is_negative { -number } else { number });
    Call { result, duration_ns: duration, ..call }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_options() {
        let call = |name: &'static str, descriptor, target: &'static str, path: &'static str, result, duration_ns| {
            let [target, path] = [target, path].map(str::as_bytes);
            Call { name, descriptor, target, path, result, duration_ns }
        };
        for (text, tid, time, says) in [
            (
                "24140 1795795071.971212 close(3)      = 0 <0.000012>",
                Some(24140),
                (Times::Epoch, 1_795_795_071_971_212_000),
                Says::Whole(call("close", Some(3), "", "", Some(0), Some(12_000))),
            ),
            (
                "[pid  7] 12:34:56.5 openat(AT_FDCWD, \"/a = b\", O_RDONLY) = 3</a = b>",
                Some(7),
                (Times::OfDay, 45_296_500_000_000),
                Says::Whole(call("openat", None, "", "/a = b", Some(3), None)),
            ),
            (
                "     0.000102 read(3<TCP:[127.0.0.1:1->127.0.0.1:2]>, \"x\", 9) = 1 <0.000100>",
                None,
                (Times::Relative, 102_000),
                Says::Whole(call("read", Some(3), "TCP:[127.0.0.1:1->127.0.0.1:2]", "x", Some(1), Some(100_000))),
            ),
            (
                "1795795071.9 (+     0.000102) recvfrom(5, 0x7f, 8) = -1 EAGAIN (Resource temporarily unavailable) <0.000007>",
                None,
                (Times::Epoch, 1_795_795_071_900_000_000),
                Says::Whole(call("recvfrom", Some(5), "", "", Some(-1), Some(7_000))),
            ),
            (
                "7 1795795071.9 read(3,  <unfinished ...>",
                Some(7),
                (Times::Epoch, 1_795_795_071_900_000_000),
                Says::Begins(call("read", Some(3), "", "", None, None)),
            ),
            (
                "7 1795795071.9 <... read resumed>\"x\", 1) = 1 <0.5>",
                Some(7),
                (Times::Epoch, 1_795_795_071_900_000_000),
                Says::Ends(call("read", None, "", "", Some(1), Some(500_000_000))),
            ),
            (
                "7 1795795071.9 futex(0x7f, FUTEX_WAIT, 0, NULL) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)",
                Some(7),
                (Times::Epoch, 1_795_795_071_900_000_000),
                Says::Whole(call("futex", None, "", "", None, None)),
            ),
            (
                "7 1795795071.9 +++ exited with 0 +++",
                Some(7),
                (Times::Epoch, 1_795_795_071_900_000_000),
                Says::Note(b"+++ exited with 0 +++"),
            ),
            (
                "mmap(NULL, 4096) = 0x7f00",
                None,
                (Times::None, 0),
                Says::Whole(call("mmap", None, "", "", Some(0), None)),
            ),
        ] {
            assert_eq!(line(text.as_bytes()), Some(Line { tid, time, says }), "{text}");
        }
        for text in ["", "7", "hello (world) = no", "Read(3) = 1", "2026-11-27 INFO x(1) = 2"] {
            assert!(line(text.as_bytes()).is_none_or(|line| matches!(line.time.0, Times::None)), "{text}");
        }
    }

    #[test]
    fn what_is_a_trace() {
        let line = "7 1795795071.9 close(3) = 0 <0.000012>\n";
        for (head, expected) in [
            (line.repeat(3), true),
            (format!("{}7 1795795071.9 clo", line.repeat(3)), true),
            ("% time     seconds  usecs/call     calls    errors syscall\n------ ---\n".to_owned(), true),
            ("int main() {\n  return f(x) = 1;\n}\n".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_trace(head.as_bytes()), expected, "{head}");
        }
    }
}
