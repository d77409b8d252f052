//! The first pass: which addresses belong to the capturing host, and which ports answer. Knows no evidence.
//!
//! Captures of all devices (`-i any`) say for each packet whether it was received or sent. Others do not: there the host is
//! the one that is in all packets. The answering side is known from how connections begin; for connections that began
//! before the capture, from other connections to the same port, or else from the port numbers that systems give to clients.

use std::collections::{HashMap, HashSet};

use crate::pcap::frame::Direction;
use crate::pcap::packet::{ACK, Endpoint, Packet, SYN};

/// Hosts and ports that are kept of each kind: a busy server's clients in an hour.
const KEPT_MAX: usize = 1 << 18;

/// A host that is in this part of all packets is the one on which they were captured.
const IN_ALL: f64 = 0.99;

/// Linux gives ports from here on to who asks, and other systems higher ones.
const FOR_CLIENTS_FROM: u16 = 32_768;

/// What is said of an address.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    packets: u64,
    /// Packets to it that came, or from it that were sent.
    here: u64,
    /// Packets from it that came, or to it that were sent.
    elsewhere: u64,
}

/// What was seen of all packets.
#[derive(Debug, Default)]
pub(super) struct Roles {
    addresses: HashMap<u128, Seen>,
    servers: HashSet<Endpoint>,
    /// Packets of IPv4 and of IPv6.
    packets: [u64; 2],
}

/// Who is who.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hosts {
    own: HashSet<u128>,
    servers: HashSet<Endpoint>,
    ports: HashSet<u16>,
    /// Whether two hosts are in all packets, and which of them is the one that captured is not known.
    pub(super) is_ambiguous: bool,
}

/// Whose a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Role {
    /// Who answers.
    pub(super) server: Endpoint,
    /// Whether that is the host, or it is another one that the host asks.
    pub(super) is_own: bool,
}

/// Why a connection cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Neither end is the host's.
    Foreign,
    /// Nothing says who answers.
    Sides,
}

impl Roles {
    pub(super) fn see(&mut self, packet: &Packet<'_>) {
        if packet.to.is_group() {
            return;
        }
        self.packets[family(packet.from.address)] += 1;
        let [from_here, to_here] = match packet.direction {
            Direction::Out => [Some(true), Some(false)],
            Direction::In => [Some(false), Some(true)],
            Direction::Unknown => [None; 2],
        };
        self.of_address(packet.from.address, from_here);
        if packet.from.address != packet.to.address {
            self.of_address(packet.to.address, to_here);
        }
        let Some(segment) = packet.segment.filter(|segment| segment.has(SYN)) else { return };
        let server = if segment.has(ACK) { packet.from } else { packet.to };
        if self.servers.len() < KEPT_MAX {
            self.servers.insert(server);
        }
    }

    fn of_address(&mut self, address: u128, is_here: Option<bool>) {
        if self.addresses.len() >= KEPT_MAX && !self.addresses.contains_key(&address) {
            return;
        }
        let seen = self.addresses.entry(address).or_default();
        seen.packets += 1;
        seen.here += u64::from(is_here == Some(true));
        seen.elsewhere += u64::from(is_here == Some(false));
    }

    pub(super) fn hosts(self) -> Hosts {
        let says = self.addresses.values().any(|seen| seen.here > 0);
        let is_own = |address: u128, seen: &Seen| match says {
            true => seen.here > seen.elsewhere,
            false => seen.packets as f64 >= IN_ALL * self.packets[family(address)] as f64,
        };
        let all = self.addresses.iter();
        let own: HashSet<u128> = all.filter(|(address, seen)| is_own(**address, seen)).map(|(one, _)| *one).collect();
        let elsewhere = own.iter().filter(|address| !Endpoint { address: **address, port: 0 }.is_loopback());
        let mut of_family = [0; 2];
        elsewhere.for_each(|address| of_family[family(*address)] += 1);
        let ports = self.servers.iter().map(|server| server.port).collect();
        Hosts { own, servers: self.servers, ports, is_ambiguous: !says && of_family.iter().any(|count| *count > 1) }
    }
}

fn family(address: u128) -> usize {
    usize::from(address >> 32 != 0xffff)
}

