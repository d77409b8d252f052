//! Tables of sysstat to counters of machine and process.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{counter, loss};
use fathom_evidence::{Recording, Table as _};
use rustc_hash::FxHashMap;

use crate::columns::{Columns, Row, number};
use crate::lines::{self, Line as TextLine};
use crate::rates::{Id, Rates, Which};
use crate::sysstat::load_binary::{Numbers, To};
use crate::sysstat::meaning::{MODES, NOW, OPERATIONS, PER_SECOND};
use crate::sysstat::parse::{self, Line};
use crate::sysstat::parse_binary;
use crate::sysstat::parse_json::{self, Interval, Values};
use crate::sysstat::times::Clock;
use crate::{Input, LoadError, LoadOptions, input};

/// The `source` column of everything that comes from these tools.
pub(super) const SOURCE: &str = "sysstat";

/// A file of `sadf -j` is read at once, so a larger one is refused, in bytes.
const JSON_MAX_BYTES: usize = 512 << 20;

/// What to do with a file of sar's daemon that is not read.
const EXPORT: &str = "export it: sadf -j FILE -- -A > sar.json";

const KIB: f64 = 1_024.0;
const MS_NS: f64 = 1e6;
/// A percent of a second, in ns.
const PERCENT_NS: f64 = 1e7;

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut loader = Loader::default();
    for file in files {
        // The caller knows how far off its times are, or does not mind.
        loader.clock.takes_month_first = options.clock_offset_ns(file).is_some();
        let head = input::head(file, crate::SNIFF_BYTES)?;
        let cut = match (parse_binary::is_binary(&head), parse_json::is_sadf(&head)) {
            (true, _) => loader.binary(file)?,
            (_, true) => loader.json(file)?,
            _ => lines::read(file, &mut |line| loader.line(line))?,
        };
        if let Some(says) = cut {
            loader.recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
        }
        if loader.recording.counters.is_empty() {
            let says = loader.why_nothing();
            return Err(LoadError::Unusable { path: file.clone(), says });
        }
    }
    Ok(loader.finish())
}

