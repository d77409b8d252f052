//! Lines of perf trace. Knows no evidence.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::calls::Call;
use crate::cursor::{Cursor, trim};
use crate::lines;

/// How many lines are looked at to recognise a trace.
const LINES_TO_RECOGNISE: usize = 50;

/// So many of them have to be calls.
const LEAST_LINES: usize = 3;

/// Milliseconds have three digits behind the point, and are kept in ns.
const MS_DIGITS: u32 = 6;

/// What stands before a path.
static FILE_NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"filename: \""));

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) tid: i64,
    /// When the call began, in ns of the trace's clock; none where perf did not see that.
    pub(super) time_ns: Option<i64>,
    pub(super) says: Says,
    pub(super) call: Call<'a>,
}

/// What it says of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Whole,
    /// `futex(uaddr: 0x7f) ...`: others came before its end.
    Begins,
    /// ` ... [continued]: futex()) = 0`.
    Ends,
}

/// Whether a file that begins with `head` is a trace.
pub(super) fn is_trace(head: &[u8]) -> bool {
    let lines: Vec<&[u8]> =
        lines::of_head(head).filter(|line| !trim(line).is_empty()).take(LINES_TO_RECOGNISE).collect();
    // The last one may be cut.
    let lines = &lines[..lines.len().saturating_sub(1).max(1).min(lines.len())];
    let calls = lines.iter().filter(|text| line(text).is_some()).count();
    calls >= LEAST_LINES && calls * 10 >= lines.len() * 9
}

/// `     0.120 ( 0.027 ms): java/15961 openat(dfd: CWD) = 9`.
pub(super) fn line(text: &[u8]) -> Option<Line<'_>> {
    let mut cursor = Cursor(text);
    cursor.spaces();
    let time_ns = if cursor.eat(b"?") { None } else { Some(cursor.fixed(MS_DIGITS)?) };
    cursor.expect(b" (")?;
    cursor.spaces();
    let duration_ns = if cursor.peek() == Some(b')') { None } else { Some(milliseconds(&mut cursor)?) };
    cursor.expect(b"): ")?;
    let tid = thread(&mut cursor)?;
    let (says, call) = says(trim(cursor.0))?;
    Some(Line { tid, time_ns, says, call: Call { duration_ns, ..call } })
}

fn milliseconds(cursor: &mut Cursor<'_>) -> Option<i64> {
    let ns = cursor.fixed(MS_DIGITS)?;
    cursor.expect(b" ms")?;
    Some(ns)
}

/// `java/15961 `: names may have slashes and blanks of their own.
fn thread(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut slashes = memchr::memchr_iter(b'/', cursor.0);
    let (tid, rest) = slashes.find_map(|at| {
        let mut rest = Cursor(&cursor.0[at + 1..]);
        let tid = i64::try_from(rest.integer()?).ok()?;
        rest.expect(b" ")?;
        Some((tid, rest))
    })?;
    *cursor = rest;
    Some(tid)
}

fn says(text: &[u8]) -> Option<(Says, Call<'_>)> {
    if let Some(rest) = text.strip_prefix(b"... [continued]: ") {
        let (name, rest) = name(rest)?;
        let result = rest.strip_prefix(b")) ").or_else(|| rest.strip_prefix(b") "))?;
        return Some((Says::Ends, Call { name, result: result_of(trim(result)), ..Call::default() }));
    }
    let (name, rest) = name(text)?;
    if let Some(arguments) = rest.strip_suffix(b"...") {
        return Some((Says::Begins, with_arguments(name, arguments)));
    }
    // Of some calls the result is left out.
    let mut signs = memchr::memrchr_iter(b'=', rest).filter_map(|sign| sign.checked_sub(1));
    let at = signs.find(|at| rest[*at..].starts_with(b" = ")).or_else(|| rest.strip_suffix(b" =").map(<[u8]>::len))?;
    let arguments = trim(&rest[..at]).strip_suffix(b")")?;
    let call = with_arguments(name, arguments);
    Some((Says::Whole, Call { result: result_of(trim(&rest[at..])), ..call }))
}

