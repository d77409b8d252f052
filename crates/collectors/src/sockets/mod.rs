//! The target's sockets: how full their queues are and what UDP dropped, and the protocol counters of
//! its network namespace.
//!
//! Each UDP socket that lives for longer than a look (or has anything queued) and each listening TCP socket has numbers
//! of its own; the latter are queried separately (`listeners`). Of other TCP sockets, of which there may be 100,000,
//! only the sums and the fullest are reported. The kernel rebuilds the tables at each reading, so large ones are read
//! more rarely.

mod listeners;
mod owned;
mod parse;
mod sparing;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{counter, loss};

use crate::changed_counters::ChangedCounters;
use crate::clock::thread_cpu_ns;
use crate::procfs::{MAX_BYTES, ProcFile};
use crate::rate_limit::RateLimit;
use crate::{Clock, Collector, Observer, Order, Refusal, Target, Tier};
use listeners::Listeners;
use owned::OwnedSockets;
use parse::Socket;
use sparing::Sparing;

const SOURCE: &str = "sockets";

/// Time from one look to the next.
const PERIOD: Duration = Duration::from_millis(100);

/// Time between two looks at UDP's tables as long as the target has no such socket: most servers never have one, and the kernel
/// walks its whole hash table for each.
const NO_UDP_PERIOD: Duration = Duration::from_secs(1);

/// Time between two looks at TCP's tables: the kernel walks its whole hash table for each, some ms on
/// a machine with much memory, however few sockets there are. Their queues are for people; what connections lose is
/// in the protocol's counters, which are read each 100 ms.
const TCP_PERIOD: Duration = Duration::from_secs(5);

pub(crate) static COLLECTOR: Sockets = Sockets;

/// The collector of sockets.
pub(crate) struct Sockets;

impl Collector for Sockets {
    fn name(&self) -> &'static str {
        SOURCE
    }

    fn sees(&self) -> &'static str {
        "queues and drops of the process's sockets, retransmits, overflows"
    }

    fn tier(&self) -> Tier {
        Tier::Process
    }

    fn check(&self, target: &Target) -> Result<(), Refusal> {
        open(target, "net/snmp").map(|_| ())
    }

    fn start(&self, target: &Target, order: &Order) -> Result<Box<dyn Observer>, Refusal> {
        let snmp = open(target, "net/snmp")?;
        let optional = |name: &str| open(target, name).ok();
        let table = |protocol, name: &str, period| {
            Some(Table { protocol, file: optional(name)?, limit: RateLimit::every(period), was_cut: false })
        };
        let (fast, slow) = (PERIOD, TCP_PERIOD);
        let tables = [
            table(Protocol::Udp, "net/udp", fast),
            table(Protocol::Udp, "net/udp6", fast),
            table(Protocol::Tcp, "net/tcp", slow),
            table(Protocol::Tcp, "net/tcp6", slow),
        ];
        let watch = Watch {
            clock: order.clock,
            numbers: ChangedCounters::new(SOURCE),
            buffer: Vec::new(),
            own: OwnedSockets::of(target),
            listeners: Listeners::of(target),
            snmp,
            netstat: optional("net/netstat"),
            snmp6: optional("net/snmp6"),
            slow_limit: RateLimit::every(Duration::from_secs(1)),
            tables: tables.into_iter().flatten().collect(),
            known: HashSet::new(),
            tells_new: order.is_sparing,
            connecting: BTreeMap::new(),
        };
        if order.is_sparing {
            return Ok(Box::new(Sparing::of(watch)));
        }
        Ok(Box::new(watch))
    }
}

