//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "perf_data_writeback",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["page_faults"],
    actions: &["-XX:+PerfDisableSharedMem, or a temporary folder in memory"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::needs_kernel("page faults on the JVM's hsperfdata file were not recorded")
}
