//! What the programs send and keep, as bytes to structs. The layouts are those of `state.bpf.h`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fathom_evidence::kinds::unsent;

use crate::bpf::{halves, words};

const OUTBOUND: u32 = 2;
const OVERLAPS: u32 = 16;
const UNANSWERED: u32 = 64;
const TCP: u32 = 128;
const HELD: u32 = 256;
const RESENT: u32 = 512;
const WINDOW_FULL: u32 = 1024;
const GIVEN_UP: u32 = 16384;
const STREAM: u32 = 65536;

/// A request or call that has ended. Instants are of the monotonic clock, 0 where there was none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exchange {
    pub(super) began_ns: i64,
    pub(super) end_ns: i64,
    /// First read: of the request, or of the answer to a call.
    pub(super) read_ns: i64,
    /// The answer's first byte: sent, or arrived.
    pub(super) answered_ns: i64,
    pub(super) reader_tid: u32,
    pub(super) sender_tid: u32,
    pub(super) bytes_in: u32,
    pub(super) bytes_out: u32,
    pub(super) endpoint: u32,
    flags: u32,
    pub(super) stands_for: u64,
    /// For how long the end of what the target sent stood in the kernel.
    pub(super) unsent_ns: i64,
    /// For how long the peer had no room for more.
    pub(super) window_full_ns: i64,
    /// When the event loop that read and answered it was woken by the thread that had worked on it, and who that was.
    pub(super) returned_ns: i64,
    pub(super) worker_tid: u32,
}

impl Exchange {
    /// Reads one event of the ring; `None` when it is shorter than one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Exchange> {
        let mut all = words(bytes.get(..12 * 8)?);
        let mut next = || all.next().unwrap_or(0);
        let [began_ns, end_ns, read_ns, answered_ns] = [(); 4].map(|()| next() as i64);
        let (reader_tid, sender_tid) = halves(next());
        let (bytes_in, bytes_out) = halves(next());
        let (endpoint, flags) = halves(next());
        let stands_for = next();
        let [unsent_ns, window_full_ns, returned_ns] = [(); 3].map(|()| next() as i64);
        let (worker_tid, _) = halves(next());
        Some(Exchange {
            began_ns,
            end_ns,
            read_ns,
            answered_ns,
            reader_tid,
            sender_tid,
            bytes_in,
            bytes_out,
            endpoint,
            flags,
            stands_for,
            unsent_ns,
            window_full_ns,
            returned_ns,
            worker_tid,
        })
    }

    /// Whether the target is the caller.
    pub(super) fn is_call(&self) -> bool {
        self.flags & OUTBOUND != 0
    }

    pub(super) fn overlaps(&self) -> bool {
        self.flags & OVERLAPS != 0
    }

    pub(super) fn is_unanswered(&self) -> bool {
        self.flags & UNANSWERED != 0
    }

    /// Whether who asked had gone by its end.
    pub(super) fn is_given_up(&self) -> bool {
        self.flags & GIVEN_UP != 0
    }

    /// Whether it is one of the streams of a connection of HTTP/2.
    pub(super) fn is_stream(&self) -> bool {
        self.flags & STREAM != 0
    }

    /// What the end of what was sent waited for in the kernel; none where it left at once.
    pub(super) fn unsent_for(&self) -> Option<&'static str> {
        let says = |flag: u32| self.flags & flag != 0;
        match self.unsent_ns {
            0 => None,
            _ if says(RESENT) => Some(unsent::RETRANSMISSION),
            _ if says(WINDOW_FULL) => Some(unsent::WINDOW),
            _ if says(HELD) => Some(unsent::ACKNOWLEDGEMENT),
            _ => Some(unsent::OTHER),
        }
    }

    /// Whether bytes are counted.
    pub(super) fn is_tcp(&self) -> bool {
        self.flags & TCP != 0
    }
}

/// Buckets of the latencies of an endpoint.
pub(super) const BUCKETS: usize = 112;

/// Words before the buckets in a row of the table `sums_of`.
const HEAD_WORDS: usize = 15;

/// Words of a row of the table `sums_of`.
pub(super) const SUMS_WORDS: usize = HEAD_WORDS + BUCKETS;