/// `openat(`.
fn name(text: &[u8]) -> Option<(&str, &[u8])> {
    let mut cursor = Cursor(text);
    let name = cursor.run(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
    cursor.eat(b"(").then_some((name, cursor.0))
}

/// `fd: 4<socket:[799160]>, buf: 0x7f`, `filename: "/etc/hostname"`.
fn with_arguments<'a>(name: &'a str, arguments: &'a [u8]) -> Call<'a> {
    let mut call = Call { name, ..Call::default() };
    let mut cursor = Cursor(arguments);
    if cursor.eat(b"fd: ") {
        call.descriptor = cursor.integer().and_then(|number| i64::try_from(number).ok());
        if call.descriptor.is_some() && cursor.eat(b"<") {
            call.target = cursor.until(b'>').unwrap_or_default();
        }
    }
    if let Some(at) = FILE_NAME.find(arguments) {
        let path = &arguments[at + FILE_NAME.needle().len()..];
        call.path = memchr::memchr(b'"', path).map_or(&b""[..], |end| &path[..end]);
    }
    call
}

/// `= 9`, `= -1 ENOENT (No such file or directory)`, `= 0x7f00`, `= ?`.
fn result_of(text: &[u8]) -> Option<i64> {
    let mut cursor = Cursor(text);
    cursor.expect(b"= ")?;
    let is_negative = cursor.eat(b"-");
    let number = if cursor.0.starts_with(b"0x") { 0 } else { i64::try_from(cursor.integer()?).ok()? };
    Some(if is_negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_kinds() {
        let call = |name: &'static str, descriptor, target: &'static str, path: &'static str, result, duration_ns| {
            let [target, path] = [target, path].map(str::as_bytes);
            Call { name, descriptor, target, path, result, duration_ns }
        };
        for (text, tid, time_ns, says, call) in [
            (
                "     0.120 ( 0.027 ms): java/15961 openat(dfd: CWD, filename: \"/etc/hosts\", flags: RDONLY)     = 9",
                15961,
                Some(120_000),
                Says::Whole,
                call("openat", None, "", "/etc/hosts", Some(9), Some(27_000)),
            ),
            (
                "  1015.780 ( 0.045 ms): http nio/8080/10896 close(fd: 4<socket:[799160]>)   = 0",
                10896,
                Some(1_015_780_000),
                Says::Whole,
                call("close", Some(4), "socket:[799160]", "", Some(0), Some(45_000)),
            ),
            (
                "     0.237 ( 0.007 ms): a/1 access(filename: 0x60d5c2a0, mode: R) = -1 ENOENT (No such file or directory)",
                1,
                Some(237_000),
                Says::Whole,
                call("access", None, "", "", Some(-1), Some(7_000)),
            ),
            (
                "   969.021 (         ): a/1 recvfrom(fd: 5, ubuf: 0x7f) ...",
                1,
                Some(969_021_000),
                Says::Begins,
                call("recvfrom", Some(5), "", "", None, None),
            ),
            (
                "   969.021 (19.045 ms): a/1  ... [continued]: recvfrom())      = 100",
                1,
                Some(969_021_000),
                Says::Ends,
                call("recvfrom", None, "", "", Some(100), Some(19_045_000)),
            ),
            (
                "         ? (         ): a/1  ... [continued]: execve())      = 0",
                1,
                None,
                Says::Ends,
                call("execve", None, "", "", Some(0), None),
            ),
            (
                "    11.251 ( 0.002 ms): bash/1 getppid()    = ",
                1,
                Some(11_251_000),
                Says::Whole,
                call("getppid", None, "", "", None, Some(2_000)),
            ),
            (
                "  1039.154 (         ): a/1 exit_group()    = ?",
                1,
                Some(1_039_154_000),
                Says::Whole,
                call("exit_group", None, "", "", None, None),
            ),
        ] {
            assert_eq!(line(text.as_bytes()), Some(Line { tid, time_ns, says, call }), "{text}");
        }
        for text in ["", "0.1", "0.1 (0.2 ms): java openat() = 1", " Summary of events:", "0.1 (x): a/1 b() = 1"] {
            assert_eq!(line(text.as_bytes()), None, "{text}");
        }
    }
}
