//! Which file or socket a descriptor is, looked up after the call: by then it may be another one, which is rare for
//! calls long enough to be looked up.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use crate::Target;
use crate::clock::monotonic_ns;
use crate::procfs;
use crate::rate_limit::RateLimit;

/// How often the machine's sockets are read at most.
const PERIOD: Duration = Duration::from_millis(100);

/// A socket that no table had is not looked for again for this long: it is of another family, as that to which the JVM's tools
/// attach, or not connected yet.
const ABSENT_NS: i64 = 10_000_000_000;

/// Names descriptors of one process.
pub(super) struct Descriptors {
    target: Target,
    /// Sockets by inode, as last read: `remote` or, for those that listen, the local address.
    sockets: HashMap<u64, String>,
    /// Sockets that were not in the tables, and until when that is believed.
    absent: HashSet<u64>,
    absent_until_ns: i64,
    /// The kernel walks its whole hash table for a reading, however few sockets there are.
    limit: RateLimit,
}

impl Descriptors {
    /// Of `target`.
    pub(super) fn of(target: &Target) -> Descriptors {
        Descriptors {
            target: target.clone(),
            sockets: HashMap::new(),
            absent: HashSet::new(),
            absent_until_ns: 0,
            limit: RateLimit::every(PERIOD),
        }
    }

    /// The file's path, `host:port` of a socket's peer, or what the kernel calls it; empty if it is closed.
    pub(super) fn name(&mut self, descriptor: u64) -> String {
        let link = procfs::link(self.target.proc(&format!("fd/{descriptor}")));
        let name = link.unwrap_or_default();
        let inode = name.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')?.parse::<u64>().ok());
        inode.and_then(|inode| self.socket(inode)).unwrap_or(name)
    }

    fn socket(&mut self, inode: u64) -> Option<String> {
        if !self.sockets.contains_key(&inode) {
            self.look_for(inode, monotonic_ns());
        }
        self.sockets.get(&inode).cloned()
    }

    /// Reads the tables, unless that was of no use a short while ago.
    fn look_for(&mut self, inode: u64, now_ns: i64) {
        if now_ns >= self.absent_until_ns {
            self.absent.clear();
            self.absent_until_ns = now_ns + ABSENT_NS;
        }
        if self.absent.contains(&inode) {
            return;
        }
        let Some(reading) = self.limit.begin(now_ns) else { return };
        self.read_sockets();
        self.limit.end(reading);
        if !self.sockets.contains_key(&inode) {
            self.absent.insert(inode);
        }
    }

    fn read_sockets(&mut self) {
        self.sockets.clear();
        for (file, protocol) in [("tcp", "tcp"), ("tcp6", "tcp"), ("udp", "udp"), ("udp6", "udp")] {
            let text = procfs::read_text(self.target.proc(&format!("net/{file}"))).unwrap_or_default();
            self.sockets.extend(text.lines().skip(1).filter_map(|line| parse_line(line, protocol)));
        }
    }
}

/// Inode and name of a line of `/proc/net/tcp` and its like.
fn parse_line(line: &str, protocol: &str) -> Option<(u64, String)> {
    let mut fields = line.split_whitespace().skip(1);
    let (local, remote) = (parse_address(fields.next()?)?, parse_address(fields.next()?)?);
    let inode = fields.nth(6)?.parse().ok()?;
    let name = match remote.port() {
        0 => format!("{protocol} {local}"),
        _ => format!("{protocol} {remote}"),
    };
    Some((inode, name))
}

/// `0100007F:1F90`: the address as words of the machine's byte order, the port as a number.
pub(crate) fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let bytes: Vec<u8> = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel() {
        let rest = "01 00000000:00000000 00:00000000 00000000     0        0 24191 1 0000000000000000 20 0";
        let v6 = "0000000000000000FFFF00000100007F";
        for (addresses, expected) in [
            ("0100007F:1F90 0200007F:01BB", Some("tcp 127.0.0.2:443")),
            ("0100007F:1F90 00000000:0000", Some("tcp 127.0.0.1:8080")),
            (&format!("{v6}:1F90 {v6}:0050"), Some("tcp 127.0.0.1:80")),
            ("0100007F 00000000:0000", None),
            ("0100007:1F90 00000000:0000", None),
            ("é100007F:1F90 00000000:0000", None),
            ("", None),
        ] {
            let read = parse_line(&format!("   0: {addresses} {rest}"), "tcp");
            assert_eq!(read, expected.map(|name| (24191, name.to_owned())), "{addresses}");
        }
    }

    #[test]
    fn descriptors_of_this_process() {
        let mut descriptors = Descriptors::of(&Target::of(std::process::id()).unwrap());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let number = |it: &dyn std::os::fd::AsRawFd| it.as_raw_fd() as u64;
        assert_eq!(descriptors.name(number(&listener)), format!("tcp {}", listener.local_addr().unwrap()));
        assert_eq!(descriptors.name(number(file.as_file())), file.path().to_string_lossy());
        assert_eq!(descriptors.name(u64::MAX), "");
        let (local, _) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(descriptors.name(number(&local)).starts_with("socket:["));
    }
}
