//! Rows of vmstat to counters of the machine.

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss};

use crate::LoadError;
use crate::columns::{Columns, Row};
use crate::lines::{self, Line as TextLine};
use crate::rates::{Rates, Which};
use crate::vmstat::parse::{self, Line};

/// The `source` column of everything that comes from vmstat.
pub(super) const SOURCE: &str = "vmstat";

const KIB: f64 = 1_024.0;

/// vmstat divides pages by 4 KiB whatever the machine's are; only rises count.
const PAGE_KIB: f64 = 4.0;

/// Names of zones that are UTC.
const UTC: &[&str] = &["UTC", "GMT", "Z"];

/// What the kernel has now: column, counter, instance, factor.
const NOW: &[(&str, &str, &str, f64)] = &[
    ("r", counter::TASKS_COUNT, "runnable", 1.0),
    ("b", counter::TASKS_COUNT, "blocked", 1.0),
    ("swpd", counter::MEMORY_USED_BYTES, "swap", KIB),
    ("free", counter::MEMINFO_BYTES, "MemFree", KIB),
    ("buff", counter::MEMINFO_BYTES, "Buffers", KIB),
    ("cache", counter::MEMINFO_BYTES, "Cached", KIB),
];

/// What happened per second: likewise.
const PER_SECOND: &[(&str, &str, &str, f64)] = &[
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

#[derive(Default)]
struct Loader {
    recording: Recording,
    rates: Rates,
    columns: Columns,
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
        match parse::line(text) {
            Line::Heading(columns, zone) => (self.columns, self.zone) = (columns, zone.or(self.zone.take())),
            Line::Row(values, time) if values.len() == self.columns.len() => match time {
                Some(time_ns) => self.row(&self.columns.clone().row(&values), time_ns),
                None => self.without_time += 1,
            },
            Line::Title => {}
            Line::Row(..) | Line::Other => self.not_understood += 1,
        }
    }

    fn row(&mut self, row: &Row<'_>, time_ns: i64) {
        self.placed += 1;
        // The first row is an average since the machine's start.
        let Some(from_ns) = self.last_ns.replace(time_ns).filter(|last_ns| *last_ns < time_ns) else { return };
        for (column, name, instance, factor) in NOW {
            if let Some(value) = row.number(column) {
                self.recording.add_counter(time_ns, name, instance, value * factor, SOURCE);
            }
        }
        let seconds = (time_ns - from_ns) as f64 / 1e9;
        for (column, name, instance, factor) in PER_SECOND {
            if let Some(value) = row.number(column) {
                let which = Which { name, instance, tid: 0 };
                self.rates.add(&mut self.recording, SOURCE, which, (from_ns, time_ns), value * factor * seconds);
            }
        }
        self.cpus(row, time_ns);
    }

    /// How many CPUs there are vmstat does not say: only their share is known.
    fn cpus(&mut self, row: &Row<'_>, time_ns: i64) {
        let percent = |name: &str| row.number(name);
        if let Some(((idle, waiting), stolen)) = percent("id").zip(percent("wa")).zip(percent("st").or(Some(0.0))) {
            let used = ((100.0 - idle - waiting - stolen) / 100.0).clamp(0.0, 1.0);
            self.recording.add_counter(time_ns, counter::CPU_MACHINE_RATIO, "", used, SOURCE);
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
