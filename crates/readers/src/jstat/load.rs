//! Rows of jstat to counters and pauses.

use std::path::{Path, PathBuf};

use fathom_evidence::detail::{Gc, to_text};
use fathom_evidence::kinds::{counter, loss, subject};
use fathom_evidence::{Recording, Table as _};

use crate::columns::{Columns, Row, all_words};
use crate::jstat::parse::{self, UPTIME};
use crate::lines::{self, Line as TextLine};
use crate::pauses;
use crate::rates::{Id, Rates, Which};
use crate::{LoadError, LoadOptions, input};

/// The `source` column of everything that comes from jstat.
pub(super) const SOURCE: &str = "jstat";

const KIB: f64 = 1_024.0;
const SECOND_NS: f64 = 1e9;

/// Column, counter, instance, factor.
const COUNTERS: &[(&str, &str, &str, f64)] = &[
    ("YGC", counter::GC_RUNS_COUNT, "young", 1.0),
    ("FGC", counter::GC_RUNS_COUNT, "full", 1.0),
    ("CGC", counter::GC_RUNS_COUNT, "concurrent", 1.0),
    ("YGCT", counter::GC_TIME_NS, "young", SECOND_NS),
    ("FGCT", counter::GC_TIME_NS, "full", SECOND_NS),
    ("CGCT", counter::GC_TIME_NS, "concurrent", SECOND_NS),
    ("EU", counter::HEAP_SPACE_USED_BYTES, "young eden", KIB),
    ("EC", counter::HEAP_SPACE_CAPACITY_BYTES, "young eden", KIB),
    ("OU", counter::HEAP_SPACE_USED_BYTES, "old", KIB),
    ("OC", counter::HEAP_SPACE_CAPACITY_BYTES, "old", KIB),
    ("Loaded", counter::CLASSES_LOADED_COUNT, "", 1.0),
    ("Unloaded", counter::CLASSES_UNLOADED_COUNT, "", 1.0),
    ("Failed", counter::COMPILE_BAILOUT_COUNT, "", 1.0),
    ("Invalid", counter::COMPILE_INVALIDATED_COUNT, "", 1.0),
    ("Compiled", counter::COMPILE_COUNT, "", 1.0),
];

/// Kinds of pauses: their number, their time in s, and the scope.
const PAUSES: &[(&str, &str, &str)] = &[("YGC", "YGCT", "young"), ("FGC", "FGCT", "full"), ("CGC", "CGCT", "other")];

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut recording = Recording::default();
    for file in files {
        let (counters, spans) = (recording.counters.len(), recording.spans.len());
        let read = Table::read(file, &mut recording)?;
        let started_at_ns = match options.started_at_ns {
            Some(started_at_ns) => started_at_ns,
            None => estimated_start(file, read.last_ns, &mut recording),
        };
        let times = recording.counters.time_ns[counters..].iter_mut().chain(&mut recording.spans.time_ns[spans..]);
        times.for_each(|time_ns| *time_ns = time_ns.saturating_add(started_at_ns));
        if let Some(says) = &read.cut {
            recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
        }
        if read.not_understood > 0 {
            let says = format!("jstat: {} lines are no rows of its table", read.not_understood);
            recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, read.not_understood, &says);
        }
    }
    if let Some(started_at_ns) = options.started_at_ns {
        recording.add_fact(subject::JVM, "started_at_ns", &started_at_ns.to_string(), SOURCE);
    }
    Ok(recording)
}

/// The JVM's start if the file was written when its last row was.
fn estimated_start(file: &Path, last_ns: i64, recording: &mut Recording) -> i64 {
    let says = format!(
        "{} only has the JVM's uptime: placed as if its last row was written when the file was; --started-at places it",
        file.file_name().unwrap_or_default().to_string_lossy()
    );
    recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, &says);
    input::written_ns(file).saturating_sub(last_ns)
}

/// A row: uptime, and the value of each of [`COUNTERS`] and [`PAUSES`].
struct Values {
    uptime_ns: i64,
    counters: [Option<f64>; COUNTERS.len()],
    pauses: [Option<(f64, f64)>; PAUSES.len()],
}

/// What was read of a file.
struct Read {
    last_ns: i64,
    cut: Option<String>,
    not_understood: i64,
}

/// A table. Its rows go into the recording one by one, with the JVM's uptime for their time: its start may be known in the end only.
struct Table<'a> {
    recording: &'a mut Recording,
    rates: Rates,
    ids: [Option<Id>; COUNTERS.len()],
    columns: Columns,
    last: Option<Values>,
    not_understood: i64,
}

