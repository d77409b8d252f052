//! Socket tables and protocol counters of a network namespace, as text.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::procfs::{hex, lines, number, utf8, words};

/// A line of `udp`, `udp6`, `tcp` or `tcp6`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) port: u16,
    pub(super) state: u8,
    pub(super) send_queue: u64,
    pub(super) receive_queue: u64,
    pub(super) uid: u64,
    pub(super) inode: u64,
    /// UDP only.
    pub(super) drops: Option<u64>,
    /// Its peer; all zeros if it has none.
    pub(super) peer: Option<SocketAddr>,
}

impl Socket {
    /// Whether it is more than one of the many that are opened for a single question: it was `known`
    /// before, waits for connections, or holds or lost anything.
    pub(super) fn is_lasting(&self, known: &HashSet<u64>) -> bool {
        let is_busy = self.receive_queue > 0 || self.send_queue > 0 || self.drops.is_some_and(|drops| drops > 0);
        is_busy || self.state == LISTEN || known.contains(&self.inode)
    }
}

/// The sockets of a table. A last line that is cut is left out, and so are lines of another form.
pub(super) fn sockets(table: &[u8]) -> impl Iterator<Item = Socket> {
    let end = table.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    lines(&table[..end]).filter_map(socket)
}

fn socket(line: &[u8]) -> Option<Socket> {
    let mut fields = words(line);
    let local = fields.nth(1)?;
    let port = hex(local.rsplit(|byte| *byte == b':').next()?)?;
    let peer = address(fields.next()?);
    let state = hex(fields.next()?)?;
    let (send_queue, receive_queue) = utf8(fields.next()?)?.split_once(':')?;
    let uid = number(fields.nth(2)?)?;
    let inode = number(fields.nth(1)?)?;
    // Behind reference count and address UDP has its drops; TCP has other things there.
    let drops = fields.nth(2).and_then(number);
    let is_last = fields.next().is_none();
    Some(Socket {
        port: u16::try_from(port).ok()?,
        state: u8::try_from(state).ok()?,
        send_queue: hex(send_queue.as_bytes())?,
        receive_queue: hex(receive_queue.as_bytes())?,
        uid,
        inode,
        drops: drops.filter(|_| is_last),
        peer,
    })
}

/// `0100007F:1F90`: words of four bytes in the order of the machine, and a port.
fn address(text: &[u8]) -> Option<SocketAddr> {
    let (address, port) = utf8(text)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match address.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = std::array::from_fn(|at| words[at / 4][at % 4]);
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The state of a TCP socket whose first segment has not been answered.
pub(super) const SYN_SENT: u8 = 2;

/// The state of a TCP socket that waits for connections.
pub(super) const LISTEN: u8 = 10;

/// Name of a TCP state.
pub(super) fn state_name(state: u8) -> &'static str {
    const NAMES: [&str; 12] = [
        "unknown",
        "established",
        "syn_sent",
        "syn_recv",
        "fin_wait1",
        "fin_wait2",
        "time_wait",
        "close",
        "close_wait",
        "last_ack",
        "listen",
        "closing",
    ];
    NAMES.get(usize::from(state)).copied().unwrap_or("unknown")
}

/// The inode of a socket from the link of a descriptor.
pub(super) fn inode(link: &[u8]) -> Option<u64> {
    number(link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?)
}

/// Protocol counters that say something about a slow process.
const KEPT: &[(&str, &[&str])] = &[
    (
        "Udp",
        &[
            "InDatagrams",
            "OutDatagrams",
            "NoPorts",
            "InErrors",
            "RcvbufErrors",
            "SndbufErrors",
            "InCsumErrors",
            "MemErrors",
        ],
    ),
    (
        "Tcp",
        &[
            "ActiveOpens",
            "PassiveOpens",
            "AttemptFails",
            "EstabResets",
            "InSegs",
            "OutSegs",
            "RetransSegs",
            "InErrs",
            "OutRsts",
        ],
    ),
    (
        "TcpExt",
        &[
            "SyncookiesSent",
            "PruneCalled",
            "RcvPruned",
            "OfoPruned",
            "DelayedACKs",
            "DelayedACKLost",
            "ListenOverflows",
            "ListenDrops",
            "TCPLostRetransmit",
            "TCPFastRetrans",
            "TCPSlowStartRetrans",
            "TCPTimeouts",
            "TCPLossProbes",
            "TCPSpuriousRTOs",
            "TCPRcvCollapsed",
            "TCPBacklogDrop",
            "TCPRcvQDrop",
            "TCPOFODrop",
            "TCPZeroWindowDrop",
            "TCPReqQFullDoCookies",
            "TCPReqQFullDrop",
            "TCPSynRetrans",
            "TCPToZeroWindowAdv",
            "TCPWantZeroWindowAdv",
            "TCPFromZeroWindowAdv",
            "TCPAbortOnMemory",
            "TCPAbortOnTimeout",
            "TCPMemoryPressures",
            "TCPMemoryPressuresChrono",
            "TCPTimeWaitOverflow",
        ],
    ),
];

