//! Logs of applications to counts of their messages.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{counter, loss};
use fathom_evidence::{Recording, StrId};
use rustc_hash::FxHashMap;

use crate::app_log::entry::{Line, Parser};
use crate::app_log::head::{Entry, Level};
use crate::app_log::stamp::{Clock, Day, Stamp, Year};
use crate::app_log::templates::{Template, Templates};
use crate::counts::{Counts, Id, series_of};
use crate::lines::{self, Line as TextLine};
use crate::{LoadError, LoadOptions, input};

/// The `source` column of everything that comes from a log.
pub(super) const SOURCE: &str = "app_log";

/// Lines of a template that are kept.
const EXAMPLES: u32 = 3;

/// The same of warnings and errors.
const EXAMPLES_OF_ERRORS: u32 = 20;

/// What stands before the class of an exception.
const EXCEPTION: &[u8] = b"exception";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut loader = Loader::default();
    for file in files {
        let mut parser = Parser::default();
        let mut placing = Placing::of(file, options);
        let before = loader.entries;
        let cut = lines::read(file, &mut |line| loader.line(line, &mut parser, &mut placing))?;
        if loader.entries == before {
            return Err(LoadError::Unusable { path: file.clone(), says: placing.why_nothing().to_owned() });
        }
        loader.tell(file, &placing, cut);
    }
    Ok(loader.finish(series_of(files)))
}

/// Puts the times of a file on the common clock.
struct Placing {
    written_ns: i64,
    day: Option<Day>,
    year: Option<Year>,
    /// The least that is known of any entry's time.
    least: Clock,
    /// Entries that could not be placed.
    unplaced: i64,
}

impl Placing {
    fn of(file: &Path, options: &LoadOptions) -> Placing {
        let written_ns = input::written_ns(file);
        let day = options.started_at_ns.map(Day::since);
        Placing { written_ns, day, year: None, least: Clock::Exact, unplaced: 0 }
    }

    fn place(&mut self, stamp: Stamp) -> Option<i64> {
        self.least = self.least.min(stamp.clock);
        match stamp.clock {
            Clock::Exact | Clock::Local => Some(stamp.ns),
            Clock::OfYear => Some(self.year.get_or_insert_with(|| Year::of(stamp.ns, self.written_ns)).place(stamp.ns)),
            Clock::OfDay => {
                let placed = self.day.as_mut().map(|day| day.place(stamp.ns));
                self.unplaced += i64::from(placed.is_none());
                placed
            }
        }
    }

    /// What had to be assumed.
    fn assumed(&self) -> Option<&'static str> {
        match self.least {
            Clock::Exact => None,
            Clock::Local => Some("local time of a zone that it does not name, which was taken as UTC"),
            Clock::OfYear => {
                Some("local time without year and zone: the year is that of the file, the zone was taken as UTC")
            }
            Clock::OfDay => Some("times of day: the day is that of --started-at, the zone was taken as UTC"),
        }
    }

    fn why_nothing(&self) -> &'static str {
        match self.unplaced {
            0 => {
                "a log of which no line has a time that can be read; record with another form of dates: logback and log4j %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX}"
            }
            _ => {
                "a log with times of day and no date; give --started-at, and record with a date: logback and log4j %d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX}"
            }
        }
    }
}

#[derive(Default)]
struct Loader {
    recording: Recording,
    templates: Templates,
    counts: Counts,
    /// How many lines are kept of each template.
    kept: FxHashMap<Id, u32>,
    last_ns: Option<i64>,
    entries: i64,
    overlong: i64,
}

impl Loader {
    fn line(&mut self, line: TextLine<'_>, parser: &mut Parser, placing: &mut Placing) {
        let text = match line {
            TextLine::Whole(text) => text,
            TextLine::Overlong(text) => {
                self.overlong += 1;
                text
            }
        };
        match parser.line(text) {
            Line::Entry(entry) => self.entry(&entry, placing),
            Line::Exception(class) => self.exception(class),
            Line::Other => {}
        }
    }

    fn entry(&mut self, entry: &Entry<'_>, placing: &mut Placing) {
        let Some(time_ns) = placing.place(entry.stamp) else { return };
        let head = &entry.head;
        self.entries += 1;
        self.last_ns = Some(time_ns);
        let id = self.templates.of(head.level, head.logger, head.message);
        self.counts.add(id, time_ns);
        self.keep(id, time_ns, head.level, head.message);
        if !entry.exception.is_empty() {
            self.exception(entry.exception);
        }
    }

    /// Counts an exception at the time of the entry that it belongs to.
    fn exception(&mut self, class: &[u8]) {
        let Some(time_ns) = self.last_ns else { return };
        let id = self.templates.of(Level::None, EXCEPTION, class);
        self.counts.add(id, time_ns);
    }

    fn keep(&mut self, id: Id, time_ns: i64, level: Level, message: &[u8]) {
        let most = if level >= Level::Warn { EXAMPLES_OF_ERRORS } else { EXAMPLES };
        let kept = self.kept.entry(id).or_default();
        if *kept >= most {
            return;
        }
        *kept += 1;
        self.recording.add_log(time_ns, SOURCE, level.word(), "", &lines::shown(message));
        // Named when all lines are read: until then its words may become variable.
        if let Some(template) = self.recording.logs.template.last_mut() {
            template.0 = id;
        }
    }

    fn tell(&mut self, file: &Path, placing: &Placing, cut: Option<String>) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut add = |kind: &str, count: i64, says: &str| {
            self.recording.add_loss(SOURCE, kind, count, &format!("{name}: {says}"));
        };
        if let Some(says) = placing.assumed() {
            add(loss::CLOCK_ESTIMATED, 0, &format!("the log has {says}; --clock-offset {name}=TIME moves it"));
        }
        if placing.unplaced > 0 {
            add(loss::NOT_UNDERSTOOD, placing.unplaced, "lines have a time of day and no date");
        }
        cut.iter().for_each(|says| add(loss::TRUNCATED, 0, says));
    }

    fn finish(mut self, series: i64) -> Recording {
        if self.overlong > 0 {
            let says = format!("{} lines of logs are too long: their beginnings were read", self.overlong);
            self.recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, self.overlong, &says);
        }
        if self.templates.is_full {
            let says = "logs have more kinds of messages than are kept apart: the others are counted together";
            self.recording.add_loss(SOURCE, loss::EVENTS_LOST, 0, says);
        }
        let strings = &mut self.recording.strings;
        let names: Vec<StrId> = self.templates.all.iter().map(|template| strings.intern(&name_of(template))).collect();
        let named = |id: Id| names.get(id as usize).copied().unwrap_or_default();
        self.recording.logs.template.iter_mut().for_each(|template| *template = named(template.0));
        // Templates that differ in secrets alone have one name.
        let counts = std::mem::take(&mut self.counts);
        counts.write(&mut self.recording, SOURCE, (counter::LOG_MESSAGES_COUNT, series), &names);
        self.recording
    }
}

/// `WARN shop.Cart: no item <*>`.
fn name_of(template: &Template) -> String {
    let logger = String::from_utf8_lossy(&template.logger);
    let before = [template.level.word(), &logger].into_iter().filter(|word| !word.is_empty());
    let before = before.collect::<Vec<_>>().join(" ");
    let name = if before.is_empty() { template.text() } else { format!("{before}: {}", template.text()) };
    lines::shown(name.as_bytes())
}
