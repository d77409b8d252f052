//! Datagrams were lost at a full receive queue. The cause behind it is what held up the thread that reads the queue.

use std::collections::HashSet;

use fathom_evidence::StrId;
use fathom_evidence::detail::{DatagramsLate, PacketDrop};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;
use fathom_timeline::{Intervals, Series, ThreadState};

use crate::explanation::Missing;
use crate::measure::{stalled_threads, syscalls};
use crate::{Cause, Comparison, Family, Finding, Harm, Need, Period, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "receive_queue_overflow",
    readme: include_str!("README.md"),
    family: Family::Queues,
    refines: &[],
    equals: &[],
    has_lab: true,
    collectors: &["sockets", "drops", "datagrams", "scheduler", "page_faults"],
    needs: &[&[Need::Counter(counter::SOCKET_DROPS_COUNT), Need::Counter(counter::NETWORK_COUNT)]],
    actions: &["remove what holds the reader up; a larger receive buffer only hides short stalls"],
    decide,
};

/// Losses closer than this are one burst: a reader that is held up loses datagram after datagram.
const BURST_GAP_NS: i64 = 50_000_000;

/// How much of the time of the losses has to be accounted for by what held the reader up, or how many of the lost
/// datagrams by those that came beyond the usual.
const MIN_EXPLAINED_SHARE: f64 = 0.5;

/// How far around a burst arrivals are counted: the kernel's counters are read each 100 ms.
const AROUND_NS: i64 = 200_000_000;

/// Datagrams that the kernel counts when a reader takes them, and when it drops them at a full queue.
const ARRIVALS: [&str; 4] = ["Udp InDatagrams", "Udp RcvbufErrors", "Udp6 InDatagrams", "Udp6 RcvbufErrors"];

/// The latter only, of all processes of a network namespace.
const OVERFLOWS: [&str; 2] = ["Udp RcvbufErrors", "Udp6 RcvbufErrors"];

fn decide(comparison: &Comparison<'_>) -> Finding {
    let losses: Vec<(i64, i64, f64)> =
        comparison.sources().lost_datagrams().into_iter().filter(|loss| is_slow(comparison, loss)).collect();
    let lost: f64 = losses.iter().map(|loss| loss.2).sum();
    if lost < 1.0 {
        return match is_recorded(comparison) {
            true => Finding::absent("no datagram was lost at a socket of the process"),
            false => Finding::needs_kernel("queues and drops of the process's sockets were not recorded"),
        };
    }
    let bursts = bursts(&losses);
    let (why, mut finding) = why(comparison, &bursts, lost);
    finding.says = format!(
        "{} lost{} in {}, the longest {}: {why}",
        format::count(lost.round() as usize, "datagram"),
        at_ports(comparison),
        format::count(bursts.iter().count(), "burst"),
        format::time(bursts.iter().map(|(from, to)| to.saturating_sub(from)).max().unwrap_or(0) as f64),
    );
    let baseline = comparison.baseline_looked_at().map(|baseline| lost_in(&baseline) / baseline.seconds());
    let lost = (lost, baseline.map(|rate| rate * comparison.slow.seconds()));
    finding.with(comparison.evidence("datagrams lost", lost, "count", "counters").of(&[counter::SOCKET_DROPS_COUNT]))
}

/// Whether losses would have been recorded: those at the process's sockets, or none of any process.
fn is_recorded(comparison: &Comparison<'_>) -> bool {
    let sources = comparison.sources();
    let of_everybody = sources.counters(counter::NETWORK_COUNT);
    let overflows: Vec<&Series> = of_everybody
        .iter()
        .filter(|((name, _), _)| OVERFLOWS.contains(&sources.recording.text(*name)))
        .map(|(_, series)| series)
        .collect();
    let is_none_lost = overflows.iter().all(|series| comparison.slow.rise(series) < 1.0);
    sources.has_counter(counter::SOCKET_DROPS_COUNT)
        || sources.spans(span::PACKET_DROP).len() > 0
        || !overflows.is_empty() && is_none_lost
}

