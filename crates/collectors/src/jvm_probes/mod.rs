//! What the JVM is doing, from the probes that are built into libjvm: no attaching, no agent, no answer needed.
//!
//! Safepoints, operations of the VM thread, collections with their memory pools, compilations, on the kernel's own
//! clock. When the JVM reaches a probe, the kernel runs a program there. So a JVM that is stopped, out of CPU or
//! collecting all the time is observed as well as any other. Constraints:
//!
//! * **Not felt.** Each hit of a probe costs 1-2 µs. A part that is hit more often than [`PER_SECOND`] is removed
//!   again, and that is reported. The kind of each collection and the memory after it then come from the JVM's own
//!   counters, which are read at its ends.
//! * **The file itself.** Places are those of the mapped file, not of one with its name; probes are set in this process only.
//! * **A stand-in.** Flight Recorder knows more of the same; the account prefers it where both cover the time.

mod collections;
mod compilations;
mod libjvm;
mod parse;
mod pools;
mod probes;
mod stops;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss, subject};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};

use crate::bpf::{Increments, Programs, Recipe, Ring, UserPlaces, counter_of, may_load, words};
use crate::mapped::Mapped;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use collections::Collections;
use compilations::Compilations;
use libjvm::Libjvm;
use parse::Event;
use probes::{KINDS, PROBES, Probe, all_bytes};
use stops::Stops;

const NAME: &str = "jvm_probes";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/jvm_probes.bpf.o"));

const PERIOD: Duration = Duration::from_millis(100);

/// A probe that is met more often than this is taken out: 3,000 traps are half a percent of a core.
const PER_SECOND: u64 = 3_000;

/// Events on their way to user space: about a second of the largest, 360 bytes each, at [`PER_SECOND`].
const RING_BYTES: u32 = 1 << 20;

/// Who watches many processes has a ring for each. This one holds what two probes with texts send between two looks at [`PER_SECOND`]
/// each, and a second of all that a JVM which collects and stops a hundred times a second tells.
const SPARING_RING_BYTES: u32 = 1 << 18;

/// Pieces of compiled code that came into use, and that were given up, since the recording began. Counted only here.
const CODE_LOADED_COUNT: &str = "code_loaded_count";
const CODE_UNLOADED_COUNT: &str = "code_unloaded_count";

pub(crate) static COLLECTOR: JvmProbes = JvmProbes;

/// The collector.
pub(crate) struct JvmProbes;

impl Collector for JvmProbes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "safepoints, collections and compilations as the JVM comes by its probes, without its help"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        may_load()?;
        let libjvm = Libjvm::of(target)?;
        load(target, &libjvm, RING_BYTES).map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        may_load()?;
        let libjvm = Libjvm::of(target)?;
        let ring_bytes = if order.is_sparing { SPARING_RING_BYTES } else { RING_BYTES };
        let mut programs = load(target, &libjvm, ring_bytes)?;
        let now_ns = order.clock.now_ns();
        let mut observed = Observed {
            parts: attach(&mut programs, target, &libjvm)?,
            ring: Ring::new(&programs.map("events")?)?,
            hits: programs.map(".data.counts")?,
            programs,
            clock: order.clock,
            has_counters: Mapped::of(target).is_ok_and(|mapped| mapped.counters.is_some()),
            sums: Increments::new(now_ns),
            rates: Rates::new(now_ns),
            stops: Stops::default(),
            collections: Collections::of(libjvm.collectors.clone()),
            compilations: Compilations::default(),
            names: Vec::new(),
            first: Recording::default(),
        };
        if libjvm.by_functions {
            let says = "libjvm was built without probes: only safepoints are seen, at the functions that make them";
            observed.first.add_loss(NAME, loss::LIMIT, 0, says);
        }
        Ok(Box::new(observed))
    }
}

