//! Captures of packets (pcap and pcapng, as tcpdump, dumpcap and Wireshark write them): what came to the ports of a host and left
//! them, and what it asked others.
//!
//! The rows are those of the collector of requests: requests and calls as they went over the wire, and how often data arrived, was
//! sent, was sent again. A capture is read twice: first for the host that it was made on and the ports that answer (`roles.rs`),
//! then for what happened on each connection (`stream.rs` is one direction of it, `exchanges.rs` both).
//!
//! What a capture cannot tell: which process a port is of, which thread answered, and when a request was read. How often something
//! was sent again is a lower bound, and that nothing was is not said of what the capture's filter may have left out.
//!
//! Time: packets have the wall clock of the machine, in UTC.

mod blocks;
mod connections;
mod container;
mod counts;
mod exchanges;
mod frame;
mod load;
mod packet;
mod roles;
mod rows;
mod stream;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Pcap = Pcap;

/// Captures of packets.
pub(crate) struct Pcap;

impl Reader for Pcap {
    fn name(&self) -> &'static str {
        rows::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        container::is_capture(head)
    }

    fn load(&self, files: &[PathBuf], _: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files)
    }
}
