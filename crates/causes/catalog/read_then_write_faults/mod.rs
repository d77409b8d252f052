//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "read_then_write_faults",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &[],
    actions: &["JDK 22 or later (or 21.0.5) on Linux 5.14 or later pre-touches with MADV_POPULATE_WRITE"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::not_judged("fathom record takes page faults and splits of huge pages; this version does not judge them")
}