/// Words of a row that user space writes.
pub(super) const UNDER_WAY: usize = 4;
pub(super) const SLOW_NS: usize = 5;
pub(super) const ONE_IN: usize = 6;

const RESENT_WORD: usize = 7;
const UNPAIRED_WORD: usize = 8;
const FAILURES_WORD: usize = 12;

/// Sums of an endpoint since the recording began.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) count: u64,
    pub(super) time_ns: u64,
    pub(super) unread_ns: u64,
    /// Segments that were sent again.
    pub(super) resent: u64,
    /// Connections that were reset by either side.
    pub(super) resets: u64,
    /// Attempts to connect that were refused or not answered.
    pub(super) connects_failed: u64,
    /// Connections that ended after something had been asked, without any answer ever.
    pub(super) closed_unanswered: u64,
}

/// What needs no pairing of requests and answers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unpaired {
    /// How often data came: in how many segments, where the protocol has some.
    pub(super) arrivals: u64,
    /// How often the target sent something.
    pub(super) sends: u64,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
}

/// What a row of the table says.
pub(super) struct Row<'r> {
    pub(super) sums: Sums,
    pub(super) under_way: u64,
    pub(super) unpaired: Unpaired,
    /// How many took how long, by bucket.
    pub(super) by_latency: &'r [u64],
}

/// Reads a row.
pub(super) fn row(row: &[u64; SUMS_WORDS]) -> Row<'_> {
    let [arrivals, sends, bytes_in, bytes_out] = std::array::from_fn(|at| row[UNPAIRED_WORD + at]);
    let [resets, connects_failed, closed_unanswered] = std::array::from_fn(|at| row[FAILURES_WORD + at]);
    let [count, time_ns, unread_ns, resent] = [row[1], row[2], row[3], row[RESENT_WORD]];
    Row {
        sums: Sums { count, time_ns, unread_ns, resent, resets, connects_failed, closed_unanswered },
        under_way: row[UNDER_WAY],
        unpaired: Unpaired { arrivals, sends, bytes_in, bytes_out },
        by_latency: &row[HEAD_WORDS..],
    }
}

/// From how many ns on a bucket counts: four of them to each power of two, the first from 0.
pub(super) fn bucket_from_ns(bucket: usize) -> u64 {
    const FIRST_POWER: usize = 10;
    let (power, quarter) = (bucket / 4 + FIRST_POWER, bucket as u64 % 4);
    if bucket == 0 { 0 } else { (1 << power) + (quarter << (power - 2)) }
}

/// The bucket of a length.
pub(super) fn bucket_of_ns(ns: u64) -> usize {
    (0..BUCKETS).rev().find(|bucket| bucket_from_ns(*bucket) <= ns).unwrap_or(0)
}

/// Longest name of an endpoint, in bytes.
const NAME_BYTES: usize = 108;

/// Where requests come to, or whom calls are for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Endpoint {
    /// A port that is listened on.
    Port(u16),
    Peer(IpAddr, u16),
    /// A Unix socket by its path, a name without a file by `@` and the name.
    Unix(String),
    /// Those beyond the number that is counted.
    Others,
}

impl Endpoint {
    /// Reads a value of the map `named`.
    pub(super) fn parse(key: &[u8]) -> Option<Endpoint> {
        const IPV6: u8 = libc::AF_INET6 as u8;
        const UNIX: u8 = libc::AF_UNIX as u8;
        let (head, name) = key.split_first_chunk::<4>()?;
        let port = u16::from_ne_bytes([head[0], head[1]]);
        Some(match head[3] {
            UNIX => Endpoint::Unix(unix_name(&name[..name.len().min(NAME_BYTES)])),
            _ if !is_peer(key) => Endpoint::Port(port),
            IPV6 => Endpoint::Peer(Ipv6Addr::from(*name.first_chunk::<16>()?).to_canonical(), port),
            _ => Endpoint::Peer(IpAddr::V4(Ipv4Addr::from(*name.first_chunk::<4>()?)), port),
        })
    }

