//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "file_pages_evicted",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["page_faults", "memory"],
    actions: &["protect the service with memory.min, or limit the writer that fills the page cache"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel("page faults with their duration and place were not recorded")
}