/// A file of the target's network namespace.
fn open(target: &Target, name: &str) -> Result<ProcFile, Refusal> {
    let path = target.proc(name);
    ProcFile::open(&path)
        .map_err(|error| Refusal::new(format!("{}: {error}", path.display()), "run as the JVM's user or as root"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Udp,
    Tcp,
}

/// A table of sockets.
struct Table {
    protocol: Protocol,
    file: ProcFile,
    limit: RateLimit,
    was_cut: bool,
}

/// Sockets, being watched.
struct Watch {
    clock: Clock,
    numbers: ChangedCounters,
    buffer: Vec<u8>,
    own: OwnedSockets,
    listeners: Listeners,
    snmp: ProcFile,
    netstat: Option<ProcFile>,
    snmp6: Option<ProcFile>,
    /// When the latter two are due.
    slow_limit: RateLimit,
    tables: Vec<Table>,
    /// UDP sockets that were there at the last reading.
    known: HashSet<u64>,
    /// Whether new sockets are reported as well, which are mostly opened for a single query.
    tells_new: bool,
    /// Connections that were being made at the last reading, by peer.
    connecting: BTreeMap<String, u64>,
}

impl Watch {
    /// Looks at the sockets, whether it is time or not.
    fn look_at_all_now(&mut self, found: &mut Recording) {
        self.own.limit.due_now();
        self.listeners.limit.due_now();
        self.tables.iter_mut().for_each(|table| table.limit.due_now());
        self.own.renew(self.clock.now_ns());
        self.listeners.look(&self.own, self.clock, &mut self.numbers, found);
        self.look_at_tables(found);
    }

    fn look_at_counters(&mut self, found: &mut Recording) {
        let Watch { numbers, buffer, snmp, netstat, snmp6, clock, slow_limit, .. } = self;
        let at_ns = clock.now_ns();
        let slow_reading = slow_limit.begin(at_ns);
        for file in [Some(&*snmp), netstat.as_ref().filter(|_| slow_reading.is_some())].into_iter().flatten() {
            let Ok(text) = file.read(buffer) else { continue };
            parse::protocols(text, |protocol, field, value| {
                numbers.see(found, at_ns, counter::NETWORK_COUNT, &format!("{protocol} {field}"), value as f64);
            });
        }
        let Some(reading) = slow_reading else { return };
        let text = snmp6.as_ref().and_then(|file| file.read(buffer).ok());
        for (field, value) in text.into_iter().flat_map(parse::protocols_6) {
            numbers.see(found, at_ns, counter::NETWORK_COUNT, &format!("Udp6 {field}"), value as f64);
        }
        slow_limit.end(reading);
    }

    fn look_at_tables(&mut self, found: &mut Recording) {
        let Watch { numbers, buffer, own, tables, clock, known, tells_new, connecting, listeners, .. } = self;
        // Both versions of IP make one sum, so that both are read when one is due.
        for protocol in [Protocol::Udp, Protocol::Tcp] {
            let at_ns = clock.now_ns();
            let is_of = |table: &&mut Table| table.protocol == protocol;
            if !tables.iter_mut().filter(is_of).all(|table| table.limit.is_due(at_ns)) {
                continue;
            }
            let mut sums = Sums::default();
            for table in tables.iter_mut().filter(is_of) {
                let began_cpu_ns = thread_cpu_ns();
                let Ok(text) = table.file.read(buffer) else { continue };
                table.was_cut |= text.len() >= MAX_BYTES;
                for socket in parse::sockets(text).filter(|socket| own.has(socket.inode, socket.uid)) {
                    if (*tells_new || socket.is_lasting(known)) && !(protocol == Protocol::Tcp && listeners.are_seen())
                    {
                        see_socket(numbers, found, at_ns, protocol, &socket);
                    }
                    sums.add(protocol, &socket);
                }
                table.limit.done(at_ns, thread_cpu_ns() - began_cpu_ns);
            }
            sums.see(numbers, found, at_ns);
            if protocol == Protocol::Tcp {
                // A peer that is no longer waited for is reported once more, with none.
                connecting.values_mut().for_each(|count| *count = 0);
                connecting.append(&mut sums.connecting);
                for (peer, count) in &*connecting {
                    numbers.see(found, at_ns, counter::CONNECTING_COUNT, peer, *count as f64);
                }
                connecting.retain(|_, count| *count > 0);
            }
            if protocol == Protocol::Udp {
                *known = sums.udp;
                if known.is_empty() {
                    let later_ns = at_ns.saturating_add(NO_UDP_PERIOD.as_nanos() as i64);
                    tables.iter_mut().filter(is_of).for_each(|table| table.limit.not_before(later_ns));
                }
            }
        }
    }
}

/// The numbers of a socket that has some of its own.
fn see_socket(numbers: &mut ChangedCounters, found: &mut Recording, at_ns: i64, protocol: Protocol, socket: &Socket) {
    let name = |protocol: &str| format!("{protocol} {} #{}", socket.port, socket.inode);
    if protocol == Protocol::Udp {
        let name = name("udp");
        numbers.see(found, at_ns, counter::SOCKET_RECEIVE_QUEUE_BYTES, &name, socket.receive_queue as f64);
        numbers.see(found, at_ns, counter::SOCKET_SEND_QUEUE_BYTES, &name, socket.send_queue as f64);
        if let Some(drops) = socket.drops {
            numbers.see(found, at_ns, counter::SOCKET_DROPS_COUNT, &name, drops as f64);
        }
    } else if socket.state == parse::LISTEN {
        numbers.see(found, at_ns, counter::SOCKET_ACCEPT_QUEUE_COUNT, &name("tcp"), socket.receive_queue as f64);
    }
}

/// The sums of all sockets together.
#[derive(Default)]
struct Sums {
    udp: HashSet<u64>,
    /// Connections that are being made, by peer.
    connecting: BTreeMap<String, u64>,
    by_state: BTreeMap<&'static str, u64>,
    queues: Option<Queues>,
}

/// Bytes in the queues of TCP sockets.
#[derive(Default)]
struct Queues {
    received: u64,
    received_most: u64,
    to_send: u64,
    to_send_most: u64,
}

impl Sums {
    fn add(&mut self, protocol: Protocol, socket: &Socket) {
        let state = if protocol == Protocol::Udp { "udp" } else { parse::state_name(socket.state) };
        *self.by_state.entry(state).or_default() += 1;
        if protocol == Protocol::Udp {
            self.udp.insert(socket.inode);
        }
        if protocol == Protocol::Tcp && socket.state == parse::SYN_SENT {
            let peer = socket.peer.map_or_else(String::new, |peer| peer.to_string());
            *self.connecting.entry(peer).or_default() += 1;
        }
        if protocol == Protocol::Tcp && socket.state != parse::LISTEN {
            let queues = self.queues.get_or_insert_default();
            queues.received = queues.received.saturating_add(socket.receive_queue);
            queues.received_most = queues.received_most.max(socket.receive_queue);
            queues.to_send = queues.to_send.saturating_add(socket.send_queue);
            queues.to_send_most = queues.to_send_most.max(socket.send_queue);
        }
    }

    fn see(&self, numbers: &mut ChangedCounters, found: &mut Recording, at_ns: i64) {
        for (state, count) in &self.by_state {
            let instance = if *state == "udp" { (*state).to_owned() } else { format!("tcp {state}") };
            numbers.see(found, at_ns, counter::SOCKETS_COUNT, &instance, *count as f64);
        }
        let Some(queues) = &self.queues else { return };
        for (name, instance, bytes) in [
            (counter::SOCKET_RECEIVE_QUEUE_BYTES, "tcp all", queues.received),
            (counter::SOCKET_RECEIVE_QUEUE_BYTES, "tcp fullest", queues.received_most),
            (counter::SOCKET_SEND_QUEUE_BYTES, "tcp all", queues.to_send),
            (counter::SOCKET_SEND_QUEUE_BYTES, "tcp fullest", queues.to_send_most),
        ] {
            numbers.see(found, at_ns, name, instance, bytes as f64);
        }
    }
}

impl Observer for Watch {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn look(&mut self, found: &mut Recording) {
        let now_ns = self.clock.now_ns();
        self.own.renew(now_ns);
        if let Some(open) = self.own.open.take() {
            self.numbers.see(found, now_ns, counter::OPEN_FILES_COUNT, "", open as f64);
        }
        self.look_at_counters(found);
        self.listeners.look(&self.own, self.clock, &mut self.numbers, found);
        self.look_at_tables(found);
    }

    fn finish(mut self: Box<Self>, found: &mut Recording) -> Vec<PathBuf> {
        self.slow_limit.due_now();
        self.listeners.limit.due_now();
        self.tables.iter_mut().filter(|table| table.protocol == Protocol::Udp).for_each(|table| table.limit.due_now());
        self.look(found);
        self.numbers.close(found);
        self.own.limit.tell(found, SOURCE, "the descriptors of the process");
        for table in &self.tables {
            table.limit.tell(found, SOURCE, "a table of sockets");
        }
        self.listeners.tell(found);
        if let Some(error) = self.own.refused() {
            let says = format!(
                "the descriptors of the process are hidden ({error}); sockets of its user were taken for its own"
            );
            found.add_loss(SOURCE, loss::REFUSED, 0, &says);
        }
        if self.own.has_more || self.tables.iter().any(|table| table.was_cut) {
            let says =
                "there are more sockets or descriptors than are looked at; some of the process's sockets are missing";
            found.add_loss(SOURCE, loss::LIMIT, 0, says);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;
