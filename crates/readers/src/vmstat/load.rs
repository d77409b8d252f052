//! Rows of vmstat to counters of the machine.

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss};

use crate::LoadError;
use crate::columns::{Columns, number};
use crate::lines::{self, Line as TextLine};
use crate::rates::{Id, Rates, Which};
use crate::time::IsoTimes;
use crate::vmstat::parse::{self, Line};

/// The `source` column of everything that comes from vmstat.
pub(super) const SOURCE: &str = "vmstat";

const KIB: f64 = 1_024.0;

/// vmstat divides pages by 4 KiB whatever the machine's are; only rises count.
const PAGE_KIB: f64 = 4.0;

/// Names of zones that are UTC.
const UTC: &[&str] = &["UTC", "GMT", "Z"];

/// Column, counter, instance, factor.
type Meaning = (&'static str, &'static str, &'static str, f64);

/// What the kernel has now.
const NOW: &[Meaning] = &[
    ("r", counter::TASKS_COUNT, "runnable", 1.0),
    ("b", counter::TASKS_COUNT, "blocked", 1.0),
    ("swpd", counter::MEMORY_USED_BYTES, "swap", KIB),
    ("free", counter::MEMINFO_BYTES, "MemFree", KIB),
    ("buff", counter::MEMINFO_BYTES, "Buffers", KIB),
    ("cache", counter::MEMINFO_BYTES, "Cached", KIB),
];

/// What happened per second.
const PER_SECOND: &[Meaning] = &[
    ("si", counter::VMSTAT_COUNT, "pswpin", 1.0 / PAGE_KIB),
    ("so", counter::VMSTAT_COUNT, "pswpout", 1.0 / PAGE_KIB),
    ("bi", counter::VMSTAT_COUNT, "pgpgin", 1.0),
    ("bo", counter::VMSTAT_COUNT, "pgpgout", 1.0),
    ("in", counter::INTERRUPTS_COUNT, "all", 1.0),
    ("cs", counter::CONTEXT_SWITCHES_COUNT, "", 1.0),
];

pub(super) fn load(files: &[PathBuf]) -> Result<Recording, LoadError> {
    let mut loader = Loader::default();
    for file in files {
        let cut = lines::read(file, &mut |line| loader.line(line))?;
        loader.check(file)?;
        if let Some(says) = cut {
            loader.recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
        }
    }
    Ok(loader.finish())
}

/// A column with the number that it is, and what its values are multiplied by.
type Taken = (usize, Id, f64);

/// What the columns of a heading are.
#[derive(Default)]
struct Heading {
    columns: usize,
    now: Vec<Taken>,
    per_second: Vec<Taken>,
    /// Where the share of CPUs stands that did nothing, that waited for disks, and that others had.
    idle: Option<[usize; 2]>,
    stolen: Option<usize>,
    used: Id,
}

impl Heading {
    fn of(columns: &Columns, rates: &mut Rates, recording: &mut Recording) -> Heading {
        let mut id = |name, instance| rates.id(recording, SOURCE, Which { name, instance, tid: 0 });
        let mut taken = |meanings: &[Meaning]| -> Vec<Taken> {
            let places = meanings.iter().filter_map(|meaning| Some((columns.place(meaning.0)?, meaning)));
            places.map(|(at, &(_, name, instance, factor))| (at, id(name, instance), factor)).collect()
        };
        let (now, per_second) = (taken(NOW), taken(PER_SECOND));
        let idle = columns.place("id").zip(columns.place("wa")).map(|(idle, waiting)| [idle, waiting]);
        let (stolen, used) = (columns.place("st"), id(counter::CPU_MACHINE_RATIO, ""));
        Heading { columns: columns.len(), now, per_second, idle, stolen, used }
    }
}

#[derive(Default)]
struct Loader {
    recording: Recording,
    rates: Rates,
    times: IsoTimes,
    heading: Heading,
    zone: Option<String>,
    last_ns: Option<i64>,
    without_time: i64,
    placed: i64,
    not_understood: i64,
}

impl Loader {
    fn line(&mut self, line: TextLine<'_>) {
        let TextLine::Whole(text) = line else {
            self.not_understood += 1;
            return;
        };
        match parse::line(text, &mut self.times) {
            Line::Heading(columns, zone) => {
                self.heading = Heading::of(&columns, &mut self.rates, &mut self.recording);
                self.zone = zone.or(self.zone.take());
            }
            Line::Row(values, time) if values.len() == self.heading.columns => match time {
                Some(time_ns) => self.row(&values, time_ns),
                None => self.without_time += 1,
            },
            Line::Title => {}
            Line::Row(..) | Line::Other => self.not_understood += 1,
        }
    }

    fn row(&mut self, values: &[&[u8]], time_ns: i64) {
        self.placed += 1;
        // The first row is an average since the machine's start.
        let Some(from_ns) = self.last_ns.replace(time_ns).filter(|last_ns| *last_ns < time_ns) else { return };
        let value = |at: usize| values.get(at).copied().and_then(number);
        let Loader { recording, rates, heading, .. } = self;
        for (at, id, factor) in &heading.now {
            if let Some(value) = value(*at) {
                rates.now(recording, *id, time_ns, value * factor);
            }
        }
        let seconds = (time_ns - from_ns) as f64 / 1e9;
        for (at, id, factor) in &heading.per_second {
            if let Some(value) = value(*at) {
                rates.add_to(recording, *id, (from_ns, time_ns), value * factor * seconds);
            }
        }
        // How many CPUs there are vmstat does not say: only their share is known.
        if let Some((idle, waiting)) = heading.idle.and_then(|[idle, waiting]| value(idle).zip(value(waiting))) {
            let stolen = heading.stolen.and_then(value).unwrap_or(0.0);
            let used = ((100.0 - idle - waiting - stolen) / 100.0).clamp(0.0, 1.0);
            rates.now(recording, heading.used, time_ns, used);
        }
    }

    fn check(&self, file: &Path) -> Result<(), LoadError> {
        if self.placed > 0 {
            return Ok(());
        }
        let says = "a table of vmstat whose rows have no time; record with: vmstat -t 1".to_owned();
        Err(LoadError::Unusable { path: file.to_owned(), says })
    }

    fn finish(mut self) -> Recording {
        self.rates.finish(&mut self.recording, SOURCE);
        if self.without_time > 0 || self.not_understood > 0 {
            let says = format!("vmstat: {} lines are no rows with a time", self.without_time + self.not_understood);
            self.recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, self.without_time + self.not_understood, &says);
        }
        if !self.zone.as_deref().is_some_and(|zone| UTC.contains(&zone)) {
            let zone = self.zone.as_deref().unwrap_or("a zone that it does not name");
            let says =
                format!("vmstat has local time of {zone}, which was taken as UTC; record with: TZ=UTC vmstat -t 1");
            self.recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, &says);
        }
        self.recording
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Table as _;

    use super::*;

    fn load_text(text: &str) -> Result<Recording, LoadError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vmstat.txt");
        std::fs::write(&file, text).unwrap();
        load(&[file])
    }

    const HEADING: &str =
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC\n";

    #[test]
    fn rows_become_counters() {
        let rows = "9 0 0 100 0 0 8 0 0 0 0 0 67 9 23 0 1 2026-11-27 15:57:14\n2 0 0 100 0 0 8 0 0 0 0 500 70 10 15 5 0 2026-11-27 15:57:16\n";
        let recording = load_text(&format!("{HEADING}{rows}")).unwrap();
        let values = |name: &str, instance: &str| {
            let wanted = |row: &fathom_evidence::tables::Counter| {
                recording.text(row.name) == name && recording.text(row.instance) == instance
            };
            recording.counters.rows().filter(wanted).map(|row| row.value).collect::<Vec<_>>()
        };
        assert_eq!(values(counter::TASKS_COUNT, "runnable"), [2.0]);
        assert_eq!(values(counter::MEMINFO_BYTES, "MemFree"), [102_400.0]);
        assert_eq!(values(counter::VMSTAT_COUNT, "pswpin"), [0.0, 4.0]);
        assert_eq!(values(counter::CONTEXT_SWITCHES_COUNT, ""), [0.0, 1_000.0]);
        assert_eq!(values(counter::CPU_MACHINE_RATIO, ""), [0.8]);
        assert!(recording.losses.is_empty());
    }

    #[test]
    fn what_cannot_be_placed_is_refused_or_told() {
        let error = load_text(&format!("{HEADING}9 0 0 100 0 0 8 0 0 0 0 0 67 9 23 0 1\n")).unwrap_err();
        assert!(error.to_string().contains("vmstat -t 1"), "{error}");
        let away =
            format!("{}9 0 0 100 0 0 8 0 0 0 0 0 67 9 23 0 1 2026-11-27 15:57:14\n", HEADING.replace("UTC", "CET"));
        let losses = load_text(&away).unwrap().losses;
        assert_eq!(losses.len(), 1);
    }
}
