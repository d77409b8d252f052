//! Lines of a collector's log to events, whatever the JDK. Knows no evidence.
//!
//! A parser gets one line after the other and keeps only the collection that is being gathered, so its memory does not
//! depend on the size of the log. A line that it does not understand is counted, and the first few are kept to be
//! shown.

use crate::gc_log::decorations::{self, Decorated, Topic};
use crate::gc_log::event::{Event, Stamp};
use crate::gc_log::legacy::{Legacy, Outcome, Sink};
use crate::gc_log::runs::Runs;
use crate::gc_log::unified::{Rules, is_unmistakable};
use crate::lines;
use crate::time::IsoTimes;

/// How many lines that were not understood are kept.
const SHOWN_LINES: usize = 3;

/// `uptimenanos` of a line that was written within this time of the JVM's start can be told from
/// `timenanos`, whose origin is unknown.
const FRESH_UPTIME_NS: i64 = 60_000_000_000;

/// How many lines there were.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    /// All lines.
    pub(crate) lines: u64,
    /// Lines that were not understood.
    pub(crate) not_understood: u64,
    /// The first of these.
    pub(crate) shown: Vec<String>,
    /// The time that the lines cover.
    pub(crate) runs: Runs,
}

/// Reads a log line by line.
pub(crate) struct Parser {
    rules: Rules,
    times: IsoTimes,
    legacy: Legacy,
    nanos: NanosClock,
    tally: Tally,
}

/// What a decoration in nanoseconds counts from.
#[derive(Debug, Default, PartialEq, Eq)]
enum NanosClock {
    #[default]
    Unseen,
    Uptime,
    /// Another origin; this much is to be subtracted to get the uptime, if that is known.
    Other(Option<i64>),
}

impl Default for Parser {
    fn default() -> Self {
        Parser {
            rules: Rules::new(),
            times: IsoTimes::default(),
            legacy: Legacy::default(),
            nanos: NanosClock::default(),
            tally: Tally::default(),
        }
    }
}

impl Parser {
    /// Reads one line, without its line end.
    pub(crate) fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) {
        self.tally.lines += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let understood = match line.first() {
            None => true,
            Some(b'[') => match decorations::split(line, &mut self.times) {
                Some(decorated) => self.unified(decorated, sink),
                None => self.plain(line, sink),
            },
            Some(_) => self.plain(line, sink),
        };
        if !understood {
            self.miss(line);
        }
    }

    /// Counts a line that is too long to be one of a collector's log.
    pub(crate) fn overlong_line(&mut self, beginning: &[u8]) {
        self.tally.lines += 1;
        self.miss(beginning);
    }

    /// Hands over what is still gathered, and the count.
    pub(crate) fn finish(mut self, sink: &mut Sink<'_>) -> Tally {
        if self.legacy.flush(&mut self.times, sink) == Outcome::NotUnderstood {
            self.miss(b"(the last collection in the log is not complete)");
        }
        self.tally
    }

    /// Whether the only time is in nanoseconds of a clock that did not start with the JVM.
    pub(crate) fn is_origin_unknown(&self) -> bool {
        self.nanos == NanosClock::Other(None)
    }

    /// What the stamps of the lines so far tell.
    pub(crate) fn runs(&self) -> Runs {
        self.tally.runs
    }

    fn unified(&mut self, mut line: Decorated<'_>, sink: &mut Sink<'_>) -> bool {
        if let Some(nanos) = line.nanos {
            self.nanos.apply(nanos, &mut line.stamp);
        }
        self.tally.runs.line(&mut line.stamp);
        let Some(event) = self.rules.read(&line) else { return false };
        if event != Event::Detail {
            sink(&event);
        }
        true
    }

    /// A line without decorations: of the old formats, or of unified logging with none.
    fn plain(&mut self, line: &[u8], sink: &mut Sink<'_>) -> bool {
        if is_unmistakable(line) {
            let bare = Decorated {
                stamp: Stamp::default(),
                nanos: None,
                topic: Topic::Unknown,
                verbose: false,
                message: line,
            };
            return self.unified(bare, sink);
        }
        self.legacy.line(line, &mut self.times, &mut self.tally.runs, sink) == Outcome::Understood
    }

    fn miss(&mut self, line: &[u8]) {
        self.tally.not_understood += 1;
        if self.tally.shown.len() < SHOWN_LINES {
            self.tally.shown.push(lines::shown(line));
        }
    }
}

impl NanosClock {
    /// Makes the uptime of `stamp` as fine as `nanos` is, if they are of the same clock.
    fn apply(&mut self, nanos: i64, stamp: &mut Stamp) {
        if *self == NanosClock::Unseen {
            *self = match stamp.uptime_ns {
                Some(uptime) if nanos.abs_diff(uptime) < 10_000_000 => NanosClock::Uptime,
                Some(uptime) => NanosClock::Other(Some(nanos.saturating_sub(uptime))),
                None if nanos < FRESH_UPTIME_NS => NanosClock::Uptime,
                None => NanosClock::Other(None),
            };
        }
        stamp.is_fine = true;
        match *self {
            NanosClock::Uptime => stamp.uptime_ns = Some(nanos),
            NanosClock::Other(Some(origin)) => stamp.uptime_ns = Some(nanos.saturating_sub(origin)),
            // Differences are right, and a wall clock beside it puts them in their place.
            NanosClock::Other(None) => stamp.uptime_ns = Some(nanos),
            NanosClock::Unseen => {}
        }
    }
}