/// The programs, not attached yet.
fn load(target: &Target, libjvm: &Libjvm, ring_bytes: u32) -> Result<Programs, Refusal> {
    let mut config = target.pid.to_ne_bytes().to_vec();
    config.extend([0; 4]);
    config.extend([PER_SECOND; PROBES].into_iter().flat_map(u64::to_ne_bytes));
    config.extend(all_bytes(&libjvm.places, &libjvm.counters));
    let sizes = [("events", ring_bytes)];
    let recipe = |without| Recipe { object: OBJECT, config: config.clone(), sizes: &sizes, without, spare: &[] };
    // A kernel that does not know the one refuses to load it.
    Programs::load(&recipe(&[])).or_else(|_| Programs::load(&recipe(&["probe_of_many"])))
}

/// The probes that belong together, at work until dropped.
struct Part {
    name: &'static str,
    probes: Vec<Probe>,
    links: Vec<Link>,
}

/// Attaches one part after the other: some may be missing in this JVM.
fn attach(programs: &mut Programs, target: &Target, libjvm: &Libjvm) -> Result<Vec<Part>, Refusal> {
    let mut parts: Vec<Part> = Vec::new();
    // Ends first: a beginning that is seen must find its end.
    for kind in KINDS.iter().rev() {
        let cookies = libjvm.places.iter().enumerate().filter(|(_, place)| place.probe == kind.probe);
        let mut places = UserPlaces::default();
        for (cookie, place) in cookies {
            places.add(place.file_offset, place.semaphore_offset, cookie as u64);
        }
        if places.is_empty() {
            continue;
        }
        let links = programs.attach_user(["probe_of_many", "probe"], target.pid, &libjvm.path(), &places)?;
        match parts.iter_mut().find(|part| part.name == kind.part) {
            Some(part) => {
                part.links.extend(links);
                part.probes.push(kind.probe);
            }
            None => parts.push(Part { name: kind.part, probes: vec![kind.probe], links }),
        }
    }
    Ok(parts)
}

struct Observed {
    /// Go first: nothing may run when the maps go.
    parts: Vec<Part>,
    ring: Ring,
    hits: MapHandle,
    programs: Programs,
    clock: Clock,
    /// The JVM counts its classes itself.
    has_counters: bool,
    sums: Increments<Probe, u64>,
    rates: Rates,
    stops: Stops,
    collections: Collections,
    compilations: Compilations,
    /// Threads that began meanwhile, by their whole names: the kernel has 15 letters of them.
    names: Vec<(u32, String)>,
    first: Recording,
}

impl Observer for Observed {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        found.absorb(std::mem::take(&mut self.first));
        self.take_events(found);
        let hits = self.read_hits();
        self.count(&hits, found);
        self.keep_within_budget(&hits, found);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.look(found);
        let now_ns = self.clock.now_ns();
        self.stops.finish(now_ns, found);
        self.collections.finish(now_ns, found);
        // Again: others know the threads by the kernel's names.
        self.names.iter().for_each(|(tid, name)| found.add_thread(i64::from(*tid), name));
        let traps: u64 = self.read_hits().iter().sum();
        found.add_fact(subject::RECORDING, "jvm_probes_traps", &traps.to_string(), NAME);
        let lost = [
            (loss::EVENTS_LOST, "probes were met faster than what they tell could be taken over"),
            (loss::EVENTS_LOST, "probes were met more often than they may tell of"),
            (loss::NAMES_MISSING, "texts at probes that could not be read in the process's memory"),
        ];
        self.programs.tell_losses(found, NAME, lost);
        Vec::new()
    }
}

/// Threads whose names are kept.
const NAMES_MAX: usize = 10_000;

impl Observed {
    fn take_events(&mut self, found: &mut Recording) {
        for bytes in self.ring.take() {
            let Some(mut event) = Event::parse(&bytes) else { continue };
            event.time_ns = self.clock.wall_ns(event.time_ns);
            self.stops.see(&event, found);
            self.collections.see(&event, self.stops.operation(), found);
            self.compilations.see(&event, found);
            if event.probe == Probe::ThreadStart && self.names.len() < NAMES_MAX && !event.texts[0].is_empty() {
                found.add_thread(i64::from(event.tid), &event.texts[0]);
                self.names.push((event.tid, std::mem::take(&mut event.texts[0])));
            }
        }
    }

