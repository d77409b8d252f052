//! The kernel's own tables of TCP sockets, queried in binary form: only sockets in wanted states are visited. For
//! listening sockets this costs some µs, where `/proc/net/tcp` costs ms.
//!
//! A query is made in one network namespace, that of its socket. To make a socket in another namespace, a thread enters
//! that namespace for a moment, which takes CAP_SYS_ADMIN.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{Target, procfs};

/// States of TCP, as bits of a question.
pub(crate) const LISTENING: u32 = 1 << 10;
/// Connections on which the owner may still answer: established, or closed by the other side.
const OPEN: u32 = 1 << 1 | 1 << 8;

/// One answer of the kernel is at most so long.
const MAX_BYTES: usize = 1 << 16;

/// Longer than this no answer takes.
const PATIENCE: Duration = Duration::from_millis(500);

/// Parts of messages, in bytes.
const HEADER: usize = 16;
const QUESTION: usize = 60;
const SOCKET: usize = 72;
const ATTRIBUTE: usize = 4;

/// Types of messages and attributes.
/// The older form of the question (`TCPDIAG_GETSOCK`): it is answered for both versions of IP in one walk over the kernel's table,
/// which takes as long for no connection as for a thousand.
const GET_TCP_SOCKETS: u16 = 18;
/// The newer form, which can ask for a single one.
const GET_SOCKETS: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_SKMEMINFO: u16 = 7;

/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;

/// What names a socket: ports, addresses, interface and cookie.
const NAME_BYTES: usize = 48;

/// What is known of one socket.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket {
    pub(crate) port: u16,
    /// Of one that listens: connections that wait to be accepted.
    pub(crate) receive_queue: u32,
    /// Of one that listens: how many may wait.
    pub(crate) send_queue: u32,
    pub(crate) uid: u32,
    pub(crate) inode: u32,
    /// Connections, or segments, that it has dropped.
    pub(crate) drops: Option<u32>,
}

/// Names a connection to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name {
    family: u8,
    socket: [u8; NAME_BYTES],
}

impl Name {
    /// The other side.
    pub(crate) fn peer(&self) -> Option<(IpAddr, u16)> {
        const PORT: usize = 2;
        const ADDRESS: usize = 20;
        let port = u16::from_be_bytes(*self.socket.get(PORT..)?.first_chunk()?);
        let address = self.socket.get(ADDRESS..)?;
        let address = match i32::from(self.family) {
            libc::AF_INET6 => Ipv6Addr::from(*address.first_chunk::<16>()?).to_canonical(),
            _ => IpAddr::V4(Ipv4Addr::from(*address.first_chunk::<4>()?)),
        };
        Some((address, port))
    }
}

impl Default for Name {
    fn default() -> Name {
        Name { family: 0, socket: [0; NAME_BYTES] }
    }
}

/// What is known of one connection.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) name: Name,
    /// Tells it from all others for as long as the machine runs.
    pub(crate) cookie: u64,
    /// Of this side.
    pub(crate) port: u16,
    pub(crate) inode: u32,
    /// For how long no data has been sent, and none has come, in ms; known to a tick of the kernel.
    pub(crate) sent_ago_ms: u32,
    pub(crate) received_ago_ms: u32,
    /// Segments with data that were sent, and that came (Linux 4.6 and later).
    pub(crate) segments_out: u32,
    pub(crate) segments_in: u32,
    /// Bytes that came (Linux 4.1 and later).
    pub(crate) bytes_in: u64,
    /// Bytes that were sent; before Linux 4.19 only those that have arrived are known.
    pub(crate) bytes_out: u64,
    /// The largest segment that comes, and that is sent.
    pub(crate) largest_segment: u32,
    pub(crate) largest_segment_out: u32,
    /// Segments on their way that the other side has not acknowledged.
    pub(crate) unacknowledged: u32,
    /// Bytes that were sent or wait to be, and that the other side has not acknowledged.
    pub(crate) unacknowledged_bytes: u32,
}

impl Connection {
    /// The same as the other side sees it, as far as that is known here: what this side asked came to that one.
    pub(crate) fn turned(&self) -> Connection {
        Connection {
            sent_ago_ms: self.received_ago_ms,
            received_ago_ms: self.sent_ago_ms,
            segments_out: self.segments_in,
            segments_in: self.segments_out,
            bytes_in: self.bytes_out,
            bytes_out: self.bytes_in,
            largest_segment: self.largest_segment_out,
            largest_segment_out: self.largest_segment,
            unacknowledged: 0,
            unacknowledged_bytes: 0,
            ..*self
        }
    }
}

/// Who answers questions about one network namespace.
pub(crate) struct SockDiag {
    socket: OwnedFd,
    buffer: Vec<u8>,
    asked: u32,
}

