//! Headers of a packet: link, IP, TCP or UDP. Only the fields that are used; knows no evidence.
//!
//! What is in tunnels (GRE, VXLAN, MPLS) is not looked for.

use std::net::Ipv6Addr;

use linux_perf_event_reader::Endianness;

use crate::bytes::Bytes;
use crate::pcap::frame::{Direction, Frame};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLANS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Tags of networks within networks.
const VLANS_MAX: usize = 3;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Headers of IPv6 that stand before TCP: hop by hop, routing, destination; and that of a fragment.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;
const EXTENSIONS_MAX: usize = 8;

/// IPv4 as IPv6 writes it.
const MAPPED: u128 = 0xffff_0000_0000;

/// Where a packet comes from or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Endpoint {
    /// As IPv6 has it.
    pub(super) address: u128,
    pub(super) port: u16,
}

impl Endpoint {
    /// The address as text.
    pub(super) fn host(self) -> String {
        Ipv6Addr::from_bits(self.address).to_canonical().to_string()
    }

    /// `10.0.0.1:80`, `[fd00::2]:80`.
    pub(super) fn name(self) -> String {
        let host = self.host();
        if host.contains(':') { format!("[{host}]:{}", self.port) } else { format!("{host}:{}", self.port) }
    }

    /// Whether it is on the machine itself.
    pub(super) fn is_loopback(self) -> bool {
        Ipv6Addr::from_bits(self.address).to_canonical().is_loopback()
    }

    /// Whether it is no single host.
    pub(super) fn is_group(self) -> bool {
        let address = Ipv6Addr::from_bits(self.address).to_canonical();
        address.is_multicast() || self.address == MAPPED | 0xffff_ffff
    }
}

/// A packet of TCP or UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    pub(super) time_ns: i64,
    pub(super) from: Endpoint,
    pub(super) to: Endpoint,
    pub(super) direction: Direction,
    /// Where it was captured: equal packets of different places are one that was seen twice.
    pub(super) place: u64,
    /// Number that the sender gave it, 0 for none: one that is sent again has another.
    pub(super) id: u16,
    /// `None` of UDP.
    pub(super) segment: Option<Segment<'a>>,
}

/// What TCP says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Segment<'a> {
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: u8,
    pub(super) window: u16,
    /// Bytes of data that it carries, kept or not.
    pub(super) length: u32,
    /// As much of them as was kept.
    pub(super) data: &'a [u8],
}

pub(super) const FIN: u8 = 1;
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;
pub(super) const ACK: u8 = 16;

impl Segment<'_> {
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Why a packet is none of TCP or UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Other {
    /// It is of something else.
    Protocol,
    /// It begins with a header that is not known.
    Link,
    /// Too little of it was kept.
    Cut,
}

/// Reads the headers.
pub(super) fn packet<'a>(frame: &Frame<'a>) -> Result<Packet<'a>, Other> {
    let mut bytes = Bytes::new(frame.bytes, Endianness::BigEndian);
    let (network, direction, place) = link(frame, &mut bytes)?;
    let length = (frame.length as usize).saturating_sub(frame.bytes.len() - bytes.rest().len());
    let place = place << 8 | direction as u64;
    let of_ip = match network {
        IPV4 => ipv4(bytes, length)?,
        IPV6 => ipv6(bytes, length)?,
        _ => return Err(Other::Protocol),
    };
    transport(of_ip, (frame.time_ns, direction, place))
}

/// The protocol of the network, where the packet goes, and the interface; the bytes behind the link's header are left.
fn link(frame: &Frame<'_>, bytes: &mut Bytes<'_>) -> Result<(u16, Direction, u64), Other> {
    let interface = u64::from(frame.interface);
    let plain = |network: u16| Ok((network, frame.direction, interface));
    match frame.link {
        0 | 108 => plain(of_family(bytes.take(4).ok_or(Other::Cut)?)),
        1 => plain(of_ethernet(bytes).ok_or(Other::Cut)?),
        12 | 14 | 101 => plain(of_version(bytes.rest())),
        228 => plain(IPV4),
        229 => plain(IPV6),
        113 => {
            let (network, direction) = cooked(bytes).ok_or(Other::Cut)?;
            Ok((network, direction, interface))
        }
        276 => cooked_2(bytes).ok_or(Other::Cut),
        _ => Err(Other::Link),
    }
}

/// Families of addresses, of which those of IPv6 differ between systems, in the byte order of the machine or the network's.
fn of_family(family: &[u8]) -> u16 {
    match *family {
        [2, 0, 0, 0] | [0, 0, 0, 2] => IPV4,
        [10 | 24 | 28 | 30, 0, 0, 0] | [0, 0, 0, 10 | 24 | 28 | 30] => IPV6,
        _ => 0,
    }
}

fn of_version(bytes: &[u8]) -> u16 {
    match bytes.first().map(|byte| byte >> 4) {
        Some(4) => IPV4,
        Some(6) => IPV6,
        _ => 0,
    }
}

fn of_ethernet(bytes: &mut Bytes<'_>) -> Option<u16> {
    bytes.take(12)?;
    behind_vlans(bytes)
}

fn behind_vlans(bytes: &mut Bytes<'_>) -> Option<u16> {
    let mut network = bytes.u16()?;
    for _ in 0..VLANS_MAX {
        if VLANS.contains(&network) {
            bytes.take(2)?;
            network = bytes.u16()?;
        }
    }
    Some(network)
}

