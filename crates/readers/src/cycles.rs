//! Samples of perf's cycle counters: how much time each sample represents.

use fathom_evidence::Recording;
use fathom_evidence::kinds::{event, loss};
use rustc_hash::FxHashMap;

/// Events that come while a thread is on a CPU, as often as perf was asked for.
const NAMES: &[&[u8]] = &[b"cycles", b"cpu-cycles", b"instructions", b"ref-cycles"];

/// The units of a machine whose CPUs are not alike.
const UNITS: &[&[u8]] = &[b"cpu_core/", b"cpu_atom/", b"cpu/"];

/// Whether an event of this name counts them: `cycles`, `cycles:ppp`, `cpu_core/cycles/P`; not `stalled-cycles-frontend`.
pub(crate) fn are(name: &[u8]) -> bool {
    let name = UNITS.iter().find_map(|unit| name.strip_prefix(*unit)).unwrap_or(name);
    let end = name.iter().position(|byte| matches!(byte, b':' | b'/')).unwrap_or(name.len());
    NAMES.contains(&&name[..end])
}

/// Samples of a thread that are further apart than this are not one after the other, in ns.
const APART_NS: i64 = 1_000_000_000;

/// Distances of which the middle is taken; more say nothing new.
const DISTANCES_MAX: usize = 1_000_000;

/// How far apart samples of one thread are.
#[derive(Debug, Default)]
pub(crate) struct Cycles {
    seen_ns: FxHashMap<i64, i64>,
    apart_ns: Vec<i64>,
}

impl Cycles {
    /// Takes the next sample of a thread.
    pub(crate) fn see(&mut self, tid: i64, time_ns: i64) {
        let before = self.seen_ns.insert(tid, time_ns).filter(|_| self.apart_ns.len() < DISTANCES_MAX);
        let apart = before.map(|before| time_ns.saturating_sub(before));
        self.apart_ns.extend(apart.filter(|apart| (1..APART_NS).contains(apart)));
    }

    /// A sample of cycles stands for the time to the next one of a thread that runs: the middle of all. Gives it to those without one.
    pub(crate) fn weigh(mut self, recording: &mut Recording, source: &str) {
        if self.apart_ns.is_empty() {
            return;
        }
        let middle = self.apart_ns.len() / 2;
        let weight_ns = *self.apart_ns.select_nth_unstable(middle).1;
        let cpu = recording.strings.find(event::CPU);
        let weights = recording.samples.event.iter().zip(&mut recording.samples.weight_ns);
        weights
            .filter(|(event, weight)| Some(**event) == cpu && **weight == 0)
            .for_each(|(_, weight)| *weight = weight_ns);
        let says = format!(
            "perf: samples of cycles were each taken for {:.1} ms, the time between two of a thread",
            weight_ns as f64 / 1e6
        );
        recording.add_loss(source, loss::UNIT_ASSUMED, 0, &says);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_events() {
        for (name, expected) in [
            (&b"cycles"[..], true),
            (b"cycles:ppp", true),
            (b"cpu_core/cycles/P", true),
            (b"cpu_atom/cycles/", true),
            (b"instructions:u", true),
            (b"stalled-cycles-frontend", false),
            (b"idle-cycles", false),
            (b"", false),
        ] {
            assert_eq!(super::are(name), expected);
        }
    }
}
