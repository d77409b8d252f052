//! Programs of a collector inside the kernel: what they need, how they are loaded, what they return.
//!
//! Each collector has one object, compiled from its `.bpf.c`. The object is adapted to the running kernel, given its
//! target and thresholds, and attached; dropping [`Programs`] removes all of it.
//! Programs attach only to tracepoints, perf events and places in the code of processes, which a locked-down kernel allows.

pub(crate) mod calls;
mod events;
mod increments;
mod mapped_array;
mod remembered;
mod rights;
mod ring;
mod slot_table;
mod spare;
mod table;
mod user_places;
mod user_state;
mod walker;

use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Once;

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use libbpf_rs::libbpf_sys::{bpf_obj_get_info_by_fd, bpf_prog_info};
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramAttachType, ProgramMut,
    ProgramType,
};

use crate::Refusal;
use crate::perf::Occasion;
pub(crate) use crate::words::{halves, words};

pub(crate) use calls::{CALLS, Calls};
pub(crate) use events::online_cpus;
pub(crate) use increments::{Increment, Increments, Part, counter as counter_of};
pub(crate) use mapped_array::MappedArray;
pub(crate) use rights::{are_all as are_all_rights, check as may_load};
pub(crate) use ring::Ring;
pub(crate) use slot_table::SlotTable;
pub(crate) use spare::{LeftOut, Spare};
pub(crate) use table::Table;
pub(crate) use user_places::UserPlaces;
pub(crate) use user_state::UserState;
pub(crate) use walker::Walker;

/// The section that user space fills before loading.
const CONFIG: &str = ".rodata.config";

/// The section in which programs count what they could not tell.
const LOSSES: &str = ".data.losses";

/// How ESRCH reads.
const NO_SUCH_PROCESS: &str = "No such process";

/// What a collector puts into the kernel.
pub(crate) struct Recipe<'a> {
    /// The compiled object.
    pub(crate) object: &'a [u8],
    /// What its `config` is, byte for byte.
    pub(crate) config: Vec<u8>,
    /// Maps whose size depends on the target, with their number of entries.
    pub(crate) sizes: &'a [(&'a str, u32)],
    /// Programs that this kernel cannot attach, for example because it lacks the tracepoint.
    pub(crate) without: &'a [&'a str],
    /// Programs without which the others still see something; what the kernel refuses of these is left out.
    pub(crate) spare: &'a [Spare],
}

/// The programs and maps of one collector, in the kernel until dropped.
pub(crate) struct Programs {
    /// Links go first: nothing may run when the maps go.
    links: Vec<Link>,
    object: Object,
    losses: Option<MapHandle>,
    spare: Vec<Spare>,
    left_out: LeftOut,
}

impl Programs {
    /// Brings the programs into the kernel without attaching them.
    pub(crate) fn load(recipe: &Recipe<'_>) -> Result<Programs, Refusal> {
        rights::check()?;
        let of = remembered::Object::of(recipe);
        let mut left_out = remembered::left_out(&of)?;
        let object = loop {
            keep_messages();
            let error = match open(recipe, &left_out).and_then(OpenObject::load) {
                Ok(object) => break object,
                Err(error) => error,
            };
            let culprit = MESSAGES.with_borrow(|messages| spare::culprit(messages));
            let refusal = refusal("the kernel refused Fathom's programs", &error);
            if !left_out.add(recipe.spare, culprit.as_deref(), &refusal) {
                remembered::refused(of, Err(refusal.clone()));
                return Err(refusal);
            }
            remembered::refused(of.clone(), Ok(left_out.clone()));
        };
        let mut programs = Programs { links: Vec::new(), object, losses: None, spare: recipe.spare.to_vec(), left_out };
        programs.losses = programs.map(LOSSES).ok();
        Ok(programs)
    }

