//! Stages of bios as a table: of all bios, by device and by process.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::bios::{Bios, Q2Q, STAGES, StageIndex, Takes, Whose, since};
use super::parse::{Event, Read};

/// Values are counted in classes of which each power of two has so many: percentiles are right to a part in so many.
const PER_POWER: u64 = 128;
const POWER_BITS: u32 = PER_POWER.ilog2();

/// Devices and processes that have rows of their own.
const GROUPS_MAX: usize = 1_000;

/// Parts of them that are added up apart.
const PARTS_MAX: usize = 1_000;

/// Pairs of a device and a process whose part is remembered.
const WHOSE_MAX: usize = 100_000;

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
    /// The version of the format; 0 for text.
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
    sums: Sums,
    processes: HashMap<u32, String>,
}

/// Which bios are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Of {
    All,
    Device((u32, u32)),
    Process(u32),
}

/// What the stages of some bios come to.
type OfStages = [Sum; STAGES.len()];

/// Which groups a part belongs to.
type Groups = [Option<usize>; 3];

/// Sums of all groups. A stage that ends is added to one part, that of its device and process, and parts are added up in the end.
#[derive(Debug, Default)]
struct Sums {
    /// The groups that have a row, in the order in which they came.
    groups: Vec<Of>,
    numbers: FxHashMap<Of, usize>,
    /// When the last bio of each group arrived, and the times between.
    arrivals: Vec<(Option<u64>, Sum)>,
    parts: Vec<(Groups, OfStages)>,
    by_groups: FxHashMap<Groups, usize>,
    by_whose: FxHashMap<Whose, [Option<usize>; 3]>,
}

impl Takes for Sums {
    fn ended(&mut self, whose: Whose, stage: StageIndex, ns: u64) {
        self.parts_of(whose).into_iter().flatten().for_each(|part| self.parts[part].1[stage].add(ns));
    }

    fn arrived(&mut self, whose: Whose, at_ns: u64) {
        for part in self.parts_of(whose).into_iter().flatten() {
            for group in self.parts[part].0.into_iter().flatten() {
                let (before, sum) = &mut self.arrivals[group];
                if let Some(before) = before.replace(at_ns) {
                    sum.add(since(before, at_ns));
                }
            }
        }
    }
}

impl Sums {
    fn parts_of(&mut self, whose: Whose) -> [Option<usize>; 3] {
        match self.by_whose.get(&whose) {
            Some(parts) => *parts,
            None => self.new_parts_of(whose),
        }
    }

    /// One part, or that of each group alone where there are too many.
    fn new_parts_of(&mut self, whose: Whose) -> [Option<usize>; 3] {
        let groups = [Of::All, Of::Device(whose.device), Of::Process(whose.pid)].map(|of| self.group(of));
        let parts = match self.parts.len() < PARTS_MAX || self.by_groups.contains_key(&groups) {
            true => [Some(self.part(groups)), None, None],
            false => groups.map(|group| group.map(|group| self.part([Some(group), None, None]))),
        };
        if self.by_whose.len() < WHOSE_MAX {
            self.by_whose.insert(whose, parts);
        }
        parts
    }

    fn part(&mut self, groups: Groups) -> usize {
        *self.by_groups.entry(groups).or_insert_with(|| {
            self.parts.push((groups, OfStages::default()));
            self.parts.len() - 1
        })
    }

    fn group(&mut self, of: Of) -> Option<usize> {
        let known = self.numbers.get(&of).copied();
        let number = known.or_else(|| (self.groups.len() < GROUPS_MAX).then_some(self.groups.len()))?;
        if known.is_none() {
            self.groups.push(of);
            self.arrivals.push((None, Sum::default()));
            self.numbers.insert(of, number);
        }
        Some(number)
    }

    /// The stages of each group.
    fn finish(&mut self) -> Vec<(Of, Vec<Stage>)> {
        let of_group = |number: usize| {
            let mut all = OfStages::default();
            for (_, part) in self.parts.iter().filter(|(groups, _)| groups.contains(&Some(number))) {
                all.iter_mut().zip(part).for_each(|(all, part)| all.add_all(part));
            }
            all[Q2Q].add_all(&self.arrivals[number].1);
            stages(&all)
        };
        let groups = self.groups.iter().enumerate();
        let mut found: Vec<(Of, Vec<Stage>)> = groups.map(|(number, of)| (*of, of_group(number))).collect();
        found.sort_unstable_by_key(|(of, _)| *of);
        found
    }
}

#[derive(Debug, Default)]
struct Sum {
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    /// How many are of each class.
    classes: Vec<u32>,
}

impl Table {
    pub(super) fn see(&mut self, event: Event<'_>) {
        if let Some(name) = event.process {
            if self.processes.len() < GROUPS_MAX {
                self.processes.insert(event.pid, String::from_utf8_lossy(name).into_owned());
            }
            return;
        }
        self.bios.see(&event, &mut self.sums);
    }

    pub(super) fn finish(&mut self, read: &Read, files: usize) {
        (self.version, self.files, self.events) = (read.version, files, read.events);
        self.length_ns = read.last_ns.saturating_sub(read.first_ns);
        let sums = self.sums.finish();
        self.groups = sums.into_iter().map(|(of, stages)| Group { name: self.name(&of), stages }).collect();
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
        let class = class(ns) as usize;
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] = self.classes[class].saturating_add(1);
    }

    fn add_all(&mut self, other: &Sum) {
        if other.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), 0);
        }
        self.classes.iter_mut().zip(&other.classes).for_each(|(all, part)| *all = all.saturating_add(*part));
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
        let found = self.classes.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        found.map_or(0, |class| lowest_of(class as u64)).clamp(self.min_ns, self.max_ns)
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
