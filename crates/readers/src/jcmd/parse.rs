//! Lines of outputs of `jcmd`. Knows no evidence.

use crate::cursor::Cursor;
use crate::lines;
use crate::time::date_line;

/// The first lines, of which one has to be unmistakable: the process, a date, the heading.
const LINES_TO_RECOGNISE: usize = 8;

/// Flags in one line that are surely the output of `VM.flags`.
const FLAGS_LEAST: usize = 3;

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item<'a> {
    /// The process that was asked.
    Pid(i64),
    /// When what follows was asked, and whether the zone is known.
    Time(i64, bool),
    /// How long the JVM had run, in ns.
    Uptime(i64),
    Version(&'a str),
    /// Name, value, and how it got that.
    Flag(&'a str, String, Option<&'a str>),
    Segment {
        name: &'a str,
        used_bytes: u64,
        reserved_bytes: u64,
    },
    /// Failed allocations in the code cache.
    FullCount(u64),
    /// A part of the heap.
    Space {
        name: &'a str,
        used_bytes: u64,
        capacity_bytes: Option<u64>,
    },
    Metaspace {
        used_bytes: u64,
    },
    /// A kind of native memory.
    Native {
        name: &'a str,
        reserved_bytes: u64,
        committed_bytes: u64,
    },
    Class {
        name: &'a str,
        bytes: u64,
    },
}

/// Whether a file that begins with `head` is such an output.
pub(super) fn is_output(head: &[u8]) -> bool {
    let first = lines::of_head(head).filter(|line| !line.trim_ascii().is_empty()).take(LINES_TO_RECOGNISE);
    let mut first = first.filter_map(|line| std::str::from_utf8(line).ok());
    first.any(is_unmistakable) && memchr::memmem::find(head, b"Full thread dump").is_none()
}

fn is_unmistakable(line: &str) -> bool {
    let begins = |starts: &[&str]| starts.iter().any(|start| line.trim_start().starts_with(start));
    let flags = line.split_whitespace().filter(|word| word.starts_with("-XX:")).count();
    begins(&["Native Memory Tracking:", "[Global flags]", "num     #instances"])
        || begins(&["CodeHeap '", "CodeCache: "]) && segment(line).is_some()
        || space(line).is_some()
        || flags >= FLAGS_LEAST && flags == line.split_whitespace().count()
}

/// Gives what a line says.
pub(super) fn line<'a>(line: &'a str, take: &mut dyn FnMut(Item<'a>)) {
    if line.starts_with("-XX:") {
        return line.split_whitespace().filter_map(option).for_each(take);
    }
    if let Some((_, rest)) = line.split_once("full_count=") {
        return digits(rest).map(Item::FullCount).into_iter().for_each(take);
    }
    let found = pid(line)
        .or_else(|| time(line))
        .or_else(|| flag(line))
        .or_else(|| segment(line))
        .or_else(|| native(line))
        .or_else(|| space(line))
        .or_else(|| class(line))
        .or_else(|| other(line));
    found.into_iter().for_each(take);
}

/// `4711:`.
fn pid(line: &str) -> Option<Item<'_>> {
    line.trim_end().strip_suffix(':')?.parse().ok().map(Item::Pid)
}

fn time(line: &str) -> Option<Item<'_>> {
    date_line(line.trim().as_bytes()).map(|(ns, is_known)| Item::Time(ns, is_known))
}

/// `-XX:MaxHeapSize=5`, `-XX:+UseG1GC`.
fn option(word: &str) -> Option<Item<'_>> {
    let text = word.strip_prefix("-XX:")?;
    let switch = |value: &str, name| Item::Flag(name, value.to_owned(), None);
    match text.split_once('=') {
        Some((name, value)) if is_name(name) => Some(Item::Flag(name, value.to_owned(), None)),
        None => {
            let on = text.strip_prefix('+').map(|name| switch("true", name));
            on.or_else(|| text.strip_prefix('-').map(|name| switch("false", name)))
        }
        _ => None,
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `     bool UseG1GC     = true     {product} {ergonomic}`, of `VM.flags -all`.
fn flag(line: &str) -> Option<Item<'_>> {
    let (declared, rest) = line.split_once('=')?;
    let (_, name) = declared.trim().trim_end_matches(':').trim().split_once(' ')?;
    let (before, origin) = rest.trim_end().strip_suffix('}')?.rsplit_once('{')?;
    let (value, _) = before.trim_end().strip_suffix('}')?.rsplit_once('{')?;
    is_name(name.trim()).then(|| Item::Flag(name.trim(), value.trim().to_owned(), Some(origin.trim())))
}

