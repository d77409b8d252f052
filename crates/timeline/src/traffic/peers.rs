//! Which peers of our sockets are services that we call, and which are clients that call us.
//!
//! Waiting for a service is lost time, waiting for a client's next request is not, and the two reads
//! look the same. A service is known by a port that clients are not given, or by two of our threads
//! that read from the same port at once: every connection of a client has a port of its own, and
//! only one thread at a time reads from it, though many may take turns.
//!
//! A program that also makes its own load is its own peer: such a wait is a request seen from outside, not a cause. Threads
//! that serve clients call services. Threads that make the load serve no client, and the clients that the serving threads
//! see are on the same host. Only if the answering thread sleeps is there nothing to be seen in the program: while it
//! sleeps, it stands for a slow service.

use std::collections::{BTreeMap, HashMap, HashSet};

use fathom_evidence::detail::{Io, SystemCall, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StrId};

use crate::frames::begins_with;
use crate::intervals::Intervals;
use crate::wakers::Wakers;

/// First port that Linux gives to clients by default.
const FIRST_CLIENT_PORT: u32 = 32_768;

/// The peers of a recording's sockets.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// Names (`host:port`) of those that are services.
    services: HashSet<StrId>,
    /// The same of the calls that the kernel saw.
    called: HashSet<String>,
    /// Names of those that are the program itself.
    own: HashSet<StrId>,
    wakers: Wakers,
    /// When threads slept.
    sleeps: BTreeMap<i64, Intervals>,
}

impl Peers {
    /// Those of a recording of a process that listens on some ports.
    pub(crate) fn of(recording: &Recording, own_ports: &HashSet<u32>) -> Peers {
        let is_service = |peer: &Peer| peer.has_service_port || peer.has_connections;
        let (services, clients): (Vec<_>, Vec<_>) =
            peers(recording).into_iter().partition(|(_, peer)| is_service(peer));
        let is_local = |name: &StrId| is_loopback(recording.text(*name));
        let local_clients = clients.iter().filter(|(name, _)| is_local(name));
        let serving: HashSet<i64> = local_clients.flat_map(|(_, peer)| peer.threads.iter().copied()).collect();
        let is_own =
            |name: &StrId, peer: &Peer| is_local(name) && !serving.is_empty() && peer.threads.is_disjoint(&serving);
        let (own, services): (Vec<_>, Vec<_>) = services.into_iter().partition(|(name, peer)| is_own(name, peer));
        let names = |peers: Vec<(StrId, Peer)>| peers.into_iter().map(|(name, _)| name).collect();
        let called = called(recording, own_ports);
        let peers = Peers { services: names(services), own: names(own), called, ..Peers::default() };
        if peers.own.is_empty() {
            peers
        } else {
            Peers { wakers: Wakers::of(recording), sleeps: sleeps(recording), ..peers }
        }
    }

    /// Whether the program is its own service: some of its threads call others of it.
    pub(crate) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Whether the other side of a socket is a service, or stands for one during most of this wait.
    pub(crate) fn is_service(&self, socket: &Span) -> bool {
        self.services.contains(&socket.name) || self.slept_ns(socket) > socket.duration_ns / 2
    }

    /// Whether the program itself answers on the other side, by a thread that is not known: it may be a service.
    pub(crate) fn is_unclear(&self, socket: &Span) -> bool {
        self.own.contains(&socket.name) && self.wakers.of_wait(socket).is_none()
    }

    /// The service that a read waited for which the kernel saw.
    pub(crate) fn called(&self, recording: &Recording, call: &Span) -> Option<String> {
        peer_of_call(recording, call).map(|(peer, _)| peer).filter(|peer| self.called.contains(peer))
    }

    /// For how long a service kept this wait waiting; without end where all of it was for one.
    pub(crate) fn waited_ns(&self, socket: &Span) -> i64 {
        if self.services.contains(&socket.name) { i64::MAX } else { self.slept_ns(socket) }
    }

    /// For how long the thread of this program that answered at last slept meanwhile.
    fn slept_ns(&self, socket: &Span) -> i64 {
        let answered_by = self.own.get(&socket.name).and_then(|_| self.wakers.of_wait(socket));
        let sleeps = answered_by.and_then(|tid| self.sleeps.get(&tid));
        sleeps.map_or(0, |sleeps| sleeps.within_ns(socket.time_ns, socket.end_ns()))
    }
}

/// When each thread slept, as the JVM or the kernel saw it.
fn sleeps(recording: &Recording) -> BTreeMap<i64, Intervals> {
    let [sleep, blocked] = [span::SLEEP, span::BLOCKED].map(|kind| recording.strings.find(kind));
    let is_sleep = |wait: &Span| Some(wait.kind) == sleep || Some(wait.kind) == blocked && Some(wait.name) == sleep;
    let sleeps = recording.spans.rows().filter(is_sleep);
    Intervals::by_key(sleeps.map(|sleep| (sleep.tid, sleep.time_ns, sleep.end_ns())))
}

/// Who talks to a peer.
#[derive(Default)]
struct Peer {
    threads: HashSet<i64>,
    has_service_port: bool,
    /// Whether there were several connections to it at once.
    has_connections: bool,
    /// The last read: its thread and its end.
    last_read: Option<(i64, i64)>,
}

impl Peer {
    /// Reads come in the order of their beginning.
    fn read(&mut self, tid: i64, from_ns: i64, to_ns: i64) {
        self.has_connections |= self.last_read.is_some_and(|(other, end)| other != tid && from_ns < end);
        if self.last_read.is_none_or(|(_, end)| to_ns > end) {
            self.last_read = Some((tid, to_ns));
        }
    }
}

