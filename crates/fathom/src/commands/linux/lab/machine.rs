//! What the machine did during a run: CPU that other processes and the host took.

use std::io::{Write, stderr};
use std::thread;
use std::time::{Duration, Instant};

use fathom_collectors::{CpuTicks, ProcessTicks};

/// Others that take more than this part of the CPUs change what a lab shows.
const BUSY_SHARE: f64 = 0.25;
/// How long a look at the CPUs takes.
const GLANCE: Duration = Duration::from_secs(1);
/// How long a run waits for the CPUs to be free.
const PATIENCE: Duration = Duration::from_secs(60);

/// CPU time so far, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    machine: CpuTicks,
    /// Of this process and its children that have ended.
    own: u64,
}

/// What others took of the CPUs, as a part of all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Others {
    processes: f64,
    host: f64,
}

impl Ticks {
    /// None where the kernel does not say.
    pub(super) fn now() -> Option<Ticks> {
        let process = ProcessTicks::now(std::process::id())?;
        Some(Ticks { machine: CpuTicks::now()?, own: process.own + process.children })
    }

    pub(super) fn others_until(self, end: Ticks) -> Others {
        let since = |before: u64, after: u64| after.saturating_sub(before) as f64;
        let (before, after) = (self.machine, end.machine);
        let all = since(before.all(), after.all()).max(1.0);
        let processes = since(before.work, after.work) - since(self.own, end.own);
        Others { processes: processes.max(0.0) / all, host: since(before.stolen, after.stolen) / all }
    }
}

impl Others {
    fn is_busy(self) -> bool {
        self.processes + self.host > BUSY_SHARE
    }

    /// A sentence where it was too much for a lab.
    pub(super) fn complaint(self) -> Option<String> {
        let percent = |part: f64| part * 100.0;
        self.is_busy().then(|| match self.host > self.processes {
            true => format!("the host took {:.0} % of the CPUs", percent(self.host)),
            false => format!("other processes took {:.0} % of the CPUs", percent(self.processes)),
        })
    }
}

/// Waits while others use the CPUs, and says so; not for ever, since it is for the user to free them.
pub(super) fn wait_for_cpus(is_stopped: impl Fn() -> bool) {
    let began = Instant::now();
    let mut was_told = false;
    while let Some(complaint) = complaint().filter(|_| began.elapsed() < PATIENCE && !is_stopped()) {
        if !was_told {
            say(&format!(
                "{complaint}: the lab waits for up to {} s, because its figures would not be its own",
                PATIENCE.as_secs()
            ));
            was_told = true;
        }
    }
    if was_told && began.elapsed() >= PATIENCE {
        say("the CPUs are still in use; the lab begins, and may end without a result");
    }
}

fn complaint() -> Option<String> {
    let before = Ticks::now()?;
    thread::sleep(GLANCE);
    before.others_until(Ticks::now()?).complaint()
}

fn say(text: &str) {
    // The lab runs whether or not this can be shown.
    let _ = writeln!(stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_take_is_a_complaint() {
        let ticks =
            |all, work, stolen, own| Ticks { machine: CpuTicks { idle: all - work - stolen, work, stolen }, own };
        let before = ticks(1_000, 500, 0, 100);
        for (work, stolen, own, expected) in [
            (600, 0, 200, None),
            (600, 0, 150, None),
            (600, 0, 100, Some("other processes took 50 % of the CPUs")),
            (600, 100, 200, Some("the host took 50 % of the CPUs")),
            // Children count when they end, also for what they used before.
            (600, 0, 900, None),
        ] {
            let after = ticks(1_200, work, stolen, own);
            assert_eq!(before.others_until(after).complaint().as_deref(), expected, "{after:?}");
        }
    }

    #[test]
    fn this_machine_says_its_ticks() {
        let now = Ticks::now().expect("Linux");
        assert!(now.machine.all() > now.machine.work && now.machine.work >= now.own, "{now:?}");
    }
}