impl Table<'_> {
    fn read(file: &Path, recording: &mut Recording) -> Result<Read, LoadError> {
        let (rates, columns) = Default::default();
        let mut table = Table { recording, rates, ids: Default::default(), columns, last: None, not_understood: 0 };
        let cut = lines::read(file, &mut |line| table.line(line))?;
        let without = |says: &str| Err(LoadError::Unusable { path: file.to_owned(), says: says.to_owned() });
        let Some(last) = table.last else {
            return match table.columns.has(UPTIME) {
                false => without("a table of jstat whose rows have no time; record with: jstat -gc -t PID 1000"),
                true => without("a table of jstat without rows"),
            };
        };
        table.rates.finish(table.recording, SOURCE);
        Ok(Read { last_ns: last.uptime_ns, cut, not_understood: table.not_understood })
    }

    fn line(&mut self, line: TextLine<'_>) {
        let TextLine::Whole(text) = line else {
            self.not_understood += 1;
            return;
        };
        let values = all_words(text);
        let Some(first) = values.first() else { return };
        // No column is called by a number.
        if !first[0].is_ascii_digit()
            && let Some(heading) = parse::heading(text)
        {
            self.columns = heading;
            return;
        }
        match of_row(&self.columns.row(&values)) {
            Some(row) => self.row(row),
            None => self.not_understood += i64::from(self.columns.has(UPTIME)),
        }
    }

    fn row(&mut self, row: Values) {
        for (at, (_, name, instance, factor)) in COUNTERS.iter().enumerate() {
            let Some(value) = row.counters[at] else { continue };
            let which = Which { name, instance, tid: 0 };
            let id = *self.ids[at].get_or_insert_with(|| self.rates.id(self.recording, SOURCE, which));
            self.rates.now(self.recording, id, row.uptime_ns, value * factor);
        }
        if let Some(before) = &self.last {
            (0..PAUSES.len()).for_each(|index| add_pauses(self.recording, index, (before, &row)));
        }
        self.last = Some(row);
    }
}

fn of_row(row: &Row<'_>) -> Option<Values> {
    let uptime_ns = (row.number(UPTIME)? * SECOND_NS) as i64;
    let pause = |(count, time, _): (&str, &str, &str)| row.number(count).zip(row.number(time));
    Some(Values {
        uptime_ns,
        counters: std::array::from_fn(|at| row.number(COUNTERS[at].0)),
        pauses: std::array::from_fn(|at| pause(PAUSES[at])),
    })
}

/// The pauses of one kind that there were between two rows, at the end of that time.
fn add_pauses(recording: &mut Recording, index: usize, (before, after): (&Values, &Values)) {
    let (Some(was), Some(is)) = (before.pauses[index], after.pauses[index]) else { return };
    let in_all_ns = ((is.1 - was.1) * SECOND_NS) as i64;
    let detail = to_text(&detail(index, before, after));
    pauses::add(recording, (before.uptime_ns, after.uptime_ns), (is.0 - was.0, in_all_ns), &detail, SOURCE);
}

fn detail(index: usize, before: &Values, after: &Values) -> Gc {
    let value = |row: &Values, wanted: &str| {
        let at = COUNTERS.iter().position(|(column, ..)| *column == wanted)?;
        row.counters[at].map(|kib| (kib * KIB) as u64)
    };
    Gc {
        scope: Some(PAUSES[index].2.to_owned()),
        old_before_bytes: value(before, "OU"),
        old_after_bytes: value(after, "OU"),
        old_capacity_bytes: value(after, "OC"),
        ..Gc::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(text: &str, started_at_ns: Option<i64>) -> Result<Recording, LoadError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("jstat.txt");
        std::fs::write(&file, text).unwrap();
        load(&[file], &LoadOptions { started_at_ns, ..LoadOptions::default() })
    }

    #[test]
    fn rises_are_pauses() {
        let text = "Timestamp  OC   OU  YGC  YGCT  FGC  FGCT\n 10.0 100 90 1 0,5 0 0,0\n 11.0 100 99 3 0,7 0 0,0\n 25.0 100 98 3 0,7 1 11,0\n";
        let recording = load_text(text, Some(1_000_000_000_000)).unwrap();
        let rows: Vec<(i64, i64, String)> = recording
            .spans
            .rows()
            .map(|row| (row.time_ns / 1_000_000, row.duration_ns / 1_000_000, recording.text(row.detail).to_owned()))
            .collect();
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert!((1_010_899..=1_010_900).contains(&rows[0].0) && (99..=100).contains(&rows[0].1), "{rows:?}");
        assert_eq!((rows[2].0, rows[2].1), (1_014_000, 11_000));
        assert!(
            rows[2].2.contains("\"scope\":\"full\"") && rows[2].2.contains("\"old_before_bytes\":101376"),
            "{rows:?}"
        );
        assert!(recording.losses.is_empty());
        assert_eq!(load_text(text, None).unwrap().losses.len(), 1);
    }

    #[test]
    fn without_times_it_is_refused() {
        let error = load_text("S0 S1 YGC YGCT FGC FGCT GCT\n0 0 1 0.1 0 0 0.1\n", None).unwrap_err();
        assert!(error.to_string().contains("jstat -gc -t PID 1000"), "{error}");
    }
}
