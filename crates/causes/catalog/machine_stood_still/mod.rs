//! The whole machine was suspended: nothing ran on any of its CPUs.

use fathom_evidence::kinds::{counter, span};
use fathom_timeline::{Stop, StopSpan, ThreadState};

use crate::limits::MIN_COVERED_SHARE;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "machine_stood_still",
    readme: include_str!("README.md"),
    family: Family::Machine,
    refines: &[Refined::Family(Family::Cpu)],
    equals: &[],
    has_lab: false,
    collectors: &["heartbeat"],
    needs: &[&[Need::Counter(counter::WAKEUP_DELAY_NS)]],
    actions: &[
        "ask the operator of the host what happened at these times: live migration, snapshot, backup, a host out of memory",
        "another host or instance type; nothing inside the guest helps",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let stops: Vec<&StopSpan> =
        comparison.slow_stops().filter(|stop| is_ours(ThreadState::Stopped(stop.stop))).collect();
    if stops.is_empty() {
        return none(comparison);
    }
    let total: f64 = stops.iter().map(|stop| stop.duration_ns() as f64).sum();
    let longest = stops.iter().map(|stop| stop.duration_ns()).max().unwrap_or(0) as f64;
    let says = format!(
        "the whole machine stood still {}, for {} in all, the longest {}: no CPU took a timer's interrupt, and nothing that is recorded \
         happened meanwhile",
        format::count(stops.len(), "time"),
        format::time(total),
        format::time(longest)
    );
    let of = |says: &str, value: f64, unit: &str| {
        comparison.evidence(says, (value, None), unit, "spans").of(&[span::HOST_STALL])
    };
    Finding::new(Support::Observed, says)
        .with(of("stops of the whole machine", stops.len() as f64, "count"))
        .with(of("their sum", total, "ns"))
        .with(of("the longest", longest, "ns"))
        .claiming(comparison, is_ours)
}

const RECORD: &str = "fathom record --pid PID --for 60s";

fn none(comparison: &Comparison<'_>) -> Finding {
    let perhaps = comparison.slow.time.intersect(&comparison.analysis.account.stood_still.perhaps);
    if !perhaps.is_empty() {
        let says = format!(
            "a thread that only sleeps was woken late for {} in all; whether one CPU stood still or all of them nobody can tell, as so little else \
             was recorded meanwhile",
            format::time(perhaps.total_ns() as f64)
        );
        return Finding::unknown(&says, RECORD);
    }
    let delays = comparison.sources().counter(counter::WAKEUP_DELAY_NS, "max");
    let (from_ns, to_ns) = comparison.observed();
    let seen_ns = comparison.slow.time.within_ns(from_ns, to_ns) as f64;
    match comparison.slow.max(&delays) {
        Some(longest) if seen_ns >= MIN_COVERED_SHARE * comparison.slow.time.total_ns() as f64 => {
            let says = format!(
                "a thread that only sleeps was woken {} late at most, and never while nothing else happened",
                format::time(longest)
            );
            let late = comparison.evidence("latest wake-up", (longest, None), "ns", "counters");
            Finding::absent(&says).with(late.of(&[counter::WAKEUP_DELAY_NS]))
        }
        _ => Finding::unknown("whether the machine stood still was not recorded", RECORD),
    }
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Stopped(Stop::Machine)
}