/// Counters are read after the fact, so that a loss may end after the slow second that it is in.
fn is_slow(comparison: &Comparison<'_>, (from, to, _): &(i64, i64, f64)) -> bool {
    comparison.slow.time.contains(*from)
        || comparison.slow.time.contains(*to)
        || comparison.slow.time.within_ns(*from, *to) > 0
}

fn lost_in(period: &Period<'_>) -> f64 {
    let losses = period.sources.lost_datagrams();
    0.0 + losses.iter().filter(|(from, ..)| period.time.contains(*from)).map(|loss| loss.2).sum::<f64>()
}

/// The losses joined to bursts; each lasts at least a millisecond.
fn bursts(losses: &[(i64, i64, f64)]) -> Intervals {
    let near = losses.iter().map(|(from, to, _)| (*from, to.saturating_add(BURST_GAP_NS)));
    let joined = Intervals::union(near.collect());
    let whole =
        joined.iter().map(|(from, to)| (from, to.saturating_sub(BURST_GAP_NS).max(from.saturating_add(1_000_000))));
    Intervals::union(whole.collect())
}

/// Why the queue was not emptied in time, with what that adds to the finding.
fn why(comparison: &Comparison<'_>, bursts: &Intervals, lost: f64) -> (String, Finding) {
    let readers = readers(comparison);
    let is_reader =
        |tid: i64| if readers.is_empty() { comparison.sources().is_application(tid) } else { readers.contains(&tid) };
    let happened_in = stalled_threads::by_state(comparison, bursts, is_reader);
    let held_ns: f64 = happened_in.iter().map(|(_, ns)| ns).sum();
    let extra = extra_arrivals(comparison, bursts);
    let pauses = Pauses::of(comparison, bursts);
    let is_most = |ns: f64| ns >= MIN_EXPLAINED_SHARE * bursts.total_ns() as f64;
    let mut finding = Finding::new(Support::Observed, "");
    finding.harm = Some(Harm { when: bursts.clone(), ..Harm::default() });
    let why = if is_most(held_ns) {
        let reader = reader_name(comparison, &readers);
        let says = format!("{reader} was held up for {} of that time, {}", format::time(held_ns), told(&happened_in));
        finding.harm = Some(Harm { happened_in, when: bursts.clone() });
        says
    } else if extra.is_some_and(|extra| extra >= MIN_EXPLAINED_SHARE * lost) {
        finding.chain = vec!["more_traffic"];
        format!("{} more came than in as much time of the baseline", format::number(extra.unwrap_or(0.0)))
    } else if let Some(pauses) = pauses.as_ref().filter(|pauses| is_most(pauses.total_ns)) {
        if !knows_waits(comparison) {
            finding.missing.push(Missing::from_kernel(WAITS_ARE_MISSING));
        }
        let reader = reader_name(comparison, &readers);
        format!("{reader} read nothing for up to {} while datagrams waited", format::time(pauses.longest_ns))
    } else if pauses.is_some() || knows_waits(comparison) {
        "its reader was not held up, and no more came than in the baseline: it takes them too slowly".to_owned()
    } else {
        finding.missing.push(Missing::from_kernel(WAITS_ARE_MISSING));
        WAITS_ARE_MISSING.to_owned()
    };
    (why, pauses.into_iter().fold(finding, |finding, pauses| pauses.show(comparison, finding)))
}

const WAITS_ARE_MISSING: &str = "what held the reader up (page faults, waits for a CPU) was not recorded";

/// What was recorded of the queues' reads during the bursts.
struct Pauses {
    /// Sum over the bursts of each one's longest time without a read, as far as it is within the burst.
    total_ns: f64,
    longest_ns: f64,
    /// The longest time that a datagram stood in the queue.
    unread_ns: f64,
    queue_most: f64,
}