impl Hosts {
    /// Whether no address is known to be the host's.
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    pub(super) fn is_own(&self, endpoint: Endpoint) -> bool {
        endpoint.is_loopback() || self.own.contains(&endpoint.address)
    }

    /// Whose a connection between two ends is.
    pub(super) fn role(&self, ends: [Endpoint; 2]) -> Result<Role, Unknown> {
        if !ends.iter().any(|end| self.is_own(*end)) {
            return Err(Unknown::Foreign);
        }
        let by = |answers: &dyn Fn(&Endpoint) -> bool| match ends.map(|end| answers(&end)) {
            [true, false] => Some(ends[0]),
            [false, true] => Some(ends[1]),
            _ => None,
        };
        let server = by(&|end| self.servers.contains(end))
            .or_else(|| by(&|end| self.ports.contains(&end.port)))
            .or_else(|| by(&|end| end.port < FOR_CLIENTS_FROM))
            .ok_or(Unknown::Sides)?;
        Ok(Role { server, is_own: self.is_own(server) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::packet::Segment;

    const SERVICE: Endpoint = Endpoint { address: 0xffff_0a00_0001, port: 8_080 };
    const DATABASE: Endpoint = Endpoint { address: 0xffff_0a00_0009, port: 5_432 };

    fn client(number: u128) -> Endpoint {
        Endpoint { address: 0xffff_0b00_0000 + number, port: 40_000 }
    }

    fn packet(from: Endpoint, to: Endpoint, direction: Direction, flags: u8) -> Packet<'static> {
        let segment = Some(Segment { flags, ..Segment::default() });
        Packet { time_ns: 0, from, to, direction, place: 0, id: 0, segment }
    }

    fn hosts(packets: &[(Endpoint, Endpoint, Direction, u8)]) -> Hosts {
        let mut roles = Roles::default();
        packets.iter().for_each(|(from, to, direction, flags)| roles.see(&packet(*from, *to, *direction, *flags)));
        roles.hosts()
    }

    #[test]
    fn the_host_is_who_sends_or_who_is_in_all_packets() {
        let (unknown, sent, came) = (Direction::Unknown, Direction::Out, Direction::In);
        let own = Ok(Role { server: SERVICE, is_own: true });
        let called = Ok(Role { server: DATABASE, is_own: false });
        for (what, packets, of_service, of_database, is_ambiguous) in [
            (
                "of several clients",
                vec![
                    (client(1), SERVICE, unknown, SYN),
                    (client(2), SERVICE, unknown, SYN),
                    (SERVICE, DATABASE, unknown, SYN),
                ],
                own,
                called,
                false,
            ),
            ("of one client", vec![(client(1), SERVICE, unknown, SYN)], own, called, true),
            (
                "as the device says",
                vec![(client(1), SERVICE, came, SYN), (SERVICE, DATABASE, sent, SYN)],
                own,
                called,
                false,
            ),
            (
                "of an asking host alone",
                vec![(SERVICE, DATABASE, sent, SYN), (DATABASE, SERVICE, came, SYN | ACK)],
                own,
                called,
                false,
            ),
            (
                "of strangers",
                vec![
                    (client(1), client(2), unknown, SYN),
                    (client(3), client(4), unknown, 0),
                    (client(5), DATABASE, unknown, 0),
                ],
                Err(Unknown::Foreign),
                Err(Unknown::Foreign),
                false,
            ),
        ] {
            let hosts = hosts(&packets);
            assert_eq!(hosts.role([client(1), SERVICE]), of_service, "{what}");
            let asking = Endpoint { port: 50_000, ..SERVICE };
            assert_eq!(hosts.role([asking, DATABASE]), of_database, "{what}");
            assert_eq!(hosts.is_ambiguous, is_ambiguous, "{what}");
        }
    }

    #[test]
    fn what_began_before_is_known_by_its_ports() {
        let ours = [(SERVICE, DATABASE, Direction::Out, 0)];
        let asking = |port| Endpoint { port, ..SERVICE };
        assert_eq!(hosts(&ours).role([asking(50_000), DATABASE]).map(|role| role.server), Ok(DATABASE));
        assert_eq!(hosts(&ours).role([asking(50_000), Endpoint { port: 60_000, ..DATABASE }]), Err(Unknown::Sides));
    }
}
