//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use crate::{Case, Cause, Finding};

pub(crate) static CAUSE: Cause = Cause {
    id: "receive_queue_overflow",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &[],
    actions: &["remove what stalls the receiver; a larger receive buffer only hides short stalls"],
    decide,
};

fn decide(_: &Case<'_>) -> Finding {
    Finding::not_judged("fathom record takes drops per port; this version does not tell what stalled the receiver")
}
