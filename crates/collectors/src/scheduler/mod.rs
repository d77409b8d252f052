//! When threads are off-CPU: what they wait for, and what runs while they wait for a CPU.
//!
//! Two things are kept of every switch: how often and how long each thread waited, by kind of wait, added up in the
//! kernel (an account of time needs all of it, however short); and single long waits with the kernel stack, the thread
//! that woke it, or the thread that had its CPU. Idle threads wait long all the time and would flood the recording. So
//! of each kind of wait only about a hundred a second are kept: when more pass, the limit of that kind doubles, which
//! keeps the longest ones. Those left out are counted.
//!
//! User stacks are not taken: at the moment when a long wait is known to be one, the memory of the thread is not
//! mapped, and copying stacks at each switch costs more than the switch. Slow system calls and page faults have them.
//! For waits that continue when the recording ends, and that no other collector reports (threads that hang, or that are
//! never needed), user stacks are read from the target's memory.
//!
//! Continuous monitoring looks at threads in place of all this ([`standing`]).

mod kinds;
mod parse;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::detail::{self, Blocked, RunQueueWait};
use fathom_evidence::kinds::{counter, event, loss, span};
use fathom_evidence::tables::{Sample, Span};
use fathom_evidence::{Recording, StackId};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::bpf::{Calls, Increment, Increments, Programs, Recipe, Ring, SlotTable, Spare, Walker, counter_of};
use crate::clock::monotonic_ns;
use crate::rate_limit::RateLimit;
use crate::symbols::Symbols;
use crate::{Clock, Collector, Lesser, Observer, Order, Profiler, Refusal, Target, Tier, standing};
use kinds::{KINDS, Limit};
use parse::{LongWait, Sums, THREAD_WORDS, Unfinished, Waits};

const NAME: &str = "scheduler";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scheduler.bpf.o"));

const PERIOD: Duration = Duration::from_millis(100);
const LOOKS_PER_SECOND: u32 = 10;

/// The run queue's place behind the kinds.
const RUN_QUEUE: usize = KINDS.len();
const LIMITS: usize = KINDS.len() + 1;

pub(crate) static COLLECTOR: Scheduler = Scheduler;

/// The collector.
pub(crate) struct Scheduler;

impl Collector for Scheduler {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "time off the CPU by kind of wait; long waits with kernel stack and waker; run-queue waits with who ran instead"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        attached(target, &Calls::new(), &[Limit::of(i64::MAX as u64); LIMITS]).map(|_| ())
    }

    fn lesser(&self, target: &Target) -> Option<Lesser> {
        let limits = [Limit::of(i64::MAX as u64); LIMITS];
        let mut programs = attached(target, &Calls::new(), &limits).ok()?;
        programs.thread_walker(WALK).ok()?;
        programs.left_out().lesser(self.sees())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        if order.is_sparing {
            return standing::start(target, order);
        }
        let calls = Calls::new();
        let mut limits = [Limit::of(order.blocked_ns.max(0) as u64); LIMITS];
        limits[RUN_QUEUE] = Limit::of(order.run_queue_ns.max(0) as u64);
        let mut programs = attached(target, &calls, &limits)?;
        let observer = Observed {
            all_threads: programs.thread_walker(WALK)?,
            began_ns: monotonic_ns(),
            ring: Ring::new(&programs.map("long_waits")?)?,
            threads: SlotTable::new(&programs, "threads")?,
            limits_map: programs.map(".data.limits")?,
            programs,
            calls,
            limits,
            symbols: Symbols::of(target, &order.images),
            clock: order.clock,
            target: target.clone(),
            profiler: order.profiler.clone(),
            counted: Increments::new(order.clock.now_ns()),
            limit: RateLimit::every(PERIOD),
            looks: 0,
        };
        Ok(Box::new(observer))
    }
}

/// The program that looks at all threads when a recording ends.
const WALK: &str = "waits_still";

/// Programs without which the others still see their part.
const SPARE: &[Spare] = &[
    Spare { program: "thread_begins", sees: "how long new threads wait for their first CPU" },
    Spare { program: WALK, sees: "waits that have not ended when the recording does" },
];

