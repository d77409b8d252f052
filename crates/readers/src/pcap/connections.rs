//! All connections of a capture; a limited number is followed at once. Knows no evidence but the rows that it asks for.

use std::collections::HashMap;

use crate::pcap::counts::What;
use crate::pcap::exchanges::{Connection, Found};
use crate::pcap::frame::Direction;
use crate::pcap::packet::{ACK, Endpoint, Packet, SYN, Segment};
use crate::pcap::roles::{Hosts, Role, Unknown};
use crate::pcap::rows::Rows;

/// Connections that are followed at once: some 60 MB. A server with more has few that are busy.
const FOLLOWED_MAX: usize = 65_536;

/// Where room is needed, connections that were silent for so long are followed no more, in ns.
const SILENT_NS: i64 = 60_000_000_000;

/// Room is looked for no more often than this, in ns of the capture.
const SWEEP_NS: i64 = 1_000_000_000;

/// Both ends, the smaller one first.
type Ends = [Endpoint; 2];

/// A connection and whose it is.
#[derive(Debug)]
struct Followed {
    role: Role,
    /// Number of the port or the service in the rows.
    endpoint: usize,
    connection: Connection,
}

/// What could not be followed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// How often segments were not captured.
    pub(super) missed: u64,
    /// Packets of connections of others.
    pub(super) foreign: u64,
    /// Packets of connections without known sides.
    pub(super) sides: u64,
    /// Packets of more connections than are followed.
    pub(super) beyond: u64,
    /// Ports of the host at which requests were answered.
    pub(super) ports: u64,
}

/// Those that are followed.
pub(super) struct Connections<'h> {
    hosts: &'h Hosts,
    followed: HashMap<Ends, Box<Followed>>,
    left: Left,
    swept_ns: i64,
    last_ns: i64,
}

impl<'h> Connections<'h> {
    pub(super) fn of(hosts: &'h Hosts) -> Connections<'h> {
        let (followed, left) = Default::default();
        Connections { hosts, followed, left, swept_ns: i64::MIN, last_ns: i64::MIN }
    }

    pub(super) fn see(&mut self, packet: &Packet<'_>, rows: &mut Rows) {
        self.last_ns = self.last_ns.max(packet.time_ns);
        rows.now(packet.time_ns);
        match &packet.segment {
            Some(segment) => self.segment(packet, segment, rows),
            None => self.datagram(packet, rows),
        }
    }

    /// What the machine sends to itself is captured twice where devices say which way it went: it arrives once.
    fn datagram(&self, packet: &Packet<'_>, rows: &mut Rows) {
        let [is_to, is_from] = [packet.to, packet.from].map(|end| self.hosts.is_own(end));
        if is_to && packet.direction != Direction::Out {
            rows.datagram(packet.to.port, What::Arrivals);
        }
        if is_from && packet.direction != Direction::In {
            rows.datagram(packet.from.port, What::Sends);
        }
    }

    fn segment(&mut self, packet: &Packet<'_>, segment: &Segment<'_>, rows: &mut Rows) {
        let ends = if packet.from <= packet.to { [packet.from, packet.to] } else { [packet.to, packet.from] };
        let is_new = segment.has(SYN) && !segment.has(ACK);
        // The same two ports are used again.
        if is_new && self.followed.get(&ends).is_some_and(|followed| followed.connection.has_ended) {
            self.followed.remove(&ends);
        }
        if !self.followed.contains_key(&ends) && !self.follow(ends, rows) {
            return;
        }
        let Some(followed) = self.followed.get_mut(&ends) else { return };
        let is_answer = packet.from == followed.role.server;
        if let Some(found) = followed.connection.see(packet, segment, is_answer) {
            self.left.missed += u64::from(found.is_missed);
            add(rows, followed, &found);
        }
    }

    /// Begins to follow a connection, if it is the host's and there is room.
    fn follow(&mut self, ends: Ends, rows: &mut Rows) -> bool {
        let role = match self.hosts.role(ends) {
            Ok(role) => role,
            Err(Unknown::Foreign) => {
                self.left.foreign += 1;
                return false;
            }
            Err(Unknown::Sides) => {
                self.left.sides += 1;
                return false;
            }
        };
        let endpoint = rows.endpoint(&role);
        let (Some(endpoint), true) = (endpoint, self.has_room(rows)) else {
            self.left.beyond += 1;
            return false;
        };
        let connection = Connection::default();
        self.followed.insert(ends, Box::new(Followed { role, endpoint, connection }));
        true
    }

    fn has_room(&mut self, rows: &mut Rows) -> bool {
        if self.followed.len() >= FOLLOWED_MAX && self.last_ns.saturating_sub(self.swept_ns) >= SWEEP_NS {
            self.swept_ns = self.last_ns;
            let from_ns = self.last_ns.saturating_sub(SILENT_NS);
            self.leave(rows, |connection| connection.has_ended || connection.last_ns < from_ns);
        }
        self.followed.len() < FOLLOWED_MAX
    }

    /// Tells what is left of some connections, and forgets them.
    fn leave(&mut self, rows: &mut Rows, is_meant: impl Fn(&Connection) -> bool) {
        let last_ns = self.last_ns;
        let mut gone: Vec<(Ends, Box<Followed>)> =
            self.followed.extract_if(|_, followed| is_meant(&followed.connection)).collect();
        gone.sort_unstable_by_key(|(ends, _)| *ends);
        for (_, mut followed) in gone {
            let found = followed.connection.ends(last_ns);
            add(rows, &followed, &found);
        }
    }

    pub(super) fn end(mut self, rows: &mut Rows) -> Left {
        self.leave(rows, |_| true);
        self.left.beyond += rows.beyond();
        Left { ports: rows.answering_ports(), ..self.left }
    }
}

fn add(rows: &mut Rows, followed: &Followed, found: &Found) {
    let (endpoint, is_own) = (followed.endpoint, followed.role.is_own);
    let mut count = |what: What, amount: f64| rows.count(endpoint, what, amount);
    if let Some((is_answer, bytes)) = found.data {
        // Of a service that is asked, answers arrive.
        let [times, all_bytes] = match is_answer == is_own {
            true => [What::Sends, What::SentBytes],
            false => [What::Arrivals, What::ReceivedBytes],
        };
        count(times, 1.0);
        count(all_bytes, f64::from(bytes));
    }
    for (is, what) in [
        (found.is_resent, What::Resent),
        (found.is_reset, What::Reset),
        (found.is_closed_unanswered, What::ClosedUnanswered),
        (found.is_refused && !is_own, What::ConnectsFailed),
    ] {
        if is {
            count(what, 1.0);
        }
    }
    if let Some(exchange) = &found.ended {
        rows.exchange(&followed.role, endpoint, exchange);
    }
}