impl Pauses {
    /// Nothing if a burst has no row: a queue that overflows was read late, so it was not recorded.
    fn of(comparison: &Comparison<'_>, bursts: &Intervals) -> Option<Pauses> {
        let ports = losing_ports(comparison);
        let details: Vec<(Span, DatagramsLate)> = comparison
            .sources()
            .spans(span::DATAGRAMS_LATE)
            .map(|late| (late, comparison.slow.detail::<DatagramsLate>(&late)))
            .filter(|(_, detail)| ports.is_empty() || detail.port.is_some_and(|port| ports.contains(&port)))
            .collect();
        let mut found = Pauses { total_ns: 0.0, longest_ns: 0.0, unread_ns: 0.0, queue_most: 0.0 };
        for (from_ns, to_ns) in bursts.iter() {
            let near = details.iter().filter(|(late, _)| late.time_ns < to_ns && late.end_ns() > from_ns);
            let (_, detail) = near.max_by_key(|(_, detail)| detail.pause_ns)?;
            let pause_ns = detail.pause_ns? as f64;
            found.total_ns += pause_ns.min(to_ns.saturating_sub(from_ns) as f64);
            found.longest_ns = found.longest_ns.max(pause_ns);
            found.unread_ns = found.unread_ns.max(detail.longest_ns? as f64);
            found.queue_most = found.queue_most.max(detail.queue_most? as f64);
        }
        Some(found)
    }

    fn show(&self, comparison: &Comparison<'_>, finding: Finding) -> Finding {
        let evidence = |says: &str, value: f64, unit: &str| {
            comparison.evidence(says, (value, None), unit, "spans").of(&[span::DATAGRAMS_LATE])
        };
        finding
            .with(evidence("longest time without a read while datagrams waited", self.longest_ns, "ns"))
            .with(evidence("longest time from the queue to the reader", self.unread_ns, "ns"))
            .with(evidence("most datagrams in the queue", self.queue_most, "count"))
    }
}

/// The threads that read from the sockets with losses; where that was not recorded, all threads that receive.
fn readers(comparison: &Comparison<'_>) -> HashSet<i64> {
    let (ports, recording) = (losing_ports(comparison), comparison.recording());
    let is_losing = |name: StrId| port_of_socket(recording.text(name)).is_some_and(|port| ports.contains(&port));
    let counted = comparison.sources().counters(counter::DATAGRAMS_READ_COUNT);
    let readers: HashSet<i64> = counted.into_keys().filter(|(name, _)| is_losing(*name)).map(|(_, tid)| tid).collect();
    if readers.is_empty() { syscalls::receivers(comparison) } else { readers }
}

/// The kind of time in which most of it happened.
fn told(happened_in: &[(ThreadState, f64)]) -> String {
    let total =
        |state: ThreadState| -> f64 { happened_in.iter().filter(|(of, _)| *of == state).map(|(_, ns)| ns).sum() };
    let most = happened_in.iter().max_by(|a, b| total(a.0).total_cmp(&total(b.0)));
    most.map_or_else(String::new, |(state, _)| format!("mostly {state}"))
}

fn reader_name(comparison: &Comparison<'_>, readers: &HashSet<i64>) -> String {
    match readers.iter().collect::<Vec<_>>().as_slice() {
        [only] if !comparison.thread_name(**only).is_empty() => {
            format!("its reader {}", comparison.thread_name(**only))
        }
        _ => "its reader".to_owned(),
    }
}

/// Whether waits of single threads were recorded.
fn knows_waits(comparison: &Comparison<'_>) -> bool {
    comparison.sources().has_counter(counter::RUN_QUEUE_WAITS_NS)
        || comparison.sources().spans(span::RUN_QUEUE_WAIT).len() > 0
}