/// The programs at work.
fn attached(target: &Target, calls: &Calls, limits: &[Limit]) -> Result<Programs, Refusal> {
    let mut config = target.pid.to_ne_bytes().to_vec();
    config.extend([0; 4]);
    config.extend(calls.table(kinds::of_call));
    let room = (target.thread_ids().len() * 2).next_power_of_two().clamp(1024, 1 << 16) as u32;
    let sizes = [("threads", room)];
    let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &sizes, without: &[], spare: SPARE })?;
    set_limits(&programs.map(".data.limits")?, limits);
    programs.attach_tracepoints()?;
    Ok(programs)
}

fn set_limits(map: &MapHandle, limits: &[Limit]) {
    let now = limits.iter().map(Limit::now_ns);
    let bytes: Vec<u8> = now.chain(limits.iter().map(Limit::ordered_ns)).flat_map(u64::to_ne_bytes).collect();
    // The old limits stay when the kernel refuses; the ring counts what it cannot hold.
    let _ = map.update(&0_u32.to_ne_bytes(), &bytes, MapFlags::ANY);
}

struct Observed {
    /// Before the programs: links go first.
    all_threads: Option<Walker>,
    /// From when on switches were seen.
    began_ns: i64,
    programs: Programs,
    ring: Ring,
    threads: SlotTable<THREAD_WORDS>,
    limits_map: MapHandle,
    calls: Calls,
    limits: [Limit; LIMITS],
    symbols: Symbols,
    clock: Clock,
    target: Target,
    /// Whether another collector looks at waiting threads.
    profiler: Profiler,
    /// By thread.
    counted: Increments<u32, Sums>,
    limit: RateLimit,
    looks: u32,
}

impl Observer for Observed {
    fn unseen(&self) -> Vec<Refusal> {
        self.programs.left_out().refusals()
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        self.take_long_ones(found);
        if let Some(reading) = self.limit.begin(monotonic_ns()) {
            self.count(found, None);
            self.limit.end(reading);
        }
        self.looks += 1;
        if self.looks.is_multiple_of(LOOKS_PER_SECOND) {
            self.forget_ended_threads();
            self.adapt();
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.take_long_ones(found);
        // A thread that hangs until the end has waited as well.
        self.all_threads.iter().for_each(Walker::walk);
        self.take_long_ones(found);
        self.count(found, Some(monotonic_ns() as u64));
        self.tell_losses(found);
        self.limit.tell(found, NAME, "the sums of all threads");
        self.symbols.tell_losses(found, NAME);
        Vec::new()
    }
}

impl Observed {
    fn take_long_ones(&mut self, found: &mut Recording) {
        for event in self.ring.take() {
            if let Some(unfinished) = Unfinished::parse(&event) {
                let unfinished = unfinished.since(self.began_ns);
                let detail = Blocked { unfinished: Some(true), ..self.blocked(&unfinished.wait) };
                self.add_blocked(&unfinished.wait, &detail, found);
                self.add_stack(&unfinished, found);
            } else if let Some(wait) = LongWait::parse(&event) {
                self.add_long_one(&wait, found);
            }
        }
    }

    fn add_long_one(&mut self, wait: &LongWait, found: &mut Recording) {
        if let Some(limit) = self.limits.get_mut(wait.kind) {
            limit.add();
        }
        match wait.kind < KINDS.len() {
            true => self.add_blocked(wait, &self.blocked(wait), found),
            false => self.add(wait, (span::RUN_QUEUE_WAIT, ""), &detail::to_text(&self.run_queue_wait(wait)), found),
        }
    }

    fn add_blocked(&mut self, wait: &LongWait, detail: &Blocked, found: &mut Recording) {
        let name = KINDS.get(wait.kind).copied().unwrap_or_default();
        self.add(wait, (span::BLOCKED, name), &detail::to_text(detail), found);
    }

    /// What a wait that goes on is for, where no profiler in the JVM looks at waiting threads.
    fn add_stack(&mut self, unfinished: &Unfinished, found: &mut Recording) {
        if self.profiler.is_sampling() {
            return;
        }
        let stack_id = self.symbols.user_stack_in_memory(found, &unfinished.registers);
        found.samples.push(Sample {
            time_ns: self.clock.wall_ns(unfinished.wait.began_ns),
            tid: unfinished.wait.tid.into(),
            cpu: -1,
            event: found.strings.intern(event::WAIT),
            weight_ns: unfinished.wait.duration_ns,
            stack_id,
            ..Sample::default()
        });
    }