/// Linux's header for all devices: kind of packet, kind and length of an address, the address, protocol.
fn cooked(bytes: &mut Bytes<'_>) -> Option<(u16, Direction)> {
    let direction = direction(bytes.u16()?);
    bytes.take(12)?;
    Some((behind_vlans(bytes)?, direction))
}

/// Its second version: protocol, interface, kind of device, kind of packet, length of an address, the address.
fn cooked_2(bytes: &mut Bytes<'_>) -> Option<(u16, Direction, u64)> {
    let network = bytes.u16()?;
    bytes.take(2)?;
    let interface = u64::from(bytes.u32()?);
    bytes.take(2)?;
    let kind = u16::from(*bytes.take(1)?.first()?);
    bytes.take(9)?;
    Some((network, direction(kind), interface))
}

/// To us; from us; or to a group, or to others.
fn direction(kind: u16) -> Direction {
    match kind {
        0 => Direction::In,
        4 => Direction::Out,
        _ => Direction::Unknown,
    }
}

/// What IP says: both addresses, number of the packet, protocol, the bytes behind the header, and how many there were.
struct OfIp<'a> {
    from: u128,
    to: u128,
    id: u16,
    protocol: u8,
    bytes: Bytes<'a>,
    length: usize,
}

fn ipv4(bytes: Bytes<'_>, on_wire: usize) -> Result<OfIp<'_>, Other> {
    let header: &[u8; 20] = bytes.rest().first_chunk().ok_or(Other::Cut)?;
    let header_bytes = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || header_bytes < header.len() {
        return Err(Other::Protocol);
    }
    let two = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    // A part of a datagram that is not its first has no ports.
    if two(6) & 0x1fff != 0 {
        return Err(Other::Protocol);
    }
    // Where a device cuts up what it sends, the length may not be known yet.
    let total = if two(2) == 0 { on_wire } else { usize::from(two(2)) };
    let address = |at: usize| MAPPED | u128::from(u32::from(two(at)) << 16 | u32::from(two(at + 2)));
    let mut bytes = bytes;
    bytes.take(header_bytes).ok_or(Other::Cut)?;
    let length = total.checked_sub(header_bytes).ok_or(Other::Protocol)?;
    Ok(OfIp { from: address(12), to: address(16), id: two(4), protocol: header[9], bytes, length })
}

fn ipv6(mut bytes: Bytes<'_>, on_wire: usize) -> Result<OfIp<'_>, Other> {
    let header: &[u8; 40] = bytes.rest().first_chunk().ok_or(Other::Cut)?;
    if header[0] >> 4 != 6 {
        return Err(Other::Protocol);
    }
    let stated = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let mut length = if stated == 0 { on_wire.saturating_sub(header.len()) } else { stated };
    let address = |at: usize| header[at..at + 16].iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    let (from, to, mut protocol) = (address(8), address(24), header[6]);
    bytes.take(header.len());
    for _ in 0..EXTENSIONS_MAX {
        let size = match protocol {
            FRAGMENT if bytes.rest().get(2..4).is_some_and(|at| at[0] != 0 || at[1] & 0xf8 != 0) => {
                return Err(Other::Protocol);
            }
            FRAGMENT => 8,
            _ if EXTENSIONS.contains(&protocol) => 8 + 8 * usize::from(*bytes.rest().get(1).ok_or(Other::Cut)?),
            _ => break,
        };
        protocol = *bytes.take(size).ok_or(Other::Cut)?.first().ok_or(Other::Cut)?;
        length = length.checked_sub(size).ok_or(Other::Protocol)?;
    }
    Ok(OfIp { from, to, id: 0, protocol, bytes, length })
}

fn transport(of: OfIp<'_>, (time_ns, direction, place): (i64, Direction, u64)) -> Result<Packet<'_>, Other> {
    if !matches!(of.protocol, TCP | UDP) {
        return Err(Other::Protocol);
    }
    let mut fields = of.bytes;
    let (from_port, to_port) = (fields.u16().ok_or(Other::Cut)?, fields.u16().ok_or(Other::Cut)?);
    let segment = match of.protocol {
        TCP => Some(segment(of.bytes, of.length)?),
        _ => None,
    };
    Ok(Packet {
        time_ns,
        from: Endpoint { address: of.from, port: from_port },
        to: Endpoint { address: of.to, port: to_port },
        direction,
        place,
        id: of.id,
        segment,
    })
}

fn segment(bytes: Bytes<'_>, length: usize) -> Result<Segment<'_>, Other> {
    let header: &[u8; 20] = bytes.rest().first_chunk().ok_or(Other::Cut)?;
    let four = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let header_bytes = usize::from(header[12] >> 4) * 4;
    let length = length.checked_sub(header_bytes).filter(|_| header_bytes >= header.len()).ok_or(Other::Protocol)?;
    let kept = bytes.rest().get(header_bytes..).unwrap_or_default();
    Ok(Segment {
        seq: four(4),
        ack: four(8),
        flags: header[13],
        window: u16::from_be_bytes([header[14], header[15]]),
        length: u32::try_from(length).map_err(|_| Other::Protocol)?,
        data: &kept[..kept.len().min(length)],
    })
}
