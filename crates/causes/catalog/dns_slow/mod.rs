//! Threads wait until the name of a host is resolved.

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_timeline::{Segment, ThreadState, Wait};

use crate::cause::Claim;
use crate::measure::calls::{self, Slowest};
use crate::measure::waits::{self, Waits};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "dns_slow",
    readme: include_str!("README.md"),
    family: Family::Services,
    refines: &[],
    equals: &[(
        &["sleeping_handlers", "slow_downstream"],
        "requests were late while no thread was seen to wait: each claims as much as it measured itself",
    )],
    has_lab: true,
    collectors: &["scheduler", "system_calls", "requests"],
    needs: &[&[Need::Spans(span::BLOCKED, "scheduler"), Need::Spans(span::SYSTEM_CALL, "system_calls"), Need::Sockets]],
    actions: &[
        "query the name server from this machine (dig +stats NAME), and check /etc/resolv.conf: a server that does not answer \
         costs 5 s each time",
        "cache answers: networkaddress.cache.ttl of the JVM, a cache on the machine, connections that are kept open",
        "avoid one query per search domain: a name with a dot at its end, or options ndots:1",
    ],
    decide,
};

/// The kernel's waits in which the C library's resolver may be.
const WAITS_IN: &[&str] = &["poll", "read_write", "other"];

fn decide(comparison: &Comparison<'_>) -> Finding {
    let waiting = comparison.state_evidence("threads waiting for names of hosts", "threads", is_ours);
    let servers = calls::by_peer(&comparison.slow, calls::is_name_server);
    let server = calls::slowest(comparison, &servers, calls::is_name_server);
    let Some((_, waits)) = waits::most(comparison, Wait::NameLookup) else {
        return server.map_or_else(|| none_seen(comparison), |server| by_answers(comparison, &server).with(waiting));
    };
    let text = says(&waiting, &waits);
    if waiting.baseline.is_some_and(|before| waiting.value <= before) {
        return Finding::absent(format!("{text}: no more than in the baseline")).with(waiting);
    }
    let finding = Finding::new(Support::Observed, text).with(waiting).with(longest(comparison, &waits));
    let finding = finding.claiming(comparison, is_ours);
    match server.filter(|server| server.support(comparison) < Support::Absent) {
        Some(server) => {
            let says = format!("{}; {}", finding.says, server.says());
            asking(Finding { says, ..finding }.with(server.mean(comparison)), comparison, &server)
        }
        None => finding,
    }
}

/// What the name server took, where the threads' stacks do not show what they waited for.
fn by_answers(comparison: &Comparison<'_>, server: &Slowest<'_>) -> Finding {
    match server.support(comparison) {
        Support::Absent => Finding::absent(server.says()),
        support => asking(Finding::new(support, server.says()), comparison, server),
    }
    .with(server.mean(comparison))
}

/// The time that the server took longer belongs to the threads that waited for it, under whatever name.
fn asking(mut finding: Finding, comparison: &Comparison<'_>, server: &Slowest<'_>) -> Finding {
    const ELSEWHERE: [ThreadState; 2] = [ThreadState::Blocked(Wait::Socket), ThreadState::Blocked(Wait::Unnamed)];
    let elsewhere_ns = server.added_ns() - comparison.grown_ns(ThreadState::Blocked(Wait::NameLookup));
    finding.claims.extend(Claim::parts_in_order(comparison, &ELSEWHERE, elsewhere_ns));
    let in_requests_ns = calls::longer_in_requests_ns(comparison, server);
    finding.claims.extend(waits::for_calls_in_requests(comparison, in_requests_ns));
    finding
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Blocked(Wait::NameLookup)
}

/// The JVM notes no look-up: none is a measurement only where it is known what threads waited for that were in the kernel as those are
/// who resolve a name.
fn none_seen(comparison: &Comparison<'_>) -> Finding {
    let recording = comparison.recording();
    let may_be = |segment: &&Segment| {
        let wait = segment.row.map(|row| recording.spans.row(row as usize));
        let is_such =
            |wait: Span| recording.text(wait.kind) == span::BLOCKED && WAITS_IN.contains(&recording.text(wait.name));
        comparison.slow.time.touches(segment.from_ns, segment.to_ns) && wait.is_some_and(is_such)
    };
    let waits = comparison.analysis.account.waits(comparison.sources()).map(|(_, segment)| segment).filter(may_be);
    let (unknown, all) = waits.fold((0_usize, 0_usize), |(unknown, all), wait| {
        (unknown + usize::from(matches!(wait.state, ThreadState::Blocked(Wait::Unnamed | Wait::Socket))), all + 1)
    });
    if (all > 0 || comparison.has_source("scheduler")) && 2 * unknown <= all {
        return Finding::absent("no wait in the resolver of names");
    }
    Finding::needs_kernel("waits in the resolver of names were not recorded: the JVM has no event for them")
}

fn says(waiting: &Evidence, waits: &Waits) -> String {
    let before = format::baseline(waiting.baseline, format::number);
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
