//! One collection of JDK 7 or 8, of any collector: a bracket with brackets in it.
//!
//! All collectors write the same few things at different depths: `before->after(capacity)` behind the
//! name of a generation, the same for the heap outside of any inner bracket, and seconds. So the text is
//! walked once; what is not one of these is skipped.

use crate::cursor::{Cursor, trim};
use crate::gc_log::event::{Change, CpuTimes, Family, Pause, Phase, Stamp};
use crate::gc_log::legacy::lines::cms_phase;
use crate::gc_log::legacy::stamp;
use crate::gc_log::unified::change;
use crate::time::IsoTimes;

/// A collection, and what stood in the middle of it.
#[derive(Debug)]
pub(super) struct Collected<'a> {
    pub(super) pause: Pause<'a>,
    /// Phases beside the application whose lines stood in the middle of it.
    pub(super) phases: Vec<Phase<'a>>,
    /// Parts of the pause that are no collecting: class histograms.
    pub(super) parts: Vec<Phase<'a>>,
}

const CLASS_HISTOGRAM: &[u8] = b"Class Histogram";

/// Most concurrent phases that one collection can interrupt.
const MAX_PHASES: usize = 16;

/// Reads a collection from its first bracket; `None` when it has no duration.
pub(super) fn read<'a>(text: &'a [u8], at: Stamp, times: &mut IsoTimes) -> Option<Collected<'a>> {
    let mut cursor = Cursor(text);
    let pause = head(&mut cursor)?;
    let mut walk = Walk {
        pause: Pause { start: at, ..pause },
        phases: Vec::new(),
        parts: Vec::new(),
        has_duration: false,
        parts_ns: 0,
    };
    walk.body(&mut cursor, times);
    walk.tail(&mut cursor);
    if !walk.has_duration {
        // The line with its end is missing: it took as long as its parts at least.
        walk.pause.duration_ns = walk.parts_ns;
    }
    (walk.has_duration || walk.pause.duration_ns > 0).then_some(())?;
    walk.name_full();
    Some(Collected { pause: walk.pause, phases: walk.phases, parts: walk.parts })
}

/// `[GC (Cause)`, `[Full GC (Cause)`, `[GC pause (Cause) (young) (initial-mark)`, `[GC remark`…
fn head<'a>(cursor: &mut Cursor<'a>) -> Option<Pause<'a>> {
    let mut pause = Pause::default();
    cursor.expect(b"[")?;
    pause.name = if cursor.eat(b"Full GC") { b"Pause Full" } else { b"Pause Young" };
    cursor.eat(b"GC");
    if cursor.eat(b"--") {
        pause.trouble = b"promotion failed";
    }
    loop {
        cursor.spaces();
        match cursor.peek() {
            Some(b'(') => group(cursor.group()?, &mut pause),
            Some(b'a'..=b'z') => match cursor.run(|byte| byte.is_ascii_lowercase()) {
                b"remark" => pause.name = b"Pause Remark",
                b"cleanup" => pause.name = b"Pause Cleanup",
                _ => {}
            },
            _ => return Some(pause),
        }
    }
}

/// One word in parentheses after `[GC`.
fn group<'a>(text: &'a [u8], pause: &mut Pause<'a>) {
    match text {
        b"young" => pause.name = b"Pause Young (Normal)",
        b"mixed" => pause.name = b"Pause Young (Mixed)",
        b"initial-mark" => pause.name = b"Pause Young (Concurrent Start)",
        b"to-space exhausted" | b"to-space overflow" | b"promotion failed" | b"concurrent mode failure" => {
            pause.trouble = text
        }
        b"CMS Initial Mark" => pause.name = b"Pause Initial Mark",
        b"CMS Final Remark" => pause.name = b"Pause Remark",
        b"System" => pause.cause = b"System.gc()",
        // What CMS was at when the cause came that stands before it.
        b"concurrent mode interrupted" if !pause.cause.is_empty() => {}
        // `(0: promotion failure size = 200)`, of each thread that failed.
        _ if memchr::memmem::find(text, b"promotion failure size").is_some() => pause.trouble = b"promotion failed",
        // `{Heap before GC invocations=7 (full 2):`
        [b'f', b'u', b'l', b'l', b' ', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => {}
        _ => pause.cause = text,
    }
}

