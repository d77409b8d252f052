//! A packet as a capture has it. Knows no evidence.

/// Packets are at most this long, in bytes: large segments on a loopback device have 512 KiB, and no capture has a packet of a
/// MiB. A longer one is damage.
pub(super) const PACKET_MAX_BYTES: usize = 1 << 20;

/// Where a packet was seen to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Direction {
    /// To the host that captures.
    In,
    /// From it.
    Out,
    /// The capture does not say.
    #[default]
    Unknown,
}

/// A packet as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) time_ns: i64,
    /// Number of the kind of header that it begins with.
    pub(super) link: u16,
    /// As much of it as was kept.
    pub(super) bytes: &'a [u8],
    /// How long it was.
    pub(super) length: u32,
    pub(super) direction: Direction,
    /// Number of the interface in the file.
    pub(super) interface: u32,
}

/// What is known when all was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// Why reading ended early.
    pub(super) damage: Option<String>,
    /// Packets that the capturing machine counted as dropped.
    pub(super) dropped: u64,
    /// Packets that were written without a time.
    pub(super) without_time: u64,
}

/// Where reading ended and why.
pub(super) fn damage(says: &str, at: usize, length: usize) -> String {
    format!("{says}: reading ended after {at} of {length} bytes")
}
