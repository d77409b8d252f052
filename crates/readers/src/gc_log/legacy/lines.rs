//! Lines of JDK 7 and 8 that are complete by themselves.

use crate::cursor::{Cursor, trim};
use crate::gc_log::event::{Event, Phase, Safepoint, Stamp};
use crate::gc_log::unified::{phase_of_shenandoah, stopped_times};

/// What a line is to the collection that is being gathered.
// One exists at a time, on the stack: a box would cost more than its size.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// A collection begins.
    Begins,
    /// It adds to the collection just closed: `[Times: …]`, G1's details.
    Completes,
    /// It stands by itself.
    Event(Event<'a>),
    /// Part of the open collection, or not understood.
    Other,
}

/// Beginnings of lines that say nothing we keep: tables, headings, parts of `PrintHeapAtGC`.
const DETAILS: &[&[u8]] = &[
    b"{Heap before",
    b"Heap before",
    b"Heap after",
    b"Heap",
    b"}",
    b"Desired survivor size",
    b"- age ",
    b"AdaptiveSize",
    b"PSAdaptiveSize",
    b"PSYoungGen ",
    b"ParOldGen ",
    b"PSOldGen ",
    b"PSPermGen ",
    b"def new generation",
    b"par new generation",
    b"tenured generation",
    b"concurrent mark-sweep",
    b"concurrent-mark-sweep",
    b"compacting perm gen",
    b"garbage-first heap",
    b"eden space",
    b"from space",
    b"to space",
    b"to   space",
    b"the space",
    b"object space",
    b"ro space",
    b"rw space",
    b"region size",
    b"Metaspace ",
    b"class space",
    b"No shared spaces",
    b"Application time: ",
    b"OpenJDK 64-Bit Server VM warning: ",
    b"Java HotSpot(TM) 64-Bit Server VM warning: ",
    b"Memory: ",
    b"CMS: Large ",
    b"avg_survived_padded_avg:",
    b"avg_promoted_padded_avg:",
    b"PSScavenge: ",
    b"vmop ",
    b"Polling page always armed",
    b"Maximum sync time",
    b"Maximum vm operation time",
    b"Total ",
    b"Statistics for BinaryTreeDictionary",
    b"---",
    b"bounds [",
    b"total_blobs=",
    b"compilation: ",
    b"[G1Ergonomics",
    b"[Unloading",
    b"num     #instances",
    b"active_workers_by_JT:",
    b"Promotion failed",
    b"Using ",
    b"Pacer for ",
    b"Free: ",
    b"Trigger: ",
    b"Good progress for ",
    b"Adaptive CSet Selection",
    b"Collectable Garbage: ",
    b"Immediate Garbage: ",
    b"Uncommitted ",
];

const WARNINGS: [&[u8]; 2] = [b"OpenJDK 64-Bit Server VM warning: ", b"Java HotSpot(TM) 64-Bit Server VM warning: "];

/// Whether `text`, a line without its stamps, is written when its stamps say: a collection, a phase, a stop. The rows of
/// `PrintSafepointStatistics` have the times of their safepoints and are printed hundreds of them later.
pub(super) fn is_written_at_its_time(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    [&b"["[..], b"Total time for", b"Application time"].iter().any(|beginning| text.starts_with(beginning))
}

/// Whether `line` is a row of a class histogram, `   1:       9249662      876131272  [C`, whose number is no time and whose name may
/// be half a bracket.
pub(super) fn is_histogram_row(line: &[u8]) -> bool {
    let mut cursor = Cursor(line);
    cursor.spaces();
    let is_number = |cursor: &mut Cursor<'_>| {
        cursor.spaces();
        cursor.integer().is_some() && cursor.peek() == Some(b' ')
    };
    cursor.integer().is_some()
        && cursor.eat(b":")
        && cursor.0.starts_with(b"  ")
        && is_number(&mut cursor)
        && is_number(&mut cursor)
}

/// Says what `text`, a line without its stamps, is.
pub(super) fn classify(at: Stamp, text: &[u8]) -> Line<'_> {
    let trimmed = trim(text);
    if is_g1_detail(text) {
        return Line::Completes;
    }
    match trimmed {
        [b'[', b'G', b'C', b' ', b'c', b'o', b'n', b'c', ..] => g1_concurrent(at, trimmed),
        [b'[', b'G', b'C', ..] | [b'[', b'F', b'u', b'l', b'l', b' ', b'G', b'C', ..] => Line::Begins,
        [b'[', b'C', b'M', b'S', b'-', b'c', ..] => cms_concurrent(at, trimmed),
        [b'[', b'P', b'r', b'e', b'c', ..] | [b'C', b'M', b'S', b':', b' ', b'a', ..] => preclean(at, trimmed),
        [b'[', b'P', b'a', b'r', b'a', ..] | [b'[', b'E', b'd', b'e', b'n', ..] | [b'[', b'T', b'i', b'm', ..] => {
            Line::Completes
        }
        [b'[', b'P', b'a', b'u', b's', ..] | [b'[', b'C', b'o', b'n', b'c', b'u', ..] => shenandoah(at, trimmed),
        _ => alone(at, trimmed),
    }
}