    fn add(&mut self, wait: &LongWait, (kind, name): (&str, &str), detail: &str, found: &mut Recording) {
        let row = Span {
            time_ns: self.clock.wall_ns(wait.began_ns),
            duration_ns: wait.duration_ns,
            tid: i64::from(wait.tid),
            kind: found.strings.intern(kind),
            name: found.strings.intern(name),
            stack_id: StackId(0),
            kernel_stack_id: self.symbols.kernel_stack(found, &wait.frames),
            detail: found.strings.intern(detail),
            source: found.strings.intern(NAME),
        };
        found.spans.push(row);
    }

    fn blocked(&self, wait: &LongWait) -> Blocked {
        let system_call = u32::try_from(wait.system_call).ok().map(|number| self.calls.name(number));
        Blocked {
            state: Some(state(wait.state).to_owned()),
            waker_tid: (wait.other_tid != 0).then_some(i64::from(wait.other_tid)),
            system_call,
            unfinished: None,
        }
    }

    fn run_queue_wait(&self, wait: &LongWait) -> RunQueueWait {
        let is_known = !wait.other.is_empty();
        RunQueueWait {
            cpu: Some(wait.cpu),
            instead_tid: is_known.then_some(i64::from(wait.other_tid)),
            instead: is_known.then(|| wait.other.clone()),
            own: is_known.then_some(wait.other_tgid == self.target.pid),
            preempted: Some(wait.preempted),
        }
    }

    /// Writes the sums that changed; waits that go on count until `until_ns`, if given.
    fn count(&mut self, found: &mut Recording, until_ns: Option<u64>) {
        self.counted.read(self.clock.now_ns());
        self.threads.read();
        for row in self.threads.rows() {
            let tid = row[0] as u32;
            let waits = Waits::parse(row);
            let waits = until_ns.map_or(waits, |until_ns| waits.until(until_ns));
            if let Some(grown) = self.counted.see(tid, waits.sums) {
                add_waits(tid, &grown, found);
            }
            if waits.has_ended {
                self.threads.remove(row[0]);
                self.counted.forget(&tid);
            }
        }
    }

    /// Makes room when threads have ended unseen.
    fn forget_ended_threads(&mut self) {
        if self.threads.is_filling() {
            let ended = self.target.ended_among(self.threads.tids());
            self.threads.forget(&ended);
            self.counted.retain(|tid| !ended.contains(tid));
        }
    }

    fn adapt(&mut self) {
        let changed = self.limits.iter_mut().fold(false, |changed, limit| limit.adapt() | changed);
        if changed {
            set_limits(&self.limits_map, &self.limits);
        }
    }

    fn tell_losses(&self, found: &mut Recording) {
        let lost = [
            (
                loss::EVENTS_LOST,
                "long waits came faster than they could be taken over: they are counted but are no spans",
            ),
            (loss::EVENTS_LOST, "switches of threads beyond the number that is counted"),
            (
                loss::LIMIT,
                "long waits are counted but are no spans: of each kind only the longest are kept, about 100 a second",
            ),
        ];
        self.programs.tell_losses(found, NAME, lost);
    }
}

/// The letter that `ps` shows.
fn state(bits: u32) -> &'static str {
    const LETTERS: &[(u32, &str)] = &[(2, "D"), (1, "S"), (4, "T"), (8, "t")];
    LETTERS.iter().find(|(bit, _)| bits & bit != 0).map_or("other", |(_, letter)| letter)
}

fn add_waits(tid: u32, grown: &Increment<Sums>, found: &mut Recording) {
    for index in 0..=RUN_QUEUE {
        let (time, count, instance) = match KINDS.get(index) {
            Some(kind) => (counter::BLOCKED_NS, counter::BLOCKED_COUNT, *kind),
            None => (counter::RUN_QUEUE_WAITS_NS, counter::RUN_QUEUE_WAITS_COUNT, ""),
        };
        let row = counter_of(found, time, instance, tid, NAME);
        grown.write(found, &row, |sums| sums[index].time_ns);
        let row = counter_of(found, count, instance, tid, NAME);
        grown.write(found, &row, |sums| sums[index].count);
    }
}

#[cfg(test)]
mod tests;
