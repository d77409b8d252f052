//! Lines of `perf script`. Knows no evidence.

use crate::columns::words;
use crate::cursor::{Cursor, trim};
use crate::lines;

/// How many lines may stand before the first sample, of perf's header.
const LINES_TO_RECOGNISE: usize = 200;

/// The line that a sample begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heading<'a> {
    /// Name of the thread, of which the kernel keeps 15 bytes.
    pub(super) name: &'a [u8],
    pub(super) pid: Option<i64>,
    pub(super) tid: i64,
    pub(super) cpu: Option<i32>,
    pub(super) time_ns: i64,
    /// How many events the sample stands for.
    pub(super) period: Option<i64>,
    /// Name of the event without its modifiers.
    pub(super) event: &'a [u8],
}

/// A frame: symbol and file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) symbol: &'a [u8],
    pub(super) file: &'a [u8],
}

/// Whether a file that begins with `head` has samples of perf.
pub(super) fn is_script(head: &[u8]) -> bool {
    let lines: Vec<&[u8]> = lines::of_head(head).take(LINES_TO_RECOGNISE).collect();
    let first = lines.iter().position(|line| heading(line).is_some());
    first.is_some_and(|first| match lines.get(first + 1) {
        // Without stacks one heading follows the other.
        Some(next) => {
            frame(next).is_some() || heading(next).is_some() || trim(next).is_empty() && first + 2 == lines.len()
        }
        None => false,
    })
}

/// `http-nio-8080-e  7/9 [001] 1795795076.868687:   10101010 cpu-clock:ppp: `.
pub(super) fn heading(line: &[u8]) -> Option<Heading<'_>> {
    if matches!(line.first(), None | Some(b'\t' | b'#')) {
        return None;
    }
    let (start, time_ns, rest) = time(line)?;
    let mut before: Vec<&[u8]> = words(&line[..start]).collect();
    let cpu = before.last().and_then(|word| cpu(word));
    if cpu.is_some() {
        before.pop();
    }
    let (pid, tid) = ids(before.pop()?)?;
    before.first()?;
    let (period, event) = event(rest)?;
    let name = name_before(&line[..start], &before);
    Some(Heading { name, pid, tid, cpu, time_ns, period, event })
}

/// From the first to the last word of the name, blanks included.
fn name_before<'a>(line: &'a [u8], words: &[&[u8]]) -> &'a [u8] {
    let trimmed = line.trim_ascii();
    let length: usize = words.last().map_or(0, |last| last.as_ptr() as usize + last.len() - trimmed.as_ptr() as usize);
    &trimmed[..length.min(trimmed.len())]
}

/// The time with a colon behind it, where it begins, and what follows.
fn time(line: &[u8]) -> Option<(usize, i64, &[u8])> {
    let mut from = 0;
    while let Some(at) = memchr::memchr(b':', &line[from..]).map(|at| from + at) {
        let start = line[..at].iter().rposition(|byte| matches!(byte, b' ' | b'\t')).map_or(0, |blank| blank + 1);
        let mut cursor = Cursor(&line[start..at]);
        let has_point = line[start..at].contains(&b'.');
        if let (true, Some(ns)) = (has_point && start > 0, cursor.fixed(9))
            && cursor.is_done()
        {
            return Some((start, ns, &line[at + 1..]));
        }
        from = at + 1;
    }
    None
}

fn cpu(word: &[u8]) -> Option<i32> {
    let digits = word.strip_prefix(b"[")?.strip_suffix(b"]")?;
    Cursor(digits).integer().and_then(|cpu| i32::try_from(cpu).ok())
}

/// `7/9` or `9`.
fn ids(word: &[u8]) -> Option<(Option<i64>, i64)> {
    let mut cursor = Cursor(word);
    let first = i64::try_from(cursor.integer()?).ok()?;
    if cursor.is_done() {
        return Some((None, first));
    }
    cursor.expect(b"/")?;
    let second = i64::try_from(cursor.integer()?).ok()?;
    cursor.is_done().then_some((Some(first), second))
}

