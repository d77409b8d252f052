//! One dump, in any of the formats. Knows no evidence.

use std::collections::HashSet;
use std::rc::Rc;

/// How a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum How {
    /// To enter a monitor.
    Enter,
    /// For a monitor's signal.
    Signal,
    /// Parked.
    Park,
    /// Asleep.
    Sleep,
}

/// What a thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Waited {
    pub(super) how: How,
    /// Identity of the lock or blocker; absent where the JVM does not tell.
    pub(super) address: Option<u64>,
    /// Its class.
    pub(super) class: String,
}

/// One place in Java code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// `class.method`.
    pub(super) symbol: String,
    /// Java module; empty when unknown.
    pub(super) module: String,
    /// Source line, 0 when unknown.
    pub(super) line: u32,
    pub(super) is_native: bool,
}

/// A thread as one dump shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) name: String,
    /// As the operating system knows it.
    pub(super) os_id: Option<i64>,
    /// As Java knows it.
    pub(super) java_id: Option<i64>,
    pub(super) is_virtual: bool,
    /// Address of the JVM's own structure: with [`Self::os_id`] it tells one JVM from another.
    pub(super) address: Option<u64>,
    /// CPU time since its start.
    pub(super) cpu_ns: Option<i64>,
    /// For how long it has lived.
    pub(super) elapsed_ns: Option<i64>,
    /// As `java.lang.Thread.State` has it; empty for threads that run no Java.
    pub(super) state: String,
    /// The innermost first.
    pub(super) frames: Rc<Vec<Place>>,
    pub(super) waits_for: Option<Waited>,
    /// Monitors and locks that it holds.
    pub(super) owns: Vec<u64>,
    /// Name of the owner of what it waits for, where the dump itself says so.
    pub(super) owner: Option<String>,
    /// Whether the JVM found it in a deadlock.
    pub(super) is_deadlocked: bool,
}

/// All threads at an instant.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dump {
    pub(super) time_ns: Option<i64>,
    /// Whether the time is local without a zone.
    pub(super) is_local: bool,
    pub(super) pid: Option<i64>,
    /// Name and version of the JVM, as it says.
    pub(super) version: String,
    pub(super) threads: Vec<Thread>,
    /// Whether its end is there.
    pub(super) is_whole: bool,
}

impl Dump {
    /// For how long the JVM has run: as long as its oldest thread.
    pub(super) fn uptime_ns(&self) -> Option<i64> {
        self.threads.iter().filter_map(|thread| thread.elapsed_ns).max()
    }

    /// The name of the thread that holds a lock. Who waits for a monitor's signal has given it away.
    pub(super) fn owner_of(&self, address: u64) -> Option<&str> {
        let has_given_away = |thread: &Thread| {
            let signal = thread.waits_for.as_ref().filter(|waited| waited.how == How::Signal);
            signal.and_then(|waited| waited.address) == Some(address)
        };
        let holds = |thread: &&Thread| thread.owns.contains(&address) && !has_given_away(thread);
        self.threads.iter().find(holds).map(|thread| thread.name.as_str())
    }
}

/// Stacks of dumps: most are the same in each dump, and are in memory once.
#[derive(Debug, Default)]
pub(super) struct Stacks(HashSet<Rc<Vec<Place>>>);

impl Stacks {
    pub(super) fn share(&mut self, dump: &mut Dump) {
        for thread in &mut dump.threads {
            match self.0.get(&thread.frames) {
                Some(known) => thread.frames = Rc::clone(known),
                None => {
                    Rc::make_mut(&mut thread.frames).shrink_to_fit();
                    self.0.insert(Rc::clone(&thread.frames));
                }
            }
        }
        dump.threads.shrink_to_fit();
    }
}
