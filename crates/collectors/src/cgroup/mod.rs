//! The target's control groups: CPU quota and throttling, memory and its limits, I/O, pressure.
//!
//! Versions 1 and 2, also mixed. A limit may be set at the target's own group or at any above it (a pod's, a
//! service's), so those that have one are read, too. If the target is moved to other groups, it is followed there:
//! counters that only grow continue from where they were.

mod source;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss, stopped, subject};

use crate::changed_counters::ChangedCounters;
use crate::control_groups::parse::{self, CpuMax};
use crate::control_groups::place::{Group, Line, Places};
use crate::procfs;
use crate::rate_limit::RateLimit;
use crate::stopped::Stopped;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use source::{BY_CONTROLLER, Source, Taker, UNIFIED};

const SOURCE: &str = "cgroup";

/// Time from one look to the next.
const PERIOD: Duration = Duration::from_millis(100);

/// How often it is asked whether the target has moved.
const MOVE_PERIOD: Duration = Duration::from_millis(500);

pub(crate) static COLLECTOR: Cgroup = Cgroup;

/// The collector of control groups.
pub(crate) struct Cgroup;

impl Collector for Cgroup {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "the container's CPU quota and throttling, memory, I/O and limits"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        open(target).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let (places, sources, limits) = open(target)?;
        Ok(Box::new(Watch {
            clock: order.clock,
            target: target.clone(),
            numbers: ChangedCounters::new(SOURCE),
            buffer: Vec::new(),
            is_without_quota: is_without_quota(&sources, &limits),
            limits_noted: false,
            moves: 0,
            stopped: Stopped::seen_by(SOURCE),
            asked: RateLimit::every(MOVE_PERIOD),
            places,
            sources,
            limits,
        }))
    }
}

/// A limit of a group.
#[derive(Debug, Clone, PartialEq)]
struct Limit {
    /// As the file of version 2 is called, with the path for an ancestor.
    key: String,
    /// As text; `max` when there is none.
    value: String,
    /// CPUs of a quota.
    cpus: Option<f64>,
    /// Bytes of memory.
    bytes: Option<u64>,
}

fn open(target: &Target) -> Result<(Places, Vec<Source>, Vec<Limit>), Refusal> {
    let refusal =
        |error: std::io::Error| Refusal::new(format!("control groups of process {}: {error}", target.pid), "");
    let places = Places::of(target).map_err(refusal)?;
    let mut sources = Vec::new();
    let mut limits = Vec::new();
    let mut add = |line: Line, files: &[source::File]| {
        for group in line {
            let of_group = limits_of(&group);
            let is_limited = of_group.iter().any(|limit| limit.cpus.is_some() || limit.bytes.is_some());
            if group.ancestor.is_empty() || is_limited {
                sources.extend(Source::open(&group, files));
            }
            limits.extend(of_group);
        }
    };
    add(places.unified(), UNIFIED);
    for (controller, files) in BY_CONTROLLER {
        add(places.controller(controller), files);
    }
    match sources.is_empty() {
        true => Err(Refusal::new(
            "the control groups of the process are mounted nowhere that can be seen from here",
            "mount /sys/fs/cgroup of the host into this container, or record on the host",
        )),
        false => Ok((places, sources, limits)),
    }
}

/// The limits of the target's own groups and of those above.
pub(crate) fn limits(target: &Target) -> Vec<(String, String)> {
    let found = open(target).map(|(_, _, limits)| limits).unwrap_or_default();
    found.into_iter().map(|limit| (limit.key, limit.value)).collect()
}

/// The limits of one group, of either version.
fn limits_of(group: &Group) -> Vec<Limit> {
    let read = |name: &str| procfs::read_text(group.folder.join(name)).ok();
    let cpu = read("cpu.max")
        .or_else(|| Some(format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?)));
    let cpu = cpu.and_then(|text| CpuMax::read(&text));
    let mut found: Vec<Limit> = cpu.into_iter().map(|max| cpu_limit(group, max)).collect();
    for (key, names) in [
        ("memory.max", ["memory.max", "memory.limit_in_bytes"]),
        ("memory.high", ["memory.high", ""]),
        ("pids.max", ["pids.max", ""]),
        ("cpu.weight", ["cpu.weight", ""]),
        ("cpu.shares", ["cpu.shares", ""]),
        ("cpuset.cpus.effective", ["cpuset.cpus.effective", "cpuset.effective_cpus"]),
    ] {
        let Some(text) = names.into_iter().filter(|name| !name.is_empty()).find_map(read) else { continue };
        let bytes = parse::limit(&text).filter(|_| key.starts_with("memory"));
        let value = if key.ends_with("effective") { text.trim().to_owned() } else { number_or_max(&text) };
        found.push(Limit { key: name_of(key, group), value, cpus: None, bytes });
    }
    found
}