fn peers(recording: &Recording) -> HashMap<StrId, Peer> {
    let [read, write] = [span::SOCKET_READ, span::SOCKET_WRITE].map(|kind| recording.strings.find(kind));
    let is_socket = |span: &Span| [read, write].contains(&Some(span.kind));
    let mut sockets: Vec<Span> = recording.spans.rows().filter(is_socket).collect();
    sockets.sort_by_key(|socket| socket.time_ns);
    let mut peers: HashMap<StrId, Peer> = HashMap::new();
    for socket in sockets {
        let peer = peers.entry(socket.name).or_default();
        if peer.threads.is_empty() {
            let detail: Io = from_text(recording.text(socket.detail));
            peer.has_service_port = detail.port.is_some_and(|port| (1..FIRST_CLIENT_PORT).contains(&port));
        }
        peer.threads.insert(socket.tid);
        if Some(socket.kind) == read {
            peer.read(socket.tid, socket.time_ns, socket.end_ns());
        }
    }
    peers
}

/// The services that system calls read from: a call has no stack where it waited for a peer, and the peer tells.
fn called(recording: &Recording, own_ports: &HashSet<u32>) -> HashSet<String> {
    let Some(kind) = recording.strings.find(span::SYSTEM_CALL) else { return HashSet::new() };
    let mut calls: Vec<Span> = recording.spans.rows().filter(|span| span.kind == kind).collect();
    calls.sort_by_key(|call| call.time_ns);
    let mut peers: HashMap<String, Peer> = HashMap::new();
    for call in calls {
        let Some((name, port)) = peer_of_call(recording, &call).filter(|(_, port)| !own_ports.contains(port)) else {
            continue;
        };
        let peer = peers.entry(name).or_default();
        peer.has_service_port |= (1..FIRST_CLIENT_PORT).contains(&port);
        peer.read(call.tid, call.time_ns, call.end_ns());
    }
    let services = peers.into_iter().filter(|(_, peer)| peer.has_service_port || peer.has_connections);
    services.map(|(name, _)| name).collect()
}

/// The other side, and its port, of the socket that a call read from.
fn peer_of_call(recording: &Recording, call: &Span) -> Option<(String, u32)> {
    const READS: [&str; 4] = ["read", "readv", "recvfrom", "recvmsg"];
    if !READS.contains(&recording.text(call.name)) {
        return None;
    }
    let detail: SystemCall = from_text(recording.text(call.detail));
    let peer = detail.path.filter(|path| !path.starts_with('/'))?;
    let port = peer.rsplit_once(':')?.1.parse().ok()?;
    Some((peer, port))
}

/// Whether a peer is on this host, by the name or address that it was called with.
pub fn is_loopback(name: &str) -> bool {
    begins_with(name, &["127.", "localhost:", "::1", "[::1]", "0:0:0:0:0:0:0:1"])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A read or write: kind, thread, peer, from and to.
    type Socket = (&'static str, i64, &'static str, i64, i64);

    fn services_of(sockets: &[Socket]) -> Vec<String> {
        let mut recording = Recording::default();
        for (kind, tid, peer, from, to) in sockets {
            let port = peer.rsplit(':').next().unwrap();
            recording.add_span(*from, to - from, *tid, kind, peer, &format!("{{\"port\":{port}}}"), "jfr");
        }
        let mut names: Vec<String> = Peers::of(&recording, &HashSet::new())
            .services
            .into_iter()
            .map(|name| recording.text(name).to_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn services_are_told_from_clients_and_from_ourselves() {
        const READ: &str = span::SOCKET_READ;
        const WRITE: &str = span::SOCKET_WRITE;
        let cases: &[(&str, &[Socket], &[&str])] = &[
            ("a well-known port", &[(READ, 1, "db:5432", 0, 9)], &["db:5432"]),
            ("a client", &[(READ, 1, "10.0.0.9:51234", 0, 9)], &[]),
            (
                "threads that take turns at one client",
                &[(READ, 1, "10.0.0.9:51234", 0, 9), (READ, 2, "10.0.0.9:51234", 9, 20)],
                &[],
            ),
            (
                "two connections to a high port",
                &[(READ, 1, "10.0.0.9:51234", 0, 9), (READ, 2, "10.0.0.9:51234", 5, 20)],
                &["10.0.0.9:51234"],
            ),
            (
                "writing while another reads",
                &[(READ, 1, "10.0.0.9:51234", 0, 9), (WRITE, 2, "10.0.0.9:51234", 5, 6)],
                &[],
            ),
            (
                "a program that makes its own load",
                &[(READ, 1, "localhost:8080", 0, 9), (WRITE, 2, "127.0.0.1:51234", 8, 9)],
                &[],
            ),
            (
                "its server calls another service of the same host",
                &[
                    (READ, 1, "localhost:8080", 0, 9),
                    (WRITE, 2, "127.0.0.1:51234", 8, 9),
                    (READ, 2, "localhost:9090", 1, 8),
                ],
                &["localhost:9090"],
            ),
            (
                "its clients are elsewhere",
                &[(READ, 1, "localhost:8080", 0, 9), (WRITE, 2, "10.0.0.9:51234", 8, 9)],
                &["localhost:8080"],
            ),
        ];
        for (what, sockets, expected) in cases {
            assert_eq!(services_of(sockets), *expected, "{what}");
        }
    }
}
