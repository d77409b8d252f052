//! What is known of each connection, and of those that no look met.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::cycles::{Cycle, Told};
use super::several::Several;
use super::walks::Wanted;
use crate::Target;
use crate::procfs::{ProcFile, lines, number, utf8};
use crate::requests::parse::Endpoint;
use crate::sock_diag::{Connection, LISTENING, Name, SockDiag};

/// Whose requests a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Asked {
    /// Those of clients to a port that the target listens on.
    Port(u16),
    /// Those of the target to another service.
    Peer(IpAddr, u16),
}

impl Asked {
    /// None of a connection of another process.
    pub(super) fn of(connection: &Connection, own: &Wanted) -> Option<Asked> {
        if own.ports.contains(&connection.port) {
            return Some(Asked::Port(connection.port));
        }
        let (address, port) = connection.name.peer().filter(|_| own.sockets.contains(&connection.inode))?;
        Some(Asked::Peer(address, port))
    }

    pub(super) fn is_called(self) -> bool {
        matches!(self, Asked::Peer(..))
    }

    pub(super) fn endpoint(self) -> Endpoint {
        match self {
            Asked::Port(port) => Endpoint::Port(port),
            Asked::Peer(address, port) => Endpoint::Peer(address, port),
        }
    }

    /// A connection as the side sees it that is asked.
    pub(super) fn sees(self, connection: &Connection) -> Connection {
        if self.is_called() { connection.turned() } else { *connection }
    }
}

/// A connection that is looked at.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) asked: Asked,
    pub(super) name: Name,
    pub(super) cycle: Cycle,
    pub(super) several: Several,
    /// Segments that came since the look before.
    pub(super) busy: u32,
    /// How often it was looked at closely.
    pub(super) closely: u32,
}

impl Known {
    /// One that is new to the looks, as the last of them, if there was one, did not meet it.
    pub(super) fn new(asked: Asked, before_ns: Option<i64>, now_ns: i64, seen: &Connection) -> Known {
        let seen = asked.sees(seen);
        let cycle = match before_ns {
            Some(before_ns) => Cycle::new(before_ns, now_ns, &seen),
            None => Cycle::found(now_ns, &seen),
        };
        Known { asked, name: seen.name, cycle, several: Several::of(&seen), busy: 0, closely: 0 }
    }

    /// Looks again, closely between two other looks.
    pub(super) fn look_closely(&mut self, seen: &Connection) {
        self.several.look(&self.asked.sees(seen));
    }

    /// Looks again; the request that is over, if one is.
    pub(super) fn look(&mut self, now_ns: i64, seen: &Connection) -> Option<Told> {
        let seen = &self.asked.sees(seen);
        self.busy = seen.segments_in.wrapping_sub(self.cycle.segments()[0]);
        if self.cycle.is_unasked(seen) {
            self.several.see_unasked();
        }
        self.several.look(seen);
        self.cycle.look(now_ns, seen)
    }
}

/// Ports and services of which the connections that came to most of the data carry several requests at once: the others may as well, and
/// are only not busy enough for that to show.
pub(super) fn asked_several_at_once(known: &HashMap<u64, Known>) -> HashSet<Asked> {
    let mut data: HashMap<Asked, [u64; 2]> = HashMap::new();
    for one in known.values() {
        let [several, all] = data.entry(one.asked).or_default();
        let came = u64::from(one.cycle.segments()[0]);
        *several += came * u64::from(one.several.is_known());
        *all += came;
    }
    data.into_iter().filter(|(_, [several, all])| *several > 0 && 2 * several >= *all).map(|(asked, _)| asked).collect()
}

/// Connections that were made to a network namespace, by the kernel's own count: those that live from one look to the next are in no
/// other.
#[derive(Debug)]
pub(super) struct Made {
    file: Option<ProcFile>,
    before: Option<u64>,
    /// Those that a look met, of those that were made since the first.
    pub(super) met: u64,
}

impl Made {
    pub(super) fn of(target: &Target) -> Made {
        Made { file: ProcFile::open(target.proc("net/snmp")).ok(), before: None, met: 0 }
    }

    /// At the first look.
    pub(super) fn begin(&mut self) {
        self.before = self.count();
    }

    /// How many no look met, of how many.
    pub(super) fn not_met(&self) -> Option<(u64, u64)> {
        let made = self.count()?.saturating_sub(self.before?);
        Some((made.saturating_sub(self.met), made))
    }

    fn count(&self) -> Option<u64> {
        let mut buffer = Vec::new();
        passive_opens(self.file.as_ref()?.read(&mut buffer).ok()?)
    }
}

/// The number of connections that were accepted, of the text of `/proc/net/snmp`.
fn passive_opens(text: &[u8]) -> Option<u64> {
    let mut of_tcp = lines(text).filter_map(|line| utf8(line)?.strip_prefix("Tcp:"));
    let (names, numbers) = (of_tcp.next()?, of_tcp.next()?);
    let at = names.split_whitespace().position(|name| name == "PassiveOpens")?;
    number(numbers.split_whitespace().nth(at)?.as_bytes())
}

/// Whether other processes of the network namespace listen as well.
pub(super) fn has_other_listeners(kernel: &mut SockDiag, ports: &HashSet<u16>) -> bool {
    let mut is_other = false;
    let asked = kernel.each(LISTENING, |socket| is_other |= !ports.contains(&socket.port));
    asked.is_err() || is_other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_were_accepted_are_counted() {
        let text = b"Ip: Forwarding\nIp: 1\nTcp: RtoMin ActiveOpens PassiveOpens AttemptFails\nTcp: 200 7 41 2\nUdp: A\nUdp: 5\n";
        assert_eq!(passive_opens(text), Some(41));
        assert_eq!((passive_opens(b"Tcp: PassiveOpens\n"), passive_opens(b"")), (None, None));
    }
}