fn cpu_limit(group: &Group, max: CpuMax) -> Limit {
    let quota = max.quota_us.map_or("max".to_owned(), |us| us.to_string());
    let value = format!("{quota} {}", max.period_us);
    Limit { key: name_of("cpu.max", group), value, cpus: max.cpus(), bytes: None }
}

fn number_or_max(text: &str) -> String {
    parse::limit(text).map_or("max".to_owned(), |limit| limit.to_string())
}

fn name_of(key: &str, group: &Group) -> String {
    format!("{key} {}", group.ancestor).trim_end().to_owned()
}

/// Control groups, being watched.
struct Watch {
    clock: Clock,
    target: Target,
    numbers: ChangedCounters,
    buffer: Vec<u8>,
    places: Places,
    sources: Vec<Source>,
    limits: Vec<Limit>,
    is_without_quota: bool,
    limits_noted: bool,
    /// How often the target has changed its groups.
    moves: u64,
    asked: RateLimit,
    stopped: Stopped,
}

impl Watch {
    /// Follows a target that was moved.
    fn follow(&mut self, found: &mut Recording) {
        let Some(reading) = self.asked.begin(self.clock.now_ns()) else { return };
        if self.places.has_moved(&self.target, &mut self.buffer)
            && let Ok((places, sources, limits)) = open(&self.target)
        {
            self.numbers.begin_anew();
            self.is_without_quota = is_without_quota(&sources, &limits);
            (self.places, self.sources, self.limits) = (places, sources, limits);
            self.moves += 1;
            found.add_fact(subject::CGROUP, "moves", &self.moves.to_string(), SOURCE);
            self.note_limits(found);
        }
        self.asked.end(reading);
    }

    fn note_limits(&mut self, found: &mut Recording) {
        self.limits_noted = true;
        for limit in &self.limits {
            found.add_fact(subject::CGROUP, &limit.key, &limit.value, SOURCE);
        }
        let cpus = self.limits.iter().filter_map(|limit| limit.cpus).min_by(f64::total_cmp);
        let bytes = self.limits.iter().filter_map(|limit| limit.bytes).min();
        let none = || "none".to_owned();
        found.add_fact(subject::CGROUP, "cpu_limit", &cpus.map_or_else(none, |cpus| cpus.to_string()), SOURCE);
        found.add_fact(
            subject::CGROUP,
            "memory_limit_bytes",
            &bytes.map_or_else(none, |bytes| bytes.to_string()),
            SOURCE,
        );
        if let Some(path) = self.places.path() {
            found.add_fact(subject::CGROUP, "path", &path, SOURCE);
        }
    }

    /// A group without a quota anywhere is never throttled, and its files do not even say so.
    fn note_unthrottled(&mut self, found: &mut Recording) {
        let at_ns = self.clock.now_ns();
        for name in [counter::CGROUP_THROTTLED_COUNT, counter::CGROUP_THROTTLED_NS] {
            self.numbers.see(found, at_ns, name, "", 0.0);
        }
    }
}

/// Whether nothing can throttle the target and no file says that nothing did.
fn is_without_quota(sources: &[Source], limits: &[Limit]) -> bool {
    let mut buffer = Vec::new();
    let has_quota = limits.iter().any(|limit| limit.cpus.is_some());
    !has_quota && !sources.iter().any(|source| source.tells_throttling(&mut buffer))
}

impl Observer for Watch {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        if !self.limits_noted {
            self.note_limits(found);
        }
        self.follow(found);
        if self.is_without_quota {
            self.note_unthrottled(found);
        }
        let Watch { sources, buffer, numbers, clock, .. } = self;
        let mut is_frozen = None;
        for source in sources {
            let at_ns = clock.now_ns();
            if let Some(reading) = source.limit().begin(at_ns) {
                let ancestor = String::new();
                source.read(buffer, &mut Taker { numbers, found, at_ns, ancestor, is_frozen: &mut is_frozen });
                source.limit().end(reading);
            }
        }
        if let Some(is_frozen) = is_frozen {
            self.stopped.look(is_frozen.then_some(stopped::FREEZER), self.clock.now_ns(), found);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.sources.iter_mut().for_each(|source| source.limit().due_now());
        self.look(found);
        self.numbers.close(found);
        self.stopped.end(self.clock.now_ns(), found);
        // The kernel takes a process that has ended out of its groups, which says nothing of their limits.
        if !self.target.is_alive() {
            return Vec::new();
        }
        // A limit may have been changed meanwhile; the last fact is the one that holds.
        if let Ok((_, _, limits)) = open(&self.target)
            && limits != self.limits
        {
            self.limits = limits;
            self.note_limits(found);
        }
        if self.places.has_moved(&self.target, &mut self.buffer) {
            let says = "the process was moved to control groups that cannot be seen from here";
            found.add_loss(SOURCE, loss::LIMIT, 0, says);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
