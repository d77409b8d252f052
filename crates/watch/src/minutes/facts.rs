//! The table `facts`: what is set, built in and given of each JVM and its host. Across many hosts it shows what the
//! slow ones have in common.
//!
//! ```text
//! facts/date=2026-11-23/4242-1876-1f3a….parquet       a JVM, by process and start, at one look
//! ```
//!
//! * A file is written when a JVM was found, when something has changed, and with each new day (UTC): the folders of a
//!   day are complete without earlier ones.
//! * A folder `date=…` is deleted when `minutes` has no rows of that day or of earlier days.

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use fathom_collectors::containers::labels;
use fathom_collectors::jvms::Jvm;
use fathom_collectors::{ComparedFact, compared_facts};
use fathom_store::{Cells, write_rows};
use jiff::Timestamp;

use super::row::{ColumnDoc, Row};
use crate::host::host;

const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

/// Facts change by hand or by a deploy. A look costs some hundred small reads.
const LOOK_NS: i64 = 600 * 1_000_000_000;

/// The columns; a row is a fact.
pub const FACT_COLUMNS: &[ColumnDoc] = &[
    ColumnDoc { name: "time_ns", kind: "BIGINT", unit: "ns since the Unix epoch", meaning: "When it was looked at." },
    ColumnDoc { name: "host", kind: "VARCHAR", unit: "text", meaning: "Name of the host." },
    ColumnDoc { name: "service", kind: "VARCHAR", unit: "text", meaning: "Main class, module or jar." },
    ColumnDoc { name: "pid", kind: "BIGINT", unit: "id", meaning: "Process id on the host." },
    ColumnDoc {
        name: "start_ticks",
        kind: "BIGINT",
        unit: "ticks",
        meaning: "When the process began, as in `minutes`.",
    },
    ColumnDoc {
        name: "fact",
        kind: "VARCHAR",
        unit: "text",
        meaning: "What it is about, for example `kernel` or `flag:UseZGC`.",
    },
    ColumnDoc {
        name: "value",
        kind: "VARCHAR",
        unit: "text",
        meaning: "Its value; of a flag `true`, `false` or what was given.",
    },
];

/// What was found of a JVM at one look.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    at_ns: i64,
    host: String,
    service: String,
    pid: i64,
    start_ticks: i64,
    facts: Vec<ComparedFact>,
}

impl Sheet {
    /// What a recording says, about the JVM of its first minute.
    pub(super) fn of_recording(row: &Row, facts: Vec<ComparedFact>) -> Sheet {
        Sheet {
            at_ns: row.time_ns.unwrap_or_default(),
            host: row.host.clone().unwrap_or_default(),
            service: row.service.clone().unwrap_or_default(),
            pid: row.pid.unwrap_or_default(),
            start_ticks: row.start_ticks.unwrap_or_default(),
            facts,
        }
    }
}

/// When a JVM is looked at again, and what was found last.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    next_ns: i64,
    day: i64,
    known: Vec<ComparedFact>,
}

impl Looks {
    /// What is to be written of a JVM now: nothing before it is looked at again, and nothing that is known.
    pub(crate) fn look(&mut self, at_ns: i64, jvm: &Jvm) -> Option<Sheet> {
        self.is_due(at_ns).then(|| facts_of(jvm)).and_then(|facts| self.news(at_ns, facts)).map(|facts| Sheet {
            at_ns,
            host: host(),
            service: jvm.main.clone(),
            pid: i64::from(jvm.target.pid),
            start_ticks: i64::try_from(jvm.target.start_ticks).unwrap_or_default(),
            facts,
        })
    }

    fn is_due(&self, at_ns: i64) -> bool {
        at_ns >= self.next_ns || at_ns.div_euclid(DAY_NS) != self.day
    }

    fn news(&mut self, at_ns: i64, facts: Vec<ComparedFact>) -> Option<Vec<ComparedFact>> {
        self.next_ns = at_ns + LOOK_NS;
        let day = at_ns.div_euclid(DAY_NS);
        let is_known = day == self.day && facts == self.known;
        self.day = day;
        self.known.clone_from(&facts);
        (!is_known && !facts.is_empty()).then_some(facts)
    }
}

