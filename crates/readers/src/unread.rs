//! Formats that are recognised and not read: the refusal names them, and says what to give instead.

use crate::lines;

/// A format: what stands in its first bytes, where at the latest, what it is, and what to do.
struct Known {
    mark: &'static [u8],
    /// From the start to here the mark may begin, in bytes.
    within: usize,
    is: &'static str,
    instead: &'static str,
}

/// A mark that stands at the very beginning.
const fn at_start(mark: &'static [u8], is: &'static str, instead: &'static str) -> Known {
    Known { mark, within: 1, is, instead }
}

/// Text of JSON may have blanks and other keys before the one that tells.
const IN_JSON_BYTES: usize = 4_096;

const fn in_json(mark: &'static [u8], is: &'static str, instead: &'static str) -> Known {
    Known { mark, within: IN_JSON_BYTES, is, instead }
}

const KNOWN: &[Known] = &[
    at_start(b"DTiJ", "names of compiled code (jitdump)", "give the perf.data beside it that it is of"),
    at_start(
        b"LPKSHHRH",
        "a journal of systemd",
        "export the service's lines: journalctl -o short-iso-precise -u NAME",
    ),
    at_start(
        b"JAVA PROFILE 1.0",
        "a heap dump",
        "it tells what is in memory, not what took time: give the GC log of the JVM",
    ),
    at_start(b"\x7fELF", "a program, a library or a core dump", "for a core dump: jstack PROGRAM CORE > dump.txt"),
    at_start(b"# To enable the following", "a heap or class histogram", "give the GC log of the JVM"),
    at_start(
        b"SQLite format 3",
        "a database of SQLite",
        "export its table as CSV with the columns time and latency_ms",
    ),
    at_start(b"PAR1", "a Parquet table", "give the folder of the recording that it is of"),
    at_start(b"\x28\xb5\x2f\xfd", "a file compressed by zstd", "unpack it: zstd -d FILE"),
    at_start(b"\xfd7zXZ\x00", "a file compressed by xz", "unpack it: xz -d FILE"),
    at_start(b"BZh", "a file compressed by bzip2", "unpack it: bzip2 -d FILE"),
    in_json(b"preprocessedProfileVersion", "a profile of Firefox Profiler", "give the file that it was made from"),
    in_json(b"speedscope.app/file-format-schema", "a profile of speedscope", "give the file that it was made from"),
    in_json(b"\"traceEvents\"", "a trace of Chrome or Perfetto as JSON", "give the file that it was made from"),
    in_json(b"\"resourceProfiles\"", "profiles of OpenTelemetry", "give the JFR file of the same time"),
    in_json(
        b"\"resourceSpans\"",
        "traces of OpenTelemetry",
        "export the spans as CSV with the columns time and latency_ms",
    ),
];

/// What to say of a file that no reader reads and that begins with `head`, if it is of a known format.
pub(crate) fn says(head: &[u8]) -> Option<String> {
    let begins = |known: &&Known| {
        let within = &head[..head.len().min(known.within.saturating_add(known.mark.len()).saturating_sub(1))];
        memchr::memmem::find(within, known.mark).is_some()
    };
    let known = KNOWN.iter().find(begins).map(|known| format!("{} is not read; {}", known.is, known.instead));
    known
        .or_else(|| are_collapsed(head).then(|| COLLAPSED_SAYS.to_owned()))
        .or_else(|| is_perf_map(head).then(|| PERF_MAP_SAYS.to_owned()))
}

const COLLAPSED_SAYS: &str = "collapsed stacks have no times, so that nothing tells slow time from quiet time; give the file that they were made from";

const PERF_MAP_SAYS: &str = "names of compiled code (perf map): they are read with a perf.data beside them";

/// Whether lines are start and size of a piece of code, and its name.
fn is_perf_map(head: &[u8]) -> bool {
    const LINES: usize = 5;
    let is_hex = |word: Option<&[u8]>| {
        let digits = word.map(|word| word.strip_prefix(b"0x").unwrap_or(word));
        digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit))
    };
    let is_code = |line: &[u8]| {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let (start, size) = (words.next(), words.next());
        start.is_some_and(|start| start.len() >= 8) && is_hex(start) && is_hex(size) && words.next().is_some()
    };
    let lines: Vec<&[u8]> = lines::of_head(head).take(LINES).collect();
    lines.len() == LINES && lines.iter().all(|line| is_code(line))
}

/// Whether lines are frames with semicolons between them and a number of samples at the end.
fn are_collapsed(head: &[u8]) -> bool {
    const LINES: usize = 20;
    // The last line may be cut.
    let mut lines: Vec<&[u8]> = lines::of_head(head).filter(|line| !line.is_empty()).take(LINES + 1).collect();
    if lines.len() > 1 {
        lines.pop();
    }
    let is_stack = |line: &&[u8]| {
        let end = memchr::memrchr(b' ', line).map_or(&b""[..], |at| &line[at + 1..]);
        !end.is_empty() && end.iter().all(u8::is_ascii_digit) && line.contains(&b';')
    };
    !lines.is_empty() && lines.iter().all(is_stack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_formats_are_named() {
        for (head, expected) in [
            (&b"DTiJ\0\0"[..], Some("names of compiled code (jitdump) is not read")),
            (
                b"{\n  \"$schema\": \"https://www.speedscope.app/file-format-schema.json\"",
                Some("a profile of speedscope"),
            ),
            (b"main;a.B.c;d 12\nmain;a.B.e 3\nmain;a", Some("collapsed stacks")),
            (b"a;b\n1;2\n", None),
            (
                b"0x00007f0000 0x20 a b\n00007f0020 20 c\n00007f0040 2 c\n00007f0042 20 d\n00007f0062 20 e\n",
                Some("names of compiled code"),
            ),
            (b" DTiJ", None),
            (b"DTi", None),
            (b"", None),
        ] {
            let says = says(head);
            assert_eq!(
                says.as_deref().map(|says| says.starts_with(expected.unwrap_or("?"))),
                expected.map(|_| true),
                "{says:?}"
            );
        }
    }
}
