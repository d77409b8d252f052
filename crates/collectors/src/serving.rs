//! Which TCP ports a process listens on, and whether a client is connected to one: then it may have requests at any moment.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::{Target, procfs};

/// States of sockets in the kernel's tables.
const ESTABLISHED: &str = "01";
const LISTENS: &str = "0A";

/// The ports that the target listens on.
pub(crate) fn ports(target: &Target) -> HashSet<u16> {
    OwnSockets::of(target).ports(LISTENS)
}

/// The ports that the target listens on, and the inodes of all its sockets.
pub(crate) fn ports_and_sockets(target: &Target) -> (HashSet<u16>, HashSet<u32>) {
    let own = OwnSockets::of(target);
    (own.ports(LISTENS), own.inodes.iter().filter_map(|inode| inode.parse().ok()).collect())
}

/// A port to which a client is connected.
pub(crate) fn serves(target: &Target) -> Option<u16> {
    let own = OwnSockets::of(target);
    let listened = own.ports(LISTENS);
    own.ports(ESTABLISHED).into_iter().filter(|port| listened.contains(port)).min()
}

/// The process of this network namespace that listens on a port. One of them, where several share it.
pub fn who_listens(port: u16) -> Option<u32> {
    let own = Target::of(std::process::id()).ok()?;
    let tables = tables(&own);
    let listening = tables.iter().flat_map(|table| in_state(table, LISTENS));
    let inodes: HashSet<&str> = listening.filter(|(at, _)| *at == port).map(|(_, inode)| inode).collect();
    let has_one = |pid: &u32| {
        let folder = PathBuf::from(format!("/proc/{pid}/fd"));
        sockets(&folder).any(|inode| inodes.contains(inode.as_str()))
    };
    procfs::names("/proc").filter_map(|name| name.parse().ok()).find(has_one)
}

/// The target's sockets of TCP at one moment. With many connections a look is dear.
struct OwnSockets {
    inodes: HashSet<String>,
    tables: [String; 2],
}

impl OwnSockets {
    fn of(target: &Target) -> OwnSockets {
        OwnSockets { inodes: sockets(&target.proc("fd")).collect(), tables: tables(target) }
    }

    /// Ports on this side of those that are in a state.
    fn ports(&self, state: &str) -> HashSet<u16> {
        let of_state = self.tables.iter().flat_map(|table| in_state(table, state));
        of_state.filter(|(_, inode)| self.inodes.contains(*inode)).map(|(port, _)| port).collect()
    }
}

/// The sockets of its network namespace, as text.
pub(crate) fn tables(target: &Target) -> [String; 2] {
    ["net/tcp", "net/tcp6"].map(|name| procfs::read_text(target.proc(name)).unwrap_or_default())
}

/// The inodes of the sockets among a process's descriptors.
fn sockets(folder: &Path) -> impl Iterator<Item = String> {
    let links = procfs::names(folder).filter_map(|descriptor| procfs::link(folder.join(descriptor)).ok());
    links.filter_map(|link| inode(&link).map(str::to_owned))
}

/// The number in `socket:[4711]`.
pub(crate) fn inode(link: &str) -> Option<&str> {
    link.strip_prefix("socket:[")?.strip_suffix(']')
}

/// Ports and inodes of the sockets of `/proc/net/tcp` in a state.
fn in_state<'a>(table: &'a str, state: &str) -> impl Iterator<Item = (u16, &'a str)> {
    table.lines().skip(1).filter_map(move |line| {
        let mut fields = line.split_whitespace();
        let port = u16::from_str_radix(fields.nth(1)?.rsplit_once(':')?.1, 16).ok()?;
        let is_in_it = fields.nth(1)? == state;
        let inode = fields.nth(5)?;
        is_in_it.then_some((port, inode))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_listen() {
        let line = |port: &str, state: &str, inode: u32| {
            format!(
                "  1: 0100007F:{port} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 100\n"
            )
        };
        let table = format!("header\n{}{}short\n", line("1F90", "0A", 11), line("0050", "01", 12));
        assert_eq!(in_state(&table, LISTENS).collect::<Vec<_>>(), [(8080, "11")]);
    }

    #[test]
    fn own_ports_are_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Target::of(std::process::id()).unwrap();
        assert!(ports(&target).contains(&port) && serves(&target) != Some(port));
        let (ports_now, sockets) = ports_and_sockets(&target);
        assert!(ports_now.contains(&port) && !sockets.is_empty());
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = listener.accept().unwrap();
        assert!(serves(&target).is_some());
        drop((listener, accepted));
        assert!(!ports(&target).contains(&port));
    }
}
