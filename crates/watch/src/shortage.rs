//! Whether the host is short of CPU, memory or disk right now, more than it usually is: in how much of the last second
//! some thread of the host waited for one of them (pressure stall information).

use std::collections::VecDeque;
use std::time::Instant;

use fathom_collectors::CpuTicks;

/// What the kernel tells, and how people call it.
const RESOURCES: [(&str, &str); 3] = [("cpu", "CPUs"), ("memory", "memory"), ("io", "disks")];

/// Less of a second is no long wait.
const LEAST_PERCENT: u8 = 25;

/// A host that is always busy is short of something when it is twice as bad as usual.
const TIMES_USUAL: u8 = 2;

/// What is usual is the median of so many seconds.
const HISTORY_S: usize = 600;

/// Before so many seconds nothing is known to be usual.
const KNOWN_S: usize = 60;

/// While more than one in ten of the host's CPUs is idle, threads that wait for one are held back by the quota of their control group, which
/// the kernel counts as well, and not by other processes.
const IDLE_PERCENT: u64 = 10;

/// One resource.
#[derive(Debug, Default)]
struct Resource {
    total_us: Option<u64>,
    percents: VecDeque<u8>,
}

impl Resource {
    /// Takes the share of a second; whether that is a shortage.
    fn see(&mut self, percent: u8) -> bool {
        let usual = self.median();
        if self.percents.len() == HISTORY_S {
            self.percents.pop_front();
        }
        self.percents.push_back(percent);
        usual.is_some_and(|usual| percent >= LEAST_PERCENT && percent >= usual.saturating_mul(TIMES_USUAL))
    }

    fn median(&self) -> Option<u8> {
        let mut counts = [0_usize; u8::MAX as usize + 1];
        self.percents.iter().for_each(|percent| counts[usize::from(*percent)] += 1);
        let mut seen = 0;
        let middle = (0..=u8::MAX).find(|percent| {
            seen += counts[usize::from(*percent)];
            2 * seen >= self.percents.len()
        });
        middle.filter(|_| self.percents.len() >= KNOWN_S)
    }
}

/// The resources of the host, followed.
#[derive(Debug, Default)]
pub(crate) struct Shortage {
    resources: [Resource; RESOURCES.len()],
    ticks: Option<CpuTicks>,
    at: Option<Instant>,
}

/// Whether hardly any CPU was idle from one reading to the next.
fn are_none_left(before: CpuTicks, now: CpuTicks) -> bool {
    100 * now.idle.saturating_sub(before.idle) <= IDLE_PERCENT * now.all().saturating_sub(before.all())
}

impl Shortage {
    /// What the host has been short of since the last look, which is a second ago.
    pub(crate) fn look(&mut self) -> Option<&'static str> {
        let now = Instant::now();
        let passed_us = self.at.replace(now).map_or(0, |at| now.duration_since(at).as_micros() as u64);
        let ticks = CpuTicks::now();
        let before = std::mem::replace(&mut self.ticks, ticks);
        let are_none_left = before.zip(ticks).is_none_or(|(before, ticks)| are_none_left(before, ticks));
        let mut short = None;
        for (resource, (file, name)) in self.resources.iter_mut().zip(RESOURCES) {
            let total_us = total_us(&std::fs::read_to_string(format!("/proc/pressure/{file}")).unwrap_or_default());
            let before = std::mem::replace(&mut resource.total_us, total_us);
            let Some((total_us, before_us)) = total_us.zip(before).filter(|_| passed_us > 0) else { continue };
            let percent = (100 * total_us.saturating_sub(before_us) / passed_us).min(100) as u8;
            if resource.see(percent) && (file != "cpu" || are_none_left) {
                short = short.or(Some(name));
            }
        }
        short
    }
}

fn total_us(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_more_than_usual() {
        let short = |usual: u8, now: u8| {
            let mut resource = Resource::default();
            for _ in 0..100 {
                resource.see(usual);
            }
            resource.see(now)
        };
        assert_eq!([short(0, 24), short(0, 25), short(20, 39), short(20, 40)], [false, true, false, true]);
        assert!(!short(70, 100), "a host that is always busy");
        assert!(!Resource::default().see(100), "nothing is usual yet");
    }

    #[test]
    fn what_was_short_for_long_becomes_usual() {
        let mut resource = Resource::default();
        for _ in 0..HISTORY_S {
            resource.see(5);
        }
        let short = (0..HISTORY_S).filter(|_| resource.see(90)).count();
        assert_eq!(short, HISTORY_S / 2 + 1);
    }

    #[test]
    fn a_quota_leaves_cpus_idle() {
        let before = CpuTicks { idle: 1050, work: 200, stolen: 0 };
        let after = |busy: u64, idle: u64| CpuTicks { idle: 1050 + idle, work: 200 + busy, stolen: 0 };
        assert!(are_none_left(before, after(180, 20)) && !are_none_left(before, after(150, 50)));
    }

    #[test]
    fn totals() {
        let text = "some avg10=6.04 avg60=3.13 avg300=3.00 total=69\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!((total_us(text), total_us("full total=5"), total_us("")), (Some(69), None, None));
        let mut shortage = Shortage::default();
        assert_eq!((shortage.look(), shortage.look()), (None, None), "nothing is usual yet");
    }
}