/// `CodeHeap 'profiled nmethods': size=120032Kb used=1234Kb max_used=1234Kb free=118797Kb`.
fn segment(line: &str) -> Option<Item<'_>> {
    let (name, rest) = line.split_once(": size=")?;
    let (_, used) = rest.split_once(" used=")?;
    Some(Item::Segment { name: name.trim(), used_bytes: kib(used)?, reserved_bytes: kib(rest)? })
}

fn kib(text: &str) -> Option<u64> {
    digits(text)?.checked_mul(1_024)
}

/// The number that a text begins with.
fn digits(text: &str) -> Option<u64> {
    Cursor(text.trim_start().as_bytes()).integer()
}

/// A size with its unit, as `12345K`, `64M`, `5MB`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let has_unit =
        text.trim_start_matches(|letter: char| letter.is_ascii_digit()).starts_with(['B', 'K', 'M', 'G', 'T']);
    Cursor(text.as_bytes()).size().filter(|_| has_unit)
}

/// `-                 Java Heap (reserved=65536KB, committed=65536KB)`, `Total: reserved=1496KB +5KB, committed=…`.
fn native(line: &str) -> Option<Item<'_>> {
    let (before, rest) = line.split_once("reserved=")?;
    let (_, committed) = rest.split_once("committed=")?;
    let name = match before.strip_prefix('-') {
        Some(name) => name.trim().strip_suffix('(')?.trim(),
        None => before.strip_prefix("Total:").map(|_| "total")?,
    };
    Some(Item::Native { name, reserved_bytes: size(rest)?, committed_bytes: size(committed)? })
}

/// ` garbage-first heap   total 65536K, used 12345K [0x…`, ` ZHeap           used 40M, capacity 64M, max capacity 64M`, since JDK 25
/// `garbage-first heap   total reserved 65536K, committed 65536K, used 39513K`, ` Metaspace       used 1234K, committed 1344K, reserved 1056768K`.
fn space(line: &str) -> Option<Item<'_>> {
    let (start, used) = line.split_once(" used ")?;
    let used_bytes = size(used)?;
    let name = start.split(" total ").next().unwrap_or(start).trim();
    let after = |word: &str| line.split_once(word).and_then(|(_, rest)| size(rest));
    let capacity_bytes = || after(" committed ").or_else(|| after(" total ")).or_else(|| after(" capacity "));
    match name {
        "Metaspace" => Some(Item::Metaspace { used_bytes }),
        "garbage-first heap" | "ZHeap" | "PSYoungGen" | "ParOldGen" | "def new generation" | "tenured generation" => {
            Some(Item::Space { name, used_bytes, capacity_bytes: capacity_bytes() })
        }
        _ => None,
    }
}

/// `   1:         12345        1234567  [B (java.base@17.0.15)`.
fn class(line: &str) -> Option<Item<'_>> {
    let (number, rest) = line.split_once(':')?;
    number.trim().parse::<u32>().ok()?;
    let mut words = rest.split_whitespace();
    words.next()?.parse::<u64>().ok()?;
    let bytes = words.next()?.parse().ok()?;
    words.next().map(|name| Item::Class { name, bytes })
}

