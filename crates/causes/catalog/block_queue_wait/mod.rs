//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "block_queue_wait",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["block"],
    actions: &["raise nr_requests or lower the number of requests in flight; scheduler none on flash"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel("block requests were not recorded")
}