fn facts_of(jvm: &Jvm) -> Vec<ComparedFact> {
    let labels = jvm.container.as_deref().map(labels::of).unwrap_or_default();
    let labels = labels.into_iter().map(|(name, value)| (format!("label:{name}"), value));
    compared_facts(jvm).into_iter().chain(labels).collect()
}

/// Writes a file of what was found, beside the folder of `minutes`.
pub(super) fn write(minutes: &Path, sheet: &Sheet) -> io::Result<()> {
    let at = Timestamp::from_nanosecond(i128::from(sheet.at_ns)).map_err(io::Error::other)?;
    let day = folder_of(minutes).join(format!("date={}", at.strftime("%Y-%m-%d")));
    DirBuilder::new().recursive(true).mode(0o700).create(&day)?;
    let mut hasher = DefaultHasher::new();
    (sheet.at_ns, &sheet.facts).hash(&mut hasher);
    let name = format!("{}-{}-{:016x}.parquet", sheet.pid, sheet.start_ticks, hasher.finish());
    write_rows(&day.join(name), columns(sheet)).map_err(io::Error::other)
}

fn columns(sheet: &Sheet) -> Vec<(&'static str, Cells)> {
    let rows = sheet.facts.len();
    let text = |value: &str| Cells::Utf8(vec![Some(value.to_owned()); rows]);
    let number = |value: i64| Cells::Int64(vec![Some(value); rows]);
    let each =
        |of: fn(&ComparedFact) -> &String| Cells::Utf8(sheet.facts.iter().map(|fact| Some(of(fact).clone())).collect());
    let cells = [
        number(sheet.at_ns),
        text(&sheet.host),
        text(&sheet.service),
        number(sheet.pid),
        number(sheet.start_ticks),
        each(|(fact, _)| fact),
        each(|(_, value)| value),
    ];
    FACT_COLUMNS.iter().map(|column| column.name).zip(cells).collect()
}

/// Facts of days of which no minute is left go.
pub(super) fn make_room(minutes: &Path) -> io::Result<()> {
    let Some(oldest) = days(minutes).into_iter().min() else { return Ok(()) };
    let facts = folder_of(minutes);
    days(&facts).iter().filter(|day| **day < oldest).try_for_each(|day| fs::remove_dir_all(facts.join(day)))
}

fn days(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("date=")).collect()
}

fn folder_of(minutes: &Path) -> PathBuf {
    minutes.with_file_name("facts")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_NS: i64 = 60_000_000_000;

    fn facts(value: &str) -> Vec<ComparedFact> {
        vec![("flag:UseZGC".to_owned(), value.to_owned())]
    }

    #[test]
    fn facts_are_reported_once_when_they_change_and_each_day() {
        let mut looks = Looks::default();
        let mut reported = Vec::new();
        for minute in 0..3000 {
            let at_ns = 20_000 * DAY_NS + minute * MINUTE_NS;
            if looks.is_due(at_ns) {
                let value = if minute < 700 { "true" } else { "false" };
                reported.extend(looks.news(at_ns, facts(value)).map(|found| (minute, found[0].1.clone())));
            }
        }
        let reported: Vec<_> = reported.iter().map(|(minute, value)| (*minute, &**value)).collect();
        assert_eq!(reported, [(0, "true"), (700, "false"), (1440, "false"), (2880, "false")]);
        assert_eq!(looks.news(0, Vec::new()), None, "nothing could be read");
    }

    #[test]
    fn a_file_of_each_look_and_none_of_days_gone() {
        let folder = tempfile::tempdir().unwrap();
        let minutes = folder.path().join("minutes");
        let sheet = |day: i64| Sheet {
            at_ns: (20_000 + day) * DAY_NS,
            host: "a".to_owned(),
            service: "shop".to_owned(),
            pid: 7,
            start_ticks: 9,
            facts: facts("true"),
        };
        (0..3).for_each(|day| write(&minutes, &sheet(day)).unwrap());
        let left = || {
            let mut days = days(&folder.path().join("facts"));
            days.sort_unstable();
            days
        };
        make_room(&minutes).unwrap();
        assert_eq!(left().len(), 3, "the first day has no file of minutes yet");
        fs::create_dir_all(minutes.join(&left()[1])).unwrap();
        make_room(&minutes).unwrap();
        assert_eq!(left(), ["date=2024-10-05", "date=2024-10-06"]);
    }
}
