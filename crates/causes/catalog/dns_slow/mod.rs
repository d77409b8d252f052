//! Threads wait until the name of a host is resolved.

use fathom_evidence::kinds::span;
use fathom_timeline::{ThreadState, Wait};

use crate::measure::waits::{self, Waits};
use crate::{Cause, Comparison, Evidence, Finding, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "dns_slow",
    readme: include_str!("README.md"),
    refines: &[],
    has_lab: false,
    collectors: &["scheduler", "system_calls"],
    actions: &[
        "ask the name server from this machine (dig +stats NAME), and look at /etc/resolv.conf: a server that does not answer is \
         asked first for 5 s each time",
        "keep answers: networkaddress.cache.ttl of the JVM, a cache on the machine, connections that are kept open",
        "ask once instead of once per search domain: a name with a dot at its end, or options ndots:1",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let waiting = comparison.cell_evidence("threads waiting for names of hosts", "threads", is_ours);
    let Some((_, waits)) = waits::most(comparison, Wait::NameLookup) else { return none_seen(comparison) };
    let text = says(&waiting, &waits);
    if waiting.baseline.is_some_and(|before| waiting.value <= before) {
        return Finding::absent(format!("{text}: no more than before")).with(waiting);
    }
    Finding::new(Support::Observed, text).with(waiting).with(longest(comparison, &waits)).claiming(comparison, is_ours)
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Blocked(Wait::NameLookup)
}

/// The JVM notes no look-up: only where the kernel's waits of threads have stacks is none a measurement.
fn none_seen(comparison: &Comparison<'_>) -> Finding {
    let kernel_waits = [span::BLOCKED, span::SYSTEM_CALL].into_iter().flat_map(|kind| comparison.slow.spans(kind));
    let (with_stack, all) = kernel_waits
        .fold((0_usize, 0_usize), |(with_stack, all), wait| (with_stack + usize::from(wait.stack_id.0 != 0), all + 1));
    if all > 0 && with_stack * 2 > all {
        return Finding::absent("no wait in the resolver of names");
    }
    Finding::needs_kernel("waits in the resolver of names were not recorded: the JVM has no event for them")
}

fn says(waiting: &Evidence, waits: &Waits) -> String {
    let before = format::before(waiting.baseline, format::number);
    format!(
        "{} threads wait for the resolver of names on average{before}: {}",
        format::number(waiting.value),
        waits.says("")
    )
}

fn longest(comparison: &Comparison<'_>, waits: &Waits) -> Evidence {
    let longest = comparison.evidence("longest wait in the resolver", (waits.longest_ns as f64, None), "ns", "spans");
    Evidence { stack: comparison.stack_text(waits.stack, 12), ..longest.of(&[span::BLOCKED, span::SYSTEM_CALL]) }
}