/// `12.345 s`, `OpenJDK 64-Bit Server VM version 17.0.15+6`.
fn other(line: &str) -> Option<Item<'_>> {
    let text = line.trim();
    if let Some(seconds) = text.strip_suffix(" s") {
        let mut cursor = Cursor(seconds.as_bytes());
        return cursor.fixed(9).filter(|_| cursor.is_done()).map(Item::Uptime);
    }
    (text.contains(" VM version ") && !text.starts_with('#')).then_some(Item::Version(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_commands() {
        let flag = |name, value: &str, origin| Item::Flag(name, value.to_owned(), origin);
        for (text, expected) in [
            ("4711:", vec![Item::Pid(4_711)]),
            ("2026-11-28T03:38:57Z", vec![Item::Time(1_795_837_137_000_000_000, true)]),
            ("Sat Nov 28 03:38:57 UTC 2026", vec![Item::Time(1_795_837_137_000_000_000, true)]),
            ("Sat Nov 28 03:38:57 CET 2026", vec![Item::Time(1_795_837_137_000_000_000, false)]),
            ("1795837137", vec![Item::Time(1_795_837_137_000_000_000, true)]),
            (
                "-XX:MaxHeapSize=5 -XX:+UseG1GC -XX:-X",
                vec![flag("MaxHeapSize", "5", None), flag("UseG1GC", "true", None), flag("X", "false", None)],
            ),
            ("     bool UseG1GC = true {product} {ergonomic}", vec![flag("UseG1GC", "true", Some("ergonomic"))]),
            (
                "CodeHeap 'non-nmethods': size=5692Kb used=1487Kb max_used=1517Kb free=4204Kb",
                vec![Item::Segment {
                    name: "CodeHeap 'non-nmethods'",
                    used_bytes: 1_487 << 10,
                    reserved_bytes: 5_692 << 10,
                }],
            ),
            (" total_blobs=1 nmethods=2 full_count=3", vec![Item::FullCount(3)]),
            (
                " garbage-first heap   total 65536K, used 12345K [0x00, 0x01)",
                vec![Item::Space {
                    name: "garbage-first heap",
                    used_bytes: 12_345 << 10,
                    capacity_bytes: Some(64 << 20),
                }],
            ),
            (
                " ZHeap           used 40M, capacity 64M, max capacity 64M",
                vec![Item::Space { name: "ZHeap", used_bytes: 40 << 20, capacity_bytes: Some(64 << 20) }],
            ),
            (
                "garbage-first heap   total reserved 65536K, committed 32768K, used 39513K [0x00, 0x01)",
                vec![Item::Space {
                    name: "garbage-first heap",
                    used_bytes: 39_513 << 10,
                    capacity_bytes: Some(32 << 20),
                }],
            ),
            (
                " Metaspace       used 99K, committed 192K, reserved 1114112K",
                vec![Item::Metaspace { used_bytes: 99 << 10 }],
            ),
            (
                "-                    Thread (reserved=19534KB +5KB, committed=1000KB)",
                vec![Item::Native { name: "Thread", reserved_bytes: 19_534 << 10, committed_bytes: 1_000 << 10 }],
            ),
            (
                "Total: reserved=5KB, committed=2KB",
                vec![Item::Native { name: "total", reserved_bytes: 5 << 10, committed_bytes: 2 << 10 }],
            ),
            ("   1:   12345   1234567  [B (java.base@17.0.15)", vec![Item::Class { name: "[B", bytes: 1_234_567 }]),
            ("12.345 s", vec![Item::Uptime(12_345_000_000)]),
            (
                "OpenJDK 64-Bit Server VM version 17.0.15+6",
                vec![Item::Version("OpenJDK 64-Bit Server VM version 17.0.15+6")],
            ),
            ("", vec![]),
            ("  region size 1024K, 2 young (2048K), 0 survivors (0K)", vec![]),
            ("CodeCache: size=99999999999999999999Kb used=1Kb", vec![]),
        ] {
            let mut found = Vec::new();
            line(text, &mut |item| found.push(item));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_is_an_output() {
        for (head, expected) in [
            ("4711:\n-XX:CICompilerCount=2 -XX:InitialHeapSize=5 -XX:+UseG1GC \n", true),
            ("Sat Nov 28 03:38:57 UTC 2026\n4711:\n garbage-first heap   total 1K, used 1K [0x\n", true),
            ("4711:\n\nNative Memory Tracking:\n", true),
            ("java -XX:+UseG1GC -XX:A=1 -XX:B=2 -jar x.jar\n", false),
            ("4711:\nFull thread dump OpenJDK\n garbage-first heap   total 1K, used 1K\n", false),
            ("text\n", false),
            ("", false),
        ] {
            assert_eq!(is_output(head.as_bytes()), expected, "{head}");
        }
    }
}
