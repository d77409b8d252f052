//! Datagrams at the UDP sockets of the process: when each arrived in its socket's queue, how long it waited there, which thread read
//! it, and how deep the queue was. Multicast receivers and datagram servers lose what they read too late, without an error.
//!
//! Everything is counted in the kernel; only datagrams that were read late become rows. The programs are attached only while
//! the process has a UDP socket; a walk over its open files checks that each second, and is the only cost for other processes.

mod parse;
mod rows;
mod sampling;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::bpf::{LeftOut, MappedArray, Programs, Recipe, Ring, Spare, Table, Walker};
use crate::clock::monotonic_ns;
use crate::rate_limit::RateLimit;
use crate::{Collector, Lesser, Observer, Order, Refusal, Target, Tier};
use parse::{Answered, GAP_MOST, Late, ONE_IN, PLACE_WORDS, Place, QUEUE_MOST, Read, Reader, SLOW_NS, WALK};
use rows::Rows;
use sampling::Rule;

const NAME: &str = "datagrams";
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/datagrams.bpf.o"));

const PERIOD: Duration = Duration::from_millis(100);
const LOOKS_PER_SECOND: u32 = 10;
const WALK_PERIOD: Duration = Duration::from_secs(1);

/// Datagrams that wait at least this long become rows. The default queue holds 20 ms of 8,000 small datagrams a second; waits for a
/// CPU on a machine that is merely busy are mostly shorter.
const LATE_NS: u64 = 5_000_000;

/// A socket that this many walks did not find is closed; a single walk may miss one while descriptors change.
const WALKS_UNTIL_CLOSED: u64 = 2;

const WALKER: &str = "finds";
const ARRIVALS: &str = "arrives";
const READS: &str = "is_read";
const ANSWERS: &str = "is_answered";
const DROPS: &str = "is_dropped";

/// Sections of single variables.
const WALKS: &str = ".data.walks";
const ENDING: &str = ".data.ending";

/// Each program sees something of its own.
const SPARE: &[Spare] = &[
    Spare { program: WALKER, sees: "sockets of datagrams that are connected or that no thread reads from" },
    Spare { program: ARRIVALS, sees: "when datagrams came to a socket, how many stood in its queue and how long" },
    Spare { program: READS, sees: "which thread read datagrams, and how long they had stood in the queue" },
    Spare { program: ANSWERS, sees: "answers to datagrams, and how long they took" },
    Spare { program: DROPS, sees: "how many datagrams came to a port, with those that were dropped there" },
];

pub(crate) static COLLECTOR: Datagrams = Datagrams;

/// The collector.
pub(crate) struct Datagrams;

impl Collector for Datagrams {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sees(&self) -> &'static str {
        "datagrams per UDP socket: arrivals, reads by thread, time in the queue, its depth, answers"
    }

    fn tier(&self) -> Tier {
        Tier::Bpf
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        loaded(target).map(|_| ())
    }

    fn lesser(&self, target: &Target) -> Option<Lesser> {
        let (programs, _) = loaded(target).ok()?;
        programs.left_out().lesser(self.sees())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        Ok(Box::new(begun(target, order)?))
    }
}

/// Begins to observe.
fn begun(target: &Target, order: &Order) -> Result<Observed, Refusal> {
    let (programs, walker) = loaded(target)?;
    let unused = programs.map("unused")?;
    let places: MappedArray<PLACE_WORDS> = MappedArray::new(&programs.map("places")?)?;
    (0..places.len()).rev().for_each(|place| put_back(&unused, place));
    let mut observer = Observed {
        ring: Ring::new(&programs.map("told")?)?,
        answers: Ring::new(&programs.map("exchanges")?)?,
        rules: HashMap::new(),
        readers: Table::new(programs.map("readers")?),
        rows: Rows::new(order.clock, programs.left_out()),
        programs,
        walker,
        places,
        unused,
        known: HashMap::new(),
        limit: RateLimit::every(WALK_PERIOD),
        is_attached: false,
        walks: 0,
        looks: 0,
    };
    observer.walk();
    observer.follow()?;
    Ok(observer)
}

/// The programs, and the one that looks at the process's files if the kernel lets it; nothing is attached yet.
fn loaded(target: &Target) -> Result<(Programs, Option<Walker>), Refusal> {
    let mut config: Vec<u8> = [target.pid, libc::SYS_sendto as u32].into_iter().flat_map(u32::to_ne_bytes).collect();
    config.extend(LATE_NS.to_ne_bytes());
    config.extend([libc::SYS_sendmsg as u32, 0].into_iter().flat_map(u32::to_ne_bytes));
    let mut programs = Programs::load(&Recipe { object: OBJECT, config, sizes: &[], without: &[], spare: SPARE })?;
    let walker = programs.process_walker(WALKER, target.pid)?;
    refuse_if_blind(programs.left_out())?;
    Ok((programs, walker))
}

/// Sockets are found by walks and by reads; without both programs there are none.
fn refuse_if_blind(left_out: &LeftOut) -> Result<(), Refusal> {
    let is_blind = left_out.has(WALKER) && left_out.has(READS);
    left_out.refusals().pop().filter(|_| is_blind).map_or(Ok(()), Err)
}

/// A socket may have this place. Should the kernel refuse, there is one less.
fn put_back(unused: &MapHandle, place: usize) {
    let _ = unused.update(&[], &(place as u32).to_ne_bytes(), MapFlags::ANY);
}

