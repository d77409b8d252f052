//! A thread that only sleeps, for 4 ms at a time, and reports when it was woken late: what happens to it happens to any
//! thread of the machine, with Java or without.
//!
//! - It runs in Fathom's control group, so the JVM's CPU quota does not stop it: a throttled JVM stops while this
//!   continues. (If Fathom runs inside the JVM's group, a fact says so.)
//! - It has the ordinary scheduling class and priority, so that it suffers the same delays as an ordinary thread.
//! - It is one thread, not bound to a CPU. One thread per CPU would show which CPU was taken, but a wake-up costs 10 to
//!   20 µs, 0.3 to 0.5 % of a core at 250 per second: too much on a machine of 64 CPUs. Stolen time per CPU shows which
//!   CPU was taken (collector `machine`).
//! - A delay has two parts. Either the thread was runnable and had no CPU (the scheduler accounts that to it), or it
//!   was not even made runnable, because no CPU took the timer's interrupt: the machine stood still. The first is
//!   contention among programs. The second comes from below: a hypervisor that gave no time, firmware, a kernel with
//!   interrupts off.
//! - A machine whose clocks stop while it is suspended (a snapshot, some live migrations) shows nothing.

mod beat;
mod histogram;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, HostStall};
use fathom_evidence::kinds::{counter, loss, span, stall, subject};

use crate::procfs;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use beat::{Beat, Heart};

const SOURCE: &str = "heartbeat";

/// How long the thread sleeps: what the beginning of a stall is uncertain by. Stalls that are longer than this and [`THRESHOLD`] together are
/// never missed.
const SLEEP: Duration = Duration::from_millis(4);

/// Delays from here on are written one by one. Ordinary turns of the scheduler are shorter (a slice
/// is about 3 ms), what a request feels as a stall is longer.
const THRESHOLD: Duration = Duration::from_millis(5);

pub(crate) static COLLECTOR: Heartbeat = Heartbeat;

/// The collector of late wake-ups.
pub(crate) struct Heartbeat;

impl Collector for Heartbeat {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "stalls of the whole machine, by a thread of Fathom that sleeps 4 ms at a time"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, _target: &Target) -> Result<(), Refusal> {
        Ok(())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let heart = Heart::start(SLEEP, THRESHOLD);
        let heart = heart.map_err(|error| Refusal::new(format!("no thread can be started: {error}"), ""))?;
        let own = procfs::read("/proc/self/cgroup").ok();
        let shares_group = own.is_some() && own == procfs::read(target.proc("cgroup")).ok();
        Ok(Box::new(Watch { clock: order.clock, heart, shares_group, dropped: 0, thread_cpu_ns: 0 }))
    }
}

/// The heartbeat, being listened to.
struct Watch {
    clock: Clock,
    heart: Heart,
    /// Whether the JVM's own limits hold for the thread, too.
    shares_group: bool,
    dropped: u64,
    /// CPU time of the thread that sleeps.
    thread_cpu_ns: i64,
}

impl Watch {
    fn take(&mut self, beat: &Beat, found: &mut Recording) {
        match *beat {
            Beat::Late { due_ns, delay_ns, run_queue_ns, cpu } => {
                let at_ns = self.clock.wall_ns(due_ns);
                let detail = HostStall { run_queue_ns: run_queue_ns.map(|ns| ns as u64), cpu: Some(cpu as u32) };
                let name = name_of(delay_ns, run_queue_ns);
                found.add_span(at_ns, delay_ns, 0, span::HOST_STALL, name, &detail::to_text(&detail), SOURCE);
            }
            Beat::Second { at_ns, p99_ns, max_ns, cpu_ns, dropped } => {
                let at_ns = self.clock.wall_ns(at_ns);
                found.add_counter(at_ns, counter::WAKEUP_DELAY_NS, "p99", p99_ns as f64, SOURCE);
                found.add_counter(at_ns, counter::WAKEUP_DELAY_NS, "max", max_ns as f64, SOURCE);
                self.thread_cpu_ns = cpu_ns;
                self.dropped = dropped;
            }
        }
    }
}

/// What a delay was, by its larger part.
fn name_of(delay_ns: i64, run_queue_ns: Option<i64>) -> &'static str {
    match run_queue_ns {
        Some(ns) if ns > delay_ns / 2 => stall::NO_CPU,
        Some(_) => stall::STOOD_STILL,
        None => stall::LATE,
    }
}

impl Observer for Watch {
    fn period(&self) -> Duration {
        Duration::from_millis(500)
    }

    fn own_threads_cpu_ns(&self) -> i64 {
        self.thread_cpu_ns
    }

    fn look(&mut self, found: &mut Recording) {
        while let Ok(beat) = self.heart.beats.try_recv() {
            self.take(&beat, found);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        found.add_fact(subject::RECORDING, "heartbeat_threshold_ns", &THRESHOLD.as_nanos().to_string(), SOURCE);
        found.add_fact(subject::RECORDING, "heartbeat_shares_cgroup", &self.shares_group.to_string(), SOURCE);
        if self.dropped > 0 {
            let what = "late wake-ups or seconds were not written, as they came faster than they were taken";
            let says = format!("heartbeat: {} {what}", self.dropped);
            found.add_loss(SOURCE, loss::EVENTS_LOST, self.dropped as i64, &says);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
