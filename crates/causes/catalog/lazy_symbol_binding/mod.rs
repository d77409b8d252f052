//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "lazy_symbol_binding",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["page_faults"],
    actions: &["LD_BIND_NOW=1 in the environment of the service, or link its native libraries with -z now"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel("page faults with their duration and place were not recorded")
}
