//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "gc_log_blocked",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["system_calls"],
    actions: &["-Xlog:async (JDK 17 and later), or the log on another disk"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel("writes of the GC log and block requests were not recorded")
}