/// `   10101010 cpu-clock:ppp: `, or without a period.
fn event(text: &[u8]) -> Option<(Option<i64>, &[u8])> {
    let mut cursor = Cursor(text);
    cursor.spaces();
    let before = cursor;
    let period = cursor.integer().filter(|_| cursor.peek() == Some(b' ')).and_then(|period| i64::try_from(period).ok());
    if period.is_none() {
        cursor = before;
    }
    cursor.spaces();
    let word = cursor.run(|byte| byte != b' ');
    let name = word.strip_suffix(b":")?;
    // Tracepoints have a colon in their name, and modifiers have one before them.
    let end = memchr::memchr(b':', name).filter(|at| name[at + 1..].iter().all(|byte| b"ukhpPGDISW".contains(byte)));
    let name = &name[..end.unwrap_or(name.len())];
    (!name.is_empty()).then_some((period, name))
}

/// `          534ff5 PhaseChaitin::gather+0x105 (/usr/lib/libjvm.so)`.
pub(super) fn frame(line: &[u8]) -> Option<Frame<'_>> {
    matches!(line.first(), Some(b' ' | b'\t')).then_some(())?;
    let mut cursor = Cursor(trim(line));
    let address = cursor.run(|byte| byte.is_ascii_hexdigit());
    (!address.is_empty() && cursor.eat(b" ")).then_some(())?;
    let rest = cursor.0;
    let (symbol, file) = match memchr::memmem::rfind(rest, b" (") {
        Some(at) => (&rest[..at], rest[at + 2..].strip_suffix(b")").unwrap_or_default()),
        None => (rest, &b""[..]),
    };
    Some(Frame { symbol: without_offset(symbol), file })
}

fn without_offset(symbol: &[u8]) -> &[u8] {
    match memchr::memmem::rfind(symbol, b"+0x") {
        Some(at) if symbol[at + 3..].iter().all(u8::is_ascii_hexdigit) => &symbol[..at],
        _ => symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_all_fields() {
        let of = |text: &'static str| {
            let found = heading(text.as_bytes())?;
            let [name, event] = [found.name, found.event].map(|text| String::from_utf8_lossy(text).into_owned());
            Some((name, found.pid, found.tid, found.cpu, found.time_ns, found.period, event))
        };
        let named = |name: &str, pid, tid, cpu, time_ns, period, event: &str| {
            Some((name.to_owned(), pid, tid, cpu, time_ns, period, event.to_owned()))
        };
        for (text, expected) in [
            (
                "C2 CompilerThre 22652 1795795076.868687:   10101010 cpu-clock:ppp: ",
                named("C2 CompilerThre", None, 22652, None, 1_795_795_076_868_687_000, Some(10_101_010), "cpu-clock"),
            ),
            ("java  7/9 [001] 12.5: cycles:u: ", named("java", Some(7), 9, Some(1), 12_500_000_000, None, "cycles")),
            (
                "swapper     0 [000] 12.5: sched:sched_switch: prev_comm=x",
                named("swapper", None, 0, Some(0), 12_500_000_000, None, "sched:sched_switch"),
            ),
            ("\t  534ff5 main+0x1 (a)", None),
            ("# captured on : Fri Nov 27", None),
            ("2026-11-27 12:00:00.5: hello", None),
            ("", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn frames() {
        for (text, symbol, file) in [
            (
                "\t          534ff5 PhaseChaitin::gather(int, char)+0x105 (/usr/lib/libjvm.so)",
                "PhaseChaitin::gather(int, char)",
                "/usr/lib/libjvm.so",
            ),
            ("\tffffffff81 __x64_sys_futex+0x1f ([kernel.kallsyms])", "__x64_sys_futex", "[kernel.kallsyms]"),
            ("\t    7f00 [unknown] (/tmp/perf-7.map)", "[unknown]", "/tmp/perf-7.map"),
            (
                "     7f00 int a.B.c(java.lang.String)+0x10 (/tmp/perf-7.map)",
                "int a.B.c(java.lang.String)",
                "/tmp/perf-7.map",
            ),
        ] {
            let expected = Frame { symbol: symbol.as_bytes(), file: file.as_bytes() };
            assert_eq!(frame(text.as_bytes()), Some(expected), "{text}");
        }
        assert_eq!(frame(b"not a frame"), None);
    }
}
