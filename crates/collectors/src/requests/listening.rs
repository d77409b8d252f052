//! Which TCP ports the target listens on when the recording begins (those that it opens later the programs see), and where its
//! connections lead.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use crate::Target;
use crate::procfs;
use crate::system_calls::descriptors::parse_address;

/// The ports that the target listens on.
pub(super) fn ports(target: &Target) -> HashSet<u16> {
    let folder = target.proc("fd");
    let links = procfs::names(&folder).filter_map(|descriptor| procfs::link(folder.join(descriptor)).ok());
    let own: HashSet<String> = links.filter_map(|link| inode(&link).map(str::to_owned)).collect();
    tables(target)
        .iter()
        .flat_map(|table| listening(table))
        .filter(|(_, inode)| own.contains(*inode))
        .map(|(port, _)| port)
        .collect()
}

/// The connections of its network namespace by inode: the port on this side, and the other side.
pub(super) fn connections(target: &Target) -> HashMap<String, (u16, SocketAddr)> {
    let connection = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote) = (parse_address(fields.next()?)?, parse_address(fields.next()?)?);
        Some((fields.nth(6)?.to_owned(), (local.port(), remote)))
    };
    tables(target).iter().flat_map(|table| table.lines().skip(1).filter_map(connection)).collect()
}

fn tables(target: &Target) -> [String; 2] {
    ["net/tcp", "net/tcp6"].map(|name| procfs::read_text(target.proc(name)).unwrap_or_default())
}

/// The number in `socket:[4711]`.
pub(super) fn inode(link: &str) -> Option<&str> {
    link.strip_prefix("socket:[")?.strip_suffix(']')
}

/// Ports and inodes of the sockets of `/proc/net/tcp` that wait for connections.
fn listening(table: &str) -> impl Iterator<Item = (u16, &str)> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let port = u16::from_str_radix(fields.nth(1)?.rsplit_once(':')?.1, 16).ok()?;
        let is_listening = fields.nth(1)? == "0A";
        let inode = fields.nth(5)?;
        is_listening.then_some((port, inode))
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
        assert_eq!(listening(&table).collect::<Vec<_>>(), [(8080, "11")]);
    }

    #[test]
    fn own_ports_are_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Target::of(std::process::id()).unwrap();
        assert!(ports(&target).contains(&port));
        drop(listener);
        assert!(!ports(&target).contains(&port));
    }
}
