//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "chatty_socket_reads",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &[],
    actions: &["larger buffers, connections that are kept, no time-out per read"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::not_judged("fathom record takes system calls per thread and call; this version does not judge them")
}
