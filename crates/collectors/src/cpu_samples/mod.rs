//! Samples of the CPUs from outside: stacks of Java, C++ and the kernel of a JVM that nobody asks for anything.
//!
//! A clock of the kernel on each CPU lets a program send the thread of the target that runs there, with its registers and a
//! copy of its stack. They are walked here, through C by unwind tables and through Java code by what the JVM's memory says
//! of it (`fathom-symbols`). Methods that were compiled into others are not told apart: a frame is of the method
//! whose code it is.
//!
//! It stands in for async-profiler where that is not wanted, or as long as the JVM does not answer: once that samples, this
//! stops.

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
        let programs = attached(target, interval_ns, cpus)?;
        let sampling = Sampling { ring: Ring::new(&programs.map("samples")?)?, programs };
        Ok(Box::new(Observed {
            sampling: Some(sampling),
            symbols: Symbols::of(target, &order.images),
            order: order.clone(),
            clock: order.clock,
            interval_ns: interval_ns as i64,
        }))
    }
}

fn attached(target: &Target, interval_ns: u64, cpus: usize) -> Result<Programs, Refusal> {
    let mut config = target.pid.to_ne_bytes().to_vec();
    config.extend([0; 4]);
    let ring_bytes = (cpus * SAMPLES_PER_CPU * Sample::BYTES).next_power_of_two().min(LARGEST_RING_BYTES);
    let sizes = [("samples", ring_bytes as u32)];
    let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &sizes, without: &[] })?;
    programs.attach_event("cpu_is_sampled", Occasion::Clock { interval_ns })?;
    Ok(programs)
}

/// The programs at work.
struct Sampling {
    ring: Ring,
    programs: Programs,
}

struct Observed {
    /// Until the profiler samples.
    sampling: Option<Sampling>,
    symbols: Symbols,
    order: Order,
    clock: Clock,
    interval_ns: i64,
}

impl Observer for Observed {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        let Some(mut sampling) = self.sampling.take() else { return };
        for sample in sampling.ring.take() {
            if let Some(sample) = Sample::parse(&sample) {
                self.add(found, &sample);
            }
        }
        match self.order.profiler.is_sampling() {
            true => tell_losses(&sampling, found),
            false => self.sampling = Some(sampling),
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        if let Some(sampling) = &self.sampling {
            tell_losses(sampling, found);
        }
        self.symbols.tell_losses(found, NAME);
        Vec::new()
    }
}

impl Observed {
    fn add(&mut self, found: &mut Recording, sample: &Sample<'_>) {
        let user = self.symbols.user_stack(found, &sample.user.stack());
        let stack_id = self.symbols.kernel_stack_upon(found, user, &sample.kernel);
        found.samples.push(Row {
            time_ns: self.clock.wall_ns(sample.time_ns),
            tid: sample.tid.into(),
            cpu: sample.cpu as i32,
            event: found.strings.intern(event::CPU_FROM_OUTSIDE),
            weight_ns: self.interval_ns,
            stack_id,
            ..Row::default()
        });
    }
}

fn tell_losses(sampling: &Sampling, found: &mut Recording) {
    let lost = [(loss::EVENTS_LOST, "samples of the CPU came faster than they could be taken over")];
    sampling.programs.tell_losses(found, NAME, lost);
}
