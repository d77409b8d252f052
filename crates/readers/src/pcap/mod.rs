//! Captures of packets (pcap and pcapng, as tcpdump, dumpcap and Wireshark write them): the traffic of a host's own
//! ports, and its calls to others.
//!
//! The rows are those of the collector of requests: requests and calls as they went over the wire, and how often data
//! arrived, was sent, was retransmitted. A capture is read twice: first to find the host that it was made on and the ports
//! that answer (`roles.rs`), then to follow each connection (`stream.rs` is one direction of it, `exchanges.rs` both).
//!
//! A capture does not show which process a port belongs to, which thread answered, and when a request was read. The number
//! of retransmissions is a lower bound; "none" is not stated where the capture's filter may have left packets out.
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
