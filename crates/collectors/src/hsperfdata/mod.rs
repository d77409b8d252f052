//! The JVM's own counters, which it keeps in a file that anybody with its rights may read: collections,
//! safepoints, compilations, classes. Reading them takes nothing from the JVM and needs no attaching.
//!
//! The file is found through the mappings of the process, opened once, and read 50 times a second.

mod pauses;
mod runs;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::kinds::{loss, subject};
use fathom_evidence::{Recording, mask};

pub use pauses::scope;
use runs::Runs;
pub(crate) use watch::collectors;
use watch::{Ticks, Watches};

use crate::jvm_counters::Counters;
use crate::mapped::Mapped;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};

pub(crate) static COLLECTOR: Hsperfdata = Hsperfdata;

const SOURCE: &str = "hsperfdata";

/// Short enough to see a collection of 20 ms while it runs.
const PERIOD: Duration = Duration::from_millis(20);

pub(crate) struct Hsperfdata;

impl Collector for Hsperfdata {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "collections, safepoints, compilations and classes, as the JVM counts them"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        open(target).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let counters = open(target)?;
        let mut first = Recording::default();
        describe(&counters, &mut first);
        let mut watches = Watches::default();
        watches.place(&counters);
        let ticks = Ticks::of(&counters);
        let runs = Runs::of(&counters, order.clock.now_ns());
        Ok(Box::new(Reader { clock: order.clock, counters, watches, runs, ticks, first: Some(first), is_lost: false }))
    }
}

fn open(target: &Target) -> Result<Counters, Refusal> {
    let mapped = Mapped::of(target).map_err(|error| {
        Refusal::new(format!("cannot read the process's mappings: {error}"), "run as the JVM's user, or as root")
    })?;
    Counters::of(target, &mapped)
}

/// Who runs here. What the JVM was started with may hold secrets.
fn describe(counters: &Counters, found: &mut Recording) {
    for (key, name) in [
        ("name", "java.property.java.vm.name"),
        ("version", "sun.rt.internalVersion"),
        ("arguments", "java.rt.vmArgs"),
        ("flags", "java.rt.vmFlags"),
        ("java_arguments", "sun.rt.javaCommand"),
    ] {
        if let Some(text) = counters.text(name).filter(|text| !text.is_empty()) {
            let text = if name.starts_with("java.rt.") { mask::options(&text) } else { (&*text).into() };
            found.add_fact(subject::JVM, key, &text, SOURCE);
        }
    }
    if let Some(started_at_ms) = counters.number("sun.rt.createVmBeginTime") {
        let started_at_ns = started_at_ms.saturating_mul(1_000_000);
        found.add_fact(subject::JVM, "started_at_ns", &started_at_ns.to_string(), SOURCE);
    }
}

struct Reader {
    clock: Clock,
    counters: Counters,
    watches: Watches,
    runs: Runs,
    ticks: Ticks,
    /// What was known before the first look.
    first: Option<Recording>,
    is_lost: bool,
}

impl Observer for Reader {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        if let Some(first) = self.first.take() {
            found.absorb(first);
        }
        match self.counters.refresh() {
            Ok(true) => self.watches.place(&self.counters),
            Ok(false) => {}
            Err(error) => return self.lose(&error, found),
        }
        let now_ns = self.clock.now_ns();
        let has_collected = self.runs.look(&self.counters, self.ticks, now_ns, found);
        self.watches.look(&self.counters, self.ticks, now_ns, has_collected, found);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        self.runs.finish(&self.counters, self.ticks, self.clock.now_ns(), found);
        if self.runs.unseen > 0 {
            let says = format!("{} runs of a collector were counted but not seen one by one", self.runs.unseen);
            found.add_loss(SOURCE, loss::EVENTS_LOST, self.runs.unseen, &says);
        }
        Vec::new()
    }
}

impl Reader {
    /// Says it once.
    fn lose(&mut self, error: &std::io::Error, found: &mut Recording) {
        if !std::mem::replace(&mut self.is_lost, true) {
            let says = format!("the JVM's counters could not be read any more: {error}");
            found.add_loss(SOURCE, loss::DAMAGED, 0, &says);
        }
    }
}
