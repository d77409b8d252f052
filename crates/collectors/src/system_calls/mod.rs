//! System calls: how many, how long, how many bytes, per thread and call; and single slow ones.
//!
//! Every call of the target is added up in the kernel; what leaves it is a row per thread and call that changed. A
//! tracer that stops the process, or that sends each call, costs a hundred times more and changes what it measures.
//! Slow calls are sent with their arguments. Of calls that only wait (futex, epoll, sleep) a sample is sent, with
//! stacks: the scheduler's spans show that a thread waited, and the stack shows for what, where no profiler in the JVM
//! looks at waiting threads.

mod calls;
pub(crate) mod descriptors;
mod parse;
mod waits;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::detail::{self, SystemCall};
use fathom_evidence::kinds::{counter, event, loss, span};
use fathom_evidence::system_calls::{ON_DESCRIPTOR, TRANSFERS, WAITS};
use fathom_evidence::tables::{Counter, Sample, Span};
use fathom_evidence::{Recording, StackId};

use crate::bpf::{Calls, Increment, Increments, Part, Programs, Recipe, Ring, SlotTable, counter_of};
use crate::clock::monotonic_ns;
use crate::rate_limit::RateLimit;
use crate::symbols::Symbols;
use crate::{Clock, Collector, Observer, Order, Profiler, Refusal, Target, Tier};
use descriptors::Descriptors;
use parse::{SUM_WORDS, SlowCall, Sum};
use waits::Waits;

const NAME: &str = "system_calls";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/system_calls.bpf.o"));

/// The variable that makes the programs send no waits.
const WAITS_UNWANTED: &str = ".data.waits_unwanted";

/// The variable in which they say from which length on they send them.
const WAITS_FROM_NS: &str = ".data.waits_from_ns";

const PERIOD: Duration = Duration::from_millis(100);
const LOOKS_PER_SECOND: u32 = 10;

pub(crate) static COLLECTOR: SystemCalls = SystemCalls;

/// The collector.
pub(crate) struct SystemCalls;

impl Collector for SystemCalls {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "system calls per thread: count, time, bytes; slow ones with file or socket and user stack"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        attached(target, i64::MAX, &Calls::new()).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let calls = Calls::new();
        let programs = attached(target, order.system_call_ns, &calls)?;
        let observer = Observed {
            ring: Ring::new(&programs.map("slow")?)?,
            sums: SlotTable::new(&programs, "sums")?,
            entered: SlotTable::new(&programs, "entered")?,
            programs,
            calls,
            symbols: Symbols::of(target, &order.images),
            descriptors: Descriptors::of(target),
            clock: order.clock,
            target: target.clone(),
            profiler: order.profiler.clone(),
            sends_waits: true,
            waits: Waits::default(),
            counted: Increments::new(order.clock.now_ns()),
            limit: RateLimit::every(PERIOD),
            looks: 0,
        };
        Ok(Box::new(observer))
    }
}

/// The programs at work.
fn attached(target: &Target, threshold_ns: i64, calls: &Calls) -> Result<Programs, Refusal> {
    let mut config = threshold_ns.to_ne_bytes().to_vec();
    config.extend(target.pid.to_ne_bytes());
    config.extend([0; 4]);
    config.extend(calls::kinds(calls));
    let threads = (target.thread_ids().len() * 2).next_power_of_two().clamp(1024, 1 << 16) as u32;
    let sizes = [("entered", threads), ("sums", threads * 8)];
    let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &sizes, without: &[], spare: &[] })?;
    programs.attach_tracepoints()?;
    Ok(programs)
}

struct Observed {
    programs: Programs,
    ring: Ring,
    sums: SlotTable<SUM_WORDS>,
    entered: SlotTable<2>,
    calls: Calls,
    symbols: Symbols,
    descriptors: Descriptors,
    clock: Clock,
    target: Target,
    /// Whether another collector looks at waiting threads.
    profiler: Profiler,
    sends_waits: bool,
    waits: Waits,
    /// By thread and call.
    counted: Increments<(u32, u32), Sum>,
    limit: RateLimit,
    looks: u32,
}

impl Observer for Observed {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        self.leave_waits_to_the_profiler();
        self.take_slow_ones(found);
        if let Some(reading) = self.limit.begin(monotonic_ns()) {
            self.count(found);
            self.limit.end(reading);
        }
        if self.looks.is_multiple_of(LOOKS_PER_SECOND) {
            self.tell_shortest_waits(found);
        }
        self.looks += 1;
        if self.looks.is_multiple_of(LOOKS_PER_SECOND) {
            self.forget_ended_threads(found);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.take_slow_ones(found);
        self.tell_shortest_waits(found);
        self.count(found);
        self.tell_losses(found);
        self.limit.tell(found, NAME, "the sums of all threads");
        self.symbols.tell_losses(found, NAME);
        Vec::new()
    }
}

