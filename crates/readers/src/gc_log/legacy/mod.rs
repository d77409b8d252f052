//! The log formats of JDK 7 and 8 (and the JVM's own lines on standard output).
//!
//! A collection is one bracket, `[GC … secs] [Times: …]`, but other threads and flags write lines into the middle of
//! it, and G1 writes more lines below it. So lines are gathered until the brackets close. Lines that are complete by
//! themselves are taken out first, and what follows a closed bracket is added to it until the next collection begins.

mod lines;
mod record;

use crate::cursor::{Cursor, trim};
use crate::gc_log::event::{Change, Event, Family, Pause, Stamp};
use crate::gc_log::runs::Runs;
use crate::time::IsoTimes;
use lines::Line;
use record::Collected;

/// Longest collection, in bytes of text: with every detail of G1's ergonomics it is some 10 KB.
const MAX_RECORD_BYTES: usize = 64 * 1024;

/// Gathers lines into collections.
#[derive(Debug, Default)]
pub(crate) struct Legacy {
    /// Text of the collection whose brackets are still open.
    open: Vec<u8>,
    open_at: Stamp,
    depth: usize,
    /// A closed collection that later lines may complete.
    closed: Vec<u8>,
    closed_at: Stamp,
}

/// What became of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Understood,
    NotUnderstood,
}

/// Takes what lines say.
pub(crate) type Sink<'s> = dyn FnMut(&Event<'_>) + 's;

impl Legacy {
    /// Reads one line.
    pub(crate) fn line(&mut self, line: &[u8], times: &mut IsoTimes, runs: &mut Runs, sink: &mut Sink<'_>) -> Outcome {
        if lines::is_histogram_row(line) {
            return Outcome::Understood;
        }
        let (mut at, text) = stamp(line, times);
        match lines::is_written_at_its_time(text) {
            true => runs.line(&mut at),
            false => runs.within(&mut at),
        }
        match lines::classify(at, text) {
            Line::Begins if self.holds_scavenge() => {
                self.extend(line);
                Outcome::Understood
            }
            Line::Begins => {
                let outcome = self.flush(times, sink);
                (self.open_at, self.depth) = (at, 0);
                self.extend(text);
                outcome
            }
            Line::Completes if !self.closed.is_empty() && self.open.is_empty() => {
                append(&mut self.closed, text);
                Outcome::Understood
            }
            Line::Event(event) => {
                // In the order of the log, as lines without a time are put at what was before them.
                // Only concurrent phases are written before `[Times: …]` by other threads.
                let may_interrupt = matches!(event, Event::Detail | Event::Concurrent(_));
                if self.open.is_empty() && !may_interrupt {
                    self.flush(times, sink);
                }
                sink(&event);
                self.after_interruption(text);
                Outcome::Understood
            }
            Line::Other if !self.open.is_empty() => {
                self.extend(line);
                Outcome::Understood
            }
            // A histogram after G1's full collection, whose lines come behind the closed bracket.
            Line::Other if !self.closed.is_empty() && is_of_histogram(text) => Outcome::Understood,
            Line::Completes | Line::Other => Outcome::NotUnderstood,
        }
    }

    /// Whether the collection that begins is the young one in an open remark: `CMSScavengeBeforeRemark`, on lines of its own where
    /// the heap is printed around it.
    fn holds_scavenge(&self) -> bool {
        let has = |part: &[u8]| memchr::memmem::find(&self.open, part).is_some();
        let begun = memchr::memmem::find_iter(&self.open, b"[GC").count();
        self.depth > 0 && begun == 1 && has(b"[YG occupancy") && !has(b"CMS-remark")
    }

    /// Adds to the open collection what stands on the line of a concurrent phase behind it.
    fn after_interruption(&mut self, text: &[u8]) {
        let phase = trim(text);
        if self.open.is_empty() || !(phase.starts_with(b"[GC concurrent") || phase.starts_with(b"[CMS-concurrent")) {
            return;
        }
        let Some(end) = memchr::memchr(b']', phase) else { return };
        let rest = phase[end + 1..].trim_ascii_start();
        if !rest.is_empty() && !rest.starts_with(b"[Times:") {
            self.extend(rest);
        }
    }

    /// Adds text to the open collection, which is over when its brackets close.
    fn extend(&mut self, text: &[u8]) {
        for (at, byte) in text.iter().enumerate() {
            match byte {
                b'[' => self.depth += 1,
                b']' => self.depth = self.depth.saturating_sub(1),
                _ => continue,
            }
            if self.depth == 0 && *byte == b']' && !text[at + 1..].starts_with(b"[") && is_end(&text[at + 1..]) {
                append(&mut self.open, text);
                self.closed = std::mem::take(&mut self.open);
                self.closed_at = self.open_at;
                return;
            }
        }
        append(&mut self.open, text);
    }

    /// Hands over what is gathered.
    pub(crate) fn flush(&mut self, times: &mut IsoTimes, sink: &mut Sink<'_>) -> Outcome {
        let closed = std::mem::take(&mut self.closed);
        let open = std::mem::take(&mut self.open);
        let whole = closed.is_empty() || emit(&closed, self.closed_at, times, sink);
        // A collection whose brackets never closed: the log was cut, or lines were lost.
        let cut = !open.is_empty() && !emit(&open, self.open_at, times, sink);
        self.closed = closed;
        self.closed.clear();
        if whole && !cut { Outcome::Understood } else { Outcome::NotUnderstood }
    }
}

