//! Reading the clock takes a system call: the program cannot read the clock source by itself.

use fathom_evidence::kinds::{counter, event, subject};

use crate::cause::Claim;
use crate::measure::syscalls::{self, ByThread, cpu_claims};
use crate::measure::{growth, stacks};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Period, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "slow_clock_source",
    readme: include_str!("README.md"),
    family: Family::Code,
    refines: &[Refined::Cause("application_code"), Refined::Family(Family::Load), Refined::Family(Family::Cpu)],
    equals: &[],
    has_lab: true,
    collectors: &["system_calls", "facts"],
    needs: &[&[Need::Counter(counter::SYSTEM_CALLS_COUNT), Need::JvmFrames, Need::Fact(subject::HOST, "clocksource")]],
    actions: &[
        "a clock source that programs read without a system call: tsc (clocksource=tsc tsc=reliable, only where the processors' counters agree)",
        "read the clock less often: once per request, not around each step",
    ],
    decide,
};

/// Calls that only read a clock. Where the kernel's page of shared code (vDSO) can do it, none of them is made.
const CLOCK_CALLS: &[&str] = &["clock_gettime", "gettimeofday", "time", "clock_gettime64"];

/// What such a call is below in stacks: functions of C libraries.
const LIBRARY_READERS: [&str; 4] = ["clock_gettime", "__clock_gettime", "gettimeofday", "__gettimeofday"];

/// And the kernel's, on both architectures: code below them has made the system call.
const KERNEL_READERS: [&str; 4] =
    ["__x64_sys_clock_gettime", "__x64_sys_gettimeofday", "__arm64_sys_clock_gettime", "__arm64_sys_gettimeofday"];

/// Less of the CPU than this in samples of such calls is little, or chance.
const MIN_SHARE_OF_SAMPLES: f64 = 0.05;

/// Clock sources that programs read without a call.
const QUICK: &[&str] =
    &["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "stp", "riscv_clocksource"];

/// Fewer calls than this take less than a thousandth of a core, at some 0.1 to 2 µs each.
const TOO_FEW_PER_SECOND: f64 = 500.0;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let source = comparison.recording().fact(subject::HOST, "clocksource");
    if !syscalls::are_recorded(comparison) {
        return sampled(comparison).unwrap_or_else(|| not_counted(comparison, source));
    }
    let calls = syscalls::both(comparison, |period| rise(period, counter::SYSTEM_CALLS_COUNT) / period.seconds());
    let cores = syscalls::both(comparison, |period| rise(period, counter::SYSTEM_CALLS_NS) / 1e9 / period.seconds());
    let named = source.map_or(String::new(), |source| format!(" (clock source {source})"));
    let text = format!(
        "the clock is read by {} calls of the kernel per second{}{named}, which take {} cores",
        format::number(calls.0),
        format::baseline(calls.1, format::number),
        format::number(cores.0)
    );
    let evidence = [
        comparison.evidence("calls that read a clock", calls, "1/s", "counters").of(&[counter::SYSTEM_CALLS_COUNT]),
        comparison.evidence("time in them", cores, "cores", "counters").of(&[counter::SYSTEM_CALLS_NS]),
    ];
    if calls.0 < TOO_FEW_PER_SECOND {
        return Finding::absent(format!("hardly any call of the kernel reads a clock{named}")).with_all(evidence);
    }
    if !growth::grew(calls) {
        return Finding::absent(format!("{text}: no more than in the baseline")).with_all(evidence);
    }
    let grown_ns = (cores.0 - cores.1.unwrap_or(0.0)).max(0.0) * comparison.excess().slow_ns;
    let mut finding = match comparison.says_if_baseline_is_unknown(calls.1) {
        Some(unknown) => Finding::new(Support::Weak, text + unknown),
        None => Finding::new(Support::Observed, text),
    };
    finding = finding.with_all(evidence);
    finding.claims = cpu_claims(comparison, grown_ns, readers(comparison));
    finding.crowding(comparison)
}

/// Where calls were not counted, samples in the kernel's part of them show that they are made, whatever the clock source.
fn sampled(comparison: &Comparison<'_>) -> Option<Finding> {
    let in_kernel = stacks::below(comparison, &KERNEL_READERS);
    let (share, before) = in_kernel.share;
    if share < MIN_SHARE_OF_SAMPLES || !growth::grew((share, before)) {
        return None;
    }
    let text = format!(
        "{} of the application's CPU is in calls of the kernel that read a clock{}; how many there are was not counted",
        format::percent(share),
        format::baseline(before, format::percent)
    );
    let seen = comparison.evidence("CPU in calls that read a clock", (share, before), "ratio", "samples");
    let stack = comparison.stack_text(in_kernel.stack, 12);
    let seen = Evidence { stack, ..seen.of(&[event::CPU, event::EXECUTION]) };
    let mut finding = Finding::new(Support::Consistent, text).with(seen);
    finding.claims = readers(comparison);
    Some(finding.crowding(comparison))
}

/// The time of threads that read a clock, from samples.
fn readers(comparison: &Comparison<'_>) -> Vec<Claim> {
    stacks::below(comparison, &[LIBRARY_READERS, KERNEL_READERS].concat()).claims
}

/// The answer where calls were not counted. Some clock sources need none, and no sample shows calls that are made all the same.
fn not_counted(comparison: &Comparison<'_>, source: Option<&str>) -> Finding {
    let is_sampled =
        [event::CPU, event::EXECUTION].into_iter().any(|event| comparison.slow.samples(event).next().is_some());
    match source {
        Some(source) if QUICK.contains(&source) && is_sampled => {
            Finding::absent(format!("the clock source is {source}, which programs read without a call"))
        }
        Some(source) => {
            Finding::needs_kernel(&format!("the clock source is {source}; how often it is read was not counted"))
        }
        None => Finding::needs_kernel("system calls of each thread and the clock source were not recorded"),
    }
}

/// By how much a counter of those calls rose, over the application's threads.
fn rise(period: &Period<'_>, name: &str) -> f64 {
    ByThread::of(period, name, CLOCK_CALLS).rise(period, |_| true)
}
