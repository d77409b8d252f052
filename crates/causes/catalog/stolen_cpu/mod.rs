//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "stolen_cpu",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["machine"],
    actions: &["another host or instance size; nothing inside the guest helps"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel("the hypervisor's steal time was not recorded")
}
