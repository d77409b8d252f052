//! Which of the recorded requests are those that users waited for.
//!
//! A latency file has them as the client or the proxy saw them, and comes first. Those measured at sockets are of every
//! port that the process listens on: the service's, and those of its administration. The leading port is the one that lost
//! most time, among the ports with a good part of the requests, so that a slow admin port makes no slow service.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};

use fathom_evidence::detail::{self, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StrId};

use super::unsent::Unsent;
use crate::intervals::Intervals;
use crate::median;
use crate::threads::is_application;

/// The source of requests that were measured at their sockets.
pub const AT_SOCKETS: &str = "requests";

/// The source of what was read from a capture of packets.
pub(crate) const CAPTURE: &str = "pcap";

/// The sources that measure requests and calls where these come in and go out, the one that knows more of each first: a capture of
/// packets has the same ports.
const MEASURED_BY: [&str; 2] = [AT_SOCKETS, CAPTURE];

/// Whether a source measures requests, and does not wait for them.
pub(crate) fn measures(source: &str) -> bool {
    MEASURED_BY.contains(&source)
}

/// Who measured the requests, or the calls, of a recording.
pub(crate) fn measured_by(recording: &Recording, kind: &str) -> Option<StrId> {
    let kind = recording.strings.find(kind)?;
    let mut known = MEASURED_BY.iter().filter_map(|source| recording.strings.find(source));
    let rows = || recording.spans.kind.iter().zip(&recording.spans.source);
    known.find(|source| rows().any(|(of, by)| (of, by) == (&kind, source)))
}

/// A port leads only if it has this part of all requests.
const MIN_LEADING_SHARE: f64 = 0.1;

/// A request takes longer than so many times the median of its port before its time is lost.
pub(crate) const LATE_FROM: f64 = 2.0;

/// What became of a request while it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It was answered.
    Sent,
    /// It was not.
    Missing,
    /// Nor was it when its client closed the connection.
    GivenUp,
}

/// One request, or several like it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// When it came.
    pub from_ns: i64,
    /// When its answer was complete; without an answer, when its client gave up or the recording ended.
    pub to_ns: i64,
    /// Whether it got one.
    pub answer: Answer,
    /// How many requests it stands for.
    pub weight: f64,
    /// For how long at its end the answer stood in the kernel.
    pub unsent: Option<Unsent>,
    /// From its arrival until it was read, in ns.
    pub unread_ns: i64,
    /// Who answered it, and who read it; 0 where that is not known.
    pub threads: [i64; 2],
    /// Who worked on it last, if that is not who read it, and when that ended.
    pub worked_on: Option<(i64, i64)>,
    /// How far its length may be off, in ns.
    pub uncertain_ns: i64,
    /// What it adds to a sum of lengths, in ns: one that is known to some ticks of a clock may seem longer than it was.
    pub counted_ns: i64,
    /// Whether it is one stream of HTTP/2.
    pub is_stream: bool,
}

impl Request {
    /// One that was answered, without further details.
    pub(crate) fn answered(from_ns: i64, to_ns: i64) -> Request {
        Request {
            from_ns,
            to_ns,
            answer: Answer::Sent,
            weight: 1.0,
            unsent: None,
            unread_ns: 0,
            threads: [0; 2],
            worked_on: None,
            uncertain_ns: 0,
            counted_ns: to_ns.saturating_sub(from_ns),
            is_stream: false,
        }
    }

    /// How long it took.
    pub fn duration_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// What is known of the requests of one port.
#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    /// `:8080`.
    pub name: StrId,
    /// How many requests came to it, of those that are known one by one.
    pub count: f64,
    /// Of these, how many were streams of HTTP/2 in the clear, which share connections.
    pub streams: f64,
    /// Of these, how many were not answered before the recording ended or their clients gave up.
    pub unanswered: f64,
    /// Stretches with several at once on a connection, or with unrequested data (HTTP/2, WebSocket). Their times are unknown.
    pub overlapping: f64,
    /// When the first of these began.
    pub overlapping_from_ns: Option<i64>,
    /// Median of their time, in ns.
    pub p50_ns: f64,
    /// 99th percentile of it, in ns.
    pub p99_ns: f64,
    /// The longest, in ns.
    pub longest_ns: f64,
    /// Sum of their time beyond twice the median, in ns.
    pub lost_ns: f64,
    /// How far each of these may be off, in ns.
    pub uncertain_ns: f64,
    /// How many were answered in a tenth of the usual time by a tenth of the usual bytes, as errors are.
    pub curt: f64,
}

impl Port {
    /// How many requests came to it, including those that came several at once: at least one in each stretch.
    pub(crate) fn all(&self) -> f64 {
        self.count + self.overlapping
    }
}

