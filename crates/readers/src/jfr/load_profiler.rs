//! What a sample of async-profiler means and how much time it represents.
//!
//! It writes `jdk.ExecutionSample` for every event that it samples. Only its settings, at the beginning of the first
//! chunk, say which event it was, and at which interval.

use fathom_evidence::kinds::event;

use super::load_resolve::{Resolver, is_of_profiler};
use super::load_settings::{Setting, SettingPlan};
use super::parse_chunk::{Chunk, HEADER_BYTES, record};
use super::parse_plan::Plan;
use super::parse_pools::{Layout, Pools};

/// How async-profiler sampled.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Profiler {
    /// Its name for the event; empty when it took none but wall-clock samples.
    event: String,
    /// 0 stands for the default.
    interval_ns: i64,
    /// Likewise; there is none when wall-clock samples were not asked for beside another event.
    wall_interval_ns: Option<i64>,
}

impl Profiler {
    /// The profiler's own defaults.
    const CPU_INTERVAL_NS: i64 = 10_000_000;
    const WALL_INTERVAL_NS: i64 = 50_000_000;

    /// Reads the settings at the start of a chunk of async-profiler; `None` when it has none.
    pub(super) fn of(chunk: &Chunk<'_>, layout: &Layout) -> Option<Profiler> {
        let type_id = layout.types.id_of("jdk.ActiveSetting").filter(|_| is_of_profiler(&layout.types))?;
        let plan = SettingPlan::of(Plan::compile(&layout.types, type_id)?)?;
        let pools = Pools::default();
        let mut resolver = Resolver::new(chunk.data, &layout.types, &pools, chunk.clock);
        let mut slots = vec![0; plan.plan.slots()];
        let mut found: Option<Profiler> = None;
        let mut at = HEADER_BYTES;
        while let Some(record) = record(chunk.data, at) {
            at = record.end;
            if record.type_id == type_id {
                plan.plan.run(chunk.data, record.payload, &mut slots)?;
                found.get_or_insert_default().set(&plan.setting(&mut resolver, &slots));
            } else if found.is_some() {
                break;
            }
        }
        found
    }

    fn set(&mut self, setting: &Setting) {
        let number = || setting.value.parse().unwrap_or(0);
        match setting.name.as_str() {
            "event" => self.event = setting.value.clone(),
            "interval" => self.interval_ns = number(),
            "wall" => self.wall_interval_ns = Some(number()).filter(|interval| *interval >= 0),
            _ => {}
        }
    }

    /// The word for the samples that are `jdk.ExecutionSample`.
    pub(super) fn event(&self) -> &str {
        match self.event.as_str() {
            "cpu" | "cpu-clock" | "ctimer" | "itimer" | "cycles" | "cpu-cycles" => event::CPU,
            "" | "wall" => event::WALL,
            "page-faults" => event::PAGE_FAULT,
            other => other,
        }
    }

    /// Time that one of them stands for; 0 for events that are not time.
    pub(super) fn period_ns(&self) -> i64 {
        match self.event.as_str() {
            "cpu" | "cpu-clock" | "ctimer" | "itimer" if self.interval_ns == 0 => Profiler::CPU_INTERVAL_NS,
            "cpu" | "cpu-clock" | "ctimer" | "itimer" => self.interval_ns,
            "" | "wall" => self.wall_period_ns(),
            _ => 0,
        }
    }

    /// Time that one wall-clock sample stands for.
    pub(super) fn wall_period_ns(&self) -> i64 {
        match self.wall_interval_ns.unwrap_or(self.interval_ns) {
            0 => Profiler::WALL_INTERVAL_NS,
            interval_ns => interval_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_named_by_the_settings() {
        let check = |event: &str, interval_ns, wall_interval_ns, expected: (&str, i64, i64)| {
            let profiler = Profiler { event: event.into(), interval_ns, wall_interval_ns };
            let found = (profiler.event(), profiler.period_ns(), profiler.wall_period_ns());
            assert_eq!(found, expected, "{event}");
        };
        // What async-profiler 4.6 writes when no interval is given is 0, and then it takes its defaults.
        check("cpu", 10, Some(0), (event::CPU, 10, 50_000_000));
        check("cpu", 10, Some(70), (event::CPU, 10, 70));
        check("cpu", 0, Some(0), (event::CPU, 10_000_000, 50_000_000));
        check("", 0, Some(0), (event::WALL, 50_000_000, 50_000_000));
        check("", 0, Some(20), (event::WALL, 20, 20));
        check("wall", 50, None, (event::WALL, 50, 50));
        check("wall", 0, None, (event::WALL, 50_000_000, 50_000_000));
        check("page-faults", 1, None, (event::PAGE_FAULT, 0, 1));
        check("cache-misses", 1000, None, ("cache-misses", 0, 1000));
    }
}
