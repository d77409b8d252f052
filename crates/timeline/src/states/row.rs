//! What a state is in the table of states (`rows`), and how its enums are made.

use fathom_evidence::kinds::{counter, role, span};

/// Of two states of the same instant the one with the smaller precedence counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Precedence {
    /// What the kernel interrupted the thread with: a page, or that it had no CPU.
    Interruption,
    /// What the thread waits for, as the JVM or the kernel names it.
    Wait,
    /// What it waited for as far as samples tell.
    Sampled,
    /// The service that it had asked meanwhile.
    Called,
    /// That it waited, for something that has no name, or that it had nothing to do.
    Unnamed,
    /// That it was off its CPU.
    OffCpu,
}

/// When a state is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// As long as the JVM kept anything.
    Recorded,
    /// While waits were recorded.
    Waits,
    /// While waits for files were recorded.
    Files,
    /// While waiting for CPUs was counted.
    WaitsForCpu,
    /// While the kernel was observed.
    Observed,
}

/// What is known of a state.
#[derive(Debug, Clone, Copy)]
pub struct StateRow {
    /// Its word in data.
    pub id: &'static str,
    /// What one thread does, as the page says it.
    pub title: &'static str,
    /// What threads do, as answers say it.
    pub says: &'static str,
    /// The name of its colour on the page.
    pub color: &'static str,
    /// Spans and counters that tell it, the most exact first.
    pub told_by: &'static [&'static str],
    /// Roles of the threads whose time it is.
    pub roles: &'static [&'static str],
    pub(crate) precedence: Precedence,
    pub(crate) known: Known,
    /// Beginnings of frames below which a thread waits for it.
    pub(crate) frames: &'static [&'static str],
    /// Classes on which a thread parks that waits for it, by the beginning of their simple name, where no frame says more.
    pub(crate) classes: &'static [&'static str],
    /// Whether the frames say it also of a wait that only the kernel saw.
    pub(crate) is_told_by_frames_alone: bool,
    /// Whether another thread of the program ends it, so that what that one does is what is waited for.
    pub is_ended_by_a_thread: bool,
    /// Whether it is known as a sum only, without its single waits.
    pub is_a_sum: bool,
    /// Whether it may be the wait of other code that says what for: of a class that is loaded, of a logger. Not where the frames of the wait itself, or
    /// the JVM, say all.
    pub is_below_other_code: bool,
    /// Whether a wait of many seconds is a trouble, whatever the program does.
    pub(crate) is_never_long: bool,
}

impl StateRow {
    /// Of the application's threads, as far as the row does not say otherwise.
    pub(super) const STATE: StateRow = StateRow {
        id: "",
        title: "",
        says: "",
        color: "idle",
        told_by: &[],
        roles: &[role::HANDLER, role::JAVA],
        precedence: Precedence::Wait,
        known: Known::Recorded,
        frames: &[],
        classes: &[],
        is_told_by_frames_alone: false,
        is_ended_by_a_thread: false,
        is_a_sum: false,
        is_below_other_code: true,
        is_never_long: false,
    };
    pub(super) const WAIT: StateRow = StateRow {
        color: "blocked",
        told_by: &[span::BLOCKED, span::SYSTEM_CALL],
        known: Known::Waits,
        ..StateRow::STATE
    };
    pub(super) const STOP: StateRow = StateRow { color: "stopped", ..StateRow::STATE };
    pub(super) const RUNNING: StateRow =
        StateRow { told_by: &[counter::THREAD_CPU_NS, counter::CPU_PROCESS_RATIO], ..StateRow::STATE };
}

/// Makes the enums of the rows. The page numbers and stacks states in this order; what cannot be named is last in both.
macro_rules! states {
    (
        waits { $($(#[$wait_doc:meta])* $wait:ident { $($wait_field:ident: $wait_value:expr),* $(,)? })* }
        others { $($(#[$doc:meta])* $state:ident: $base:ident { $($field:ident: $value:expr),* $(,)? })* }
        last { $(#[$last_doc:meta])* $last:ident { $($last_field:ident: $last_value:expr),* $(,)? } }
    ) => {
        /// What a thread waited for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Wait { $($(#[$wait_doc])* $wait,)* $(#[$last_doc])* $last }

        impl Wait {
            /// All of them.
            pub const ALL: &'static [Wait] = &[$(Wait::$wait,)* Wait::$last];

            /// As a state.
            pub const fn state(self) -> State {
                match self { $(Wait::$wait => State::$wait,)* Wait::$last => State::$last }
            }
        }

        /// What a thread does at an instant: a kind of thread time, without what else is known of a collection or a hold.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum State { $($(#[$wait_doc])* $wait,)* $($(#[$doc])* $state,)* $(#[$last_doc])* $last }

        impl State {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [State] = &[$(State::$wait,)* $(State::$state,)* State::$last];

            /// Everything that is known of it.
            pub fn row(self) -> &'static StateRow {
                const ROWS: &[StateRow] = &[
                    $(StateRow { $($wait_field: $wait_value,)* ..StateRow::WAIT },)*
                    $(StateRow { $($field: $value,)* ..StateRow::$base },)*
                    StateRow { $($last_field: $last_value,)* ..StateRow::WAIT },
                ];
                &ROWS[self as usize]
            }
        }
    };
}

pub(super) use states;
