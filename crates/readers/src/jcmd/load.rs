//! Outputs of `jcmd` to facts and counters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{counter, loss, subject};
use fathom_evidence::{Recording, mask, settings};

use crate::jcmd::parse::{self, Item};
use crate::lines::{self, Line};
use crate::{LoadError, LoadOptions, input};

/// The name of the format.
pub(super) const FORMAT: &str = "jcmd";

/// The `source` column: `jcmd` is the collector that asks a JVM itself.
const SOURCE: &str = "jcmd_output";

/// Classes of a histogram that are kept: the largest, which come first.
const CLASSES_MAX: usize = 100;

/// Flags, segments and kinds of memory that are kept at a time: a JVM has some hundred.
const VALUES_MAX: usize = 10_000;

/// Flags and other facts that are kept.
const FACTS_MAX: usize = 10_000;

const RECORD_WITH: &str =
    "while sleep 5; do date -u +%FT%TZ; jcmd PID Compiler.codecache; jcmd PID GC.heap_info; done > jcmd.txt";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut loader = Loader { started_at_ns: options.started_at_ns, ..Loader::default() };
    for file in files {
        (loader.at, loader.seen, loader.is_estimated) = (At::File(input::written_ns(file)), 0, false);
        let cut = lines::read(file, &mut |line| loader.line(line))?;
        loader.flush();
        if loader.seen == 0 {
            let says = format!("an output of jcmd with nothing in it that is read; record with: {RECORD_WITH}");
            return Err(LoadError::Unusable { path: file.clone(), says });
        }
        loader.tell(file, cut);
    }
    Ok(loader.recording)
}

/// What places the outputs.
#[derive(Debug, Clone, Copy)]
enum At {
    /// The time of the file.
    File(i64),
    /// A line with a time, of a zone that is known or not.
    Line(i64, bool),
    /// The JVM's uptime.
    Uptime(i64),
}

impl At {
    fn ns(self) -> i64 {
        match self {
            At::File(ns) | At::Line(ns, _) | At::Uptime(ns) => ns,
        }
    }

    fn is_estimated(self) -> bool {
        matches!(self, At::File(_) | At::Line(_, false))
    }
}

#[derive(Default)]
struct Loader {
    recording: Recording,
    started_at_ns: Option<i64>,
    at: At,
    /// What was printed at this time; of what was printed twice the last one counts.
    values: BTreeMap<(&'static str, String), f64>,
    classes: usize,
    /// Values of this file.
    seen: usize,
    facts: usize,
    /// The JVM whose outputs of this file are read: the first.
    pid: Option<i64>,
    /// Whether outputs of another one are being passed over.
    is_of_other: bool,
    /// Whether there were any in this file.
    has_other: bool,
    /// Whether one of its counters has a time that had to be assumed.
    is_estimated: bool,
}

impl Default for At {
    fn default() -> At {
        At::File(0)
    }
}

impl Loader {
    fn line(&mut self, line: Line<'_>) {
        // Heads of lines that are too long say the same.
        let (Line::Whole(bytes) | Line::Overlong(bytes)) = line;
        let text = String::from_utf8_lossy(bytes);
        parse::line(&text, &mut |item| self.item(item));
    }

