//! Pools in which threads wait so long that it is never normal.

use crate::account::Account;
use crate::partition::Segment;
use crate::states::{ThreadState, Wait};

/// Whether most of the waiting for objects of pools is in waits that no pool is made for: where threads wait so all the time, it is slow all the time.
pub(super) fn waits_are_long(account: &Account) -> bool {
    const LONG_NS: i64 = 1_000_000_000;
    let segments = account.partition.recorded().flat_map(|(_, recorded)| recorded);
    let lengths = segments.filter(|segment| segment.state == ThreadState::Blocked(Wait::Pool)).map(Segment::length_ns);
    let (long_ns, all_ns) = lengths.fold((0_i64, 0_i64), |(long_ns, all_ns), ns| {
        (long_ns.saturating_add(if ns >= LONG_NS { ns } else { 0 }), all_ns.saturating_add(ns))
    });
    all_ns > 0 && long_ns >= all_ns / 2
}
