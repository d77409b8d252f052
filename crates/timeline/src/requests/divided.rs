//! Where the slow requests of a port spent their time: each of them divided once.
//!
//! From its arrival to its first read a request was unread in the socket, whatever was done for it later. At its end its
//! answer may have been in the kernel's send queue. Between these it was queued for a thread, called other services (see
//! [`called`]), or was served: worked on, or waiting in the program.

use std::collections::{BTreeMap, HashMap};

use super::queued::Workers;
use crate::Analysis;
use crate::intervals::Intervals;
use crate::states::ThreadState;
use crate::traffic::called;
use crate::traffic::unsent::Unsent;
use crate::traffic::users::{LATE_FROM, Port, Request, late_ns};

/// The time of slow requests, in ns, of many at once. Its parts make the total.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Divided {
    /// Slow requests: those that took longer than twice what is usual.
    pub count: f64,
    /// All of their time.
    pub total_ns: f64,
    /// What they took beyond twice what is usual.
    pub late_ns: f64,
    /// They had arrived but had not been read.
    pub unread_ns: f64,
    /// They had been read, and were queued for a thread that worked on others.
    pub queued_ns: f64,
    /// Other services were called for them.
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
        self.total_ns - self.unread_ns - self.queued_ns - self.calls_ns - self.unsent_ns - self.unknown_ns
    }

    fn add(&mut self, analysis: &Analysis<'_>, request: &Request, workers: &Workers, calls: &Intervals) {
        let length_ns = request.duration_ns().max(0);
        let unread_ns = request.unread_ns.clamp(0, length_ns);
        let unsent_ns = request.unsent.map_or(0, |Unsent { ns, .. }| ns).clamp(0, length_ns - unread_ns);
        let (from_ns, to_ns) = (request.from_ns.saturating_add(unread_ns), request.to_ns.saturating_sub(unsent_ns));
        let began_ns = workers.began_ns(&analysis.account.partition, request, calls).unwrap_or(from_ns);
        let began_ns = began_ns.clamp(from_ns, to_ns.max(from_ns));
        let calls_ns = calls.within_ns(began_ns, to_ns);
        let [_, reader] = request.threads;
        let unknown_ns = if request.threads == [0; 2] { to_ns.saturating_sub(from_ns).max(0) } else { 0 };
        self.count += request.weight;
        for (sum, ns) in [
            (&mut self.total_ns, length_ns),
            (&mut self.unread_ns, unread_ns),
            (&mut self.queued_ns, began_ns.saturating_sub(from_ns)),
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

/// Divides the time of the slow requests of a port, by what is usual there.
pub(crate) fn of(analysis: &Analysis<'_>, port: &Port, usual_ns: f64) -> Divided {
    let requests = analysis.sources.traffic.at_sockets.of_port(port.name);
    let calls = analysis.sources.traffic.calls();
    let mut calls_of: HashMap<usize, Vec<(i64, i64)>> = HashMap::new();
    for (call, request) in calls.iter().zip(called::within(requests, calls)) {
        if let Some(request) = request {
            calls_of.entry(request).or_default().push((call.from_ns, call.to_ns));
        }
    }
    let workers = Workers::of(requests);
    let mut divided = Divided { late_ns: late_ns(requests, usual_ns), ..Divided::default() };
    for (index, request) in requests.iter().enumerate() {
        if request.duration_ns() as f64 > LATE_FROM * usual_ns {
            let calls = Intervals::union(calls_of.remove(&index).unwrap_or_default());
            divided.add(analysis, request, &workers, &calls);
        }
    }
    divided
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;
    use fathom_evidence::kinds::span;

    use crate::traffic::users::AT_SOCKETS;
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
        let divided = analysis.divided(&analysis.sources.traffic.ports()[0], 2e6);
        assert_eq!(divided.late_ns, 2.0 * (140e6 - 4e6));
        let parts = [divided.total_ns, divided.unread_ns, divided.calls_ns, divided.unsent_ns, divided.service_ns()];
        assert_eq!(parts.map(|ns| ns / 2e6), [140.0, 60.0, 30.0, 40.0, 10.0]);
        assert_eq!(divided.count, 2.0);
        assert_eq!(divided.unread_while[&ThreadState::Blocked(Wait::Lock)], 2.0 * 60e6);
    }

    #[test]
    fn what_stands_in_line_for_a_worker_is_not_served_meanwhile() {
        let mut recording = Recording::default();
        let mut add = |at_ms: i64, ms: i64, kind: &str, name: &str, tid: i64, detail: &str| {
            recording.add_span(at_ms * MS, ms * MS, tid, kind, name, detail, AT_SOCKETS);
        };
        for second in 0..60 {
            add(second * 1_000, 2, span::REQUEST, ":8080", 1, "");
        }
        // An event loop reads both at once; one worker answers the first after 50 ms, then the second, for which it calls a service.
        add(30_500, 50, span::REQUEST, ":8080", 1, r#"{"unread_ns":0,"worker_tid":7,"returned_ns":49000000}"#);
        add(30_500, 120, span::REQUEST, ":8080", 1, r#"{"unread_ns":0,"worker_tid":7,"returned_ns":119000000}"#);
        add(30_555, 60, span::CALL, "10.0.0.5:5432", 7, r#"{"peer_ns":60000000}"#);
        let analysis = analyse(&recording, &Options::default()).unwrap();
        let divided = analysis.divided(&analysis.sources.traffic.ports()[0], 2e6);
        let parts = [divided.total_ns, divided.queued_ns, divided.calls_ns, divided.service_ns()];
        assert_eq!(parts.map(|ns| ns / 1e6), [170.0, 49.0, 60.0, 61.0]);
    }
}