/// Requests that were measured at sockets.
#[derive(Debug, Default)]
pub(crate) struct AtSockets {
    /// Those of the port that leads, in order of their beginning.
    pub(crate) requests: Vec<Request>,
    /// All ports, the one that leads first.
    pub(crate) ports: Vec<Port>,
    /// The requests of the others.
    others: BTreeMap<StrId, Vec<Request>>,
}

impl AtSockets {
    /// Those of a recording.
    pub(crate) fn of(recording: &Recording) -> AtSockets {
        let (kind, source) = (recording.strings.find(span::REQUEST), measured_by(recording, span::REQUEST));
        let mut by_port: BTreeMap<StrId, Vec<Request>> = BTreeMap::new();
        let mut answers: BTreeMap<StrId, Answers> = BTreeMap::new();
        let mut overlapping: BTreeMap<StrId, (f64, i64)> = BTreeMap::new();
        for span in recording.spans.rows().filter(|span| Some(span.source) == source && Some(span.kind) == kind) {
            let detail: detail::Request = from_text(recording.text(span.detail));
            let mut request = measured(&span, &detail);
            // Threads of the JVM wake a loop to look at it.
            request.worked_on = request.worked_on.filter(|(worker, _)| is_application(recording, *worker));
            let requests = by_port.entry(span.name).or_default();
            match detail.overlapping {
                Some(true) => {
                    let (count, from_ns) = overlapping.entry(span.name).or_insert((0.0, i64::MAX));
                    *count += request.weight;
                    *from_ns = request.from_ns.min(*from_ns);
                }
                _ => {
                    requests.push(request);
                    answers.entry(span.name).or_default().see(&request, &detail);
                }
            }
        }
        by_port.values_mut().for_each(|requests| requests.sort_by_key(|request| request.from_ns));
        let port = |(name, requests): (&StrId, &Vec<Request>)| {
            port(*name, requests, overlapping.get(name).copied(), answers.get(name).map_or(0.0, Answers::curt))
        };
        let mut ports: Vec<Port> = by_port.iter().map(port).collect();
        let all: f64 = ports.iter().map(Port::all).sum();
        let rank = |port: &Port| (leads(port, all), port.lost_ns, port.count);
        ports.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
        let leading = ports.first().and_then(|port| by_port.remove(&port.name));
        AtSockets { requests: leading.unwrap_or_default(), ports, others: by_port }
    }

    /// The requests of a port.
    pub(crate) fn of_port(&self, name: StrId) -> &[Request] {
        let is_leading = self.ports.first().is_some_and(|port| port.name == name);
        if is_leading { &self.requests } else { self.others.get(&name).map_or(&[][..], Vec::as_slice) }
    }

    /// Lets another port lead.
    pub(crate) fn lead(&mut self, name: StrId) {
        let Some(index) = self.ports.iter().position(|port| port.name == name).filter(|index| *index > 0) else {
            return;
        };
        let requests = self.others.remove(&name).unwrap_or_default();
        let before = std::mem::replace(&mut self.requests, requests);
        self.others.insert(self.ports[0].name, before);
        self.ports[..=index].rotate_right(1);
    }

    /// Nothing that is known of requests says what is usual.
    pub(crate) fn forget(&mut self) {
        *self = AtSockets::default();
    }

    /// The ports that the process listens on.
    pub(crate) fn port_numbers(&self, recording: &Recording) -> HashSet<u32> {
        let number = |port: &Port| recording.text(port.name).trim_start_matches(':').parse().ok();
        self.ports.iter().filter_map(number).collect()
    }
}

/// A row as a request.
fn measured(span: &Span, detail: &detail::Request) -> Request {
    // One without an answer was not read, if reads were seen.
    let is_unread = detail.unanswered == Some(true) && detail.uncertain_ns.is_none();
    // How exactly a request without details was measured is not known.
    let unknown_ns = if span.detail == StrId(0) { span.duration_ns } else { 0 };
    Request {
        from_ns: span.time_ns,
        to_ns: span.end_ns(),
        answer: match (detail.unanswered, detail.given_up) {
            (_, Some(true)) => Answer::GivenUp,
            (Some(true), _) => Answer::Missing,
            _ => Answer::Sent,
        },
        weight: detail.stands_for.unwrap_or(1).max(1) as f64,
        unsent: Unsent::of_answer(detail),
        unread_ns: detail.unread_ns.unwrap_or(if is_unread { span.duration_ns } else { 0 }),
        threads: [span.tid, detail.reader_tid.unwrap_or(span.tid)],
        worked_on: worked_on(span, detail),
        uncertain_ns: detail.uncertain_ns.unwrap_or(unknown_ns).max(0),
        counted_ns: detail.ticks_ns.unwrap_or(span.duration_ns).clamp(0, span.duration_ns.max(0)),
        is_stream: detail.stream == Some(true),
    }
}

