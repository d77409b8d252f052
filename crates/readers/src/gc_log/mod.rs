//! Logs of the JVM's collectors, JDK 7 to 25: Serial, Parallel, CMS, G1, Shenandoah and ZGC.
//!
//! Lines become typed events (`parse.rs` and what it uses, which know no evidence), and events become rows (`load.rs`).
//! A log is read as a stream: only the resulting rows need memory in proportion to its size. No line is fatal; lines
//! that are not understood are counted and the first of them are shown.

mod clock;
mod collector;
mod cycles;
mod decorations;
pub(crate) mod event;
mod files;
mod gather;
mod legacy;
mod load;
pub(crate) mod parse;
mod runs;
mod setup;
#[cfg(test)]
mod show;
mod stalled;
mod table;
mod unified;
mod wrapping;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;

use crate::lines::{self, Line};
use crate::time::IsoTimes;
use crate::{LoadError, LoadOptions, Reader, input};
use clock::{Anchor, Clock};
use decorations::Topic;
use event::Event;
use load::Loader;
use parse::Parser;
use setup::SOURCE;
use wrapping::Wrapping;

/// The format.
pub(crate) static READER: GcLog = GcLog;

/// Logs of the JVM's collectors.
pub(crate) struct GcLog;

impl Reader for GcLog {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sniff(&self, head: &[u8], path: &Path) -> bool {
        sniff(head) || (has_other_tags(head) && input::head(path, LATER_BYTES).is_ok_and(|more| sniff(&more)))
    }

    fn group(&self, files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
        files::group(files)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load(files, options)
    }
}

/// How much of a log is looked through for the collector's lines where it begins with those of other tags: a part of a rotation may
/// begin with tens of thousands of loaded classes.
const LATER_BYTES: usize = 16 << 20;

/// So many lines of unified logging with other tags make a log of the JVM.
const OTHER_LINES: usize = 3;

/// Whether `head` has lines of unified logging, none of which is the collector's.
fn has_other_tags(head: &[u8]) -> bool {
    let (mut times, mut wrapping) = (IsoTimes::default(), Wrapping::default());
    let mut is_other =
        |line| decorations::split(wrapping.off(line), &mut times).is_some_and(|found| found.topic == Topic::Foreign);
    lines::of_head(head).filter(|line| is_other(line)).take(OTHER_LINES).count() == OTHER_LINES
}

/// Whether `head` has a line that only a collector's log has. Other lines may come first: the log may be
/// the standard output of the whole application.
fn sniff(head: &[u8]) -> bool {
    let (mut parser, mut wrapping) = (Parser::default(), Wrapping::default());
    let mut is_gc_log = false;
    for line in lines::of_head(head) {
        let line = wrapping.off(line);
        let has_brackets = line.starts_with(b"[");
        parser.line(line, &mut |event| is_gc_log |= is_characteristic(event, has_brackets));
        if is_gc_log {
            return true;
        }
    }
    parser.finish(&mut |event| is_gc_log |= is_characteristic(event, false));
    is_gc_log
}

/// Whether only a log has it. What a JVM says of itself when it is asked (`jcmd PID GC.heap_info`, `Compiler.codecache`,
/// `VM.info`) has the words of a log, but without decorations, and stops nothing.
fn is_characteristic(event: &Event<'_>, is_decorated: bool) -> bool {
    match event {
        Event::Detail | Event::Fact { .. } | Event::Note { .. } | Event::SafepointName(_) => false,
        Event::Collector(_) | Event::RegionSize(_) | Event::CodeCache { .. } | Event::CodeCacheFull { .. } => {
            is_decorated
        }
        _ => true,
    }
}

fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let files = files::in_order(files);
    let mut loader = Loader::new(Clock::new(anchor(&files, options)?));
    let mut cuts = Vec::new();
    let mut parser = Parser::default();
    for file in &files {
        let cut = feed(file, &mut parser, &mut |event| loader.event(event))?;
        cuts.extend(cut.map(|says| (file, says)));
    }
    let tally = parser.finish(&mut |event| loader.event(event));
    let mut recording = loader.finish(&tally);
    if let Some(says) = files::missing_parts(&files) {
        recording.add_loss(SOURCE, loss::TRUNCATED, 0, &says);
    }
    for (file, says) in cuts {
        recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
    }
    Ok(recording)
}

fn feed(file: &Path, parser: &mut Parser, sink: &mut legacy::Sink<'_>) -> Result<Option<String>, LoadError> {
    let mut wrapping = Wrapping::default();
    lines::read(file, &mut |line| match line {
        Line::Whole(line) => parser.line(wrapping.off(line), sink),
        Line::Overlong(beginning) => parser.overlong_line(beginning),
    })
}

/// Where the times come from if the log has no wall clock.
///
/// That its last line was written when the file was last changed can only be used when the last
/// uptime is known, so such a log is read twice.
fn anchor(files: &[PathBuf], options: &LoadOptions) -> Result<Anchor, LoadError> {
    let given = options.started_at_ns.map(Anchor::StartedAt);
    if files::have_wall_clock(files) {
        return Ok(given.unwrap_or(Anchor::Relative));
    }
    let (mut clock, mut parser, mut has_wall_clock) = (Clock::new(Anchor::Relative), Parser::default(), false);
    for file in files {
        feed(file, &mut parser, &mut |event| {
            let Some(at) = files::stamp_of(event) else { return };
            has_wall_clock |= at.wall_ns.is_some();
            match event {
                Event::Pause(pause) if at.is_none() => drop(clock.place_undated(pause.duration_ns)),
                _ => drop(clock.place(at)),
            }
        })?;
    }
    clock.place(parser.runs().last);
    let known = given.filter(|_| !parser.is_origin_unknown());
    let changed = files.last().and_then(|file| files::changed_ns(file));
    let by_file = changed.zip(clock.end_ns()).filter(|_| !has_wall_clock);
    Ok(known
        .or(by_file.map(|(changed, last)| Anchor::FileEnd(changed.saturating_sub(last))))
        .unwrap_or(Anchor::Relative))
}
