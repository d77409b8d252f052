//! Captures to evidence.

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;

use crate::input::Input;
use crate::pcap::connections::{Connections, Left};
use crate::pcap::container;
use crate::pcap::frame::{Ended, Frame};
use crate::pcap::packet::{self, Other, Packet};
use crate::pcap::roles::{Hosts, Roles};
use crate::pcap::rows::{Rows, SOURCE};
use crate::time::TIMES_NS;
use crate::{LoadError, load_each};

const RECORD_WITH: &str = "tcpdump -i any -s 128 -w service.pcap port 8080";

pub(super) fn load(files: &[PathBuf]) -> Result<Recording, LoadError> {
    load_each(files, load_file)
}

fn load_file(path: &Path) -> Result<Recording, LoadError> {
    let unusable =
        |says: &str| LoadError::Unusable { path: path.to_owned(), says: format!("{says}; record with: {RECORD_WITH}") };
    let file = Input::open(path)?;
    let (mut roles, mut count) = (Roles::default(), Count::default());
    let ended = container::read(&file, &mut |frame| count.take(frame).iter().for_each(|packet| roles.see(packet)));
    if count.packets == 0 {
        return Err(unusable(count.why_none(&ended)));
    }
    let hosts = roles.hosts();
    if hosts.is_empty() {
        return Err(unusable("a capture of packets of many hosts, of which none is in all of them"));
    }
    let mut rows = Rows::default();
    let mut connections = Connections::of(&hosts);
    container::read(&file, &mut |frame| {
        Count::default().take(frame).iter().for_each(|packet| connections.see(packet, &mut rows));
    });
    let left = connections.end(&mut rows);
    let mut recording = rows.finish();
    for says in ended.damage.iter().map(String::as_str).chain(file.cut()) {
        recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", path.display()));
    }
    losses(&mut recording, &hosts, &[count.losses(&ended), of_connections(&left)].concat());
    Ok(recording)
}

/// Packets by what they are.
#[derive(Debug, Default)]
struct Count {
    /// Of TCP and UDP.
    packets: u64,
    cut: u64,
    of_unknown_links: u64,
    without_time: u64,
}

impl Count {
    fn take<'a>(&mut self, frame: &Frame<'a>) -> Option<Packet<'a>> {
        if !TIMES_NS.contains(&frame.time_ns) {
            self.without_time += 1;
            return None;
        }
        match packet::packet(frame) {
            Ok(packet) => {
                self.packets += 1;
                return Some(packet);
            }
            Err(Other::Cut) => self.cut += 1,
            Err(Other::Link) => self.of_unknown_links += 1,
            Err(Other::Protocol) => {}
        }
        None
    }

    fn why_none(&self, ended: &Ended) -> &'static str {
        match self {
            Count { of_unknown_links: 1.., .. } => "a capture of a device whose headers are not known",
            Count { cut: 1.., .. } => "a capture with packets that are cut within their headers",
            Count { without_time: 1.., .. } => "a capture of packets without possible times",
            _ if ended.without_time > 0 => "a capture of packets without times",
            _ => "a capture without packets of TCP or UDP",
        }
    }

    fn losses(&self, ended: &Ended) -> Vec<Lost> {
        vec![
            (loss::EVENTS_LOST, ended.dropped, "packets were dropped by the machine that captured them"),
            (loss::NOT_UNDERSTOOD, self.cut, "packets are cut within their headers: record with -s 128"),
            (loss::NOT_UNDERSTOOD, self.of_unknown_links, "packets are of devices whose headers are not known"),
            (loss::NOT_UNDERSTOOD, ended.without_time + self.without_time, "packets have no possible time"),
        ]
    }
}

/// Kind, how many, and what is said of them.
type Lost = (&'static str, u64, &'static str);

fn of_connections(left: &Left) -> Vec<Lost> {
    vec![
        (loss::EVENTS_LOST, left.missed, "times segments were acknowledged that the capture does not hold"),
        (loss::REFUSED, left.foreign, "packets are of connections of other hosts"),
        (loss::REFUSED, left.sides, "packets are of connections of which nothing says who answers"),
        (loss::LIMIT, left.beyond, "packets are of more connections or services than are followed"),
        (
            loss::REFUSED,
            if left.ports > 1 { left.ports } else { 0 },
            "ports of this host answer requests; which of them are the JVM's a capture does not say: capture one (port 8080)",
        ),
    ]
}

fn losses(recording: &mut Recording, hosts: &Hosts, all: &[Lost]) {
    for (kind, count, says) in all.iter().filter(|(_, count, _)| *count > 0) {
        let says = format!("capture of packets: {count} {says}");
        recording.add_loss(SOURCE, kind, i64::try_from(*count).unwrap_or(i64::MAX), &says);
    }
    if hosts.is_ambiguous {
        let says = "capture of packets: it does not say on which of two hosts it was made; who answers was taken for the service's; record with -i any";
        recording.add_loss(SOURCE, loss::REFUSED, 0, says);
    }
}
