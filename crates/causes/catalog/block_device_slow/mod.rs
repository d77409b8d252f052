//! Threads wait for files, and their requests spend that time in the driver and device.

use crate::measure::block::{self, Place};
use crate::{Case, Cause, Finding, Standing};

pub(crate) static CAUSE: Cause = Cause {
    id: "block_device_slow",
    readme: include_str!("README.md"),
    rank: 46,
    has_lab: false,
    collectors: &["block", "system_calls"],
    actions: &["fewer requests in flight, or a faster device"],
    decide,
};

/// As many times longer than before a stage of a request takes when something is wrong with it; less is
/// what a change of load does to any device.
const LONGER: f64 = 2.0;

fn decide(case: &Case<'_>) -> Finding {
    if !block::is_recorded(case) {
        return Finding::needs_kernel("block requests were not recorded");
    }
    let claims = block::claims(case, Place::Device);
    let worst = block::worst(case, Place::Device).filter(|_| !claims.is_empty());
    let Some((name, mean, quiet)) = worst else {
        return Finding::absent("no thread waited for a file while a request was at a device");
    };
    let standing = match quiet {
        Some(quiet) if mean.ns() < LONGER * quiet.ns() => Standing::Faint,
        Some(_) => Standing::Seen,
        None => Standing::Indicated,
    };
    let text =
        format!("threads wait for files while their requests are at the device: {}", block::says(&name, mean, quiet));
    let finding = Finding { claims, ..Finding::new(standing, text) };
    block::with_mean(finding, case, "mean time from the issue of a request to its completion (D2C)", mean, quiet)
}
