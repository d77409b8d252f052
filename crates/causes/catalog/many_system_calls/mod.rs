//! The application's threads make many more system calls than before. Each is short; their total cost is what is slow.

mod of_process;

use std::collections::BTreeMap;

use fathom_evidence::kinds::counter;
use fathom_timeline::{Layer, ThreadState, telling_frame};

use crate::measure::requests;
use crate::measure::stacks::{self, Below};
use crate::measure::syscalls::{self, cpu_claims};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "many_system_calls",
    readme: include_str!("README.md"),
    family: Family::Code,
    refines: &[Refined::Cause("application_code"), Refined::Family(Family::Load), Refined::Family(Family::Cpu)],
    equals: &[],
    has_lab: true,
    collectors: &["system_calls", "async_profiler"],
    needs: &[&[Need::Counter(counter::SYSTEM_CALLS_COUNT)]],
    actions: &["look at the method that makes the calls: call once and cache the answer, buffer, or batch"],
    decide,
};

/// Calls that have causes of their own, or wait for something that comes.
const OF_OTHERS: &[&str] = &[
    "futex",
    "nanosleep",
    "clock_nanosleep",
    "clock_gettime",
    "gettimeofday",
    "time",
    "accept",
    "accept4",
    "connect",
    "wait4",
    "waitid",
    "fsync",
    "fdatasync",
    "sched_yield",
];

/// Fewer than this cost less than a hundredth of a core.
const TOO_FEW_PER_SECOND: f64 = 5_000.0;

/// So many times as many as before.
const MORE: f64 = 3.0;

/// Where other code grew by more than this and requests were not counted, there may be more of them.
const TRAFFIC: f64 = 1.3;

/// A call that takes longer on average waits for something, in ns.
const SHORT_NS: f64 = 30_000.0;

/// One kind of call: how often each second and how many cores in it, in the slow time and before.
struct Call<'a> {
    name: &'a str,
    per_second: (f64, Option<f64>),
    cores: (f64, Option<f64>),
}

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !syscalls::are_recorded(comparison) {
        let not_counted = || Finding::needs_kernel("system calls of each thread were not counted");
        return of_process::find(comparison).unwrap_or_else(not_counted);
    }
    let Some(call) = most_grown(comparison) else {
        return Finding::absent("no short system call is made many more times than in the baseline");
    };
    let below = below(comparison, call.name);
    let evidence = call.evidence(comparison, &below);
    as_before_or(comparison, &call, call.says(comparison, &below), evidence, |text| {
        let mut finding = match comparison.says_if_baseline_is_unknown(call.per_second.1) {
            Some(unknown) => Finding::new(Support::Weak, text + unknown),
            None => Finding::new(Support::Observed, text),
        };
        finding.claims = cpu_claims(comparison, call.grown_cores() * comparison.excess().slow_ns, below.claims);
        finding.crowding(comparison)
    })
}

/// What `of_more` makes of calls that are more, and not because there are more requests.
fn as_before_or(
    comparison: &Comparison<'_>,
    call: &Call<'_>,
    text: String,
    evidence: [Evidence; 2],
    of_more: impl FnOnce(String) -> Finding,
) -> Finding {
    let finding = if requests::grew_with(comparison, call.per_second) {
        Finding::absent(format!("{text}: as many for each request as in the baseline"))
    } else if comparison.sources().traffic.requests().next().is_none() && code_grew(comparison) {
        let says = format!("{text}: it may be more requests, which were not recorded");
        Finding::unknown(&says, "fathom explain … --latency access.csv")
    } else {
        of_more(text)
    };
    finding.with_all(evidence)
}

/// Whether the application's own code took more of the CPUs as well.
fn code_grew(comparison: &Comparison<'_>) -> bool {
    let (now, before) = comparison.excess().sums(|state| state == ThreadState::Running(Layer::Java));
    before > 0.0 && now > TRAFFIC * before
}

/// The short call that took most more of the CPUs, if there are many more of it.
fn most_grown<'c>(comparison: &'c Comparison<'_>) -> Option<Call<'c>> {
    let (now, before) = syscalls::both(comparison, |period| {
        [counter::SYSTEM_CALLS_COUNT, counter::SYSTEM_CALLS_NS].map(|name| syscalls::rates(period, name))
    });
    let of = |rates: &BTreeMap<&str, f64>, call: &str| rates.get(call).copied().unwrap_or(0.0);
    let has_cause = |name: &str| {
        [OF_OTHERS, syscalls::RECEIVE, syscalls::SEND, syscalls::POLL].iter().any(|known| known.contains(&name))
    };
    let calls = now[0].keys().filter(|call| !has_cause(call)).map(|call| Call {
        name: call,
        per_second: (of(&now[0], call), before.as_ref().map(|before| of(&before[0], call))),
        cores: (of(&now[1], call) / 1e9, before.as_ref().map(|before| of(&before[1], call) / 1e9)),
    });
    calls.filter(Call::is_many_more).max_by(|a, b| a.grown_cores().total_cmp(&b.grown_cores()))
}

impl Call<'_> {
    fn is_many_more(&self) -> bool {
        let (now, before) = self.per_second;
        now >= TOO_FEW_PER_SECOND && now >= MORE * before.unwrap_or(0.0) && self.cores.0 * 1e9 <= SHORT_NS * now
    }

    fn grown_cores(&self) -> f64 {
        (self.cores.0 - self.cores.1.unwrap_or(0.0)).max(0.0)
    }

    fn says(&self, comparison: &Comparison<'_>, below: &Below) -> String {
        let caller = telling_frame(comparison.recording(), below.stack);
        format!(
            "{} is called {} times per second{}, which takes {} cores{}",
            self.name,
            format::number(self.per_second.0),
            format::baseline(self.per_second.1, format::number),
            format::number(self.cores.0),
            caller.map_or(String::new(), |method| format!("; mostly from {method}"))
        )
    }

    fn evidence(&self, comparison: &Comparison<'_>, below: &Below) -> [Evidence; 2] {
        let calls = comparison.evidence(&format!("calls of {}", self.name), self.per_second, "1/s", "counters");
        let time = comparison.evidence("time in them", self.cores, "cores", "counters");
        let stack = comparison.stack_text(below.stack, 16);
        [Evidence { stack, ..calls.of(&[counter::SYSTEM_CALLS_COUNT]) }, time.of(&[counter::SYSTEM_CALLS_NS])]
    }
}

/// What is below the kernel's function of a call, on both architectures. Of a call on a socket or a file the first word is its name.
fn below(comparison: &Comparison<'_>, call: &str) -> Below {
    let call = call.split(' ').next().unwrap_or(call);
    let names = ["__x64_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_"].map(|prefix| format!("{prefix}{call}"));
    stacks::below(comparison, &names.each_ref().map(String::as_str))
}
