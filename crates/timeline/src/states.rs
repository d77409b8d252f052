//! The states that thread time is accounted to. Every nanosecond of a thread is in exactly one.

mod row;
mod rows;

use std::fmt;

use fathom_evidence::kinds::{frame, unsent};
use fathom_evidence::{Recording, StackId};

pub use row::StateRow;
pub(crate) use row::{Known, Precedence};
pub use rows::{State, Wait};

/// One kind of thread time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThreadState {
    /// The whole application stood still.
    Stopped(Stop),
    /// A thread of the application waited for something other than work.
    Blocked(Wait),
    /// Threads of the application could have run but had no CPU.
    Runnable,
    /// The hypervisor took the CPU from threads of the application.
    Stolen,
    /// Threads of the application ran on a CPU.
    Running(Layer),
    /// Compiler threads ran.
    Compiler,
    /// The collector's threads ran.
    Collector(Collection),
    /// Other threads of the JVM ran.
    Vm,
    /// What the program had answered stood in the kernel. No thread waits for that; its user does.
    Unsent(Hold),
    /// A thread had nothing to do, for a reason that is known: its queue was empty, say.
    Idle,
    /// Nothing was recorded, or what was waited for is unknown.
    Unknown,
}

impl ThreadState {
    /// What of it is in the table.
    pub fn state(self) -> State {
        match self {
            ThreadState::Stopped(stop) => stop.state(),
            ThreadState::Blocked(wait) => wait.state(),
            ThreadState::Runnable => State::Runnable,
            ThreadState::Stolen => State::Stolen,
            ThreadState::Running(layer) => layer.state(),
            ThreadState::Compiler => State::Compiler,
            ThreadState::Collector(_) => State::Collector,
            ThreadState::Vm => State::Jvm,
            ThreadState::Unsent(_) => State::Unsent,
            ThreadState::Idle => State::Idle,
            ThreadState::Unknown => State::Unknown,
        }
    }

    /// Everything that is known of such time.
    pub fn row(self) -> &'static StateRow {
        self.state().row()
    }

    /// Whether the time is that of code below Java on the application's threads.
    pub fn is_below_java(self) -> bool {
        matches!(self, ThreadState::Running(Layer::Kernel | Layer::Vm))
    }
}

/// Why the application stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stop {
    /// Waiting for the last thread to reach the safepoint.
    TimeToSafepoint,
    /// A pause of the collector.
    Collection(Collection),
    /// A pause of the collector in which the collector itself had no CPU: it waited for one, or for
    /// swap or a disk.
    WaitingCollector(Collection),
    /// Another operation of the VM thread.
    Operation,
    /// The whole process, from outside: a signal, a debugger, a freezer.
    Process,
    /// The whole machine, from below.
    Machine,
}

impl Stop {
    fn state(self) -> State {
        match self {
            Stop::TimeToSafepoint => State::ToSafepoint,
            Stop::Collection(_) | Stop::WaitingCollector(_) => State::Collection,
            Stop::Operation => State::Operation,
            Stop::Process => State::Stopped,
            Stop::Machine => State::Machine,
        }
    }
}

/// What a collection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Collection {
    /// How much of the heap it is about.
    pub scope: Scope,
    /// Why it was started.
    pub origin: Origin,
}

/// How much of the heap a collection is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Young, or young and some old regions.
    Young,
    /// The whole heap in one pause.
    Full,
    /// Concurrent work and its short pauses.
    Concurrent,
    /// A pause that may be young or full: it is unknown which.
    Unknown,
}

/// Why a collection was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// The application needed memory.
    Allocation,
    /// The code cache needed space (JDK 20 and later).
    CodeCache,
    /// Somebody asked for it: `System.gc()`, a heap dump, a diagnostic command.
    Explicit,
    /// Metaspace reached its threshold.
    Metaspace,
    /// The collector's own reasons, without a lack of memory: a timer, warming up, a proactive cycle.
    Timer,
    /// A cause that is not known here.
    Other,
}

impl Origin {
    /// From the cause that the JVM gives. A collection without one was needed for memory, as nearly all are.
    pub fn of_cause(cause: &str) -> Origin {
        let named = |list: &[&str]| list.iter().any(|name| cause.contains(name));
        if cause.contains("CodeCache GC") {
            Origin::CodeCache
        } else if named(EXPLICIT) {
            Origin::Explicit
        } else if named(CLASSES) {
            Origin::Metaspace
        } else if named(OWN_REASONS) {
            Origin::Timer
        } else if cause.is_empty() || named(FOR_MEMORY) {
            Origin::Allocation
        } else {
            Origin::Other
        }
    }

    /// From the name of a pause or phase without a cause: most names say nothing of it.
    pub(crate) fn of_name(name: &str) -> Origin {
        match Origin::of_cause(name) {
            Origin::Other => Origin::Allocation,
            origin => origin,
        }
    }
}

/// Causes of collections that were requested.
const EXPLICIT: &[&str] = &[
    "System.gc()",
    "Diagnostic Command",
    "Heap Inspection",
    "Heap Dump",
    "JvmtiEnv",
    "FullGCAlot",
    "Full GC Alot",
    "WhiteBox",
    "Update Allocation Context Stats",
    // A collection was requested during a CMS cycle. If there was no room, CMS calls it a failure instead.
    "concurrent mode interrupted",
];

/// Causes by which there is no room for classes: metaspace, and the permanent generation of JDK 7.
const CLASSES: &[&str] = &["Metadata GC", "Last ditch", "Permanent Generation"];

