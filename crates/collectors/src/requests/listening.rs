//! Where the connections of the target lead, when the recording begins.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::Target;
use crate::serving::tables;
pub(super) use crate::serving::{inode, ports};
use crate::system_calls::descriptors::parse_address;

/// The connections of its network namespace by inode: the port on this side, and the other side.
pub(super) fn connections(target: &Target) -> HashMap<String, (u16, SocketAddr)> {
    let connection = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote) = (parse_address(fields.next()?)?, parse_address(fields.next()?)?);
        Some((fields.nth(6)?.to_owned(), (local.port(), remote)))
    };
    tables(target).iter().flat_map(|table| table.lines().skip(1).filter_map(connection)).collect()
}
