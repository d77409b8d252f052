//! The CPUs of the machine: what they do, stolen time, context switches, interrupts, and the number of runnable
//! threads.
//!
//! On a machine with many CPUs a row per CPU and mode each 100 ms would be a flood. So sums are written each 100 ms and
//! single CPUs each second, except for stolen time. `/proc/interrupts` can be a megabyte there and is read once a
//! second, or more rarely when that is expensive.

mod parse;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::counter;

use crate::changed_counters::ChangedCounters;
use crate::procfs::ProcFile;
use crate::rate_limit::RateLimit;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use parse::{MODES, Stat};

const SOURCE: &str = "machine";

/// Time from one look to the next.
const PERIOD: Duration = Duration::from_millis(100);

pub(crate) static COLLECTOR: Machine = Machine;

/// The collector of the machine's CPUs.
pub(crate) struct Machine;

impl Collector for Machine {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "CPUs of the machine: modes, stolen time, context switches, interrupts, load"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, _target: &Target) -> Result<(), Refusal> {
        open_stat().map(|_| ())
    }

    fn start(&self, _target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        Ok(Box::new(Watch {
            clock: order.clock,
            numbers: ChangedCounters::new(SOURCE),
            buffer: Vec::new(),
            tick_ns: 1e9 / rustix::param::clock_ticks_per_second().max(1) as f64,
            stat: open_stat()?,
            stat_pace: RateLimit::every(PERIOD),
            cpus_pace: RateLimit::every(Duration::from_secs(1)),
            load: ProcFile::open("/proc/loadavg").ok(),
            interrupts: ProcFile::open("/proc/interrupts").ok(),
            interrupts_pace: RateLimit::every(Duration::from_secs(1)),
        }))
    }
}

fn open_stat() -> Result<ProcFile, Refusal> {
    ProcFile::open("/proc/stat").map_err(|error| Refusal::new(format!("/proc/stat: {error}"), ""))
}

/// The CPUs, being watched.
struct Watch {
    clock: Clock,
    numbers: ChangedCounters,
    buffer: Vec<u8>,
    tick_ns: f64,
    stat: ProcFile,
    stat_pace: RateLimit,
    /// When single CPUs are due.
    cpus_pace: RateLimit,
    load: Option<ProcFile>,
    interrupts: Option<ProcFile>,
    interrupts_pace: RateLimit,
}

impl Watch {
    fn look_at_stat(&mut self, found: &mut Recording) {
        let at_ns = self.clock.now_ns();
        let Some(reading) = self.stat_pace.begin(at_ns) else { return };
        let of_all_cpus = self.cpus_pace.begin(at_ns);
        let all_cpus = of_all_cpus.is_some();
        let Watch { numbers, tick_ns, buffer, .. } = self;
        let Ok(text) = self.stat.read(buffer) else { return };
        parse::stat(text, |one| {
            let (name, instance, value) = match one {
                Stat::Cpu { cpu, ticks } => {
                    let modes =
                        MODES.into_iter().zip(ticks).filter_map(|(mode, ticks)| Some((mode, ticks? as f64 * *tick_ns)));
                    for (mode, ns) in modes.filter(|(mode, _)| all_cpus || cpu.is_none() || *mode == "steal") {
                        match cpu {
                            None => numbers.see(found, at_ns, counter::MACHINE_CPU_NS, mode, ns),
                            Some(cpu) => numbers.see(found, at_ns, counter::ONE_CPU_NS, &format!("{cpu} {mode}"), ns),
                        }
                    }
                    return;
                }
                Stat::ContextSwitches(count) => (counter::CONTEXT_SWITCHES_COUNT, "", count),
                Stat::Interrupts(count) => (counter::INTERRUPTS_COUNT, "all", count),
                Stat::Forks(count) => (counter::TASKS_CREATED_COUNT, "", count),
                Stat::Runnable(count) => (counter::TASKS_COUNT, "runnable", count),
                Stat::Blocked(count) => (counter::TASKS_COUNT, "blocked", count),
                Stat::Softirq(kind, count) => (counter::SOFTIRQS_COUNT, kind, count),
            };
            numbers.see(found, at_ns, name, instance, value as f64);
        });
        if let Some(reading) = of_all_cpus {
            self.cpus_pace.end(reading);
        }
        self.stat_pace.end(reading);
    }

    /// What comes once a second.
    fn look_at_interrupts(&mut self, found: &mut Recording) {
        let at_ns = self.clock.now_ns();
        let Some(reading) = self.interrupts_pace.begin(at_ns) else { return };
        let Watch { numbers, buffer, .. } = self;
        if let Some(Ok(text)) = self.interrupts.as_ref().map(|file| file.read(buffer)) {
            for (name, count) in parse::named_interrupts(text) {
                numbers.see(found, at_ns, counter::INTERRUPTS_COUNT, name, count as f64);
            }
        }
        if let Some(Ok(text)) = self.load.as_ref().map(|file| file.read_short(buffer)) {
            for (instance, load) in ["1 min", "5 min", "15 min"].into_iter().zip(parse::load(text)) {
                load.into_iter().for_each(|load| numbers.see(found, at_ns, counter::LOAD_COUNT, instance, load));
            }
        }
        self.interrupts_pace.end(reading);
    }
}

impl Observer for Watch {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        self.look_at_stat(found);
        self.look_at_interrupts(found);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        for limit in [&mut self.stat_pace, &mut self.cpus_pace, &mut self.interrupts_pace] {
            limit.due_now();
        }
        self.look(found);
        self.numbers.close(found);
        self.stat_pace.tell(found, SOURCE, "/proc/stat");
        self.interrupts_pace.tell(found, SOURCE, "/proc/interrupts");
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_of_this_machine_add_up() {
        let target = Target::of(std::process::id()).unwrap();
        let mut found = Recording::default();
        let order = crate::recorder::Plan::new(PathBuf::from("none")).order;
        Machine.start(&target, &order).unwrap().look(&mut found);
        let rows = |name: &str| {
            let name = found.strings.find(name);
            found.counters.rows().filter(move |row| Some(row.name) == name)
        };
        let user = found.strings.find("user").unwrap();
        let sum_ns: f64 = rows(counter::MACHINE_CPU_NS).filter(|row| row.instance == user).map(|row| row.value).sum();
        let single = rows(counter::ONE_CPU_NS).filter(|row| found.text(row.instance).ends_with(" user"));
        let single: Vec<f64> = single.map(|row| row.value).collect();
        // The sum is made of nanoseconds and rounded once, the parts are rounded each.
        assert!((single.iter().sum::<f64>() - sum_ns).abs() <= 1e7 * single.len() as f64, "{single:?} {sum_ns}");
        assert!(rows(counter::CONTEXT_SWITCHES_COUNT).count() == 1 && rows(counter::INTERRUPTS_COUNT).count() >= 1);
        assert!(rows(counter::TASKS_COUNT).map(|row| row.value).sum::<f64>() >= 1.0, "this test runs");
    }
}