/// An event loop that answers what it has read may have handed it to another thread meanwhile; who answers what another one has
/// read got it handed.
fn worked_on(span: &Span, detail: &detail::Request) -> Option<(i64, i64)> {
    let at = |ns: Option<i64>| ns.map(|ns| span.time_ns.saturating_add(ns));
    let returned = detail.worker_tid.zip(at(detail.returned_ns));
    returned.or_else(|| detail.reader_tid.and_then(|_| Some((span.tid, at(detail.first_byte_ns)?))))
}

/// Whether a port has a good part of all requests.
pub(crate) fn leads(port: &Port, all: f64) -> bool {
    port.all() >= MIN_LEADING_SHARE * all
}

/// The time that requests lost against a usual length, in ns.
pub(crate) fn late_ns(requests: &[Request], usual_ns: f64) -> f64 {
    let late = |one: &Request| (one.duration_ns() as f64 - LATE_FROM * usual_ns).max(0.0) * one.weight;
    0.0 + requests.iter().map(late).sum::<f64>()
}

fn port(name: StrId, requests: &[Request], several: Option<(f64, i64)>, curt: f64) -> Port {
    let mut by_length = lengths(requests.iter());
    let mut at = |q| quantile(&mut by_length, q).unwrap_or(0.0);
    let (p50_ns, p99_ns, longest_ns) = (at(0.5), at(0.99), at(1.0));
    let uncertain_ns = requests.iter().map(|one| one.uncertain_ns).min().unwrap_or(0) as f64;
    Port {
        name,
        count: count(requests.iter()),
        streams: count(requests.iter().filter(|one| one.is_stream)),
        unanswered: count(requests.iter().filter(|one| one.answer != Answer::Sent)),
        overlapping: several.map_or(0.0, |(count, _)| count),
        overlapping_from_ns: several.map(|(_, from_ns)| from_ns),
        p50_ns,
        p99_ns,
        longest_ns,
        lost_ns: late_ns(requests, p50_ns),
        uncertain_ns,
        curt,
    }
}

/// How long the answers of a port took, and how large they were.
#[derive(Debug, Default)]
struct Answers {
    /// Time, bytes, and how many each stands for.
    all: Vec<(i64, i64, f64)>,
}

impl Answers {
    fn see(&mut self, request: &Request, detail: &detail::Request) {
        if let (Answer::Sent, Some(bytes)) = (request.answer, detail.bytes_out) {
            self.all.push((request.duration_ns(), i64::try_from(bytes).unwrap_or(i64::MAX), request.weight));
        }
    }

    /// How many were far quicker and far smaller than is usual.
    fn curt(&self) -> f64 {
        const TIMES: i64 = 10;
        let median = |of: fn(&(i64, i64, f64)) -> i64| {
            quantile(&mut self.all.iter().map(|answer| (of(answer), answer.2)).collect::<Vec<_>>(), 0.5)
        };
        let Some((ns, bytes)) = median(|answer| answer.0).zip(median(|answer| answer.1)) else { return 0.0 };
        let is_curt = |answer: &&(i64, i64, f64)| {
            answer.0.saturating_mul(TIMES) as f64 <= ns && answer.1.saturating_mul(TIMES) as f64 <= bytes
        };
        0.0 + self.all.iter().filter(is_curt).map(|answer| answer.2).sum::<f64>()
    }
}

/// The median of those that came in some time, of enough to tell.
pub(crate) fn usual_ns(requests: &[Request], time: &Intervals) -> Option<f64> {
    const MIN_FOR_MEDIAN: f64 = 20.0;
    let within = || requests.iter().filter(|request| time.contains(request.from_ns));
    if count(within()) >= MIN_FOR_MEDIAN { quantile(&mut lengths(within()), 0.5) } else { None }
}

/// How many some requests stand for.
pub fn count<R: Borrow<Request>>(requests: impl Iterator<Item = R>) -> f64 {
    // `sum()` of an empty iterator of floats is -0.0.
    0.0 + requests.map(|request| request.borrow().weight).sum::<f64>()
}

/// How long some requests took, in ns, with how many each stands for.
pub(crate) fn lengths<R: Borrow<Request>>(requests: impl Iterator<Item = R>) -> Vec<(i64, f64)> {
    requests.map(|request| (request.borrow().duration_ns(), request.borrow().weight)).collect()
}

/// The quantile of values that stand for many each; it sorts them.
pub(crate) fn quantile(values: &mut [(i64, f64)], q: f64) -> Option<f64> {
    values.sort_unstable_by_key(|value| value.0);
    median::quantile(values.iter().copied(), q).map(|value| value as f64)
}

