//! What stops a process from outside.

use super::Word;

words! {
    /// Who stopped the whole process.
    stopped {
        /// A signal (`SIGSTOP`, Ctrl-Z): state `T`.
        SIGNAL = "signal";
        /// A debugger or tracer (gdb, gcore, `jstack -F`): state `t`.
        DEBUGGER = "debugger";
        /// The freezer of its control group or of one above (`docker pause`, `docker commit`, checkpoints).
        FREEZER = "freezer";
    }
}

words! {
    /// Why a thread that only sleeps was woken late.
    stall {
        /// For most of the time no CPU took the timer's interrupt: that CPU was stopped from below.
        STOOD_STILL = "machine stood still";
        /// It was runnable for most of the time, and no CPU was free.
        NO_CPU = "no CPU free";
        /// This kernel does not account it.
        LATE = "woken late";
    }
}