/// Causes by which the collector runs although there is room.
const OWN_REASONS: &[&str] = &["Timer", "Warmup", "Proactive", "Periodic"];

/// Causes by which the application needs memory, as the collectors of JDK 7-25 name them: parts of the names.
const FOR_MEMORY: &[&str] = &[
    "Allocation",
    "Evacuation",
    "Ergonomics",
    "GCLocker",
    "Adaptive Size",
    "G1 Compaction",
    "G1 Preventive",
    "CMS",
    "Generation",
    "promotion fail",
    "concurrent mode",
    "to-space",
    "No GC",
    "High Usage",
    "Upgrade To Full",
    "Concurrent GC",
];

/// What data that was given away waits for in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hold {
    /// The acknowledgement of what was sent before it (Nagle's algorithm).
    Acknowledgement,
    /// To be sent again.
    Retransmission,
    /// Room at the peer, which does not read.
    Window,
    /// The congestion window, or an unknown reason.
    Other,
}

impl Hold {
    /// From a word of `unsent`.
    pub(crate) fn of_word(word: &str) -> Hold {
        match word {
            unsent::ACKNOWLEDGEMENT => Hold::Acknowledgement,
            unsent::RETRANSMISSION => Hold::Retransmission,
            unsent::WINDOW => Hold::Window,
            _ => Hold::Other,
        }
    }
}

/// Which code ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// Java in the interpreter.
    Interpreted,
    /// Compiled Java, and Java of unknown layer.
    Java,
    /// Native methods and libraries.
    Native,
    /// The JVM's C++ code on threads of the application.
    Vm,
    /// The kernel on behalf of the application's threads.
    Kernel,
}

impl Layer {
    /// The layer of the code that was running: that of the leaf frame.
    pub fn of_stack(recording: &Recording, stack: StackId) -> Layer {
        let leaf = recording.stacks.leaf_to_root(stack).next();
        Layer::of_frame(leaf.map_or("", |leaf| recording.text(leaf.kind)))
    }

    /// The layer of a kind of frames.
    pub fn of_frame(kind: &str) -> Layer {
        match kind {
            frame::INTERPRETED => Layer::Interpreted,
            frame::NATIVE => Layer::Native,
            frame::VM => Layer::Vm,
            frame::KERNEL => Layer::Kernel,
            _ => Layer::Java,
        }
    }

    fn state(self) -> State {
        match self {
            Layer::Interpreted => State::Interpreted,
            Layer::Java => State::Java,
            Layer::Native => State::Native,
            Layer::Vm => State::Vm,
            Layer::Kernel => State::Kernel,
        }
    }
}

impl fmt::Display for ThreadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let says = self.row().says;
        match self {
            ThreadState::Stopped(Stop::Collection(collection)) | ThreadState::Collector(collection) => {
                write!(f, "{says} {collection}")
            }
            ThreadState::Stopped(Stop::WaitingCollector(collection)) => {
                write!(f, "{says} {collection} during which the GC threads were themselves blocked (CPU, swap or disk)")
            }
            ThreadState::Unsent(hold) => write!(f, "{says}: {hold}"),
            _ => f.write_str(says),
        }
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hold::Acknowledgement => "held until the client acknowledged what went before",
            Hold::Retransmission => "lost and sent again",
            Hold::Window => "the client had no room for more",
            Hold::Other => "sent slowly",
        })
    }
}

impl fmt::Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.scope {
            Scope::Young => "young GCs",
            Scope::Full => "full GCs",
            Scope::Concurrent => "concurrent GCs",
            Scope::Unknown => "GCs of unknown kind",
        })?;
        f.write_str(match self.origin {
            Origin::Allocation => "",
            Origin::CodeCache => " for the code cache",
            Origin::Explicit => " requested explicitly",
            Origin::Metaspace => " for metaspace",
            Origin::Timer => " by the collector's own timer",
            Origin::Other => " for another reason",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_of_real_causes() {
        for (cause, origin) in [
            ("CodeCache GC Threshold", Origin::CodeCache),
            ("CodeCache GC Aggressive", Origin::CodeCache),
            ("System.gc()", Origin::Explicit),
            ("Heap Inspection Initiated GC", Origin::Explicit),
            ("Heap Dump Initiated GC", Origin::Explicit),
            ("concurrent mode interrupted", Origin::Explicit),
            ("concurrent mode failure", Origin::Allocation),
            ("Metadata GC Threshold", Origin::Metaspace),
            ("G1 Evacuation Pause", Origin::Allocation),
            ("Ergonomics", Origin::Allocation),
            ("Allocation Rate", Origin::Allocation),
            ("Tenured Generation Full", Origin::Allocation),
            ("GCLocker Initiated GC", Origin::Allocation),
            ("Metadata GC Clear Soft References", Origin::Metaspace),
            ("Timer", Origin::Timer),
            ("Warmup", Origin::Timer),
            ("Proactive", Origin::Timer),
            ("G1 Periodic Collection", Origin::Timer),
            ("a cause of tomorrow", Origin::Other),
            ("", Origin::Allocation),
        ] {
            assert_eq!(Origin::of_cause(cause), origin, "{cause}");
        }
        assert_eq!(Origin::of_name("Pause Mark Start"), Origin::Allocation);
    }

    #[test]
    fn every_state_has_a_row_of_its_own() {
        let mut ids: Vec<&str> = State::ALL.iter().map(|state| state.row().id).collect();
        for state in State::ALL {
            assert!(!state.row().title.is_empty() && !state.row().says.is_empty(), "{state:?}");
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), State::ALL.len());
        assert!(State::ALL.iter().enumerate().all(|(number, state)| *state as usize == number));
    }
}
