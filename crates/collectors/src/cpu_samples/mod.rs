//! Samples of the CPUs from outside: stacks of Java, C++ and the kernel, without a question to the JVM.
//!
//! A kernel timer on each CPU lets a program send the thread of the target that runs there, with its registers and a
//! copy of its stack. They are walked here, through C by unwind tables and through Java code by what the JVM's memory
//! says of it (`fathom-symbols`). Inlined methods are not separated: a frame belongs to the method whose code it is.
//!
//! It replaces async-profiler where that is not wanted, or as long as the JVM does not answer. When async-profiler
//! begins to sample, this stops, and continues if async-profiler ends before the recording does.

mod parse;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{event, loss};
use fathom_evidence::tables::Sample as Row;

use crate::bpf::{Programs, Recipe, Ring, online_cpus};
use crate::perf::Occasion;
use crate::symbols::Symbols;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use parse::Sample;

const NAME: &str = "cpu_samples";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cpu_samples.bpf.o"));

const PERIOD: Duration = Duration::from_millis(100);

/// Not quite 50 a second, so that nothing that happens at such a rate is met always or never.
const INTERVAL_NS: u64 = 19_900_000;

/// On machines with more CPUs each is looked at less often: what the walks cost stays the same.
const CPUS_AT_FULL_RATE: u64 = 8;

/// Room in the ring for so many samples of a CPU: some looks.
const SAMPLES_PER_CPU: usize = 16;
const LARGEST_RING_BYTES: usize = 16 << 20;

pub(crate) static COLLECTOR: CpuSamples = CpuSamples;

/// The collector.
pub(crate) struct CpuSamples;

impl Collector for CpuSamples {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "samples of the CPU without async-profiler: stacks of Java, C++ and the kernel, from outside"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        attached(target, INTERVAL_NS, 1).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let cpus = online_cpus().len();
        let interval_ns = INTERVAL_NS * (cpus as u64).div_ceil(CPUS_AT_FULL_RATE);
        Ok(Box::new(Observed {
            state: State::Sampling(Sampling::begin(target, interval_ns, cpus)?),
            symbols: Symbols::of(target, &order.images),
            target: target.clone(),
            order: order.clone(),
            clock: order.clock,
            interval_ns,
            cpus,
        }))
    }
}

fn attached(target: &Target, interval_ns: u64, cpus: usize) -> Result<Programs, Refusal> {
    let mut config = target.pid.to_ne_bytes().to_vec();
    config.extend([0; 4]);
    let ring_bytes = (cpus * SAMPLES_PER_CPU * Sample::BYTES).next_power_of_two().min(LARGEST_RING_BYTES);
    let sizes = [("samples", ring_bytes as u32)];
    let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &sizes, without: &[], spare: &[] })?;
    programs.attach_event("cpu_is_sampled", Occasion::Clock { interval_ns })?;
    Ok(programs)
}

/// The programs at work.
struct Sampling {
    ring: Ring,
    programs: Programs,
}

impl Sampling {
    fn begin(target: &Target, interval_ns: u64, cpus: usize) -> Result<Sampling, Refusal> {
        let programs = attached(target, interval_ns, cpus)?;
        Ok(Sampling { ring: Ring::new(&programs.map("samples")?)?, programs })
    }
}

/// Whether it samples.
enum State {
    Sampling(Sampling),
    /// The profiler does.
    StandsBack,
    /// It could not go on.
    Ended,
}

struct Observed {
    state: State,
    symbols: Symbols,
    target: Target,
    order: Order,
    clock: Clock,
    interval_ns: u64,
    cpus: usize,
}

impl Observer for Observed {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        self.take(found);
        match (&self.state, self.order.profiler.is_sampling()) {
            (State::Sampling(sampling), true) => {
                tell_losses(sampling, found);
                self.state = State::StandsBack;
            }
            (State::StandsBack, false) => self.go_on(found),
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.take(found);
        if let State::Sampling(sampling) = &self.state {
            tell_losses(sampling, found);
        }
        self.symbols.tell_losses(found, NAME);
        Vec::new()
    }
}

impl Observed {
    fn take(&mut self, found: &mut Recording) {
        let State::Sampling(sampling) = &mut self.state else { return };
        for sample in sampling.ring.take() {
            if let Some(sample) = Sample::parse(&sample) {
                self.add(found, &sample);
            }
        }
    }

    fn go_on(&mut self, found: &mut Recording) {
        self.state = match Sampling::begin(&self.target, self.interval_ns, self.cpus) {
            Ok(sampling) => State::Sampling(sampling),
            Err(refusal) => {
                let says = format!("no samples from here on, as the profiler has ended: {}", refusal.why);
                found.add_loss(NAME, loss::REFUSED, 0, &says);
                State::Ended
            }
        };
    }

    fn add(&mut self, found: &mut Recording, sample: &Sample<'_>) {
        let user = self.symbols.user_stack(found, &sample.user.stack());
        let stack_id = self.symbols.kernel_stack_upon(found, user, &sample.kernel);
        found.samples.push(Row {
            time_ns: self.clock.wall_ns(sample.time_ns),
            tid: sample.tid.into(),
            cpu: sample.cpu as i32,
            event: found.strings.intern(event::CPU_FROM_OUTSIDE),
            weight_ns: self.interval_ns as i64,
            stack_id,
            ..Row::default()
        });
    }
}

fn tell_losses(sampling: &Sampling, found: &mut Recording) {
    let lost = [(loss::EVENTS_LOST, "samples of the CPU came faster than they could be taken over")];
    sampling.programs.tell_losses(found, NAME, lost);
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::recorder::Plan;

    #[test]
    fn goes_on_when_the_profiler_has_ended() {
        let target = Target::of(std::process::id()).unwrap();
        if let Err(refusal) = CpuSamples.check(&target) {
            return eprintln!("SKIPPED: {}", refusal.why);
        }
        let order = Plan::new(PathBuf::from("none")).order;
        let mut observer = CpuSamples.start(&target, &order).unwrap();
        let mut samples = || {
            let mut found = Recording::default();
            observer.look(&mut found);
            let until = Instant::now() + Duration::from_millis(300);
            while Instant::now() < until {}
            observer.look(&mut found);
            fathom_evidence::Table::len(&found.samples)
        };
        assert!(samples() > 0);
        order.profiler.has_begun();
        samples();
        assert_eq!(samples(), 0);
        order.profiler.has_ended();
        assert!(samples() > 0);
    }
}
