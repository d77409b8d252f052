//! Decided by what only the kernel sees; files of the JVM alone do not show it.

use fathom_timeline::BUCKET_NS;

use crate::{Case, Cause, Finding, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "run_queue_wait",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["scheduler"],
    actions: &["fewer runnable threads or more CPUs; see who ran instead"],
    decide,
};

/// Use of all CPUs from which a thread that wants to run has to wait.
const BUSY: f64 = 0.9;

fn decide(case: &Case<'_>) -> Finding {
    let account = &case.analysis.account;
    let mean = |row: &Option<Vec<f64>>| -> Option<f64> {
        let row = row.as_ref()?;
        let slow: Vec<f64> = case.analysis.pain.slow_buckets().map(|index| row[index]).collect();
        (!slow.is_empty()).then(|| slow.iter().sum::<f64>() / slow.len() as f64)
    };
    let own = mean(&account.process_cpu_ns).zip(account.cpus).map(|(ns, cpus)| ns / BUCKET_NS as f64 / cpus);
    match (mean(&account.machine_ratio), own) {
        (Some(machine), Some(own)) if machine >= BUSY => {
            let says = format!(
                "the CPUs were {} in use, {} by this process: its threads may have waited for a CPU, which was not recorded",
                say::percent(machine),
                say::percent(own)
            );
            Finding::needs_kernel(&says).with(case.evidence("CPUs in use", (machine, None), "ratio", "counters"))
        }
        _ => Finding::needs_kernel("run-queue waits were not recorded"),
    }
}
