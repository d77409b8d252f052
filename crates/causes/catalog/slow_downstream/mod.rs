//! Threads wait for the answer of another service.

mod calls;
mod peers;

use fathom_evidence::kinds::{counter, span};
use fathom_timeline::{BUCKET_NS, ThreadState, Wait};

use self::peers::{Peer, Peers, Reads};
use crate::cause::Claim;
use crate::limits::MINOR_SHARE;
use crate::measure::calls::SLOWER;
use crate::measure::{cpu_shortage, event_loops, recording_threshold, unsent, waits, waits_below};
use crate::{Cause, Comparison, Family, Finding, Need, Support, format, latency};

pub(crate) static CAUSE: Cause = Cause {
    id: "slow_downstream",
    readme: include_str!("README.md"),
    family: Family::Services,
    refines: &[],
    equals: &[],
    has_lab: true,
    collectors: &["requests", "jfr"],
    needs: &[
        &[Need::Event("jdk.SocketRead"), Need::Sockets, Need::Spans(span::SAMPLED_WAIT, "waits")],
        &[Need::Event("jdk.ThreadPark"), Need::Sockets, Need::Spans(span::SAMPLED_WAIT, "waits")],
    ],
    actions: &["look into the other service; a timeout and a limit on open calls keep its problem out of this one"],
    decide,
};

/// Times as many long reads as in the baseline, where the short ones are not known: more than traffic
/// grows from one minute to the next.
const MIN_LONG_READ_RATIO: f64 = 3.0;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let waiting = comparison.state_evidence("threads waiting for other services", "threads", is_ours);
    if let Some(finding) = calls::finding(comparison, &waiting) {
        return finding;
    }
    let peers = Peers::of(comparison);
    let coarse = || calls::coarse(comparison, &waiting);
    let Some((peer, reads)) = peers.slowest(comparison) else {
        return coarse().or_else(|| by_looks(comparison)).unwrap_or_else(|| no_reads(comparison));
    };
    if let Some(finding) = busy_carriers(comparison).or_else(|| cpus_were_stolen(comparison)) {
        return finding.with(waiting);
    }
    let before = peers.mean_before_ns(peer);
    let mean = comparison
        .evidence(&format!("mean {peer}"), (reads.mean_ns(), before), "ns", "spans")
        .of(&[span::SOCKET_READ, span::PARK]);
    let support = match before {
        Some(before) if reads.mean_ns() < SLOWER * before => {
            let rates = peers.per_second(comparison, peer);
            if hides_short_reads(comparison) && rates.0 >= MIN_LONG_READ_RATIO * rates.1 {
                return more_noted(comparison, peer, reads, rates).with(waiting).with(mean);
            }
            // Reads are those of Java's own blocking calls.
            if let Some(finding) = coarse() {
                return finding;
            }
            let mean_ns = reads.mean_ns();
            let text = format!("a {peer} takes {}, {}", format::time(mean_ns), format::no_longer(mean_ns, before));
            return Finding::absent(text).with(waiting).with(mean);
        }
        // The other side may be on this machine, or the answer have come before its reader had a CPU.
        Some(before) if cpu_shortage(comparison).may_lengthen(reads.mean_ns() - before) => Support::Weak,
        Some(_) if all_at_once(comparison, &peers) => Support::Weak,
        Some(_) => Support::Observed,
        None => Support::Consistent,
    };
    let usual = format::instead_of(before.filter(|before| *before > 0.0));
    let says = format!(
        "{} threads wait for other services on average; {}, mean {}{usual}, longest {}",
        format::number(waiting.value),
        peer.count(reads.count),
        format::time(reads.mean_ns()),
        format::time(reads.longest_ns as f64)
    );
    let finding = Finding::new(support, says).with(waiting).with(mean);
    match peers.slower_ns(comparison) {
        Some(slower_ns) => {
            Finding { claims: vec![Claim::part(ThreadState::Blocked(Wait::Socket), slower_ns)], ..finding }
        }
        None => finding.claiming(comparison, is_ours),
    }
}

/// Reads in which only looks at threads found them. They show neither how many there were nor how long each took: more calls would look
/// the same, and so would answers for which the reader had no CPU. A thread that a dump shows below a client library may wait for news.
fn by_looks(comparison: &Comparison<'_>) -> Option<Finding> {
    let recording = comparison.recording();
    let is_look = |row: u32| waits_below::is_look(recording, &recording.spans.row(row as usize));
    let mut ours = comparison.slow_waits().filter(|(_, segment, _)| is_ours(segment.state));
    ours.any(|(_, segment, _)| segment.row.is_some_and(is_look)).then_some(())?;
    let found = waits::finding(
        comparison,
        Wait::Socket,
        ("other services", "the answer of another service"),
        "",
        &[span::SAMPLED_WAIT],
    )?;
    let is_crowded = cpu_shortage(comparison).by_others.is_some();
    let support = if is_crowded || calls::are_more(comparison) || calls::are_as_long(comparison) {
        Support::Weak
    } else {
        Support::Consistent
    };
    Some(Finding { support: found.support.max(support), ..found })
}

/// The answer where no read from a service was seen.
fn no_reads(comparison: &Comparison<'_>) -> Finding {
    let unseen = unnamed_waits(comparison).or_else(|| calls::none(comparison));
    let unseen = unseen.or_else(|| event_loops::unseen(comparison, "answers of other services"));
    let unseen = unseen.or_else(|| behind_itself(comparison)).or_else(|| unseen_by_java(comparison));
    unseen
        .unwrap_or_else(|| recording_threshold::of_waits(comparison, &["jdk.SocketRead"], "reads from other services"))
}

