//! How processes end: their exit code, the signal that ended them and who sent it, and whether the kernel chose them
//! because memory ran out. The kernel reports this only to the parent of a process, and a watcher is not its parent, so
//! a program in the kernel listens. One set of programs serves all processes.

use std::collections::HashMap;

use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::Refusal;
use crate::bpf::{Programs, Recipe, Ring, Spare, halves, words};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/endings.bpf.o"));

const SPARE: &[Spare] = &[
    Spare { program: "is_sent_a_signal", sees: "who sent the signal that ends a process" },
    Spare { program: "is_chosen", sees: "which process the kernel chose because memory ran out" },
];

/// What programs call what they tell.
const EXIT: u32 = 1;
const OUT_OF_MEMORY: u32 = 2;
const SIGNAL: u32 = 3;

/// The signals that a JVM takes as the wish to end in good order, and its exit codes then: 128 and the number.
const ASKED: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// Bits of the kernel's exit code.
const SIGNAL_BITS: u32 = 0x7f;
const DUMPED_BIT: u32 = 0x80;

/// Who sent a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// Its process; 0 for the kernel.
    pub pid: u32,
    /// The name of its thread.
    pub name: String,
}

/// What is known of the end of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// The signal that ended it, or the code that it ended with.
    pub by: Option<By>,
    /// Whether the kernel chose it because memory ran out.
    pub is_out_of_memory: bool,
    /// The last signal of these that it was sent, SIGTERM and SIGKILL, with who sent it.
    pub sent: Option<(i32, Sender)>,
    /// Whether it was sent SIGTERM before.
    pub was_asked: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By itself, with this code.
    Code(i32),
    /// By a signal; with whether it left a core dump.
    Signal(i32, bool),
}

impl By {
    /// From the code of the kernel.
    fn parse(code: u32) -> By {
        match code & SIGNAL_BITS {
            0 => By::Code(((code >> 8) & 0xff) as i32),
            number => By::Signal(number as i32, code & DUMPED_BIT != 0),
        }
    }
}

impl Ending {
    /// Whether it ended in good order: by itself without an error, or because it was asked to.
    pub fn is_in_order(&self) -> bool {
        let is_asked_for = |number: i32| ASKED.contains(&number);
        !self.is_out_of_memory
            && match self.by {
                None => true,
                Some(By::Code(code)) => code == 0 || is_asked_for(code - 128),
                Some(By::Signal(number, _)) => is_asked_for(number),
            }
    }

    fn add(&mut self, event: &Event) {
        match event.kind {
            EXIT => self.by = Some(By::parse(event.code)),
            OUT_OF_MEMORY => self.is_out_of_memory = true,
            SIGNAL => {
                self.was_asked |= event.code as i32 == libc::SIGTERM;
                self.sent = Some((event.code as i32, event.sender.clone()));
            }
            _ => {}
        }
    }
}

/// What a program told.
#[derive(Debug, PartialEq, Eq)]
struct Event {
    process: u32,
    kind: u32,
    code: u32,
    sender: Sender,
}

impl Event {
    fn parse(bytes: &[u8]) -> Option<Event> {
        let mut numbers = words(bytes.get(..16)?).map(halves);
        let ((process, kind), (code, pid)) = (numbers.next()?, numbers.next()?);
        let name: Vec<u8> = bytes.get(16..32)?.iter().copied().take_while(|byte| *byte != 0).collect();
        let name = if pid == 0 { "the kernel".to_owned() } else { String::from_utf8_lossy(&name).into_owned() };
        Some(Event { process, kind, code, sender: Sender { pid, name } })
    }
}

/// The programs at work.
pub struct Endings {
    programs: Programs,
    ring: Ring,
    watched: MapHandle,
    known: HashMap<u32, Ending>,
}

impl Endings {
    /// Brings the programs into the kernel.
    pub fn start() -> Result<Endings, Refusal> {
        let recipe = Recipe { object: OBJECT, config: Vec::new(), sizes: &[], without: &[], spare: SPARE };
        let mut programs = Programs::load(&recipe)?;
        programs.attach_tracepoints()?;
        let (ring, watched) = (Ring::new(&programs.map("ring")?)?, programs.map("watched")?);
        Ok(Endings { programs, ring, watched, known: HashMap::new() })
    }

    /// What the kernel refused of it.
    pub fn unseen(&self) -> Vec<Refusal> {
        self.programs.left_out().refusals()
    }

    /// Listens to the end of a process.
    pub fn watch(&mut self, pid: u32) -> Result<(), Refusal> {
        let full = |error| Refusal::new(format!("the end of process {pid} will not be seen: {error}"), "");
        self.known.insert(pid, Ending::default());
        self.watched.update(&pid.to_ne_bytes(), &1_u32.to_ne_bytes(), MapFlags::ANY).map_err(full)
    }

    /// What is known of the end of a process by now.
    pub fn of(&mut self, pid: u32) -> Ending {
        for event in self.ring.take().iter().filter_map(|bytes| Event::parse(bytes)) {
            if let Some(ending) = self.known.get_mut(&event.process) {
                ending.add(&event);
            }
        }
        self.known.get(&pid).cloned().unwrap_or_default()
    }

    /// Listens no longer.
    pub fn forget(&mut self, pid: u32) {
        self.known.remove(&pid);
        // It is not there where the map was full.
        let _ = self.watched.delete(&pid.to_ne_bytes());
    }
}

impl std::fmt::Debug for Endings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Endings").field("known", &self.known).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