/// The first or the last line of a class histogram.
fn is_of_histogram(text: &[u8]) -> bool {
    text.starts_with(b"[Class Histogram") || (text.starts_with(b", ") && text.trim_ascii_end().ends_with(b" secs]"))
}

/// Whether a collection may end here: `[Times: …]` or nothing follows.
fn is_end(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii();
    rest.is_empty() || rest.starts_with(b"[Times:") || rest.starts_with(b"[")
}

fn append(buffer: &mut Vec<u8>, text: &[u8]) {
    let room = MAX_RECORD_BYTES.saturating_sub(buffer.len());
    buffer.extend_from_slice(&text[..text.len().min(room)]);
    buffer.push(b' ');
}

/// Reads a gathered collection; says whether it made sense.
fn emit(text: &[u8], at: Stamp, times: &mut IsoTimes, sink: &mut Sink<'_>) -> bool {
    let Some(Collected { mut pause, phases, parts }) = record::read(text, at, times) else { return false };
    for phase in &phases {
        sink(&Event::Concurrent(*phase));
    }
    generations(&mut pause);
    sink(&Event::Pause(pause));
    for part in &parts {
        sink(&Event::PausePhase(*part));
    }
    true
}

/// Fills in the generation that is not logged: it is what the heap has besides the other one.
///
/// A full collection that began as a young one logs the young generation as that left it.
fn generations(pause: &mut Pause<'_>) {
    let Some(heap) = pause.heap else { return };
    let is_full = pause.name == b"Pause Full";
    if let (Some(old), true) = (pause.old, is_full) {
        let capacity = pause.young.and_then(|young| young.capacity);
        pause.young = Some(Change { capacity, ..rest(heap, old) });
    } else if let (Some(young), None) = (pause.young, pause.old) {
        // G1 resizes the old generation at will, so that it has no capacity of its own.
        let is_g1 = pause.family == Some(Family::G1);
        let whole = rest(heap, young);
        pause.old = Some(Change { capacity: whole.capacity.filter(|_| !is_g1), ..whole });
    }
}

fn rest(heap: Change, part: Change) -> Change {
    Change {
        before: heap.before.saturating_sub(part.before),
        after: heap.after.saturating_sub(part.after),
        capacity: heap.capacity.zip(part.capacity).map(|(all, part)| all.saturating_sub(part)),
    }
}

/// Whether a line is surely of a log of these formats.
pub(crate) fn is_unmistakable(line: &[u8], times: &mut IsoTimes) -> bool {
    let (at, text) = stamp(line, times);
    let is_dated = !at.is_none() && lines::is_written_at_its_time(text);
    is_dated || lines::fact(text).is_some() || text.starts_with(b"[GC ") || text.starts_with(b"[Full GC ")
}

/// Takes date and time stamps off a line: `2026-11-20T06:30:00.123+0000: 1.234: …`, either or both, and
/// the number of the collection, which not all its lines have.
pub(crate) fn stamp<'a>(line: &'a [u8], times: &mut IsoTimes) -> (Stamp, &'a [u8]) {
    let mut at = Stamp::default();
    let mut cursor = Cursor(line);
    cursor.spaces();
    while cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        let mut rest = cursor;
        let is_date = rest.0.get(4) == Some(&b'-');
        let Some(ns) = (if is_date { times.read(&mut rest) } else { rest.fixed(9) }) else { break };
        if !rest.eat(b":") {
            break;
        }
        *(if is_date { &mut at.wall_ns } else { &mut at.uptime_ns }) = Some(ns);
        rest.spaces();
        cursor = rest;
    }
    match at.is_none() {
        true => (at, without_gc_id(line)),
        false => (at, without_gc_id(cursor.0)),
    }
}

/// Without the `#12: ` of `PrintGCID`.
fn without_gc_id(text: &[u8]) -> &[u8] {
    let mut cursor = Cursor(text);
    let is_there = cursor.eat(b"#") && cursor.integer().is_some() && cursor.eat(b": ");
    if is_there { cursor.0 } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc_log::show;

    /// Logs of a few lines and what they say.
    fn read(log: &str) -> String {
        let (mut legacy, mut times, mut page) = (Legacy::default(), IsoTimes::default(), String::new());
        let mut runs = Runs::default();
        let mut sink = |event: &Event<'_>| {
            page.push_str(&show::event(event));
            page.push('\n');
        };
        let mut missed = 0;
        for line in log.lines() {
            let outcome = legacy.line(line.as_bytes(), &mut times, &mut runs, &mut sink);
            missed += usize::from(outcome == Outcome::NotUnderstood);
        }
        missed += usize::from(legacy.flush(&mut times, &mut sink) == Outcome::NotUnderstood);
        format!("{log}\n---- {missed} not understood\n{page}")
    }

    #[test]
    fn a_large_block_within_the_bracket_of_the_old_generation() {
        let log = "400.000: [GC (Allocation Failure) 400.000: [ParNew (promotion failed): 40000K->40000K(40000K), 0.4500000 secs]\
                   400.450: [CMSCMS: Large block 0x0000000730892bb8\n\
                   : 90000K->88000K(160000K), 3.8000000 secs] 129000K->88000K(200000K), 4.2500000 secs]\n";
        let told = read(log);
        let pause = told.lines().find(|line| line.starts_with("pause")).unwrap();
        assert!(pause.contains("\"Pause Full\"") && pause.contains("old 92160000>90112000/163840000"), "{told}");
    }

    #[test]
    fn formats_of_jdk_7_and_8() {
        insta::glob!("samples/*.log", |path| {
            let log = std::fs::read_to_string(path).unwrap();
            insta::assert_snapshot!(read(&log));
        });
    }
}
