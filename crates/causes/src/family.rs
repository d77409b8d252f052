//! The subject of a cause's mechanism, and which causes it refines.
//!
//! A page that is read from disk during a collection is a collection to one cause, and a page read to another. The page
//! read is the mechanism: it refines the collection. This is declared for families, so it holds for a new cause from its
//! first day.

/// What a mechanism is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// How much is asked of the service.
    Load,
    /// Who has the CPUs.
    Cpu,
    /// What the machine or its operators keep from the process.
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
    /// Queues that overflow because their reader is late.
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
