//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "run_queue_wait",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    actions: &["fewer runnable threads or more CPUs; see who ran instead"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel("run-queue waits were not recorded")
}