struct Walk<'a> {
    pause: Pause<'a>,
    phases: Vec<Phase<'a>>,
    parts: Vec<Phase<'a>>,
    has_duration: bool,
    /// Seconds of the generations together.
    parts_ns: i64,
}

impl<'a> Walk<'a> {
    /// What stands between the outermost brackets.
    fn body(&mut self, cursor: &mut Cursor<'a>, times: &mut IsoTimes) {
        let mut at = self.pause.start;
        while let Some(byte) = cursor.peek() {
            match byte {
                b']' => return cursor.skip(1),
                b'[' => self.inner(cursor, at, times),
                b'0'..=b'9' => self.number(cursor, &mut at, times),
                b'#' => skip_gc_id(cursor),
                b'(' => match cursor.group() {
                    Some(text) => group(text, &mut self.pause),
                    None => cursor.skip(1),
                },
                _ => cursor.skip(1),
            }
        }
    }

    /// A change of the heap, seconds, or the time before an inner bracket.
    fn number(&mut self, cursor: &mut Cursor<'a>, at: &mut Stamp, times: &mut IsoTimes) {
        if let Some(change) = change(cursor) {
            self.pause.heap = Some(change);
        } else if let Some(used) = used(cursor) {
            self.pause.heap.get_or_insert(used);
        } else if let Some(ns) = seconds(cursor) {
            self.pause.duration_ns = ns;
            self.has_duration = true;
        } else {
            skip_stamp(cursor, at, times);
        }
    }

    /// An inner bracket, by its name.
    fn inner(&mut self, cursor: &mut Cursor<'a>, at: Stamp, times: &mut IsoTimes) {
        let mut name_at = Cursor(&cursor.0[1..]);
        let name = name_at.run(|byte| byte.is_ascii_alphabetic());
        self.pause.family = family(name).or(self.pause.family);
        match name {
            b"DefNew" | b"ParNew" | b"PSYoungGen" | b"ASParNew" | b"ASPSYoungGen" => {
                self.pause.young = self.generation(cursor, at, times).or(self.pause.young);
            }
            b"Tenured" | b"PSOldGen" | b"ParOldGen" | b"ASPSOldGen" => {
                self.pause.old = self.generation(cursor, at, times).or(self.pause.old);
                self.is_full_too();
            }
            b"CMS" if name_at.0.starts_with(b"-concurrent") => self.interrupted(cursor, at),
            // `[CMSCMS: Large block 0x000000073089`, by -XX:+PrintFLSStatistics or -XX:+PrintPromotionFailure.
            b"CMSCMS" | b"CMS" if !name_at.0.starts_with(b" Perm") => {
                self.pause.old = self.generation(cursor, at, times).or(self.pause.old);
                self.is_full_too();
            }
            b"CMS" | b"PSPermGen" | b"Perm" => self.pause.permanent = self.generation(cursor, at, times),
            b"Metaspace" => self.pause.metaspace = self.generation(cursor, at, times),
            b"Times" => drop(cpu(cursor)),
            b"Class" if name_at.0.starts_with(b" Histogram") => self.histogram(cursor, at),
            b"" if name_at.0.starts_with(b"1 CMS-") => self.cms_mark(cursor, name_at),
            _ => skip_bracket(cursor),
        }
    }

