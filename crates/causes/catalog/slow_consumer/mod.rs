//! Answers stay in the send queue because the client does not read them.

use fathom_timeline::Hold;

use crate::measure::unsent::{self, Words};
use crate::{Cause, Comparison, Family, Finding, Need};

pub(crate) static CAUSE: Cause = Cause {
    id: "slow_consumer",
    readme: include_str!("README.md"),
    family: Family::Services,
    refines: &[],
    equals: &[],
    has_lab: true,
    collectors: &["requests"],
    needs: &[&[Need::Sockets]],
    actions: &[
        "look at the client: it does not read what it asked for",
        "limit what one client may have unsent (a high-water mark, a timeout), and what it may ask for at once",
    ],
    decide,
};

const WORDS: Words = Words {
    why: "could not leave because the client had no room for more (its window was full)",
    evidence: ["answers without room at the client", "time without room"],
    absent: "no client kept an answer waiting for room in its window",
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    unsent::finding(comparison, Hold::Window, &WORDS)
}