    /// As rows name it.
    pub(super) fn name(&self) -> String {
        match self {
            Endpoint::Port(port) => format!(":{port}"),
            Endpoint::Peer(IpAddr::V4(address), port) => format!("{address}:{port}"),
            Endpoint::Peer(IpAddr::V6(address), port) => format!("[{address}]:{port}"),
            Endpoint::Unix(path) => format!("unix:{path}"),
            Endpoint::Others => "others".to_owned(),
        }
    }

    pub(super) fn host(&self) -> Option<String> {
        match self {
            Endpoint::Peer(address, _) => Some(address.to_string()),
            _ => None,
        }
    }

    pub(super) fn port(&self) -> Option<u32> {
        match self {
            Endpoint::Port(port) | Endpoint::Peer(_, port) => Some(u32::from(*port)),
            _ => None,
        }
    }
}

/// Whether a value of the map `named` is a peer that the target calls.
pub(super) fn is_peer(key: &[u8]) -> bool {
    key.get(2).is_some_and(|direction| u32::from(*direction) == OUTBOUND)
}

fn unix_name(bytes: &[u8]) -> String {
    let (mark, bytes) = match bytes.split_first() {
        Some((0, rest)) => ("@", rest),
        _ => ("", bytes),
    };
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    format!("{mark}{}", String::from_utf8_lossy(&bytes[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_read() {
        let mut bytes: Vec<u8> = [10_u64, 90, 20, 80].into_iter().flat_map(u64::to_ne_bytes).collect();
        let flags = OUTBOUND | OVERLAPS | TCP | HELD;
        bytes.extend([3_u32, 4, 5, 6, 7, flags].into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend([8_u64, 9, 10, 11, 12].into_iter().flat_map(u64::to_ne_bytes));
        let read = Exchange::parse(&bytes).unwrap();
        assert_eq!((read.began_ns, read.end_ns, read.read_ns, read.answered_ns), (10, 90, 20, 80));
        assert_eq!((read.reader_tid, read.sender_tid, read.bytes_in, read.bytes_out), (3, 4, 5, 6));
        assert_eq!((read.endpoint, read.stands_for), (7, 8));
        assert_eq!((read.window_full_ns, read.returned_ns, read.worker_tid), (10, 11, 12));
        assert_eq!((read.unsent_ns, read.unsent_for()), (9, Some(unsent::ACKNOWLEDGEMENT)));
        assert!(read.is_call() && read.overlaps() && read.is_tcp() && !read.is_unanswered());
        assert_eq!(Exchange::parse(&bytes[1..]), None);
    }

    #[test]
    fn endpoints_have_names() {
        let key = |port: u16, direction: u8, family: i32, name: &[u8]| {
            let mut key = port.to_ne_bytes().to_vec();
            key.extend([direction, family as u8]);
            key.extend(name);
            key.resize(116, 0);
            Endpoint::parse(&key).unwrap().name()
        };
        let mapped = Ipv4Addr::new(10, 0, 0, 7).to_ipv6_mapped().octets();
        assert_eq!(key(8080, 1, 0, &[]), ":8080");
        assert_eq!(key(80, 2, libc::AF_INET, &[127, 0, 0, 1]), "127.0.0.1:80");
        assert_eq!(key(80, 2, libc::AF_INET6, &Ipv6Addr::LOCALHOST.octets()), "[::1]:80");
        assert_eq!(key(80, 2, libc::AF_INET6, &mapped), "10.0.0.7:80");
        assert_eq!(key(0, 1, libc::AF_UNIX, b"/run/x.sock"), "unix:/run/x.sock");
        assert_eq!(key(0, 2, libc::AF_UNIX, b"\0name"), "unix:@name");
        assert_eq!(Endpoint::parse(&[1, 2, 3]), None);
        assert_eq!(Endpoint::parse(&[1, 2, 2, libc::AF_INET as u8]), None);
    }

    #[test]
    fn buckets_grow_by_a_quarter_of_their_power() {
        let bounds: Vec<u64> = (0..6).map(bucket_from_ns).collect();
        assert_eq!(bounds, [0, 1280, 1536, 1792, 2048, 2560]);
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of_ns(bucket_from_ns(bucket)), bucket);
            assert_eq!(bucket_of_ns(bucket_from_ns(bucket + 1) - 1), bucket);
        }
    }
}