/// A program that calls itself waits for a service where the thread that answers does.
fn behind_itself(comparison: &Comparison<'_>) -> Option<Finding> {
    let mut reads = comparison.slow.spans(span::SOCKET_READ);
    reads.any(|read| comparison.sources().traffic.is_unclear(&read)).then(|| {
        Finding::needs_kernel("the program calls itself, and which of its threads answered was not recorded: it may have waited for a service")
    })
}

/// The JVM writes down blocking reads of its own classes: neither those of channels nor those of native code. Where nothing that is lost has
/// to be explained by others, only requests that are known, or a look at the sockets, tell that no thread read otherwise.
fn unseen_by_java(comparison: &Comparison<'_>) -> Option<Finding> {
    let sees_all = unsent::was_measured(comparison) || comparison.has_short_sampled_waits();
    let is_open = !comparison.is_slow() && !latency::are_requests_quick(comparison) && !sees_all;
    is_open.then(|| Finding::needs_kernel("no read of a socket by Java's own classes; other reads were not recorded"))
}

/// Waits that look like idleness may be calls of a service that no row of the table of waits recognizes. Then it is not
/// proven that no service is slow.
fn unnamed_waits(comparison: &Comparison<'_>) -> Option<Finding> {
    let state = ThreadState::Blocked(Wait::Unnamed);
    let slow_ns = comparison.slow.time.total_ns() as f64;
    let waited_ns = match comparison.is_slow() {
        true => comparison.excess().of(state)?.excess_ns(),
        false => comparison.analysis.account.states.get(&state)?.iter().sum(),
    };
    (waited_ns >= MINOR_SHARE * comparison.excess().lost_ns().max(slow_ns)).then(|| {
        let threads = format::number(waited_ns / slow_ns.max(1.0));
        let says = format!("{threads} threads wait for what cannot be named: it may be a service");
        Finding::needs_kernel(&says)
    })
}

/// Whether reads from several services became longer by about as much: rather the caller stood still than all of them did.
/// If its stops were recorded, they are distinguished from the reads.
fn all_at_once(comparison: &Comparison<'_>, peers: &Peers) -> bool {
    const MIN_READS: usize = 5;
    if peers.before.is_none() || comparison.has_collections() {
        return false;
    }
    let longer = |(peer, reads): (&Peer, &Reads)| reads.mean_ns() - peers.mean_before_ns(peer).unwrap_or(0.0);
    let longer: Vec<f64> = peers.slow.iter().filter(|(_, reads)| reads.count >= MIN_READS).map(longer).collect();
    let (least, most) = longer.iter().fold((f64::MAX, 0.0), |(least, most), ns| (ns.min(least), ns.max(most)));
    longer.len() > 1 && most > 0.0 && least >= 0.5 * most
}

/// Where the hypervisor takes the CPUs everything takes longer, also to wake up when an answer has come: that reads seem longer
/// then is no measure of the service.
fn cpus_were_stolen(comparison: &Comparison<'_>) -> Option<Finding> {
    const MIN_STOLEN_SHARE: f64 = 0.15;
    let steal = comparison.sources().counter(counter::MACHINE_CPU_NS, "steal");
    let (slow, baseline) =
        comparison.both_looked_at(|period| period.rise(&steal) / period.seconds() / BUCKET_NS as f64);
    let cpus = comparison.analysis.account.cpus?;
    (slow - baseline.unwrap_or(0.0) >= MIN_STOLEN_SHARE * cpus).then(|| {
        let says = format!(
            "reads from services may seem longer because the hypervisor took {} of the CPUs: how long the services took was not \
             recorded apart from that",
            format::percent(slow / cpus)
        );
        Finding::needs_kernel(&says)
    })
}

/// A read of a virtual thread lasts until the thread is mounted again. Where the carriers were busy that is no measure of the
/// service.
fn busy_carriers(comparison: &Comparison<'_>) -> Option<Finding> {
    let of = |is_virtual: bool| -> f64 {
        let reads = comparison.slow.spans(span::SOCKET_READ).filter(|read| (read.tid < 0) == is_virtual);
        reads.map(|read| read.duration_ns.max(0) as f64).sum()
    };
    let shortage = cpu_shortage(comparison);
    let busy = shortage.own.filter(|_| shortage.is_full_of_itself() == Some(true))?;
    (of(true) > of(false)).then(|| {
        let says = format!(
            "virtual threads read from services, but a read lasts until its thread is mounted again, and the process used {} of \
             the CPUs: what part of it the services took was not recorded",
            format::percent(busy)
        );
        Finding::needs_kernel(&says)
    })
}

/// Whether the recorder left out reads that are short but long enough to matter. Then the mean of those
/// that it kept says little: that there are more of them says that more became long.
fn hides_short_reads(comparison: &Comparison<'_>) -> bool {
    !recording_threshold::has_short_ones(comparison, "jdk.SocketRead")
}

fn more_noted(comparison: &Comparison<'_>, peer: &Peer, reads: &Reads, rates: (f64, f64)) -> Finding {
    let says = format!(
        "{} times per second a {peer} took long enough to be noted instead of {}, mean {}; shorter ones were not recorded",
        format::number(rates.0),
        format::number(rates.1),
        format::time(reads.mean_ns())
    );
    Finding::new(Support::Consistent, says)
        .with(comparison.evidence("long reads", (rates.0, Some(rates.1)), "1/s", "spans").of(&[span::SOCKET_READ]))
        .claiming(comparison, is_ours)
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Blocked(Wait::Socket)
}
