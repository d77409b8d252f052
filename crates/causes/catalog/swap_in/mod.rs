//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "swap_in",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["page_faults", "memory"],
    actions: &["no swap for this service, or less memory in use"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel("page faults and swap counters were not recorded")
}