/// How many datagrams came around the bursts beyond what is usual in as much time.
fn extra_arrivals(comparison: &Comparison<'_>, bursts: &Intervals) -> Option<f64> {
    let baseline = comparison.baseline_looked_at()?;
    let [series, before] = arrivals([&comparison.slow, &baseline], bursts, &losing_ports(comparison));
    // A capture may have begun later than the recording.
    let counted = Period::new(baseline.sources, covered(&baseline.time, &before));
    if counted.time.is_empty() {
        return None;
    }
    let usual = before.iter().map(|series| counted.rise(series)).sum::<f64>() / counted.seconds();
    let around = bursts.iter().map(|(from, to)| (from.saturating_sub(AROUND_NS), to.saturating_add(AROUND_NS)));
    let around = Intervals::union(around.collect());
    let came: f64 =
        around.iter().flat_map(|(from, to)| series.iter().map(move |series| series.rise_within(from, to))).sum();
    Some(came - usual * around.total_ns() as f64 / 1e9)
}

/// Datagrams that came in two periods: those that were counted at the ports that lost some, by their sockets or in a capture, if the bursts
/// and some of the other period were counted; else those of the whole network namespace.
fn arrivals(periods: [&Period<'_>; 2], bursts: &Intervals, ports: &HashSet<u32>) -> [Vec<Series>; 2] {
    let at_ports = periods.map(|period| counted_at(period, ports));
    let has_bursts = covered(bursts, &at_ports[0]).total_ns() == bursts.total_ns();
    match has_bursts && !covered(&periods[1].time, &at_ports[1]).is_empty() {
        true => at_ports,
        false => periods
            .map(|period| ARRIVALS.iter().map(|name| period.sources.counter(counter::NETWORK_COUNT, name)).collect()),
    }
}

fn counted_at(period: &Period<'_>, ports: &HashSet<u32>) -> Vec<Series> {
    let is_at = |name: StrId| {
        let port = period.sources.recording.text(name).strip_prefix("udp ").and_then(|port| port.parse::<u32>().ok());
        port.is_some_and(|port| ports.contains(&port))
    };
    let counters = period.sources.counters(counter::DATA_ARRIVALS_COUNT).into_iter();
    counters.filter(|((name, _), _)| is_at(*name)).map(|(_, series)| series).collect()
}

/// The part of a time between the first and the last row of some counters.
fn covered(time: &Intervals, series: &[Series]) -> Intervals {
    let ends = series.iter().filter_map(|series| Some((series.0.first()?.0, series.0.last()?.0)));
    let extent = ends.reduce(|(from, to), (first, last)| (from.min(first), to.max(last)));
    extent.map_or_else(Intervals::default, |(from, to)| time.clip(from, to))
}

/// The ports at which datagrams were lost: by single losses, or by sockets (`udp 8125 #4711`) whose count rose.
fn losing_ports(comparison: &Comparison<'_>) -> HashSet<u32> {
    let recording = comparison.recording();
    let counted = comparison.sources().counters(counter::SOCKET_DROPS_COUNT);
    let lost = counted.into_iter().filter(|(_, series)| comparison.slow.rise(series) >= 1.0);
    let by_sockets = lost.filter_map(|((name, _), _)| port_of_socket(recording.text(name)));
    by_sockets.chain(ports_of_drops(comparison)).collect()
}

/// The port of `udp 8125 #4711`.
fn port_of_socket(name: &str) -> Option<u32> {
    name.split(' ').nth(1)?.parse().ok()
}

/// The port of each single loss, where it is known.
fn ports_of_drops<'c>(comparison: &'c Comparison<'_>) -> impl Iterator<Item = u32> + 'c {
    let drops = comparison.slow.spans(span::PACKET_DROP);
    drops.filter_map(|drop| comparison.slow.detail::<PacketDrop>(&drop).port)
}

/// ` at port 8125`, when it is known.
fn at_ports(comparison: &Comparison<'_>) -> String {
    let mut ports: Vec<u32> = ports_of_drops(comparison).collect();
    ports.sort_unstable();
    ports.dedup();
    match ports.as_slice() {
        [] => String::new(),
        [port] => format!(" at port {port}"),
        ports => format!(" at {} ports", ports.len()),
    }
}
