//! The hypervisor gave the CPUs of this machine to others.

use fathom_evidence::kinds::counter;
use fathom_timeline::ThreadState;

use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "stolen_cpu",
    readme: include_str!("README.md"),
    family: Family::Cpu,
    refines: &[],
    equals: &[],
    has_lab: false,
    collectors: &["machine"],
    needs: &[&[Need::Counter(counter::MACHINE_CPU_NS)]],
    actions: &["another host or instance size; nothing inside the guest helps"],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let steal = comparison.sources().counter(counter::MACHINE_CPU_NS, "steal");
    if steal.0.len() < 2 {
        return Finding::needs_kernel("the hypervisor's steal time was not recorded");
    }
    let per_second = comparison.both_looked_at(|period| period.rise(&steal) / period.seconds());
    let evidence =
        comparison.evidence(Evidence::STOLEN_CPU, per_second, "ns/s", "counters").of(&[counter::MACHINE_CPU_NS]);
    if per_second.0 <= 0.0 {
        return Finding::absent("the hypervisor reports no stolen time; not every one does").with(evidence);
    }
    let before = format::baseline(per_second.1, format::time);
    let says = format!("the hypervisor took {} of CPU time per second{before}", format::time(per_second.0));
    // That the CPU was taken is certain; how much of it the application would have used is a share.
    Finding::new(Support::Consistent, says).with(evidence).claiming(comparison, |state| state == ThreadState::Stolen)
}
