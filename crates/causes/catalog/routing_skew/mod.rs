//! This needs counters per node; the recording of one JVM does not show it.

use crate::{Cause, Comparison, Family, Finding, Need};

pub(crate) static CAUSE: Cause = Cause {
    id: "routing_skew",
    readme: include_str!("README.md"),
    family: Family::Queues,
    refines: &[],
    equals: &[],
    has_lab: false,
    collectors: &[],
    needs: &[&[Need::Requests]],
    actions: &["mix the second hash (murmur3 or xxh3 with the tier as seed), or rendezvous hashing"],
    decide,
};

fn decide(_: &Comparison<'_>) -> Finding {
    Finding::unknown(
        "load per node and the keys were not recorded",
        "fathom routing KEYS --first 'java-hash mod 8' --second 'java-hash mod 4'",
    )
}