    fn read_hits(&self) -> [u64; PROBES] {
        let read = self.hits.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let read = read.ok().flatten().unwrap_or_default();
        let mut all = words(&read);
        std::array::from_fn(|_| all.next().unwrap_or(0))
    }

    /// Writes what is only counted.
    fn count(&mut self, hits: &[u64; PROBES], found: &mut Recording) {
        self.sums.read(self.clock.now_ns());
        for (probe, word) in [
            (Probe::CodeLoaded, CODE_LOADED_COUNT),
            (Probe::CodeUnloaded, CODE_UNLOADED_COUNT),
            (Probe::ClassLoaded, counter::CLASSES_LOADED_COUNT),
            (Probe::ClassUnloaded, counter::CLASSES_UNLOADED_COUNT),
        ] {
            let is_of_classes = matches!(probe, Probe::ClassLoaded | Probe::ClassUnloaded);
            if self.has_counters && is_of_classes {
                continue;
            }
            if let Some(rise) = self.sums.see(probe, hits[probe as usize]) {
                let row = counter_of(found, word, "", 0, NAME);
                rise.write(found, &row, |count| *count);
            }
        }
    }

    /// Takes out what is met too often.
    fn keep_within_budget(&mut self, hits: &[u64; PROBES], found: &mut Recording) {
        let now_ns = self.clock.now_ns();
        let Some(rates) = self.rates.since(now_ns, hits) else { return };
        let rate_of = |part: &Part| part.probes.iter().map(|probe| rates[*probe as usize]).max().unwrap_or(0);
        let too_busy = self.parts.extract_if(.., |part| rate_of(part) > PER_SECOND);
        for part in too_busy.collect::<Vec<Part>>() {
            let highest = rate_of(&part);
            let says = format!(
                "{}: their probe was met {highest} times in a second, more than {PER_SECOND}: not followed from there on",
                part.name
            );
            found.add_loss(NAME, loss::LIMIT, highest as i64, &says);
            self.take_out(part, found);
        }
    }

    /// Ends go last, as they came first. What had begun is forgotten when no more beginnings come: its end will not be seen.
    fn take_out(&mut self, mut part: Part, found: &mut Recording) {
        while part.links.pop().is_some() {}
        self.take_events(found);
        part.probes.iter().for_each(|probe| forget(*probe, &mut self.stops, &mut self.collections));
    }
}

/// Forgets what a probe began that is not followed any more.
fn forget(probe: Probe, stops: &mut Stops, collections: &mut Collections) {
    match probe {
        Probe::CollectionBegin | Probe::CollectionEnd => collections.forget(),
        Probe::SafepointBegin | Probe::SafepointEnd | Probe::OperationBegin | Probe::OperationEnd => {
            *stops = Stops::default();
        }
        _ => {}
    }
}

const SECOND_NS: i64 = 1_000_000_000;

/// How often probes are met.
#[derive(Debug)]
struct Rates {
    since_ns: i64,
    hits: [u64; PROBES],
}

impl Rates {
    fn new(now_ns: i64) -> Rates {
        Rates { since_ns: now_ns, hits: [0; PROBES] }
    }

    /// Times per second since it was last told, once a second.
    fn since(&mut self, now_ns: i64, hits: &[u64; PROBES]) -> Option<[u64; PROBES]> {
        let passed_ns = now_ns.saturating_sub(self.since_ns);
        if passed_ns < SECOND_NS {
            return None;
        }
        let before = std::mem::replace(&mut self.hits, *hits);
        self.since_ns = now_ns;
        let rate = |index: usize| {
            let rise = u128::from(hits[index].saturating_sub(before[index]));
            u64::try_from(rise * SECOND_NS as u128 / passed_ns as u128).unwrap_or(u64::MAX)
        };
        Some(std::array::from_fn(rate))
    }
}