    /// What the kernel refused of what the collector would see.
    pub(crate) fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Attaches all programs that belong to tracepoints.
    pub(crate) fn attach_tracepoints(&mut self) -> Result<(), Refusal> {
        for program in self.object.progs_mut() {
            let is_walk = matches!(program.attach_type(), ProgramAttachType::TraceIter);
            if program.prog_type() == ProgramType::Tracing && program.autoload() && !is_walk {
                let name = program.name().to_string_lossy().into_owned();
                match program.attach_trace() {
                    Ok(link) => self.links.push(link),
                    Err(error) => {
                        let refusal = refusal(&format!("{name} could not be attached"), &error);
                        if !self.left_out.add(&self.spare, Some(&name), &refusal) {
                            return Err(refusal);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes all programs away from where they are attached; they stay in the kernel.
    pub(crate) fn detach(&mut self) {
        self.links.clear();
    }

    /// Runs a program at each occasion, on every CPU and in every process: the
    /// program itself tells its target, as events of a process miss threads that are there already.
    pub(crate) fn attach_event(&mut self, name: &str, occasion: Occasion) -> Result<(), Refusal> {
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| Refusal::new(format!("no program is named {name}"), ""))?;
        for cpu in online_cpus() {
            let opened = events::open(occasion, cpu)?;
            let link = program.attach_perf_event(opened);
            self.links.push(link.map_err(|error| refusal(&format!("{name} could not be attached"), &error))?);
        }
        Ok(())
    }

    /// Lets a program look at every open file, or every thread, of a process; none where the kernel refused a program that can be spared.
    pub(crate) fn process_walker(&mut self, name: &str, process: u32) -> Result<Option<Walker>, Refusal> {
        self.walker_by(name, |program| walker::over_process(program, process))
    }

    /// Lets a program look at every thread of the machine; none likewise.
    pub(crate) fn thread_walker(&mut self, name: &str) -> Result<Option<Walker>, Refusal> {
        self.walker_by(name, |program| program.attach())
    }

    fn walker_by(
        &mut self,
        name: &str,
        attach: impl FnOnce(&ProgramMut<'_>) -> libbpf_rs::Result<Link>,
    ) -> Result<Option<Walker>, Refusal> {
        if self.left_out.has(name) {
            return Ok(None);
        }
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| Refusal::new(format!("no program is named {name}"), ""))?;
        let error = match attach(&program) {
            Ok(link) => return Ok(Some(Walker::new(link))),
            Err(error) => error,
        };
        // A process that has ended is no refusal of the kernel's: others are walked over by the same program.
        let is_refused = !error.to_string().contains(NO_SUCH_PROCESS);
        let refusal = refusal(&format!("{name} could not be attached"), &error);
        if is_refused && self.left_out.add(&self.spare, Some(name), &refusal) { Ok(None) } else { Err(refusal) }
    }

    /// A map by its name.
    pub(crate) fn map(&self, name: &str) -> Result<MapHandle, Refusal> {
        let map = self.object.maps().find(|map| map.name() == name);
        let map = map.ok_or_else(|| Refusal::new(format!("no map is named {name}"), ""))?;
        MapHandle::try_from(&map).map_err(|error| refusal(&format!("the map {name} is not accessible"), &error))
    }

    /// Sets the variable of a section that has no other; where that fails the programs go on as they were.
    pub(crate) fn set(&self, section: &str, value: u64) {
        if let Ok(map) = self.map(section) {
            let _ = map.update(&0_u32.to_ne_bytes(), &value.to_ne_bytes(), MapFlags::ANY);
        }
    }

    /// The variable of a section that has no other; none where it cannot be read.
    pub(crate) fn get(&self, section: &str) -> Option<u64> {
        let read = self.map(section).ok()?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()?;
        words(read.as_deref().unwrap_or_default()).next()
    }

    /// Tells how often the kernel left a program out because it would have interrupted itself, as
    /// completions in interrupts do.
    pub(crate) fn tell_skipped(&self, found: &mut Recording, source: &str) {
        let skipped = self.skipped();
        if skipped > 0 {
            let says = "events that came while a program was at work on the same CPU";
            found.add_loss(source, loss::EVENTS_LOST, skipped as i64, says);
        }
    }

    /// How often that was.
    pub(crate) fn skipped(&self) -> u64 {
        self.object.progs().map(|program| skipped(program.as_fd())).sum()
    }

    /// Tells what got lost, and that programs were skipped: a kind and a sentence for each number in the
    /// programs' `losses`, in their order.
    pub(crate) fn tell_losses<const N: usize>(
        &self,
        found: &mut Recording,
        source: &'static str,
        lost: [(&str, &str); N],
    ) {
        for (count, (kind, says)) in self.losses::<N>().into_iter().zip(lost) {
            if count > 0 {
                found.add_loss(source, kind, count as i64, says);
            }
        }
        self.tell_skipped(found, source);
    }

    /// What the programs counted in their `losses`, in their order.
    fn losses<const N: usize>(&self) -> [u64; N] {
        let zero = 0_u32.to_ne_bytes();
        let read = self.losses.as_ref().and_then(|map| map.lookup(&zero, MapFlags::ANY).ok()?);
        let mut counts = words(read.as_deref().unwrap_or_default());
        [(); N].map(|()| counts.next().unwrap_or(0))
    }
}

/// Times that a program did not run because it was running already.
fn skipped(program: BorrowedFd<'_>) -> u64 {
    let mut info = bpf_prog_info::default();
    let mut size = size_of::<bpf_prog_info>() as u32;
    // SAFETY: the buffer is valid for the call and its size is stated.
    let answer = unsafe { bpf_obj_get_info_by_fd(program.as_raw_fd(), (&raw mut info).cast(), &raw mut size) };
    if answer == 0 { info.recursion_misses } else { 0 }
}

fn open(recipe: &Recipe<'_>, left_out: &LeftOut) -> libbpf_rs::Result<OpenObject> {
    let mut open = ObjectBuilder::default().open_memory(recipe.object)?;
    for mut map in open.maps_mut() {
        if map.name() == CONFIG {
            map.set_initial_value(&recipe.config)?;
        }
        if let Some((_, entries)) = recipe.sizes.iter().find(|(name, _)| map.name() == *name) {
            map.set_max_entries(*entries)?;
        }
    }
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        if recipe.without.contains(&name.as_str()) || left_out.has(&name) {
            program.set_autoload(false);
        }
        #[cfg(test)]
        tests::refuse(&name, &mut program);
    }
    Ok(open)
}

thread_local! {
    /// The last messages of libbpf on this thread; they say more than the error does.
    static MESSAGES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Longest run of messages that is kept.
const MESSAGES_MAX: usize = 64;

/// Keeps what libbpf would print.
fn keep_messages() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, message| {
            MESSAGES.with_borrow_mut(|messages| {
                if messages.len() < MESSAGES_MAX {
                    messages.push(message);
                }
            });
        })));
    });
    MESSAGES.with_borrow_mut(Vec::clear);
}

/// A refusal that carries libbpf's own words.
fn refusal(what: &str, error: &libbpf_rs::Error) -> Refusal {
    let said = MESSAGES.take().concat();
    let line = said.lines().map(|line| line.trim_start_matches("libbpf: ").trim()).find(|line| tells(line));
    let why = match line {
        Some(line) => format!("{what}: {error} ({line})"),
        None => format!("{what}: {error}"),
    };
    Refusal::new(why, "Linux 6.1 or later with BTF is needed; if this is one, report this line")
}

/// Whether a message says something that the error does not.
fn tells(line: &str) -> bool {
    !line.is_empty() && !line.contains("BEGIN PROG LOAD LOG") && !line.contains("ulimit")
}

#[cfg(test)]
pub(crate) mod tests;
