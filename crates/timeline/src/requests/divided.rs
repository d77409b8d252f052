//! Where the slow requests of a port spent their time: each of them divided once.
//!
//! From its arrival to its first read a request lay in the socket, whatever was done for it later; at its end its answer may have
//! stood in the kernel. Between, the thread that answered (or read) it called other services, or served it: worked, waited, or
//! had handed it over.

use std::collections::{BTreeMap, HashMap};

use super::unsent::Unsent;
use super::users::{LATE_FROM, Port, Request};
use crate::Analysis;
use crate::intervals::Intervals;
use crate::states::ThreadState;

/// The time of slow requests, in ns, of many at once. Its parts make the total.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Divided {
    /// Slow requests: those that took longer than twice the median of their port.
    pub count: f64,
    /// All of their time.
    pub total_ns: f64,
    /// They had arrived, and nobody had read them.
    pub unread_ns: f64,
    /// Other services were called for them, by the threads that read or answered them.
    pub calls_ns: f64,
    /// Their answers stood in the kernel.
    pub unsent_ns: f64,
    /// It is not known who read and who answered them.
    pub unknown_ns: f64,
    /// What the threads that read them at last did while they lay unread; of the rest nothing is recorded, as of running.
    pub unread_while: BTreeMap<ThreadState, f64>,
}

impl Divided {
    /// The rest: they were worked on, or waited in the program.
    pub fn service_ns(&self) -> f64 {
        self.total_ns - self.unread_ns - self.calls_ns - self.unsent_ns - self.unknown_ns
    }

    fn add(&mut self, analysis: &Analysis<'_>, request: &Request, calls: &HashMap<i64, Intervals>) {
        let length_ns = request.duration_ns().max(0);
        let unread_ns = request.unread_ns.clamp(0, length_ns);
        let unsent_ns = request.unsent.map_or(0, |Unsent { ns, .. }| ns).clamp(0, length_ns - unread_ns);
        let (from_ns, to_ns) = (request.from_ns.saturating_add(unread_ns), request.to_ns.saturating_sub(unsent_ns));
        let [answerer, reader] = request.threads;
        let called = |tid: i64| calls.get(&tid).map_or(0, |calls| calls.within_ns(from_ns, to_ns));
        let of_reader = if reader == answerer { 0 } else { called(reader) };
        let calls_ns = called(answerer).saturating_add(of_reader).min(to_ns.saturating_sub(from_ns).max(0));
        let unknown_ns = if request.threads == [0; 2] { to_ns.saturating_sub(from_ns).max(0) } else { 0 };
        self.count += request.weight;
        for (sum, ns) in [
            (&mut self.total_ns, length_ns),
            (&mut self.unread_ns, unread_ns),
            (&mut self.calls_ns, calls_ns),
            (&mut self.unsent_ns, unsent_ns),
            (&mut self.unknown_ns, unknown_ns),
        ] {
            *sum += ns as f64 * request.weight;
        }
        for segment in analysis.account.partition.segments(reader, request.from_ns, from_ns) {
            *self.unread_while.entry(segment.state).or_default() += segment.length_ns() as f64 * request.weight;
        }
    }
}

/// Divides the time of the slow requests of a port.
pub(crate) fn of(analysis: &Analysis<'_>, port: &Port) -> Divided {
    let requests = analysis.sources.requests_at(port.name);
    let is_slow = |request: &&Request| request.duration_ns() as f64 > LATE_FROM * port.p50_ns;
    let mut calls: HashMap<i64, Vec<(i64, i64)>> = HashMap::new();
    for call in analysis.sources.calls() {
        calls.entry(call.tid).or_default().push((call.from_ns, call.to_ns));
    }
    let calls = calls.into_iter().map(|(tid, calls)| (tid, Intervals::union(calls))).collect();
    let mut divided = Divided::default();
    requests.iter().filter(is_slow).for_each(|request| divided.add(analysis, request, &calls));
    divided
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::kinds::span;

    use crate::requests::users::AT_SOCKETS;
    use crate::{Options, ThreadState, Wait, analyse};

    const MS: i64 = 1_000_000;

    #[test]
    fn each_slow_request_is_divided_once() {
        let mut recording = Recording::default();
        let mut add = |at_ms: i64, ms: i64, tid: i64, kind: &str, name: &str, detail: &str, source: &str| {
            recording.add_span(at_ms * MS, ms * MS, tid, kind, name, detail, source);
        };
        for second in 0..60 {
            add(second * 1_000, 2, 7, span::REQUEST, ":8080", "", AT_SOCKETS);
        }
        // Unread for 60 ms, in which its reader waits for a lock; then 30 ms of a call; sent at last after 100 ms, left after 140 ms.
        let detail = r#"{"stands_for":2,"reader_tid":8,"unread_ns":60000000,"unsent_ns":40000000}"#;
        add(30_500, 140, 7, span::REQUEST, ":8080", detail, AT_SOCKETS);
        add(30_480, 80, 8, span::MONITOR_ENTER, "shop.Cart", "", "jfr");
        add(30_565, 30, 7, span::CALL, "10.0.0.5:5432", r#"{"peer_ns":30000000}"#, AT_SOCKETS);
        let analysis = analyse(&recording, &Options::default()).unwrap();
        let divided = analysis.divided(&analysis.sources.ports()[0]);
        let parts = [divided.total_ns, divided.unread_ns, divided.calls_ns, divided.unsent_ns, divided.service_ns()];
        assert_eq!(parts.map(|ns| ns / 2e6), [140.0, 60.0, 30.0, 40.0, 10.0]);
        assert_eq!(divided.count, 2.0);
        assert_eq!(divided.unread_while[&ThreadState::Blocked(Wait::Lock)], 2.0 * 60e6);
    }
}