    /// `[ParNew (promotion failed): 1K->1K(2K), 0.1 secs]`, with anything in it.
    fn generation(&mut self, cursor: &mut Cursor<'a>, at: Stamp, times: &mut IsoTimes) -> Option<Change> {
        let (mut found, mut at) = (None, at);
        cursor.skip(1);
        while let Some(byte) = cursor.peek() {
            match byte {
                b']' => {
                    cursor.skip(1);
                    break;
                }
                b'[' if cursor.0.starts_with(b"[CMS-concurrent") => self.interrupted(cursor, at),
                b'[' => skip_bracket(cursor),
                b'(' => match cursor.group() {
                    Some(text) => group(text, &mut self.pause),
                    None => cursor.skip(1),
                },
                b'0'..=b'9' => match change(cursor) {
                    Some(change) => found = Some(change),
                    None => match seconds(cursor) {
                        Some(ns) => self.parts_ns = self.parts_ns.saturating_add(ns),
                        None => skip_stamp(cursor, &mut at, times),
                    },
                },
                b'#' => skip_gc_id(cursor),
                _ => cursor.skip(1),
            }
        }
        found
    }

    /// A young collection that went on to collect the old generation was a full one.
    fn is_full_too(&mut self) {
        if self.pause.name == b"Pause Young" {
            self.pause.name = b"Pause Full";
        }
    }

    /// The end of a concurrent phase of CMS that was written into this collection.
    fn interrupted(&mut self, cursor: &mut Cursor<'a>, at: Stamp) {
        let text = cursor.0;
        skip_bracket(cursor);
        if let Some(phase) = cms_phase(at, text).filter(|_| self.phases.len() < MAX_PHASES) {
            self.phases.push(phase);
        }
        cursor.spaces();
        if cursor.0.starts_with(b"[Times") {
            skip_bracket(cursor);
        }
    }

    /// `[Class Histogram: … , 0.1234 secs]`, written by `-XX:+PrintClassHistogramBeforeFullGC` and its like.
    fn histogram(&mut self, cursor: &mut Cursor<'a>, at: Stamp) {
        let text = cursor.0;
        skip_bracket(cursor);
        let inside = &text[..text.len() - cursor.0.len()];
        let Some(comma) = memchr::memrchr(b',', inside) else { return };
        let mut last = Cursor(inside[comma + 1..].trim_ascii_start());
        if let Some(duration_ns) = seconds(&mut last).filter(|_| self.parts.len() < MAX_PHASES) {
            self.parts.push(Phase { start: at, duration_ns, gc_id: None, name: CLASS_HISTOGRAM });
        }
    }

    /// `[1 CMS-initial-mark: 6000K(10944K)]` and `[1 CMS-remark: …]`; JDK 7 has no other sign of these.
    fn cms_mark(&mut self, cursor: &mut Cursor<'a>, mut name: Cursor<'a>) {
        let is_remark = name.0.starts_with(b"1 CMS-remark");
        self.pause.name = if is_remark { b"Pause Remark" } else { b"Pause Initial Mark" };
        if name.until(b':').is_some() {
            name.spaces();
            self.pause.old = used(&mut name);
        }
        skip_bracket(cursor);
    }

    /// What follows the outermost bracket: `[Times: …]` and G1's summary of the heap.
    fn tail(&mut self, cursor: &mut Cursor<'a>) {
        while let Some(at) = memchr::memchr(b'[', cursor.0) {
            cursor.skip(at);
            match cursor.0 {
                [b'[', b'T', b'i', b'm', ..] => self.pause.cpu = cpu(cursor).or(self.pause.cpu),
                [b'[', b'E', b'd', b'e', b'n', ..] => self.g1_heap(cursor),
                [b'[', b'M', b'e', b't', b'a', ..] => self.pause.metaspace = named_change(cursor),
                [b'[', b'P', b'e', b'r', b'm', ..] => self.pause.permanent = named_change(cursor),
                _ => cursor.skip(1),
            }
        }
    }

