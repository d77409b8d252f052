//! Connection attempts were dropped because earlier connections had not been accepted.

use std::collections::HashSet;

use fathom_evidence::kinds::counter;
use fathom_timeline::{Intervals, SignalKind, ThreadState};

use crate::measure::{stalled_threads, syscalls};
use crate::{Cause, Claim, Comparison, Family, Finding, Harm, Need, Period, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "accept_queue_overflow",
    readme: include_str!("README.md"),
    family: Family::Queues,
    refines: &[],
    equals: &[(
        &["dns_slow", "sleeping_handlers", "slow_downstream"],
        "requests were late while no thread was seen to wait: each claims as much as it measured itself",
    )],
    has_lab: true,
    collectors: &["sockets", "system_calls", "scheduler"],
    needs: &[&[Need::Counter(counter::SOCKET_ACCEPT_DROPS_COUNT), Need::Counter(counter::NETWORK_COUNT)]],
    actions: &[
        "a larger backlog (the server's, and net.core.somaxconn, which limits it); Java's default is 50",
        "fix what blocks the thread that accepts",
    ],
    decide,
};

/// A peer whose attempt was dropped tries again after so long, in ns (RFC 6298, Linux).
const RETRY_NS: f64 = 1e9;

/// Drops closer than this are one burst, in ns.
const BURST_GAP_NS: i64 = 500_000_000;

/// How much of the bursts has to be accounted for by what held up who accepts.
const MIN_HELD_SHARE: f64 = 0.5;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let drops = comparison.sources().refused_connections();
    let drops: Vec<(i64, i64, f64)> =
        drops.into_iter().filter(|(from, to, _)| comparison.slow.time.touches(*from, *to)).collect();
    let dropped: f64 = drops.iter().map(|drop| drop.2).sum();
    if dropped < 1.0 {
        return not_seen(comparison);
    }
    let joined = drops.iter().map(|(from, to, _)| (*from, to.saturating_add(BURST_GAP_NS)));
    let bursts = Intervals::union(joined.collect());
    let full = fullest(&comparison.slow);
    let overflowed = comparison.slow.rise(&comparison.sources().counter(counter::NETWORK_COUNT, OVERFLOWS));
    let is_full = full.as_ref().is_some_and(|full| full.queue >= full.limit) || overflowed > 0.0;
    let acceptors = syscalls::acceptors(comparison);
    let held = held_up(comparison, &bursts, &acceptors);
    let says = format!(
        "{} dropped{} in {}, each of which its peer repeated after a second or more{}",
        format::count(dropped.round() as usize, "connection attempt"),
        full.as_ref().map_or_else(String::new, Full::says),
        format::count(bursts.iter().count(), "burst"),
        told(&held, &bursts)
    );
    let mut finding = Finding::new(if is_full { Support::Observed } else { Support::Consistent }, says);
    finding.claims.extend(claim(comparison, dropped));
    finding.harm = Some(Harm { happened_in: held, when: bursts });
    finding.drill_down.threads.extend(acceptors);
    finding.drill_down.threads.sort_unstable();
    let per_second = comparison.baseline_looked_at().map(|period| dropped_in(&period) / period.seconds());
    let before = per_second.map(|rate| rate * comparison.slow.seconds());
    let evidence = comparison.evidence("connection attempts dropped", (dropped, before), "count", "counters");
    finding.with(evidence.of(&[counter::SOCKET_ACCEPT_DROPS_COUNT]))
}

/// The kernel's count of connections that found an accept queue full, of the whole network namespace.
const OVERFLOWS: &str = "TcpExt ListenOverflows";

fn dropped_in(period: &Period<'_>) -> f64 {
    period.sources.counters(counter::SOCKET_ACCEPT_DROPS_COUNT).values().map(|series| period.rise(series)).sum()
}

/// What is said where no drop was seen. The sum of the namespace clears when it did not rise; when it did it may be another's.
fn not_seen(comparison: &Comparison<'_>) -> Finding {
    if comparison.sources().has_counter(counter::SOCKET_ACCEPT_DROPS_COUNT) {
        return Finding::absent("no listening socket of the process dropped an attempt to connect");
    }
    let all = comparison.sources().counter(counter::NETWORK_COUNT, OVERFLOWS);
    match comparison.slow.rise(&all) {
        _ if all.0.is_empty() => Finding::needs_kernel("what listening sockets dropped was not recorded"),
        overflowed if overflowed < 1.0 => {
            Finding::absent("no accept queue of the network namespace of the process overflowed")
        }
        overflowed => Finding::needs_kernel(&format!(
            "accept queues of the network namespace overflowed {}: whose they were was not recorded",
            format::count(overflowed.round() as usize, "time")
        )),
    }
}

/// The queue that was fullest, by how much of it.
struct Full {
    port: String,
    queue: f64,
    limit: f64,
}

impl Full {
    fn says(&self) -> String {
        format!(
            " at port {} (its accept queue holds {}, seen with {})",
            self.port,
            format::number(self.limit + 1.0),
            format::number(self.queue)
        )
    }
}

/// The listening socket that dropped most.
fn fullest(period: &Period<'_>) -> Option<Full> {
    let drops = period.sources.counters(counter::SOCKET_ACCEPT_DROPS_COUNT);
    let (key, _) = drops.iter().max_by(|a, b| period.rise(a.1).total_cmp(&period.rise(b.1)))?;
    let at = |name: &str| period.sources.counters(name).remove(key);
    let queue = period.max(&at(counter::SOCKET_ACCEPT_QUEUE_COUNT)?)?;
    let limit = at(counter::SOCKET_ACCEPT_QUEUE_LIMIT_COUNT)?.last()?;
    let name = period.sources.recording.text(key.0);
    let port = name.split_whitespace().nth(1)?.to_owned();
    Some(Full { port, queue, limit })
}

/// In which kinds of time the threads that accept were held up meanwhile; nothing where they are not known.
fn held_up(comparison: &Comparison<'_>, bursts: &Intervals, acceptors: &HashSet<i64>) -> Vec<(ThreadState, f64)> {
    let held = stalled_threads::by_state(comparison, bursts, |tid| acceptors.contains(&tid));
    let held_ns: f64 = held.iter().map(|(_, ns)| ns).sum();
    if held_ns >= MIN_HELD_SHARE * bursts.total_ns() as f64 { held } else { Vec::new() }
}

fn told(held: &[(ThreadState, f64)], bursts: &Intervals) -> String {
    let most = held.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    most.map_or_else(String::new, |(state, ns)| {
        let part = format::percent(ns / bursts.total_ns().max(1) as f64);
        format!("; who accepts was held up for {part} of that time, mostly {state}")
    })
}

/// Waits for a connection are in no thread's account. If request latency defines the slow time, unknown time is claimed for
/// each attempt that had to be repeated.
fn claim(comparison: &Comparison<'_>, dropped: f64) -> Option<Claim> {
    let is_told = comparison.slowdown.signals.contains(&SignalKind::RequestLatency);
    is_told.then(|| Claim::part(ThreadState::Unknown, dropped * RETRY_NS))
}
