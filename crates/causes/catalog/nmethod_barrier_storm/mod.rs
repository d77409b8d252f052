//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "nmethod_barrier_storm",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["async_profiler"],
    actions: &[
        "fewer collections that arm the barriers: no explicit collections, a larger code cache, a longer interval between major collections",
    ],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel("JVM frames of the application's threads (nmethod entry barriers) were not recorded")
}
