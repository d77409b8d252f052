//! The JVM writes a performance counter into a page that the kernel is writing to disk, and waits for the writeback.

use crate::measure::faults::{self, Kind};
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support};

pub(crate) static CAUSE: Cause = Cause {
    id: "perf_data_writeback",
    readme: include_str!("README.md"),
    family: Family::Files,
    refines: &[
        Refined::Family(Family::Collections),
        Refined::Family(Family::Safepoint),
        Refined::Family(Family::Device),
    ],
    equals: &[(
        &["file_sync_slow", "swap_in"],
        "a thread is in one wait at a time, and each claims the stops in which it was in its own",
    )],
    has_lab: true,
    collectors: &["page_faults"],
    needs: &[&[Need::PageFaults]],
    actions: &[
        "-XX:+PerfDisableSharedMem (jps and jstat no longer see the JVM), or a temporary folder in memory (tmpfs)",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !faults::are_recorded(comparison) {
        return Finding::needs_kernel("page faults with their duration and place were not recorded");
    }
    let Some(found) = faults::find(comparison, Kind::PerfData) else {
        return Finding::absent("no slow page fault in the file of the performance counters");
    };
    let text = format!("the JVM waited to write its performance counters: {}", found.says(comparison));
    found.explaining(Finding::new(Support::Observed, text), comparison)
}