    fn item(&mut self, item: Item<'_>) {
        if let Item::Pid(pid) = item {
            let first = *self.pid.get_or_insert(pid);
            self.is_of_other = pid != first;
            self.has_other |= self.is_of_other;
        }
        // A time may be that of all JVMs that are asked then.
        if self.is_of_other && !matches!(item, Item::Time(..)) {
            return;
        }
        match item {
            Item::Time(ns, is_known) => self.move_to(At::Line(ns, is_known)),
            Item::Uptime(ns) => {
                if let Some(start_ns) = self.started_at_ns {
                    self.move_to(At::Uptime(start_ns.saturating_add(ns)));
                }
            }
            Item::Pid(pid) => self.fact(subject::JVM, "pid", &pid.to_string()),
            Item::Version(text) => self.fact(subject::JVM, "version", text),
            Item::Flag(name, value, origin) => {
                self.fact(subject::FLAG, name, &mask::flag(name, &value));
                origin.iter().for_each(|origin| self.fact(subject::FLAG_ORIGIN, name, &settings::capitalised(origin)));
                self.seen += 1;
            }
            Item::Segment { name, used_bytes, reserved_bytes } => {
                let name = if name == "CodeCache" { "" } else { name };
                self.value(counter::CODE_CACHE_USED_BYTES, name, used_bytes);
                self.value(counter::CODE_CACHE_RESERVED_BYTES, name, reserved_bytes);
            }
            Item::FullCount(count) => self.value(counter::CODE_CACHE_FULL_COUNT, "", count),
            Item::Space { name, used_bytes, capacity_bytes } => self.space(name, used_bytes, capacity_bytes),
            Item::Metaspace { used_bytes } => self.value(counter::METASPACE_USED_BYTES, "", used_bytes),
            Item::Native { name, reserved_bytes, committed_bytes } => {
                self.value(counter::NATIVE_MEMORY_BYTES, &format!("{name} reserved"), reserved_bytes);
                self.value(counter::NATIVE_MEMORY_BYTES, &format!("{name} committed"), committed_bytes);
            }
            Item::Class { name, bytes } if self.classes < CLASSES_MAX => {
                self.classes += 1;
                self.value(counter::CLASS_HISTOGRAM_BYTES, name, bytes);
            }
            Item::Class { .. } => {}
        }
    }

    /// Spaces by the names that the JVM's counters have; a heap without spaces is all of it.
    fn space(&mut self, name: &str, used_bytes: u64, capacity_bytes: Option<u64>) {
        let space = match name {
            "PSYoungGen" | "def new generation" => "young",
            "ParOldGen" | "tenured generation" => "old",
            _ => {
                self.value(counter::HEAP_USED_BYTES, "", used_bytes);
                capacity_bytes.into_iter().for_each(|bytes| self.value(counter::HEAP_COMMITTED_BYTES, "", bytes));
                return;
            }
        };
        self.value(counter::HEAP_SPACE_USED_BYTES, space, used_bytes);
        capacity_bytes.into_iter().for_each(|bytes| self.value(counter::HEAP_SPACE_CAPACITY_BYTES, space, bytes));
    }

    fn fact(&mut self, about: &str, key: &str, value: &str) {
        if self.recording.fact(about, key) != Some(value) && self.facts < FACTS_MAX {
            self.facts += 1;
            self.recording.add_fact(about, key, value, SOURCE);
        }
    }

    fn value(&mut self, name: &'static str, instance: &str, value: u64) {
        self.seen += 1;
        if self.values.len() < VALUES_MAX {
            self.values.insert((name, instance.to_owned()), value as f64);
        }
    }

    fn move_to(&mut self, at: At) {
        self.flush();
        self.at = at;
    }

    fn flush(&mut self) {
        self.classes = 0;
        self.is_estimated |= !self.values.is_empty() && self.at.is_estimated();
        let is_segmented = |name: &str, values: &BTreeMap<(&str, String), f64>| {
            values.keys().any(|(other, instance)| *other == name && !instance.is_empty())
        };
        let values = std::mem::take(&mut self.values);
        for ((name, instance), value) in &values {
            // The line of the whole code cache repeats the sums of its segments.
            let is_code = matches!(*name, counter::CODE_CACHE_USED_BYTES | counter::CODE_CACHE_RESERVED_BYTES);
            if !(is_code && instance.is_empty() && is_segmented(name, &values)) {
                self.recording.add_counter(self.at.ns(), name, instance, *value, SOURCE);
            }
        }
    }

    fn tell(&mut self, file: &Path, cut: Option<String>) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if self.is_estimated {
            let says = format!(
                "{name}: outputs of jcmd have no time: that at which the file was written was taken, or local time as UTC; record with: {RECORD_WITH}"
            );
            self.recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, &says);
        }
        if let Some(pid) = self.pid.filter(|_| self.has_other) {
            let says = format!("{name}: outputs of several JVMs: only {pid}'s were read; give each its own file");
            self.recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, 0, &says);
        }
        cut.iter().for_each(|says| self.recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{name}: {says}")));
    }
}