/// Calls `take` with protocol, field and value of what is kept of `snmp` or `netstat`: each protocol
/// has a line of names and one of numbers.
pub(super) fn protocols<'a>(text: &'a [u8], mut take: impl FnMut(&'static str, &'static str, u64)) {
    let mut lines = lines(text);
    while let (Some(names), Some(numbers)) = (lines.next(), lines.next()) {
        let (mut names, mut numbers) = (words(names), words(numbers));
        let (protocol, again) = (names.next(), numbers.next());
        let name = |word: Option<&'a [u8]>| word.and_then(|word| word.strip_suffix(b":"));
        let kept = KEPT.iter().find(|(kept, _)| name(protocol) == Some(kept.as_bytes()) && protocol == again);
        let Some((protocol, fields)) = kept else { continue };
        for (name, value) in names.zip(numbers) {
            let field = fields.iter().find(|field| field.as_bytes() == name);
            if let (Some(field), Some(value)) = (field, number(value)) {
                take(protocol, field, value);
            }
        }
    }
}

/// What is kept of `snmp6`: UDP.
pub(super) fn protocols_6(text: &[u8]) -> impl Iterator<Item = (&'static str, u64)> {
    let kept = |name: &str| KEPT[0].1.iter().find(|field| name.strip_prefix("Udp6") == Some(field)).copied();
    lines(text).filter_map(move |line| {
        let mut words = words(line);
        Some((kept(utf8(words.next()?)?)?, number(words.next()?)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_read_in_the_order_of_the_machine() {
        for (text, expected) in [
            ("0100007F:1F90", Some("127.0.0.1:8080")),
            ("00000000000000000000000001000000:0050", Some("[::1]:80")),
            ("0000000000000000FFFF00000100007F:0050", Some("127.0.0.1:80")),
            ("0100007F", None),
            ("010000:1F90", None),
            ("0100007F:1F901", None),
            ("ÿÿÿÿ:1", None),
            ("", None),
        ] {
            assert_eq!(address(text.as_bytes()).map(|peer| peer.to_string()).as_deref(), expected, "{text}");
        }
    }

    const UDP: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops            \n\
        \u{20}  97: 0100007F:1FBD 00000000:0000 07 00000000:00033E00 00:00000000 00000000  1000        0 571331 2 00000000e1a536e1 4413         \n";
    const TCP6: &str = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        \u{20}  0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000081 00:00000000 00000000     0        0 562 1 0000000085a536e1 100 0 0 10 0\n\
        \u{20}  1: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C001 01 00000010:00000000 00:00000000 00000000     0        0 563 1 0000000071d0d573 20 4 1 125 -1\n\
        \u{20}  2: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:C002 06 00000000:00000000 03:00000A21 00000000     0        0 0 3 0000000071d0d573\n";

    #[test]
    fn tables_of_both_protocols() {
        let udp: Vec<Socket> = sockets(UDP.as_bytes()).collect();
        let expected = Socket {
            port: 8125,
            state: 7,
            send_queue: 0,
            receive_queue: 212_480,
            uid: 1000,
            inode: 571331,
            drops: Some(4413),
            peer: "0.0.0.0:0".parse().ok(),
        };
        assert_eq!(udp, [expected]);
        let tcp: Vec<Socket> = sockets(TCP6.as_bytes()).collect();
        let found: Vec<_> = tcp
            .iter()
            .map(|one| (one.port, state_name(one.state), one.send_queue, one.receive_queue, one.inode, one.drops))
            .collect();
        assert_eq!(
            found,
            [
                (8080, "listen", 0, 129, 562, None),
                (8080, "established", 16, 0, 563, None),
                (8080, "time_wait", 0, 0, 0, None)
            ]
        );
        assert_eq!(tcp[0].state, LISTEN);
        let (empty, known) = (HashSet::new(), HashSet::from([571331]));
        let idle = Socket { receive_queue: 0, drops: Some(0), ..expected };
        assert_eq!(
            (expected.is_lasting(&empty), idle.is_lasting(&empty), idle.is_lasting(&known)),
            (true, false, true)
        );
        assert_eq!(sockets(&UDP.as_bytes()[..UDP.len() - 12]).count(), 0, "a cut line");
        assert_eq!(state_name(200), "unknown");
        for (link, expected) in
            [("socket:[571331]", Some(571331)), ("pipe:[5]", None), ("socket:[]", None), ("socket:[x]", None)]
        {
            assert_eq!(inode(link.as_bytes()), expected, "{link}");
        }
    }

    #[test]
    fn counters_by_name_and_not_by_place() {
        let all = |text: &str| {
            let mut found = Vec::new();
            protocols(text.as_bytes(), |protocol, field, value| found.push(format!("{protocol} {field} {value}")));
            found
        };
        let snmp = "Tcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 42\nUdp: InDatagrams NoPorts RcvbufErrors New\nUdp: 455 0 11336 7\n";
        assert_eq!(all(snmp), ["Tcp RetransSegs 42", "Udp InDatagrams 455", "Udp NoPorts 0", "Udp RcvbufErrors 11336"]);
        assert_eq!(all("TcpExt: ListenOverflows ListenDrops\nTcpExt: 3\n"), ["TcpExt ListenOverflows 3"]);
        assert_eq!(all("Udp: RcvbufErrors\nTcp: 5\n"), [""; 0], "names and numbers of different protocols");
        let found: Vec<_> =
            protocols_6(b"Udp6InDatagrams   \t5\nUdpLite6RcvbufErrors 9\nIp6InReceives 1\nUdp6RcvbufErrors x\n")
                .collect();
        assert_eq!(found, [("InDatagrams", 5)]);
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>, insert: Vec<u8>, at in 0_usize..400)| {
            let mut table = TCP6.as_bytes().to_vec();
            table.splice(at..at, insert);
            for text in [&bytes, &table] {
                let _ = (sockets(text).count(), protocols_6(text).count(), inode(text));
                protocols(text, |_, _, _| {});
            }
        });
    }
}
