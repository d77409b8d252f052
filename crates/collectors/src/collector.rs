//! What a collector is.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{recorded, subject};

use crate::attach::Shared;
use crate::policy::Glance;
use crate::raw::Raw;
pub use crate::refusal::{Lesser, Tier};
use crate::symbols::Images;
use crate::{Clock, Policy, Refusal, Target};

/// What the person who records wants.
#[derive(Debug, Clone)]
pub struct Order {
    /// The common time axis.
    pub clock: Clock,
    /// Folder of the recording; files that a reader must read later go into its `raw` folder.
    pub folder: PathBuf,
    /// What the folder may hold at any time, in bytes.
    pub max_bytes: u64,
    /// What may be done to the JVM.
    pub policy: Policy,
    /// How much of the CPUs was left when that was first asked.
    pub glance: Glance,
    /// Page faults that take at least this long become spans.
    pub page_fault_ns: i64,
    /// Waits off the CPU that take at least this long become spans.
    pub blocked_ns: i64,
    /// Waits for a CPU that take at least this long become spans.
    pub run_queue_ns: i64,
    /// System calls that take at least this long become spans.
    pub system_call_ns: i64,
    /// Requests of each second that become rows at most, the slow ones and a sample of the others.
    pub requests_per_second: u32,
    /// How much of the time before the call is wanted, if it was kept.
    pub before: Duration,
    /// Whether it runs for days: expensive data are read only when cheap data show a reason.
    pub is_sparing: bool,
    /// The session with the JVM that all collectors share.
    pub attach: Shared,
    /// Files of code that were read, shared by all collectors.
    pub images: Images,
    /// Whether a profiler in the JVM takes samples of the CPU.
    pub profiler: Profiler,
    /// The program whose command `guard-profiler` ends the profiler when this one is killed; none has no guard.
    pub guard: Option<PathBuf>,
}

/// Tells collectors of each other whether a profiler inside the JVM samples the CPU: one is enough.
#[derive(Debug, Clone, Default)]
pub struct Profiler(Arc<AtomicBool>);

impl Profiler {
    /// Says that it samples from now on.
    pub(crate) fn has_begun(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Says that it does no longer, for a while or for good.
    pub(crate) fn has_ended(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether it does.
    pub(crate) fn is_sampling(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Order {
    /// Where files go that others write and a reader reads.
    pub(crate) fn raw(&self) -> Raw {
        Raw::of(&self.folder, self.max_bytes)
    }
}

/// One source of evidence about a running JVM or the machine around it.
pub trait Collector: Sync {
    /// As users name it (`--only`, `--without`) and as `source` columns have it.
    fn name(&self) -> &'static str;

    /// What it sees, in a few words.
    fn sees(&self) -> &'static str;

    /// What it needs to see all of it.
    fn tier(&self) -> Tier;

    /// Whether it could observe `target` now. Tries what it needs and leaves no trace.
    fn check(&self, target: &Target) -> Result<(), Refusal>;

    /// What it would see with the rights that there are, where [`Collector::check`] finds that it could observe but
    /// not all that it could with more.
    fn lesser(&self, _target: &Target) -> Option<Lesser> {
        None
    }

    /// Begins to observe.
    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal>;
}

/// Something that is fetched when a recording ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outstanding {
    /// The file of the raw folder that will hold it.
    pub file: String,
    /// What is missing while that is not there, and how to get it; one sentence.
    pub says: String,
}

impl Outstanding {
    pub(crate) fn note(&self, found: &mut Recording, source: &str) {
        let key = format!("{}{}", recorded::OUTSTANDING, self.file);
        found.add_fact(subject::RECORDING, &key, &self.says, source);
    }
}

/// A collector at work. Dropping it takes back what it did to the machine.
pub trait Observer: Send {
    /// The tier in which it observes, if that is less than its collector's.
    fn tier(&self) -> Option<Tier> {
        None
    }

    /// What this observer would fetch at its end only, so that a recorder that is killed leaves it behind.
    fn outstanding(&self) -> Option<Outstanding> {
        None
    }

    /// Whether it sees less than a recording wants, which starts another one then.
    fn is_sparing(&self) -> bool {
        false
    }

    /// What the kernel refused of what its collector would see.
    fn unseen(&self) -> Vec<Refusal> {
        Vec::new()
    }

    /// Time from one look to the next.
    fn period(&self) -> Duration;

    /// Adds what is new since the last look. What was lost meanwhile is added as losses.
    fn look(&mut self, found: &mut Recording);

    /// Adds what goes on and was not added yet, for who takes the rows until now: it is added again when it is over, or has gone on for long.
    fn so_far(&self, _found: &mut Recording) {}

    /// CPU time of threads that this observer started itself, until now: part of what it costs.
    fn own_threads_cpu_ns(&self) -> i64 {
        0
    }

    /// The last look. Returns files that a reader has to read into the recording.
    fn finish(self: Box<Self>, found: &mut Recording) -> Vec<PathBuf>;
}
