//! A program sends data in two pieces, and the second one waits for the acknowledgement of the first.

use fathom_timeline::Hold;

use crate::measure::unsent::{self, Words};
use crate::{Cause, Comparison, Family, Finding, Need, Refined};

pub(crate) static CAUSE: Cause = Cause {
    id: "delayed_acknowledgement",
    readme: include_str!("README.md"),
    family: Family::Services,
    refines: &[Refined::Cause("slow_downstream")],
    equals: &[(
        &["retransmissions", "slow_downstream", "thread_pool_exhausted"],
        "each claims of the waits for answers the part that it measured itself",
    )],
    has_lab: true,
    collectors: &["requests"],
    needs: &[&[Need::Sockets]],
    actions: &[
        "send head and body in one write (a buffer around the stream)",
        "setTcpNoDelay(true) on the sender's sockets",
    ],
    decide,
};

const WORDS: Words = Words {
    why: "sent in pieces, the end held back until the other side had acknowledged what went before (Nagle's algorithm)",
    evidence: ["held back", "time held back"],
    absent: "nothing that was sent waited for an acknowledgement of what went before",
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    unsent::finding(comparison, Hold::Acknowledgement, &WORDS)
}
