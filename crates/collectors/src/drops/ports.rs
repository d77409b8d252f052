//! Whether a local port is one of the target's.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::Target;
use crate::procfs;

/// An answer is believed for so long: sockets come and go.
const BELIEVED: Duration = Duration::from_secs(10);

/// Asks procfs, which is linear in the number of sockets, once per port and while.
pub(super) struct Ports {
    target: Target,
    known: HashMap<(u16, u32), (bool, Instant)>,
}

impl Ports {
    /// Of `target`.
    pub(super) fn of(target: &Target) -> Ports {
        Ports { target: target.clone(), known: HashMap::new() }
    }

    /// Whether the target has a socket at a local port.
    pub(super) fn has(&mut self, protocol: u16, port: u32) -> bool {
        let now = Instant::now();
        match self.known.get(&(protocol, port)) {
            Some((has, asked)) if now - *asked < BELIEVED => *has,
            _ => {
                let has = self.ask(protocol, port);
                self.known.insert((protocol, port), (has, now));
                has
            }
        }
    }

    fn ask(&self, protocol: u16, port: u32) -> bool {
        let files: &[&str] = if i32::from(protocol) == libc::IPPROTO_UDP { &["udp", "udp6"] } else { &["tcp", "tcp6"] };
        let texts = files.iter().map(|file| procfs::read_text(self.target.proc(&format!("net/{file}"))));
        let inodes: HashSet<String> = texts.flat_map(|text| inodes(&text.unwrap_or_default(), port)).collect();
        let folder = self.target.proc("fd");
        let mut links = procfs::names(&folder).filter_map(|descriptor| procfs::link(folder.join(descriptor)).ok());
        links.any(|link| {
            let inode = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            inode.is_some_and(|inode| inodes.contains(inode))
        })
    }
}

/// Inodes of the sockets at a local port, from `/proc/net/udp` and its like.
fn inodes(text: &str, port: u32) -> Vec<String> {
    let at_port = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let local = fields.next()?.rsplit_once(':')?.1;
        let inode = fields.nth(7)?;
        (u32::from_str_radix(local, 16).ok()? == port).then(|| inode.to_owned())
    };
    text.lines().skip(1).filter_map(at_port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_at_a_port() {
        let line = |local: &str, inode: &str| {
            format!(
                "  1: 0100007F:{local} 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 {inode} 2 0 0\n"
            )
        };
        let text = format!("header\n{}{}{}short line\n", line("1F90", "11"), line("0035", "12"), line("1F90", "13"));
        for (port, expected) in [(8080, &["11", "13"][..]), (53, &["12"]), (1, &[])] {
            assert_eq!(inodes(&text, port), expected);
        }
    }

    #[test]
    fn own_ports_are_found() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = u32::from(socket.local_addr().unwrap().port());
        let mut ports = Ports::of(&Target::of(std::process::id()).unwrap());
        assert!(ports.has(17, port));
        assert!(!ports.has(17, 1));
    }
}