impl SockDiag {
    /// For the network namespace of a process.
    pub(crate) fn of(target: &Target) -> io::Result<SockDiag> {
        let (own, theirs) = (procfs::link("/proc/self/ns/net")?, procfs::link(target.proc("ns/net"))?);
        let socket = if own == theirs { opened()? } else { opened_in(target)? };
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(SockDiag { socket, buffer: vec![0; MAX_BYTES], asked: 0 })
    }

    /// Asks for the TCP sockets in some states and gives each to `see`.
    pub(crate) fn each(&mut self, states: u32, mut see: impl FnMut(Socket)) -> io::Result<()> {
        self.ask(states, INET_DIAG_SKMEMINFO, |body| socket(body).into_iter().for_each(&mut see))
    }

    /// Asks for the TCP connections and gives each to `see`.
    pub(crate) fn connections(&mut self, mut see: impl FnMut(Connection)) -> io::Result<()> {
        self.ask(OPEN, INET_DIAG_INFO, |body| connection(body).into_iter().for_each(&mut see))
    }

    /// Looks at one connection again, which costs a few µs however many there are; none if it is gone.
    pub(crate) fn again(&mut self, name: &Name) -> Option<Connection> {
        self.asked = self.asked.wrapping_add(1);
        send(&self.socket, &question_about(name, self.asked), SendFlags::empty()).ok()?;
        let mut found = None;
        // The answer is one message, and none says that it was the last.
        self.take(&mut |body| found = connection(body)).ok()?;
        found
    }

    fn ask(&mut self, states: u32, attribute: u16, mut see: impl FnMut(&[u8])) -> io::Result<()> {
        self.asked = self.asked.wrapping_add(1);
        send(&self.socket, &question(states, attribute, self.asked), SendFlags::empty())?;
        while self.take(&mut see)? {}
        Ok(())
    }

    /// Takes one message of an answer; whether more follow.
    fn take(&mut self, see: &mut impl FnMut(&[u8])) -> io::Result<bool> {
        let (_, length) = recv(&self.socket, self.buffer.as_mut_slice(), RecvFlags::empty())?;
        if length == 0 {
            return Ok(false);
        }
        let mut rest = self.buffer.get(..length).unwrap_or_default();
        while let Some((kind, asked, body, after)) = message(rest) {
            rest = after;
            // What is left of an answer that was given up.
            if asked != self.asked {
                continue;
            }
            match kind {
                NLMSG_DONE => return Ok(false),
                NLMSG_ERROR => return Err(io::Error::other("the kernel refused the question")),
                _ => see(body),
            }
        }
        Ok(true)
    }
}

fn opened() -> io::Result<OwnedFd> {
    let protocol = Some(netlink::SOCK_DIAG);
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?)
}

/// Opened by a thread that enters the target's namespace and ends there.
fn opened_in(target: &Target) -> io::Result<OwnedFd> {
    let space = procfs::file(target.proc("ns/net"))?;
    let enter = move || {
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
        opened()
    };
    thread::spawn(enter).join().unwrap_or_else(|_| Err(io::Error::other("the thread that entered it died")))
}

