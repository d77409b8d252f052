//! What is known of a recording before the observation begins.

use fathom_evidence::Recording;
use fathom_evidence::kinds::{recorded, subject};

use super::Plan;
use crate::{Target, procfs};

/// Notes it.
pub(super) fn describe(target: &Target, plan: &Plan, pending: &mut Recording) {
    let order = &plan.order;
    pending.add_fact(subject::JVM, "pid", &target.pid.to_string(), "fathom");
    pending.add_fact(subject::PROCESS, "start_ticks", &target.start_ticks.to_string(), "fathom");
    for (key, value) in [
        ("page_fault_threshold_ns", order.page_fault_ns),
        (recorded::BLOCKED_THRESHOLD_NS, order.blocked_ns),
        ("run_queue_threshold_ns", order.run_queue_ns),
        ("system_call_threshold_ns", order.system_call_ns),
    ] {
        pending.add_fact(subject::RECORDING, key, &value.to_string(), "fathom");
    }
    if let Ok(boot) = procfs::read_text("/proc/sys/kernel/random/boot_id") {
        pending.add_fact(subject::HOST, "boot_id", boot.trim(), "fathom");
    }
}