/// Whether the chosen rows of requests were measured at sockets.
pub(crate) fn are_measured(recording: &Recording, rows: &[u32]) -> bool {
    let source = rows.first().map(|row| recording.text(recording.spans.source[*row as usize]));
    source.is_some_and(measures)
}

/// How good a source of spans of a kind is, before how much time it covers.
pub(crate) fn rank_of_source(recording: &Recording, kind: StrId, source: StrId) -> u8 {
    let source = recording.text(source);
    match recording.text(kind) {
        span::REQUEST => rank_of_requests(source),
        _ => u8::from(source != CAPTURE),
    }
}

/// The same of requests: who waits knows best how long, and a capture least.
pub fn rank_of_requests(source: &str) -> u8 {
    match source {
        CAPTURE => 0,
        AT_SOCKETS => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_with_most_lost_time_leads_unless_hardly_anybody_uses_it() {
        let mut recording = Recording::default();
        let mut add = |at: i64, ms: i64, port: &str, detail: &str| {
            recording.add_span(at * 1_000_000_000, ms * 1_000_000, 1, span::REQUEST, port, detail, AT_SOCKETS);
        };
        for second in 0..60 {
            add(second, if second > 50 { 90 } else { 3 }, ":8080", "{\"stands_for\":10}");
            add(second, 2, ":8081", "{\"stands_for\":10}");
            add(second, if second % 2 == 0 { 5_000 } else { 2 }, ":9090", "");
            add(second, 9_000, ":8080", "{\"overlapping\":true}");
        }
        let found = AtSockets::of(&recording);
        let names: Vec<&str> = found.ports.iter().map(|port| recording.text(port.name)).collect();
        assert_eq!(names, [":8080", ":8081", ":9090"]);
        let [service, ..] = &found.ports[..] else { panic!("no port") };
        assert_eq!((found.requests.len(), service.count, service.overlapping), (60, 600.0, 60.0));
        assert_eq!(found.ports[0].lost_ns, 9.0 * 10.0 * (90e6 - 6e6));
    }

    #[test]
    fn a_port_whose_requests_come_several_at_once_leads_before_one_that_gets_a_few() {
        let mut recording = Recording::default();
        for second in 0..60 {
            let mut add = |ms: i64, port: &str, detail: &str| {
                recording.add_span(second * 1_000_000_000, ms * 1_000_000, 1, span::REQUEST, port, detail, AT_SOCKETS);
            };
            add(900, ":16000", "");
            add(2, ":16020", "{\"overlapping\":true,\"stands_for\":300}");
        }
        let found = AtSockets::of(&recording);
        assert_eq!(recording.text(found.ports[0].name), ":16020");
        assert!(found.requests.is_empty(), "how long those took is not known");
    }

    #[test]
    fn a_capture_counts_where_sockets_were_not_measured() {
        let mut recording = Recording::default();
        (0..30).for_each(|at| recording.add_span(at, 5, 0, span::REQUEST, ":8080", r#"{"uncertain_ns":0}"#, "pcap"));
        assert_eq!(AtSockets::of(&recording).requests.len(), 30);
        recording.add_span(7, 5, 1, span::REQUEST, ":8080", "", AT_SOCKETS);
        assert_eq!(AtSockets::of(&recording).requests.len(), 1, "one request is one request");
    }

    #[test]
    fn answers_like_those_of_errors_are_counted() {
        let mut recording = Recording::default();
        let mut add = |at: i64, us: i64, bytes: u64| {
            let detail = format!("{{\"bytes_out\":{bytes},\"stands_for\":2}}");
            recording.add_span(at * 1_000_000, us * 1_000, 1, span::REQUEST, ":8080", &detail, AT_SOCKETS);
        };
        (0..30).for_each(|at| add(at, 5_000, 4_000));
        (30..35).for_each(|at| add(at, 400, 150));
        // Quick only, as from a cache, or small only.
        (35..40).for_each(|at| add(at, 400, 4_000));
        (40..45).for_each(|at| add(at, 5_000, 150));
        assert_eq!(AtSockets::of(&recording).ports[0].curt, 10.0);
    }

    #[test]
    fn a_value_that_stands_for_many_counts_as_often() {
        assert_eq!(quantile(&mut [(5, 1.0), (1, 98.0), (3, 1.0)], 0.5), Some(1.0));
        assert_eq!(quantile(&mut [(5, 1.0), (1, 98.0), (3, 1.0)], 0.99), Some(3.0));
        assert_eq!(quantile(&mut [(7, 1.0), (9, 1.0)], 0.5), Some(9.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }
}