/// A question about the TCP sockets in some states, with an attribute of each.
fn question(states: u32, attribute: u16, number: u32) -> [u8; HEADER + QUESTION] {
    let mut bytes = [0; HEADER + QUESTION];
    bytes[..4].copy_from_slice(&((HEADER + QUESTION) as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&GET_TCP_SOCKETS.to_ne_bytes());
    bytes[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    bytes[8..12].copy_from_slice(&number.to_ne_bytes());
    bytes[HEADER] = libc::AF_INET as u8;
    bytes[HEADER + 3] = 1 << (attribute - 1);
    bytes[HEADER + 52..HEADER + 56].copy_from_slice(&states.to_ne_bytes());
    bytes
}

/// A question about one TCP connection.
fn question_about(name: &Name, number: u32) -> [u8; HEADER + 8 + NAME_BYTES] {
    const LENGTH: usize = HEADER + 8 + NAME_BYTES;
    let mut bytes = [0; LENGTH];
    bytes[..4].copy_from_slice(&(LENGTH as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&GET_SOCKETS.to_ne_bytes());
    bytes[6..8].copy_from_slice(&REQUEST.to_ne_bytes());
    bytes[8..12].copy_from_slice(&number.to_ne_bytes());
    bytes[HEADER] = name.family;
    bytes[HEADER + 1] = libc::IPPROTO_TCP as u8;
    bytes[HEADER + 2] = 1 << (INET_DIAG_INFO - 1);
    bytes[HEADER + 4..HEADER + 8].copy_from_slice(&OPEN.to_ne_bytes());
    bytes[HEADER + 8..].copy_from_slice(&name.socket);
    bytes
}

/// The first message of some bytes: its type, the number of its question, its body, and the bytes after it.
fn message(bytes: &[u8]) -> Option<(u16, u32, &[u8], &[u8])> {
    let length = number(bytes, 0)? as usize;
    let body = bytes.get(HEADER..length)?;
    Some((short(bytes, 4)?, number(bytes, 8)?, body, bytes.get(aligned(length)..).unwrap_or_default()))
}

/// A socket from the body of a message.
fn socket(body: &[u8]) -> Option<Socket> {
    let attributes = body.get(SOCKET..)?;
    Some(Socket {
        port: port(body)?,
        receive_queue: number(body, 56)?,
        send_queue: number(body, 60)?,
        uid: number(body, 64)?,
        inode: number(body, 68)?,
        // The ninth number is the drops.
        drops: attribute(attributes, INET_DIAG_SKMEMINFO).and_then(|memory| number(memory, 32)),
    })
}

/// A connection from the body of a message.
fn connection(body: &[u8]) -> Option<Connection> {
    let info = attribute(body.get(SOCKET..)?, INET_DIAG_INFO)?;
    Some(Connection {
        name: Name { family: *body.first()?, socket: *body.get(4..)?.first_chunk()? },
        cookie: long(body, 44)?,
        port: port(body)?,
        inode: number(body, 68)?,
        sent_ago_ms: number(info, 44)?,
        received_ago_ms: number(info, 52)?,
        segments_in: number(info, 152)?,
        segments_out: number(info, 156)?,
        bytes_in: long(info, 128)?,
        bytes_out: long(info, 200).or_else(|| long(info, 120))?,
        largest_segment: number(info, 84)?,
        largest_segment_out: number(info, 16)?,
        unacknowledged: number(info, 24)?,
        unacknowledged_bytes: number(body, 60)?,
    })
}

/// That of this side.
fn port(body: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(*body.get(4..)?.first_chunk()?))
}

/// What stands in an attribute.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    while !bytes.is_empty() {
        let length = usize::from(short(bytes, 0)?);
        let value = bytes.get(ATTRIBUTE..length)?;
        if short(bytes, 2)? == wanted {
            return Some(value);
        }
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    None
}

fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn listening(port: u16) -> Vec<Socket> {
        let mut found = Vec::new();
        let mut kernel = SockDiag::of(&Target::of(std::process::id()).unwrap()).unwrap();
        kernel.each(LISTENING, |socket| found.push(socket)).unwrap();
        found.into_iter().filter(|socket| socket.port == port).collect()
    }

    #[test]
    fn listeners_of_both_versions_of_ip_tell_who_waits() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let at = listener.local_addr().unwrap();
            let _clients: Vec<TcpStream> = (0..5).map(|_| TcpStream::connect(at).unwrap()).collect();
            let found = listening(at.port());
            let [Socket { receive_queue: 5, send_queue: 128.., drops: Some(0), .. }] = found[..] else {
                panic!("{found:?}")
            };
        }
    }

    #[test]
    fn connections_tell_what_came_and_went() {
        use std::io::{Read, Write};

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(at).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut byte = [0];
        client.write_all(b"?").unwrap();
        server.read_exact(&mut byte).unwrap();
        thread::sleep(Duration::from_millis(60));
        server.write_all(b"!").unwrap();
        client.read_exact(&mut byte).unwrap();
        let mut found = Vec::new();
        let mut kernel = SockDiag::of(&Target::of(std::process::id()).unwrap()).unwrap();
        kernel.connections(|connection| found.push(connection)).unwrap();
        let [one] = found.iter().filter(|connection| connection.port == at.port()).collect::<Vec<_>>()[..] else {
            panic!("{found:?}")
        };
        assert_eq!((one.segments_in, one.segments_out, one.bytes_in), (1, 1, 1));
        let mut again = kernel.again(&one.name).unwrap();
        assert!(again.sent_ago_ms >= one.sent_ago_ms && again.received_ago_ms >= one.received_ago_ms, "{again:?}");
        (again.sent_ago_ms, again.received_ago_ms) = (one.sent_ago_ms, one.received_ago_ms);
        assert_eq!((again, kernel.again(&Name::default())), (*one, None));
        assert!(one.received_ago_ms >= one.sent_ago_ms + 40, "{one:?}");
        let client = client.local_addr().unwrap();
        assert_eq!(one.name.peer(), Some((client.ip(), client.port())));
        let other = found.iter().find(|connection| connection.port == client.port()).unwrap().turned();
        assert_eq!((other.segments_in, other.segments_out, other.bytes_in, other.bytes_out), (1, 1, one.bytes_in, 1));
        assert!(other.received_ago_ms >= other.sent_ago_ms + 40, "{other:?}");
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>, length in 0_u32..200)| {
            let mut told = length.to_ne_bytes().to_vec();
            told.extend(&bytes);
            for bytes in [&bytes, &told] {
                let _ = (message(bytes), socket(bytes), connection(bytes), attribute(bytes, INET_DIAG_SKMEMINFO));
                let mut rest = bytes.as_slice();
                while let Some((_, _, _, after)) = message(rest) {
                    assert!(after.len() < rest.len());
                    rest = after;
                }
            }
        });
    }
}
