//! Stages of bios as a table, of all, by device and by process.

use std::collections::hash_map::{Entry, HashMap};

use rustc_hash::FxHashMap;

use super::bios::{Bios, STAGES, Whose};
use super::parse::{Event, Read};

/// Values are counted in classes of which each power of two has so many: percentiles are right to a part in so many.
const PER_POWER: u64 = 128;
const POWER_BITS: u32 = PER_POWER.ilog2();

/// Devices and processes that have rows of their own.
const GROUPS_MAX: usize = 1_000;

/// How long one stage took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stage {
    /// Its name as btt has it.
    pub name: &'static str,
    /// What it is.
    pub says: &'static str,
    /// How many bios.
    pub count: u64,
    /// Shortest, in ns.
    pub min_ns: u64,
    /// Mean, in ns.
    pub mean_ns: f64,
    /// Median, in ns, to a hundredth.
    pub p50_ns: u64,
    /// 99th percentile, in ns, to a hundredth.
    pub p99_ns: u64,
    /// Longest, in ns.
    pub max_ns: u64,
}

/// The stages of some bios.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// Which: `all`, `device 7:0`, `process dd`.
    pub name: String,
    /// Those that there were.
    pub stages: Vec<Stage>,
}

/// A trace as btt tells it, and what btt does not tell.
#[derive(Debug, Default)]
pub struct Table {
    /// The version of the format.
    pub version: u32,
    /// Files that were read.
    pub files: usize,
    /// Events in them.
    pub events: u64,
    /// From the first to the last event, in ns.
    pub length_ns: u64,
    /// All, each device, each process.
    pub groups: Vec<Group>,
    /// What is missing or may be wrong, a sentence each.
    pub missing: Vec<String>,
    bios: Bios,
    sums: FxHashMap<Of, [Sum; STAGES.len()]>,
    processes: HashMap<u32, String>,
}

/// Which bios are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Of {
    All,
    Device((u32, u32)),
    Process(u32),
}

#[derive(Debug, Default)]
struct Sum {
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    classes: FxHashMap<u64, u64>,
}

impl Table {
    pub(super) fn see(&mut self, event: Event<'_>) {
        if let Some(name) = event.process {
            if self.processes.len() < GROUPS_MAX {
                self.processes.insert(event.pid, String::from_utf8_lossy(name).into_owned());
            }
            return;
        }
        let sums = &mut self.sums;
        let mut ended = |whose: Whose, stage: usize, ns: u64| {
            for of in [Of::All, Of::Device(whose.device), Of::Process(whose.pid)] {
                let is_full = sums.len() >= GROUPS_MAX;
                match sums.entry(of) {
                    Entry::Occupied(sum) => sum.into_mut()[stage].add(ns),
                    Entry::Vacant(new) if !is_full => new.insert(Default::default())[stage].add(ns),
                    Entry::Vacant(_) => {}
                }
            }
        };
        self.bios.see(&event, &mut ended);
    }

    pub(super) fn finish(&mut self, read: &Read, files: usize) {
        (self.version, self.files, self.events) = (read.version, files, read.events);
        self.length_ns = read.last_ns.saturating_sub(read.first_ns);
        let mut sums: Vec<(Of, [Sum; STAGES.len()])> = std::mem::take(&mut self.sums).into_iter().collect();
        sums.sort_unstable_by_key(|(of, _)| *of);
        self.groups =
            sums.into_iter().map(|(of, sums)| Group { name: self.name(&of), stages: stages(&sums) }).collect();
        let (bios, unended) = (&self.bios, self.bios.unended() as u64);
        let notes = [
            (read.lost, "events are missing: the buffers of blktrace were too small (-b, -n)"),
            (read.damaged_bytes, "bytes are no events"),
            (
                bios.not_issued,
                "bios were completed and never issued: they began before the trace, or events are missing",
            ),
            (unended, "bios have no completion: the trace ended before, or the file of a CPU is missing"),
            (
                bios.overlapping,
                "bios began at the sector of one that was under way: which is which sectors do not tell",
            ),
            (bios.reissued, "times a bio was issued again: D2C is from the last issue"),
        ];
        let told = notes.into_iter().filter(|(count, _)| *count > 0).map(|(count, says)| format!("{count} {says}"));
        self.missing.extend(told);
    }

    fn name(&self, of: &Of) -> String {
        match of {
            Of::All => "all".to_owned(),
            Of::Device((major, minor)) => format!("device {major}:{minor}"),
            Of::Process(pid) => match self.processes.get(pid).filter(|name| !name.is_empty()) {
                Some(name) => format!("process {name} ({pid})"),
                None => format!("process {pid}"),
            },
        }
    }
}

impl Sum {
    fn add(&mut self, ns: u64) {
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        self.sum_ns += u128::from(ns);
        *self.classes.entry(class(ns)).or_default() += 1;
    }

    fn stage(&self, index: usize) -> Stage {
        let (name, says) = STAGES[index];
        Stage {
            name,
            says,
            count: self.count,
            min_ns: self.min_ns,
            mean_ns: self.sum_ns as f64 / self.count.max(1) as f64,
            p50_ns: self.quantile(0.5),
            p99_ns: self.quantile(0.99),
            max_ns: self.max_ns,
        }
    }

    fn quantile(&self, part: f64) -> u64 {
        let wanted = (part * self.count as f64).ceil() as u64;
        let mut seen = 0;
        let mut classes: Vec<(u64, u64)> = self.classes.iter().map(|(class, count)| (*class, *count)).collect();
        classes.sort_unstable();
        let found = classes.into_iter().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        found.map_or(0, |(class, _)| lowest_of(class)).clamp(self.min_ns, self.max_ns)
    }
}

/// Those that there were.
fn stages(sums: &[Sum; STAGES.len()]) -> Vec<Stage> {
    sums.iter().enumerate().filter(|(_, sum)| sum.count > 0).map(|(index, sum)| sum.stage(index)).collect()
}

/// Small numbers are classes of their own; larger ones share one with those that begin with the same bits.
fn class(ns: u64) -> u64 {
    let power = ns.max(1).ilog2().saturating_sub(POWER_BITS);
    u64::from(power) * PER_POWER + (ns >> power)
}

/// The lowest number of a class.
fn lowest_of(class: u64) -> u64 {
    let power = (class / PER_POWER).saturating_sub(1);
    (class - power * PER_POWER) << power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_narrow() {
        for ns in [0, 1, 127, 128, 255, 256, 1_000, 123_456, 10_000_000_000, u64::MAX / 2] {
            let lowest = lowest_of(class(ns));
            assert!(lowest <= ns && ns - lowest <= ns / PER_POWER, "{ns}: {lowest}");
        }
    }
}
