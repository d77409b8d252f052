//! What a cause's mechanism is about, and which causes another one explains more exactly.
//!
//! A page that is read from disk while a collection runs is a collection to who looks at collections, and a read of a page to
//! who looks at pages. The latter is the mechanism: it refines the former. Said of families, it holds for a cause from the
//! day on which that is born.

/// What a mechanism is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// How much is asked of the service.
    Load,
    /// Who has the CPUs.
    Cpu,
    /// What the machine or whoever runs the process keeps from it.
    Machine,
    /// Why the collector ran.
    Collections,
    /// Other stops of the application.
    Safepoint,
    /// Compiled code that is missing.
    Compiler,
    /// What compiled code pays when other code comes and goes.
    Barriers,
    /// What the application runs.
    Code,
    /// Pages of memory that are not there.
    Pages,
    /// Disks.
    Device,
    /// What is done with files.
    Files,
    /// Threads that wait for each other.
    Locks,
    /// Other services, and the way to them.
    Services,
    /// What overflows because somebody is late.
    Queues,
}

/// Whose time is explained more exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refined {
    /// That of each cause of a family, but for the one that says so.
    Family(Family),
    /// That of one cause, by its id.
    Cause(&'static str),
}

impl Refined {
    /// Whether the cause with this id and family is among them.
    pub(crate) fn is(self, id: &str, family: Family) -> bool {
        match self {
            Refined::Family(refined) => refined == family,
            Refined::Cause(refined) => refined == id,
        }
    }
}
