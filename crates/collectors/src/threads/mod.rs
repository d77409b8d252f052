//! CPU time, waits for a CPU and page faults of each thread of the target, from `/proc/PID/task`.
//!
//! A JVM may have thousands of threads, of which few run. Each look has a budget of CPU time: threads that ran lately
//! are looked at each time, the others each second or two, and those that the budget left over come first in the next
//! look. The numbers are totals since the thread's start, so a late look loses the time of a change, not its amount.
//! What a thread uses between its last look and its end is only in the process's numbers.
//!
//! If the process has used more CPU than the threads that were looked at, some quiet thread has begun to run: then all
//! are looked at, before their turn comes.

mod io;
mod parse;
mod schedule;
mod task;
mod vm_thread;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss, recorded, stopped, subject};

use crate::changed_counters::ChangedCounters;
use crate::clock::thread_cpu_ns;
use crate::procfs::{self, ProcFile};
use crate::stopped::Stopped;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use io::Io;
use schedule::Schedule;
use task::Reader;
use vm_thread::VmThread;

const SOURCE: &str = "threads";

/// Time from one look to the next.
const PERIOD: Duration = Duration::from_millis(100);

/// CPU time that one look may take: 2 % of a core.
const BUDGET_NS: i64 = 2_000_000;

/// CPU time of the process that no looked-at thread accounts for and that makes all be looked at:
/// two ticks, as the process's own time comes in ticks.
const UNSEEN_NS: f64 = 20_000_000.0;

pub(crate) static COLLECTOR: Threads = Threads;

/// The collector of threads.
pub(crate) struct Threads;

impl Collector for Threads {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "CPU time, waits for a CPU and page faults of each thread"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        open(target).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let (process, reader) = open(target)?;
        Ok(Box::new(Watch {
            clock: order.clock,
            process,
            numbers: ChangedCounters::new(SOURCE),
            target: target.clone(),
            schedule: Schedule::new(target, reader),
            vm_thread: (!order.is_sparing).then(VmThread::default),
            io: (!order.is_sparing).then(|| Io::of(target)),
            process_cpu_ns: None,
            unseen_ns: 0.0,
            stopped: Stopped::seen_by(SOURCE),
            is_told: false,
        }))
    }
}

/// The process's `stat` and the folder of its threads.
fn open(target: &Target) -> Result<(ProcFile, Reader), Refusal> {
    let refusal = |path: PathBuf, error: std::io::Error| {
        let grant = "look at procfs from the namespace of the process, and without the mount option hidepid";
        Refusal::new(format!("{}: {error}", path.display()), grant)
    };
    let process = ProcFile::open(target.proc("stat")).map_err(|error| refusal(target.proc("stat"), error))?;
    let folder = procfs::file(target.proc("task")).map_err(|error| refusal(target.proc("task"), error))?;
    let mut buffer = Vec::new();
    let schedstat =
        ProcFile::open(target.proc("schedstat")).and_then(|file| file.read_short(&mut buffer).map(parse::schedstat));
    let has_schedstat = matches!(schedstat, Ok(Some(_)));
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Ok((process, Reader { folder, tick_ns, has_schedstat, buffer }))
}

/// The threads of one process, being watched.
struct Watch {
    clock: Clock,
    process: ProcFile,
    numbers: ChangedCounters,
    target: Target,
    schedule: Schedule,
    /// Nothing that runs for days asks for these.
    vm_thread: Option<VmThread>,
    io: Option<Io>,
    process_cpu_ns: Option<f64>,
    /// CPU time of the process that no look at a thread has shown yet.
    unseen_ns: f64,
    stopped: Stopped,
    /// That stops are looked for, which recorders did not always do.
    is_told: bool,
}

impl Watch {
    /// Reads the process's totals; returns what it used since, and how many threads it has.
    fn look_at_process(&mut self, at_ns: i64, found: &mut Recording) -> Option<(f64, u64)> {
        let reader = &mut self.schedule.reader;
        let tick_ns = reader.tick_ns;
        let stat = parse::stat(self.process.read_short(&mut reader.buffer).ok()?)?;
        self.stopped.look(stopped_by(stat.state), at_ns, found);
        if !std::mem::replace(&mut self.is_told, true) {
            let period_ns = PERIOD.as_nanos().to_string();
            found.add_fact(subject::RECORDING, recorded::PROCESS_STOP_LOOKS_NS, &period_ns, SOURCE);
        }
        let ns = |ticks: u64| ticks.saturating_mul(tick_ns) as f64;
        let (user_ns, system_ns) = (ns(stat.user_ticks), ns(stat.system_ticks));
        for (name, instance, value) in [
            (counter::PROCESS_CPU_NS, "user", user_ns),
            (counter::PROCESS_CPU_NS, "system", system_ns),
            (counter::PROCESS_FAULTS_COUNT, "minor", stat.minor_faults as f64),
            (counter::PROCESS_FAULTS_COUNT, "major", stat.major_faults as f64),
            (counter::PROCESS_THREADS_COUNT, "", stat.threads as f64),
        ] {
            self.numbers.see(found, at_ns, name, instance, value);
        }
        let threads = stat.threads;
        if let Some(io) = &mut self.io {
            io.look(&mut reader.buffer, at_ns, &mut self.numbers, found);
        }
        let before = self.process_cpu_ns.replace(user_ns + system_ns);
        Some((before.map_or(0.0, |before| user_ns + system_ns - before), threads))
    }
}

/// Who has stopped a thread in this state. The first thread of a process shows it for all: a signal stops them all, a debugger as well.
fn stopped_by(state: u8) -> Option<&'static str> {
    match state {
        b'T' => Some(stopped::SIGNAL),
        b't' => Some(stopped::DEBUGGER),
        _ => None,
    }
}

impl Observer for Watch {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        let began_cpu_ns = thread_cpu_ns();
        let at_ns = self.clock.now_ns();
        let Some((used_ns, threads)) = self.look_at_process(at_ns, found) else { return };
        if self.schedule.wants_list(at_ns, threads) {
            self.schedule.list(self.clock, found);
        }
        if let Some(vm_thread) = &mut self.vm_thread {
            vm_thread.look(&self.target, &mut self.schedule, at_ns, found);
        }
        self.unseen_ns = (self.unseen_ns + used_ns).max(0.0);
        if self.unseen_ns > UNSEEN_NS {
            self.unseen_ns = 0.0;
            self.schedule.all_due(at_ns);
        }
        let until_cpu_ns = began_cpu_ns + BUDGET_NS;
        self.unseen_ns -= self.schedule.look(self.clock, until_cpu_ns, found);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        let at_ns = self.clock.now_ns();
        self.look_at_process(at_ns, found);
        self.schedule.list(self.clock, found);
        self.schedule.all_due(at_ns);
        self.schedule.look(self.clock, i64::MAX, found);
        self.stopped.end(at_ns, found);
        if let Some(vm_thread) = &mut self.vm_thread {
            vm_thread.end(&self.target, found);
        }
        self.schedule.close(found);
        self.numbers.close(found);
        if !self.schedule.reader.has_schedstat {
            let says = "this kernel does not account waits for a CPU (CONFIG_SCHED_INFO); CPU time comes in ticks";
            found.add_loss(SOURCE, loss::REFUSED, 0, says);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