/// Shenandoah of JDK 8, whose lines are written when a phase is over: `[Pause Final Mark 1447M->684M(2048M), 2.279 ms]`.
fn shenandoah(at: Stamp, text: &[u8]) -> Line<'_> {
    if text.ends_with(b", start]") {
        return Line::Event(Event::Detail);
    }
    let read = || {
        let text = text.strip_prefix(b"[")?.strip_suffix(b" ms]")?;
        let comma = memchr::memrchr(b',', text)?;
        let mut duration = Cursor(trim(&text[comma + 1..]));
        let duration_ns = duration.fixed(6).filter(|_| duration.is_done())?;
        phase_of_shenandoah(at.minus(duration_ns), &text[..comma], duration_ns)
    };
    read().map_or(Line::Other, Line::Event)
}

fn alone(at: Stamp, trimmed: &[u8]) -> Line<'_> {
    let read = stopped(at, trimmed)
        .or_else(|| code_cache(at, trimmed))
        .or_else(|| fact(trimmed))
        .or_else(|| is_detail(trimmed).then_some(Event::Detail))
        .or_else(|| statistics(at, trimmed));
    read.map_or(Line::Other, Line::Event)
}

/// G1's details below a collection: brackets of their own, indented by three blanks or more.
fn is_g1_detail(text: &[u8]) -> bool {
    text.starts_with(b"   ") && text.trim_ascii_start().starts_with(b"[") && text.trim_ascii_end().ends_with(b"]")
}

fn is_detail(text: &[u8]) -> bool {
    let Some(first) = text.first() else { return true };
    // Most lines differ in the first byte, which costs less to compare than to call for.
    let is_prefix = |detail: &&&[u8]| {
        detail.first() == Some(first) && text.starts_with(detail) && (**detail != b"Heap" || text.len() == 4)
    };
    DETAILS.iter().any(|detail| is_prefix(&detail)) || is_statistics_summary(text) || is_rotation(text)
}

/// The end of `PrintSafepointStatistics`: `ParallelGCSystemGC          12` and `0 VM operations coalesced during safepoint`.
fn is_statistics_summary(text: &[u8]) -> bool {
    let mut cursor = Cursor(text);
    let operation = cursor.run(|byte| byte.is_ascii_alphanumeric());
    let gap = cursor.run(|byte| byte == b' ').len();
    let is_count = operation.first().is_some_and(u8::is_ascii_uppercase)
        && gap > 3
        && cursor.integer().is_some()
        && cursor.is_done();
    is_count || cursor.0.starts_with(b"VM operations coalesced")
}

/// `2026-11-20 06:38:11 GC log file created gc.log.1`
fn is_rotation(text: &[u8]) -> bool {
    text.get(19..).is_some_and(|rest| rest.starts_with(b" GC log file "))
}

fn stopped(at: Stamp, text: &[u8]) -> Option<Event<'_>> {
    let rest = text.strip_prefix(b"Total time for which application threads were stopped: ")?;
    let (duration_ns, time_to_safepoint_ns) = stopped_times(Cursor(rest))?;
    let start = at.minus(duration_ns);
    Some(Event::Safepoint(Safepoint { start, duration_ns, time_to_safepoint_ns, ..Safepoint::default() }))
}

fn code_cache(at: Stamp, text: &[u8]) -> Option<Event<'_>> {
    let text = WARNINGS.iter().find_map(|prefix| text.strip_prefix(*prefix)).unwrap_or(text);
    if text.starts_with(b"CodeCache is full.") {
        return Some(Event::CodeCacheFull { at, segment: b"" });
    }
    if let Some(rest) = text.strip_prefix(b"CodeHeap '") {
        let mut rest = Cursor(rest);
        let segment = rest.until(b'\'')?;
        return rest.0.starts_with(b" is full.").then_some(Event::CodeCacheFull { at, segment });
    }
    if text.starts_with(b"Try increasing the code ") {
        return Some(Event::Note { at, class: "code_cache", text });
    }
    let mut rest = Cursor(text.strip_prefix(b"CodeCache: size=")?);
    let size = rest.integer()?.checked_mul(1_024)?;
    rest.expect(b"Kb used=")?;
    let used = rest.integer()?.checked_mul(1_024)?;
    Some(Event::CodeCache { at, segment: b"", size, used })
}