    /// `[Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->5000.0K(256.0M)]`
    fn g1_heap(&mut self, cursor: &mut Cursor<'a>) {
        let mut read = || {
            cursor.expect(b"[Eden: ")?;
            let eden = change(cursor)?;
            cursor.expect(b" Survivors: ")?;
            let survivors = change(cursor)?;
            cursor.expect(b" Heap: ")?;
            let heap = change(cursor)?;
            Some((eden, survivors, heap))
        };
        let Some((eden, survivors, heap)) = read() else { return cursor.skip(1) };
        let young = Change {
            before: eden.before.saturating_add(survivors.before),
            after: eden.after.saturating_add(survivors.after),
            capacity: eden.capacity.and_then(|capacity| capacity.checked_add(survivors.after)),
        };
        self.pause.heap = Some(heap);
        self.pause.young = Some(young);
        self.pause.family = Some(Family::G1);
    }

    /// CMS writes the cause of a failure inside the bracket of its generation.
    fn name_full(&mut self) {
        if self.pause.cause.is_empty() && self.pause.name == b"Pause Full" && !self.pause.trouble.is_empty() {
            self.pause.cause = self.pause.trouble;
        }
    }
}

/// The change behind a name and a colon, in a bracket.
fn named_change(cursor: &mut Cursor<'_>) -> Option<Change> {
    cursor.skip(1);
    cursor.run(|byte| byte != b':' && byte != b'[');
    cursor.skip(2);
    change(cursor)
}

/// The collector that has a generation of this name.
fn family(generation: &[u8]) -> Option<Family> {
    match generation {
        b"DefNew" => Some(Family::Serial),
        b"PSYoungGen" | b"ParOldGen" | b"PSOldGen" => Some(Family::Parallel),
        b"ParNew" | b"CMS" | b"CMSCMS" => Some(Family::Cms),
        _ => None,
    }
}

/// `6000K(10944K)`: what is in use, without a before.
fn used(cursor: &mut Cursor<'_>) -> Option<Change> {
    let mut rest = *cursor;
    let used = rest.size()?;
    let mut inside = Cursor(if rest.peek() == Some(b'(') { rest.group()? } else { return None });
    let capacity = inside.size()?;
    *cursor = rest;
    Some(Change { before: used, after: used, capacity: Some(capacity) })
}

/// Skips the time before an inner bracket, which becomes `at`, or a word with digits that means nothing here.
fn skip_stamp(cursor: &mut Cursor<'_>, at: &mut Stamp, times: &mut IsoTimes) {
    let (found, rest) = stamp(cursor.0, times);
    match found.is_none() {
        true => drop(cursor.run(|byte| byte.is_ascii_alphanumeric() || byte == b'.')),
        false => (*at, cursor.0) = (Stamp { earlier_runs_ns: at.earlier_runs_ns, ..found }, rest),
    }
}

/// Skips a collection's number, which is not a time.
fn skip_gc_id(cursor: &mut Cursor<'_>) {
    cursor.skip(1);
    cursor.run(|byte| byte.is_ascii_digit());
}

/// `0.0123 secs`
fn seconds(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut rest = *cursor;
    let ns = rest.fixed(9)?;
    rest.expect(b" secs")?;
    *cursor = rest;
    Some(ns)
}

/// `[Times: user=0.01 sys=0.00, real=0.02 secs]`
fn cpu(cursor: &mut Cursor<'_>) -> Option<CpuTimes> {
    let mut inside = *cursor;
    skip_bracket(cursor);
    inside.expect(b"[Times: user=")?;
    let user_ns = inside.fixed(9)?;
    inside.expect(b" sys=")?;
    let system_ns = inside.fixed(9)?;
    inside.expect(b", real=")?;
    Some(CpuTimes { user_ns, system_ns, real_ns: inside.fixed(9)? })
}

/// Skips a bracket and all that is in it.
fn skip_bracket(cursor: &mut Cursor<'_>) {
    let mut depth = 0_usize;
    for (at, byte) in cursor.0.iter().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return cursor.skip(at + 1);
        }
    }
    cursor.0 = trim(b"");
}
