//! Formats that are recognised but not read: the refusal names the format and says which file to give instead.

use crate::{columns, lines};

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
    in_json(b"\"traceEvents\"", "a trace of Chrome or Perfetto as JSON", "give the file that it was made from"),
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
        .or_else(|| is_histogram(head).then(|| HISTOGRAM_SAYS.to_owned()))
        .or_else(|| is_perf_map(head).then(|| PERF_MAP_SAYS.to_owned()))
        .or_else(|| is_empty_gc_log(head).then(|| EMPTY_GC_LOG_SAYS.to_owned()))
        .or_else(|| is_timeless_perf(head).then(|| TIMELESS_PERF_SAYS.to_owned()))
}

/// How many things of each length there were says neither which requests they were nor who waited for them.
const HISTOGRAM_SAYS: &str = "a histogram of bpftrace or bcc says how many took how long, and not who waited when: record each one, of disks with blktrace -d /dev/DISK -w 60, of CPUs with perf record -k CLOCK_MONOTONIC -a -e sched:sched_switch -e sched:sched_wakeup, or all with fathom record --pid PID";

/// Whether lines are what bpftrace or bcc print of a map: a heading, or a count for each class of length or each key.
fn is_histogram(head: &[u8]) -> bool {
    const LINES: usize = 40;
    const ENOUGH: usize = 2;
    let lines: Vec<&[u8]> = lines::of_head(head).filter(|line| !line.is_empty()).take(LINES).collect();
    let of_map = lines.iter().filter(|line| is_class(line) || is_key(line)).count();
    lines.first().is_some_and(|line| is_begin_of_bpftrace(line))
        || lines.iter().any(|line| is_heading(line))
        || of_map >= ENOUGH
}

/// `Attaching 3 probes...`
fn is_begin_of_bpftrace(line: &[u8]) -> bool {
    line.starts_with(b"Attaching ") && (line.ends_with(b" probe...") || line.ends_with(b" probes..."))
}

/// `     usecs               : count     distribution`
fn is_heading(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = columns::words(line).take(5).collect();
    matches!(words[..], [unit, b":", b"count", b"distribution"] if unit.ends_with(b"secs"))
}

/// `[64, 128)              3 |@@@@@    |`
fn is_class(line: &[u8]) -> bool {
    let count = memchr::memchr(b'|', line).map_or(&b""[..], |at| &line[..at]).trim_ascii_end();
    line.starts_with(b"[") && line.ends_with(b"|") && count.last().is_some_and(u8::is_ascii_digit)
}

/// `@[java]: 12`
fn is_key(line: &[u8]) -> bool {
    let count = memchr::memmem::rfind(line, b"]: ").map_or(&b""[..], |at| &line[at + 3..]);
    line.starts_with(b"@") && !count.is_empty() && count.iter().all(u8::is_ascii_digit)
}

const EMPTY_GC_LOG_SAYS: &str = "the head of a GC log without a collection: none came while it was written";

/// Whether it is what JDK 8 and older write before the first collection.
fn is_empty_gc_log(head: &[u8]) -> bool {
    let begins = |start: &[u8]| lines::of_head(head).any(|line| line.starts_with(start));
    begins(b"CommandLine flags: ") && begins(b"Memory: ")
}

const TIMELESS_PERF_SAYS: &str = "text of perf script whose samples have no time; print it anew: perf script -F comm,pid,tid,time,period,event,ip,sym,dso > samples.txt";

/// Whether a sample's first line ends with its event alone, and an address follows: `java 31912 cpu-clock: `.
fn is_timeless_perf(head: &[u8]) -> bool {
    let mut lines = lines::of_head(head).filter(|line| !line.starts_with(b"#"));
    let Some(first) = lines.find(|line| !line.trim_ascii().is_empty()) else { return false };
    let all: Vec<&[u8]> = columns::words(first).collect();
    let is_number = |word: &&[u8]| word.split(|byte| *byte == b'/').all(|part| part.iter().all(u8::is_ascii_digit));
    let is_heading = all.len() >= 3 && all.last().is_some_and(|word| word.ends_with(b":"));
    let frame = lines.next().and_then(|line| columns::words(line).next());
    let is_address = frame.is_some_and(|word| word.len() >= 5 && word.iter().all(u8::is_ascii_hexdigit));
    is_heading && is_address && all[1..all.len() - 1].iter().any(is_number)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_formats_are_named() {
        for (head, expected) in [
            (&b"DTiJ\0\0"[..], Some("names of compiled code (jitdump) is not read")),
            (b"a;b\n1;2\n", None),
            (b"Attaching 3 probes...\n09:37:29\n@bytes: \n[4K, 8K)  2 |@@@@|\n", Some("a histogram of bpftrace")),
            (b"@bytes: \n[32, 64)       1 |@@@     |\n[64, 128)      0 |        |\n", Some("a histogram of bpftrace")),
            (b"@[bpftrace]: 2\n@[head]: 3\n", Some("a histogram of bpftrace")),
            (b"Tracing run queue latency... Hit Ctrl-C to end.\n\n21:02:51\n     usecs               : count     distribution\n", Some("a histogram of bpftrace")),
            (b"[info] |x|\n@Override: 2\n", None),
            (
                b"0x00007f0000 0x20 a b\n00007f0020 20 c\n00007f0040 2 c\n00007f0042 20 d\n00007f0062 20 e\n",
                Some("names of compiled code"),
            ),
            (
                b"Java HotSpot(TM) 64-Bit Server VM (25.31-b07)\nMemory: 4k page\nCommandLine flags: -XX:+PrintGC\n",
                Some("the head of a GC log"),
            ),
            (b"java 31912 cpu-clock: \n\t 13a80b608e0a Foo.bar (/tmp/perf-1.map)\n", Some("text of perf script whose")),
            (b"see 12 things:\n  deadline 5\n", None),
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
