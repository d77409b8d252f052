//! Which kinds of thread time a signal counts.

use super::SignalKind;
use crate::states::{Layer, Origin, Scope, Stop, ThreadState, Wait};

impl SignalKind {
    /// Whether it counts time of this kind; none for a signal that counts something else.
    pub(crate) fn is_made_of(self, state: ThreadState) -> bool {
        use ThreadState::{Blocked, Collector, Compiler, Runnable, Running, Stopped};
        match self {
            SignalKind::Stopped => matches!(state, Stopped(_)),
            SignalKind::FullCollections => is_never_usual(state),
            SignalKind::Locks => state == Blocked(Wait::Lock),
            SignalKind::Permits => matches!(state, Blocked(Wait::Permit | Wait::Pool)),
            SignalKind::InputOutput => is_input_output(state),
            SignalKind::RunQueue => state == Runnable,
            SignalKind::PageFaults => state == Blocked(Wait::PageFault),
            SignalKind::AllocationStalls => matches!(state, Blocked(Wait::AllocationStall | Wait::DirectMemory)),
            SignalKind::Recompiling => state == Compiler,
            SignalKind::Collecting => matches!(state, Collector(_)),
            SignalKind::Interpreting => state == Running(Layer::Interpreted),
            SignalKind::BelowJava => state.is_below_java(),
            _ => false,
        }
    }
}

/// Stops that no healthy service has again and again.
fn is_never_usual(state: ThreadState) -> bool {
    match state {
        ThreadState::Stopped(Stop::Collection(collection)) => {
            collection.scope == Scope::Full || collection.origin == Origin::Explicit
        }
        _ => false,
    }
}

/// Waits for other services and for files.
fn is_input_output(state: ThreadState) -> bool {
    matches!(
        state,
        ThreadState::Blocked(
            Wait::Socket | Wait::File | Wait::NameLookup | Wait::FileLock | Wait::Process | Wait::Connect
        )
    )
}