/// What the rows of a table are about, and the columns that say of which.
#[derive(Clone, Copy)]
enum Rows {
    Processes,
    Cpus(&'static str),
    /// Those of iostat: the heading begins with a word that its row has not.
    AllCpus,
    Disks(&'static str),
    Machine,
}

impl Rows {
    fn of(columns: &Columns) -> Rows {
        let is = |name: &&str| columns.has(name);
        if ["%CPU", "TGID", "PID"].iter().any(is) {
            return Rows::Processes;
        }
        match ["CPU", "avg-cpu:", "DEV", "Device", "Device:"].into_iter().find(is) {
            Some("CPU") => Rows::Cpus("CPU"),
            Some("avg-cpu:") => Rows::AllCpus,
            Some(device) => Rows::Disks(device),
            None => Rows::Machine,
        }
    }
}

/// A table, of which there are rows time after time.
struct Table {
    columns: Columns,
    rows: Rows,
    /// When its last rows were, and those before them.
    last: Option<(Option<i64>, i64)>,
}

impl Table {
    fn of(names: &[&[u8]]) -> Table {
        let columns = Columns::of(names.iter().copied());
        let rows = Rows::of(&columns);
        Table { columns, rows, last: None }
    }

    /// From the rows before to these, once it is known.
    fn interval(&mut self, time_ns: i64) -> Option<(i64, i64)> {
        let (before, last) = self.last.get_or_insert((None, time_ns));
        if *last < time_ns {
            (*before, *last) = (Some(*last), time_ns);
        }
        before.map(|from_ns| (from_ns, time_ns))
    }
}

/// Numbers of each device or CPU, in the order of what is known of one.
#[derive(Default)]
struct Known(FxHashMap<Box<str>, Vec<Option<Id>>>);

impl Known {
    fn of(&mut self, whose: &str, at: usize) -> Option<&mut Option<Id>> {
        if !self.0.contains_key(whose) {
            self.0.insert(whose.into(), Vec::new());
        }
        let ids = self.0.get_mut(whose)?;
        if ids.len() <= at {
            ids.resize(at + 1, None);
        }
        ids.get_mut(at)
    }
}

#[derive(Default)]
struct Loader {
    recording: Recording,
    rates: Rates,
    known_cpus: Known,
    known_disks: Known,
    clock: Clock,
    cpus: usize,
    tables: Vec<Table>,
    /// Which table it is, by its heading.
    headings: FxHashMap<Vec<u8>, usize>,
    /// The table whose rows are read.
    table: Option<usize>,
    /// The time that stood alone on a line.
    alone_ns: Option<i64>,
    /// The process whose threads are listed, if it is one.
    process: Option<i64>,
    not_understood: i64,
    has_ambiguous_date: bool,
}

impl Loader {
    fn line(&mut self, line: TextLine<'_>) {
        let TextLine::Whole(text) = line else {
            self.not_understood += 1;
            return;
        };
        match parse::line(text) {
            Line::First(date, cpus) => {
                self.has_ambiguous_date |= !self.clock.date(date);
                self.cpus = cpus;
            }
            Line::Heading(words, taken) => self.heading(&words, taken),
            Line::Row(words) => self.words(&words),
            Line::Nothing => {}
        }
    }

    fn heading(&mut self, words: &[&[u8]], taken: usize) {
        let names = &words[taken..];
        let text = names.join(&b' ');
        let at = *self.headings.entry(text).or_insert_with(|| {
            self.tables.push(Table::of(names));
            self.tables.len() - 1
        });
        self.table = Some(at);
        // The time before a heading is that of the rows before.
        let begins_ns = match taken {
            0 => None,
            _ => self.clock.of_row(words[0], words[..taken].get(1).copied()),
        };
        if let Some(begins_ns) = begins_ns {
            self.tables[at].last.get_or_insert((None, begins_ns));
        }
    }

    fn words(&mut self, words: &[&[u8]]) {
        if let Some(time_ns) = self.clock.alone(words) {
            self.alone_ns = Some(time_ns);
            return;
        }
        let time = self.clock.of_row(words[0], words.get(1).copied());
        let taken = match (time, words.get(1)) {
            (Some(_), Some(half)) if *half == b"AM" || *half == b"PM" => 2,
            (Some(_), _) => 1,
            (None, _) => 0,
        };
        let Some(time_ns) = time.or(self.alone_ns) else {
            self.not_understood += 1;
            return;
        };
        let Some(at) = self.table else { return };
        let Some(interval) = self.tables[at].interval(time_ns) else { return };
        // It is given back below: its rows change nothing of it.
        let columns = std::mem::take(&mut self.tables[at].columns);
        self.row(self.tables[at].rows, &columns.row(&words[taken..]), interval);
        self.tables[at].columns = columns;
    }

    fn row(&mut self, rows: Rows, row: &Row<'_>, interval: (i64, i64)) {
        match rows {
            Rows::Processes => self.process(row, interval),
            Rows::Cpus(column) => {
                let Some(cpu) = row.text(column) else { return };
                self.cpu(&String::from_utf8_lossy(cpu), &|names| row.first_of(names), interval);
            }
            Rows::AllCpus => {
                let row = row.behind_first();
                self.cpu("all", &|names| row.first_of(names), interval);
            }
            Rows::Disks(column) => {
                let Some(device) = row.text(column) else { return };
                self.disk(&String::from_utf8_lossy(device), &|name| row.number(name), interval);
            }
            Rows::Machine => self.machine(&|name| row.number(name), interval),
        }
    }

    fn machine(&mut self, value: &dyn Fn(&str) -> Option<f64>, interval: (i64, i64)) {
        for (column, name, instance, factor) in NOW {
            if let Some(value) = value(column) {
                let id = self.rates.id(&mut self.recording, SOURCE, Which { name, instance, tid: 0 });
                self.rates.now(&mut self.recording, id, interval.1, value * factor);
            }
        }
        for (column, name, instance, factor) in PER_SECOND {
            if let Some(value) = value(column) {
                self.add((name, instance, 0), interval, value * factor * seconds(interval));
            }
        }
    }

    fn cpu(&mut self, cpu: &str, value: &dyn Fn(&[&str]) -> Option<f64>, interval: (i64, i64)) {
        // What is not of one CPU, nor of all.
        if cpu == "-1" {
            return;
        }
        let cpus = if cpu == "all" { self.cpus.max(1) as f64 } else { 1.0 };
        for (at, (columns, mode)) in MODES.iter().enumerate() {
            let Some(percent) = value(columns) else { continue };
            let ns = percent * PERCENT_NS * seconds(interval);
            let Some(known) = self.known_cpus.of(cpu, at) else { continue };
            let id = *known.get_or_insert_with(|| {
                let (name, instance) = match cpu {
                    "all" => (counter::MACHINE_CPU_NS, (*mode).to_owned()),
                    one => (counter::ONE_CPU_NS, format!("cpu{one} {mode}")),
                };
                self.rates.id(&mut self.recording, SOURCE, Which { name, instance: &instance, tid: 0 })
            });
            self.rates.add_to(&mut self.recording, id, interval, ns * cpus);
        }
    }

    fn disk(&mut self, device: &str, value: &dyn Fn(&str) -> Option<f64>, interval: (i64, i64)) {
        let seconds = seconds(interval);
        for (at, (operation, requests, kib, merged, ms)) in OPERATIONS.iter().enumerate() {
            let count = value(requests).map(|rate| rate * seconds);
            let time = count.zip(value(ms)).map(|(count, ms)| count * ms * MS_NS);
            let amounts = [
                (counter::DISK_REQUESTS_COUNT, count),
                (counter::DISK_BYTES, value(kib).map(|rate| rate * KIB * seconds)),
                (counter::DISK_MERGED_COUNT, value(merged).map(|rate| rate * seconds)),
                (counter::DISK_TIME_NS, time),
            ];
            self.of_disk(device, (at * amounts.len(), Some(*operation)), &amounts, interval);
        }
        let queue = value("aqu-sz").or_else(|| value("avgqu-sz")).map(|length| length * seconds * 1e9);
        let busy = value("%util").map(|percent| percent * PERCENT_NS * seconds);
        let amounts = [(counter::DISK_QUEUE_TIME_NS, queue), (counter::DISK_BUSY_NS, busy)];
        self.of_disk(device, (OPERATIONS.len() * 4, None), &amounts, interval);
    }

    /// Amounts of a device, or of an operation on it. `from` is where their numbers are among those of the device.
    fn of_disk(
        &mut self,
        device: &str,
        (from, operation): (usize, Option<&str>),
        amounts: &[(&'static str, Option<f64>)],
        interval: (i64, i64),
    ) {
        for (at, (name, amount)) in amounts.iter().enumerate() {
            let Some((amount, known)) = amount.zip(self.known_disks.of(device, from + at)) else { continue };
            let id = *known.get_or_insert_with(|| {
                let instance = operation.map_or_else(|| device.to_owned(), |operation| format!("{device} {operation}"));
                self.rates.id(&mut self.recording, SOURCE, Which { name, instance: &instance, tid: 0 })
            });
            self.rates.add_to(&mut self.recording, id, interval, amount);
        }
    }

    /// A row of pidstat: a process, or a thread of one.
    fn process(&mut self, row: &Row<'_>, interval: (i64, i64)) {
        let id = |name: &str| row.text(name).and_then(number).map(|id| id as i64);
        let (group, thread) = (id("TGID").or_else(|| id("PID")), id("TID"));
        if let Some(group) = group {
            let is_first = *self.process.get_or_insert(group) == group;
            self.is_of_one(is_first);
        }
        let ns = |names: &[&str]| row.first_of(names).map(|percent| percent * PERCENT_NS * seconds(interval));
        match (group, thread) {
            (_, Some(tid)) => {
                self.name(row, tid);
                let used = ns(&["%usr"]).zip(ns(&["%system"])).map(|(user, system)| user + system);
                for (name, amount) in [(counter::THREAD_CPU_NS, used), (counter::THREAD_RUN_QUEUE_NS, ns(&["%wait"]))] {
                    amount.into_iter().for_each(|amount| self.add((name, "", tid), interval, amount));
                }
            }
            (Some(_), None) => {
                for (mode, amount) in [("user", ns(&["%usr"])), ("system", ns(&["%system"]))] {
                    amount
                        .into_iter()
                        .for_each(|amount| self.add((counter::PROCESS_CPU_NS, mode, 0), interval, amount));
                }
            }
            _ => {}
        }
    }

    fn is_of_one(&mut self, is_one: bool) {
        if !is_one {
            self.not_understood += 1;
        }
    }

    fn name(&mut self, row: &Row<'_>, tid: i64) {
        if self.recording.threads.get(tid).is_some() {
            return;
        }
        let name = row.text("Command").map(String::from_utf8_lossy);
        let name = name.as_deref().map(|name| name.trim_start_matches("|__")).filter(|name| !name.is_empty());
        name.into_iter().for_each(|name| self.recording.add_thread(tid, name));
    }

    fn add(&mut self, (name, instance, tid): (&str, &str, i64), interval: (i64, i64), amount: f64) {
        self.rates.add(&mut self.recording, SOURCE, Which { name, instance, tid }, interval, amount);
    }

    fn binary(&mut self, file: &Path) -> Result<Option<String>, LoadError> {
        let input = Input::open(file)?;
        let mut numbers = Numbers::default();
        let mut to = To { recording: &mut self.recording, rates: &mut self.rates, source: SOURCE };
        let read = parse_binary::each(&input, &mut |ticks, entry| numbers.see(ticks, &entry, &mut to));
        let unusable = |why: String| LoadError::Unusable { path: file.to_owned(), says: format!("{why}; {EXPORT}") };
        let read = read.map_err(unusable)?;
        if read.of_other_form > 0 {
            let says = format!("sysstat: {} activities are of another release; {EXPORT}", read.of_other_form);
            self.recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, read.of_other_form as i64, &says);
        }
        Ok(input.cut().map(str::to_owned).or(read.cut))
    }

    fn json(&mut self, file: &Path) -> Result<Option<String>, LoadError> {
        let input = Input::open(file)?;
        let read = parse_json::file(&input[..input.len().min(JSON_MAX_BYTES)]);
        let read =
            read.map_err(|error| LoadError::Unusable { path: file.to_owned(), says: format!("sadf -j: {error}") })?;
        self.cpus = read.cpus;
        read.intervals.iter().for_each(|interval| self.of_json(interval));
        Ok(input.cut().map(str::to_owned))
    }

    fn of_json(&mut self, interval: &Interval) {
        self.clock.is_local |= interval.is_local;
        let time = (interval.time_ns.saturating_sub(interval.length_ns), interval.time_ns);
        let value =
            |values: &Values, name: &str| values.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        self.machine(&|name| value(&interval.values, name), time);
        for (cpu, values) in &interval.cpus {
            self.cpu(cpu, &|names| names.iter().find_map(|name| value(values, name)), time);
        }
        for (device, values) in &interval.disks {
            self.disk(device, &|name| value(values, name), time);
        }
    }

    fn why_nothing(&self) -> String {
        match self.has_ambiguous_date && self.clock.is_local {
            true => "a table of sysstat whose date may be two days; record with: S_TIME_FORMAT=ISO iostat -xt 1 (likewise mpstat, pidstat, sar)",
            false => "tables of sysstat without two rows that have a time; record with: S_TIME_FORMAT=ISO iostat -xt 1, or sar -o FILE 1",
        }
        .to_owned()
    }

    fn finish(mut self) -> Recording {
        self.rates.finish(&mut self.recording, SOURCE);
        if self.not_understood > 0 {
            let says = format!("sysstat: {} lines are no rows with a time, or of other processes", self.not_understood);
            self.recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, self.not_understood, &says);
        }
        if self.clock.is_local {
            let says = "sysstat: local time without a zone, which was taken as UTC; record with TZ=UTC, or use sadf -j";
            self.recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, says);
        }
        self.recording
    }
}

fn seconds((from_ns, to_ns): (i64, i64)) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}