impl Observed {
    /// Once it samples: it knows the stacks of all threads, whatever they wait in.
    fn leave_waits_to_the_profiler(&mut self) {
        if self.sends_waits && self.profiler.is_sampling() {
            self.sends_waits = false;
            self.programs.set(WAITS_UNWANTED, 1);
        }
    }

    fn take_slow_ones(&mut self, found: &mut Recording) {
        for event in self.ring.take() {
            if let Some(call) = SlowCall::parse(&event) {
                self.add_slow_one(&call, found);
            }
        }
    }

    fn add_slow_one(&mut self, call: &SlowCall<'_>, found: &mut Recording) {
        if self.calls.is(call.number, WAITS) {
            return self.add_wait(call, found);
        }
        let descriptor = call.arguments[0];
        let is_on_descriptor = self.calls.is(call.number, ON_DESCRIPTOR);
        let path = if is_on_descriptor { self.descriptors.name(descriptor) } else { String::new() };
        let detail = SystemCall {
            result: Some(call.result),
            descriptor: is_on_descriptor.then_some(descriptor as i32 as i64),
            path: (!path.is_empty()).then_some(path),
            bytes: (self.calls.is(call.number, TRANSFERS) && call.result >= 0).then_some(call.result),
        };
        let row = Span {
            time_ns: self.clock.wall_ns(call.began_ns),
            duration_ns: call.duration_ns,
            tid: i64::from(call.tid),
            kind: found.strings.intern(span::SYSTEM_CALL),
            name: found.strings.intern(&self.calls.name(call.number)),
            stack_id: call.user.as_ref().map_or(StackId(0), |user| self.symbols.user_stack(found, &user.stack())),
            kernel_stack_id: StackId(0),
            detail: found.strings.intern(&detail::to_text(&detail)),
            source: found.strings.intern(NAME),
        };
        found.spans.push(row);
    }

    fn add_wait(&mut self, call: &SlowCall<'_>, found: &mut Recording) {
        let stack_id = self.waits.stack_of(call, &mut self.symbols, found);
        if stack_id == StackId(0) {
            return;
        }
        found.samples.push(Sample {
            time_ns: self.clock.wall_ns(call.began_ns),
            tid: call.tid.into(),
            cpu: -1,
            event: found.strings.intern(event::WAIT),
            weight_ns: call.duration_ns,
            stack_id,
            ..Sample::default()
        });
    }

    /// From which length on waits are samples now, while they are.
    fn tell_shortest_waits(&self, found: &mut Recording) {
        let Some(from_ns) = self.programs.get(WAITS_FROM_NS).filter(|_| self.sends_waits) else { return };
        let row = counter_of(found, counter::WAITS_SAMPLED_FROM_NS, "", 0, NAME);
        found.counters.push(Counter { time_ns: self.clock.now_ns(), value: from_ns as f64, ..row });
    }

    /// Writes the sums that changed.
    fn count(&mut self, found: &mut Recording) {
        self.counted.read(self.clock.now_ns());
        self.sums.read();
        for ((tid, number), sum) in self.sums.rows().map(parse::sum) {
            if let Some(grown) = self.counted.see((tid, number), sum) {
                add_sum(tid, &calls::counted_name(&self.calls, number), &grown, found);
            }
        }
    }

    /// Makes room when threads come and go.
    fn forget_ended_threads(&mut self, found: &mut Recording) {
        self.entered.read();
        if !self.entered.is_filling() && !self.sums.is_filling() {
            return;
        }
        let ended = self.target.ended_among(self.entered.tids().chain(self.sums.tids()));
        // What they did until they ended.
        self.count(found);
        self.entered.forget(&ended);
        self.sums.forget(&ended);
        self.counted.retain(|(tid, _)| !ended.contains(tid));
    }

    fn tell_losses(&self, found: &mut Recording) {
        let lost = [
            (
                loss::EVENTS_LOST,
                "slow system calls came faster than they could be taken over: they are counted but are no spans",
            ),
            (loss::EVENTS_LOST, "system calls of threads beyond the number that is counted"),
            (
                loss::LIMIT,
                "slow system calls beyond the number that is recorded each second: they are counted but are no spans",
            ),
            (loss::LIMIT, "waits beyond the number of which the stack is looked for each second"),
        ];
        self.programs.tell_losses(found, NAME, lost);
    }
}

fn add_sum(tid: u32, call: &str, grown: &Increment<Sum>, found: &mut Recording) {
    let numbers: [(&str, Part<Sum>); 4] = [
        (counter::SYSTEM_CALLS_COUNT, |sum| sum.count),
        (counter::SYSTEM_CALLS_NS, |sum| sum.time_ns),
        (counter::SYSTEM_CALLS_BYTES, |sum| sum.bytes),
        (counter::SYSTEM_CALLS_FAILED_COUNT, |sum| sum.errors),
    ];
    for (name, number) in numbers {
        let row = counter_of(found, name, call, tid, NAME);
        grown.write(found, &row, number);
    }
}

#[cfg(test)]
mod tests;