/// The first lines of a log: version and flags.
pub(super) fn fact(text: &[u8]) -> Option<Event<'_>> {
    if let Some(value) = text.strip_prefix(b"CommandLine flags: ") {
        return Some(Event::Fact { key: b"CommandLine flags", value });
    }
    let is_version = |prefix: &&[u8]| text.starts_with(prefix);
    let version = [&b"OpenJDK 64-Bit Server VM ("[..], b"Java HotSpot(TM) 64-Bit Server VM ("].iter().any(is_version);
    version.then_some(Event::Fact { key: b"Version", value: text })
}

/// A row of `PrintSafepointStatistics`:
/// `ParallelGCFailedAllocation [ 8 0 1 ] [ 0 0 0 0 8 ] 0`, all times in ms.
fn statistics(at: Stamp, text: &[u8]) -> Option<Event<'_>> {
    at.uptime_ns?;
    let mut cursor = Cursor(text);
    let operation = trim(cursor.until(b'[')?);
    let [threads, running, _] = numbers(cursor.until(b']')?)?;
    cursor.spaces();
    cursor.expect(b"[")?;
    let [_, _, sync_ms, cleanup_ms, operation_ms] = numbers(cursor.until(b']')?)?;
    let ns = |ms: u64| i64::try_from(ms).ok()?.checked_mul(1_000_000);
    Some(Event::Safepoint(Safepoint {
        start: at,
        duration_ns: ns(sync_ms)?.checked_add(ns(cleanup_ms)?)?.checked_add(ns(operation_ms)?)?,
        time_to_safepoint_ns: ns(sync_ms),
        operation,
        threads: Some(threads),
        running_threads: Some(running),
        coarse: true,
    }))
}

fn numbers<const N: usize>(text: &[u8]) -> Option<[u64; N]> {
    let mut cursor = Cursor(text);
    let mut found = [0; N];
    for number in &mut found {
        cursor.spaces();
        *number = cursor.integer()?;
    }
    cursor.spaces();
    cursor.is_done().then_some(found)
}

/// `[CMS-concurrent-mark: 0.010/0.012 secs] [Times: …]`: CPU time, then elapsed time.
pub(super) fn cms_phase(at: Stamp, text: &[u8]) -> Option<Phase<'_>> {
    let mut cursor = Cursor(text.strip_prefix(b"[")?);
    let name = cursor.run(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    cursor.expect(b": ")?;
    cursor.fixed(9)?;
    cursor.expect(b"/")?;
    let duration_ns = cursor.fixed(9)?;
    cursor.expect(b" secs]")?;
    Some(Phase { start: at.minus(duration_ns), duration_ns, gc_id: None, name })
}

fn cms_concurrent(at: Stamp, text: &[u8]) -> Line<'_> {
    if text.ends_with(b"-start]") {
        return Line::Event(Event::Detail);
    }
    cms_phase(at, text).map_or(Line::Other, |phase| Line::Event(Event::Concurrent(phase)))
}

/// What `PrintReferenceGC`, or an aborted phase, writes before the end of a concurrent phase on its line.
fn preclean(at: Stamp, text: &[u8]) -> Line<'_> {
    let phase = memchr::memmem::find(text, b"[CMS-concurrent").map(|from| &text[from..]);
    phase.map_or(Line::Event(Event::Detail), |phase| cms_concurrent(at, phase))
}

/// `[GC concurrent-mark-end, 0.0012345 secs]`, `-start]` and `-abort]`.
fn g1_concurrent(at: Stamp, text: &[u8]) -> Line<'_> {
    let read = || {
        let mut cursor = Cursor(text.strip_prefix(b"[GC ")?);
        let name = cursor.run(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if cursor.0 == b"]" {
            return Some(Event::Detail);
        }
        cursor.expect(b", ")?;
        let duration_ns = cursor.fixed(9)?;
        cursor.expect(b" secs]")?;
        let name = name.strip_suffix(b"-end").unwrap_or(name);
        Some(Event::Concurrent(Phase { start: at.minus(duration_ns), duration_ns, gc_id: None, name }))
    };
    read().map_or(Line::Other, Line::Event)
}
