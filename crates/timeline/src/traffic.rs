//! Which peers exchanged data: the requests that came to the process, the calls that it made, and which peers are services.

pub(crate) mod called;
pub(crate) mod calls;
mod clients;
pub(crate) mod peers;
mod same_port;
pub(crate) mod unsent;
pub(crate) mod users;

use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StrId};

use crate::intervals::Intervals;
use calls::{Call, Calls};
use clients::Clients;
use peers::Peers;
use users::{AtSockets, Port, Request};

/// What a recording knows of it.
#[derive(Debug)]
pub struct Traffic<'a> {
    recording: &'a Recording,
    /// Rows of the requests whose source was chosen.
    rows: Vec<u32>,
    /// Requests that were measured at sockets.
    pub(crate) at_sockets: AtSockets,
    calls: Calls,
    pub(crate) peers: Peers,
    clients: Clients,
}

impl<'a> Traffic<'a> {
    /// That of a recording, with the chosen rows of requests and the waits of parked threads.
    pub(crate) fn of(recording: &'a Recording, rows: &[u32], parks: impl Iterator<Item = Span>) -> Traffic<'a> {
        let at_sockets = AtSockets::of(recording);
        let own_ports = at_sockets.port_numbers(recording);
        let calls = Calls::of(recording, &own_ports);
        let (peers, clients) = (Peers::of(recording, &own_ports), Clients::of(recording, parks));
        Traffic { recording, rows: rows.to_vec(), at_sockets, calls, peers, clients }
    }

    /// Compares the requests of the same port with those of another recording, in which the service was well; whether that can be.
    pub(crate) fn compare_with(&mut self, usual: &mut Traffic<'_>) -> bool {
        same_port::pair((self.recording, &mut self.at_sockets), (usual.recording, &mut usual.at_sockets))
    }

    /// The requests that users waited for, in order of their beginning.
    pub fn requests(&self) -> impl Iterator<Item = Request> + '_ {
        let (rows, measured) = match self.requests_are_measured() {
            true => (&[][..], self.at_sockets.requests.as_slice()),
            false => (self.rows.as_slice(), &[][..]),
        };
        let told = rows.iter().map(|row| {
            let span = self.recording.spans.row(*row as usize);
            Request::answered(span.time_ns, span.end_ns())
        });
        told.chain(measured.iter().copied())
    }

    /// The 99th percentile of the length of some of them, in ns; none of no requests.
    pub fn p99_ns(&self, is_meant: impl Fn(&Request) -> bool) -> Option<f64> {
        users::quantile(&mut users::lengths(self.requests().filter(is_meant)), 0.99)
    }

    /// Whether they were measured at sockets, and not reported by their clients.
    pub(crate) fn requests_are_measured(&self) -> bool {
        users::are_measured(self.recording, &self.rows)
    }

    /// Requests of the leading port that were measured at its sockets, whether or not another source has request latency.
    pub fn measured_requests(&self) -> impl Iterator<Item = &Request> {
        self.at_sockets.requests.iter()
    }

    /// The ports at whose sockets requests were measured, the one whose requests count first.
    pub fn ports(&self) -> &[Port] {
        &self.at_sockets.ports
    }

    /// The median of the requests that came to a port in some time.
    pub fn usual_ns(&self, port: &str, time: &Intervals) -> Option<f64> {
        let port = self.recording.strings.find(port)?;
        users::usual_ns(self.at_sockets.of_port(port), time)
    }

    /// Calls of other services that were measured at their sockets, each byte of them, in order of their beginning.
    pub fn calls(&self) -> &[Call] {
        &self.calls.exact
    }

    /// Calls found by polling connections: accurate to some ms, and not all of them.
    pub fn coarse_calls(&self) -> &[Call] {
        &self.calls.coarse
    }

    /// Whether calls are known from such looks.
    pub fn are_calls_coarse(&self) -> bool {
        self.calls.has_coarse
    }

    /// Those of them that were made within requests to the leading port, by whatever thread.
    pub fn calls_in_requests(&self) -> impl Iterator<Item = &Call> {
        let requests = &self.at_sockets.requests;
        let of_kinds = [self.calls(), self.coarse_calls()];
        of_kinds
            .into_iter()
            .flat_map(|calls| calls.iter().zip(called::within(requests, calls)))
            .filter_map(|(call, request)| request.map(|_| call))
    }

    /// Whether a wait of a thread is for the answer of another service, as its sockets tell.
    pub(crate) fn waits_for_a_call(&self, wait: &Span) -> bool {
        self.calls.is_waited_for(wait.tid, wait.time_ns, wait.end_ns())
    }

    /// Whether the peer of a socket read or write is a service that we call, not a client whose
    /// next request we wait for.
    pub fn is_service(&self, socket: &Span) -> bool {
        self.peers.is_service(socket)
    }

    /// Whether the peer of a socket read is this program itself, and it is not known which of its threads answered.
    pub fn is_unclear(&self, socket: &Span) -> bool {
        self.peers.is_unclear(socket)
    }

    /// The service (`host:port`) whose answer a system call read.
    pub fn called(&self, call: &Span) -> Option<String> {
        self.peers.called(self.recording, call)
    }

    /// The call of a client library of the network whose result a parked thread waits for.
    pub fn call_of_a_client(&self, park: &Span) -> Option<StrId> {
        self.clients.call(self.recording, park)
    }
}