struct Observed {
    programs: Programs,
    /// None where the kernel refused it.
    walker: Option<Walker>,
    places: MappedArray<PLACE_WORDS>,
    unused: MapHandle,
    readers: Table,
    ring: Ring,
    answers: Ring,
    /// What was answered until the last look, by socket.
    rules: HashMap<u64, Rule>,
    rows: Rows,
    /// Names of the sockets by id.
    known: HashMap<u64, String>,
    /// Of the walks.
    limit: RateLimit,
    is_attached: bool,
    walks: u64,
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
        self.looks += 1;
        if let Some(reading) = self.limit.begin(monotonic_ns()) {
            self.walk();
            self.limit.end(reading);
        }
        self.count(self.looks.is_multiple_of(LOOKS_PER_SECOND), found);
        self.take_late_ones(found);
        if let Err(refusal) = self.follow() {
            found.add_loss(NAME, loss::REFUSED, 0, &refusal.why);
        }
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.programs.set(ENDING, 1);
        self.walk();
        self.count(true, found);
        self.take_late_ones(found);
        self.rows.close(found);
        self.limit.tell(found, NAME, "the descriptors of the process");
        self.tell_losses(found);
        Vec::new()
    }
}

impl Observed {
    /// Looks at the sockets of the process.
    fn walk(&mut self) {
        let Some(walker) = &self.walker else { return };
        self.walks += 1;
        self.programs.set(WALKS, self.walks);
        walker.walk();
    }

    /// Has the other programs at work while there is something for them.
    fn follow(&mut self) -> Result<(), Refusal> {
        let is_wanted = self.walker.is_none() || self.places.keys().any(|id| id != 0);
        match std::mem::replace(&mut self.is_attached, is_wanted) {
            false if is_wanted => self.programs.attach_tracepoints(),
            true if !is_wanted => {
                self.programs.detach();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Writes the sums that changed; what is of little hurry each second.
    fn count(&mut self, is_second: bool, found: &mut Recording) {
        self.rows.read(is_second);
        for index in 0..self.places.len() {
            let Some(place) = Place::parse(&self.places.row(index)) else { continue };
            // A maximum of the moment between reading and resetting is lost.
            [QUEUE_MOST, GAP_MOST].into_iter().for_each(|word| self.places.set(index, word, 0));
            let rule = self.rules.entry(place.id).or_default();
            rule.look(&place);
            [(SLOW_NS, rule.slow_ns), (ONE_IN, rule.one_in)]
                .into_iter()
                .for_each(|(word, value)| self.places.set(index, word, value));
            let name = self.known.entry(place.id).or_insert_with(|| place.name());
            self.rows.add_socket(&place, name, is_second, found);
        }
        self.readers.read();
        for (reader, read) in
            self.readers.rows().filter_map(|(key, value)| Some((Reader::parse(key)?, Read::parse(value))))
        {
            if let Some(name) = self.known.get(&reader.id) {
                self.rows.add_reader(reader, read, name, found);
            }
        }
        if is_second {
            self.forget_closed_ones();
        }
    }

    /// Makes room for other sockets.
    fn forget_closed_ones(&mut self) {
        for index in 0..self.places.len() {
            let [id, met] = [0, WALK].map(|word| self.places.get(index, word));
            if id != 0 && self.walker.is_some() && met + WALKS_UNTIL_CLOSED < self.walks {
                self.places.clear(index);
                put_back(&self.unused, index);
                self.known.remove(&id);
                self.rules.remove(&id);
                self.rows.forget(id);
            }
        }
        let is_gone = |key: &[u8]| Reader::parse(key).is_none_or(|reader| !self.known.contains_key(&reader.id));
        self.readers.rows().filter(|(key, _)| is_gone(key)).for_each(|(key, _)| self.readers.remove(key));
    }

    fn take_late_ones(&mut self, found: &mut Recording) {
        for late in self.ring.take().iter().filter_map(|event| Late::parse(event)) {
            self.rows.add_late(&late, found);
        }
        for answered in self.answers.take().iter().filter_map(|event| Answered::parse(event)) {
            self.rows.add_answered(&answered, found);
        }
    }

    fn tell_losses(&self, found: &mut Recording) {
        let lost = [
            (
                loss::EVENTS_LOST,
                "datagrams were read late more often than could be taken over: they are counted but are no spans",
            ),
            (
                loss::LIMIT,
                "datagrams were read late more often than is recorded each second: they are counted but are no spans",
            ),
            (loss::LIMIT, "looks at UDP sockets beyond the number that is told apart: their datagrams are not counted"),
            (loss::LIMIT, "reads by threads beyond the number that is counted"),
            (loss::EVENTS_LOST, "UDP sockets for which the kernel had no memory: their datagrams are not counted"),
            (loss::EVENTS_LOST, "datagrams were answered more often than could be taken over: they are no spans"),
            (loss::LIMIT, "answers to datagrams beyond the number that is recorded each second: they are no spans"),
            (loss::LIMIT, "datagrams came while too many peers waited for answers: how long theirs took is not known"),
            (
                loss::EVENTS_LOST,
                "datagrams were read at the instant at which they came: how long their answers took is not known",
            ),
        ];
        self.programs.tell_losses(found, NAME, lost);
    }
}

#[cfg(test)]
mod tests;
