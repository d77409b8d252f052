//! Datagrams were lost at a full receive queue; what held its reader up meanwhile stands behind it.

use std::collections::HashSet;

use fathom_evidence::StrId;
use fathom_evidence::detail::PacketDrop;
use fathom_evidence::kinds::{counter, span};
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
    collectors: &["sockets", "drops", "scheduler", "page_faults"],
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

/// Whether somebody would have told of losses: those at the process's sockets, or none of any process.
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
    let readers = syscalls::receivers(comparison);
    let is_reader =
        |tid: i64| if readers.is_empty() { comparison.sources().is_application(tid) } else { readers.contains(&tid) };
    let happened_in = stalled_threads::by_state(comparison, bursts, is_reader);
    let held_ns: f64 = happened_in.iter().map(|(_, ns)| ns).sum();
    let extra = extra_arrivals(comparison, bursts);
    let mut finding = Finding::new(Support::Observed, "");
    finding.harm = Some(Harm { when: bursts.clone(), ..Harm::default() });
    let why = if held_ns >= MIN_EXPLAINED_SHARE * bursts.total_ns() as f64 {
        let reader = reader_name(comparison, &readers);
        let says = format!("{reader} was held up for {} of that time, {}", format::time(held_ns), told(&happened_in));
        finding.harm = Some(Harm { happened_in, when: bursts.clone() });
        says
    } else if extra.is_some_and(|extra| extra >= MIN_EXPLAINED_SHARE * lost) {
        finding.chain = vec!["more_traffic"];
        format!("{} more came than in as much time of the baseline", format::number(extra.unwrap_or(0.0)))
    } else if knows_waits(comparison) {
        "its reader was not held up, and no more came than in the baseline: it takes them too slowly".to_owned()
    } else {
        let says = "what held the reader up (page faults, waits for a CPU) was not recorded";
        finding.missing.push(Missing::from_kernel(says));
        says.to_owned()
    };
    (why, finding)
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

/// Datagrams that came in two periods: those that were captured at the ports that lost some, if the capture has the bursts and some of
/// the other period; else those of the whole network namespace.
fn arrivals(periods: [&Period<'_>; 2], bursts: &Intervals, ports: &HashSet<u32>) -> [Vec<Series>; 2] {
    let captured = periods.map(|period| captured(period, ports));
    let has_bursts = covered(bursts, &captured[0]).total_ns() == bursts.total_ns();
    match has_bursts && !covered(&periods[1].time, &captured[1]).is_empty() {
        true => captured,
        false => periods
            .map(|period| ARRIVALS.iter().map(|name| period.sources.counter(counter::NETWORK_COUNT, name)).collect()),
    }
}

fn captured(period: &Period<'_>, ports: &HashSet<u32>) -> Vec<Series> {
    let is_captured = |name: StrId| {
        let port = period.sources.recording.text(name).strip_prefix("udp ").and_then(|port| port.parse::<u32>().ok());
        port.is_some_and(|port| ports.contains(&port))
    };
    let counters = period.sources.counters(counter::DATA_ARRIVALS_COUNT).into_iter();
    counters.filter(|((name, _), _)| is_captured(*name)).map(|(_, series)| series).collect()
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
    let of_socket = |name: StrId| recording.text(name).split(' ').nth(1)?.parse::<u32>().ok();
    let counted = comparison.sources().counters(counter::SOCKET_DROPS_COUNT);
    let lost = counted.into_iter().filter(|(_, series)| comparison.slow.rise(series) >= 1.0);
    let by_sockets = lost.filter_map(|((name, _), _)| of_socket(name));
    by_sockets.chain(ports_of_drops(comparison)).collect()
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
