//! One direction of a connection: which data was seen, and what is retransmitted. Knows no evidence.

use crate::pcap::packet::{Packet, Segment};

/// Data that is missing between what was seen, of one direction: more than a window of a busy connection has of them.
const HOLES_MAX: usize = 64;

/// The same packet, captured at several places of one machine, comes within this, in ns.
const COPY_WITHIN_NS: i64 = 1_000_000;

/// Packets among which a copy is looked for.
const RECENT: usize = 2;

/// Packets that overtake each other are no farther apart than this on any way, in ns.
const OVERTAKEN_NS: i64 = 3_000_000;

/// A sender waits at least this long for an acknowledgement before it sends again, on Linux, in ns. Where the way there and
/// back was not measured, what fills a hole sooner may only have been overtaken.
const SENT_AGAIN_FROM_NS: i64 = 200_000_000;

/// Whether a number is behind another one; they begin anew after the largest.
pub(super) fn is_after(number: u32, other: u32) -> bool {
    number != other && number.wrapping_sub(other) < 1 << 31
}

/// What a segment with data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Data that was not seen before.
    New,
    /// The same, but its sender had sent it before: it was lost on its way to here.
    Late,
    /// Data that was seen before.
    Again,
    /// A byte that only asks whether the other side is there.
    KeepAlive,
}

/// Data that was not seen, before data that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hole {
    from: u32,
    to: u32,
    since_ns: i64,
}

/// What tells a packet from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Mark {
    numbers: (u32, u32),
    kind: (u8, u16, u32),
    id: u16,
    place: u64,
    time_ns: i64,
}

/// A direction.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The number behind all that was seen; none before anything was.
    next: Option<u32>,
    /// Up to here the other side has everything.
    acknowledged: Option<u32>,
    holes: Vec<Hole>,
    recent: [Mark; RECENT],
    at: usize,
}

impl Stream {
    /// Whether a packet was seen a moment ago at another place, or is the very same one.
    pub(super) fn is_copy(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) -> bool {
        let mark = Mark {
            numbers: (segment.seq, segment.ack),
            kind: (segment.flags, segment.window, segment.length),
            id: packet.id,
            place: packet.place,
            time_ns: packet.time_ns,
        };
        let is_same = |other: &Mark| {
            (other.numbers, other.kind, other.id) == (mark.numbers, mark.kind, mark.id)
                && mark.time_ns.abs_diff(other.time_ns) < COPY_WITHIN_NS.unsigned_abs()
                && (other.place != mark.place || mark.id != 0)
        };
        let is_copy = self.recent.iter().any(is_same);
        if !is_copy {
            self.recent[self.at % RECENT] = mark;
            self.at = (self.at + 1) % RECENT;
        }
        is_copy
    }

    /// A connection begins with this number; true if it has begun with it before.
    pub(super) fn begins(&mut self, seq: u32) -> bool {
        let next = seq.wrapping_add(1);
        let is_again = self.next == Some(next);
        if !is_again {
            *self = Stream { next: Some(next), recent: self.recent, at: self.at, ..Stream::default() };
        }
        is_again
    }

    /// A segment without data tells the number of the next one that has some.
    pub(super) fn is_at(&mut self, seq: u32) {
        self.next.get_or_insert(seq);
    }

    /// Takes data. `round_trip_ns` is how long the sender needs to learn of a loss, if that is known.
    pub(super) fn data(&mut self, segment: &Segment<'_>, now_ns: i64, round_trip_ns: Option<i64>) -> Seen {
        let (seq, end) = (segment.seq, segment.seq.wrapping_add(segment.length));
        let next = *self.next.get_or_insert(seq);
        if segment.length == 1 && end == next && self.acknowledged == Some(next) {
            return Seen::KeepAlive;
        }
        if is_after(end, next) {
            if is_after(seq, next) && self.holes.len() < HOLES_MAX {
                self.holes.push(Hole { from: next, to: seq, since_ns: now_ns });
            }
            self.next = Some(end);
            return Seen::New;
        }
        match self.fill(seq, end) {
            None => Seen::Again,
            Some(since_ns) => {
                let sent_again_ns = round_trip_ns.map_or(SENT_AGAIN_FROM_NS, |ns| ns.max(OVERTAKEN_NS));
                if now_ns.saturating_sub(since_ns) >= sent_again_ns { Seen::Late } else { Seen::New }
            }
        }
    }

    /// Fills what is missing between two numbers; since when the oldest of it was.
    fn fill(&mut self, from: u32, to: u32) -> Option<i64> {
        let mut oldest_ns: Option<i64> = None;
        let is_filled = |hole: &Hole| is_after(to, hole.from) && is_after(hole.to, from);
        while let Some(index) = self.holes.iter().position(is_filled) {
            let hole = self.holes.swap_remove(index);
            let before = Hole { to: from, ..hole };
            let behind = Hole { from: to, ..hole };
            let left = [before, behind].into_iter().filter(|part| is_after(part.to, part.from));
            self.holes.extend(left.take(HOLES_MAX - self.holes.len()));
            oldest_ns = Some(oldest_ns.map_or(hole.since_ns, |ns| ns.min(hole.since_ns)));
        }
        oldest_ns
    }

    /// The other side has everything up to a number. True if some of that was not captured.
    pub(super) fn is_acknowledged(&mut self, ack: u32) -> bool {
        self.acknowledged = Some(ack);
        let Some(next) = self.next else { return false };
        let before = self.holes.len();
        self.holes.retain(|hole| is_after(hole.to, ack));
        // The end of a connection takes a number as well, and is not always seen.
        let is_beyond = is_after(ack, next.wrapping_add(1));
        if is_after(ack, next) {
            self.next = Some(ack);
        }
        self.holes.len() < before || is_beyond
    }

    /// Whether the other side has all that was seen.
    pub(super) fn is_all_at(&self, ack: u32) -> bool {
        self.next.is_none_or(|next| !is_after(next, ack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn of(seq: u32, length: u32) -> Segment<'static> {
        Segment { seq, length, ..Segment::default() }
    }

    #[test]
    fn data_is_new_once() {
        // Begins close to the largest number.
        let from = u32::MAX - 150;
        let at = |offset: u32| from.wrapping_add(offset);
        let mut stream = Stream::default();
        assert!(!stream.begins(from.wrapping_sub(1)) && stream.begins(from.wrapping_sub(1)));
        for (what, offset, length, ms, expected) in [
            ("first", 0, 100, 0, Seen::New),
            ("first again", 0, 100, 1, Seen::Again),
            ("a part of it", 50, 50, 2, Seen::Again),
            ("behind a hole", 200, 100, 10, Seen::New),
            ("overtaken", 100, 50, 11, Seen::New),
            ("lost", 150, 50, 60, Seen::Late),
            ("all again", 100, 200, 61, Seen::Again),
            ("seen in part", 250, 100, 62, Seen::New),
        ] {
            assert_eq!(stream.data(&of(at(offset), length), ms * MS, Some(40 * MS)), expected, "{what}");
        }
        assert!(stream.is_all_at(at(350)) && !stream.is_all_at(at(349)));
    }

    #[test]
    fn what_was_not_captured_is_known_by_its_acknowledgement() {
        let mut stream = Stream::default();
        stream.data(&of(0, 100), 0, None);
        assert!(!stream.is_acknowledged(100) && !stream.is_acknowledged(101), "or its end");
        assert!(stream.is_acknowledged(300));
        stream.data(&of(400, 100), 0, None);
        assert!(!stream.is_acknowledged(300), "it may come");
        assert!(stream.is_acknowledged(500));
        assert_eq!(stream.data(&of(499, 1), 0, None), Seen::KeepAlive);
        assert_eq!(stream.data(&of(498, 2), 0, None), Seen::Again);
        assert_eq!(stream.data(&of(600, 100), 0, None), Seen::New);
        assert_eq!(stream.data(&of(500, 50), 100 * MS, None), Seen::New, "too early to have been sent again");
        assert_eq!(stream.data(&of(550, 50), 250 * MS, None), Seen::Late);
    }

    #[test]
    fn one_segment_fills_many_holes() {
        let mut stream = Stream::default();
        for seq in [0, 200, 400] {
            stream.data(&of(seq, 100), i64::from(seq) * MS, None);
        }
        assert_eq!(stream.data(&of(100, 300), 500 * MS, None), Seen::Late);
        assert_eq!(stream.data(&of(300, 100), 501 * MS, None), Seen::Again);
        assert!(!stream.is_acknowledged(500), "all was captured");
    }

    #[test]
    fn one_packet_at_two_places_is_one() {
        let end = crate::pcap::packet::Endpoint { address: 1, port: 1 };
        let mut stream = Stream::default();
        let mut is_copy = |us: i64, id: u16, place: u64| {
            let direction = crate::pcap::frame::Direction::Unknown;
            let packet = Packet { time_ns: us * 1_000, from: end, to: end, direction, place, id, segment: None };
            stream.is_copy(&packet, &of(7, 10))
        };
        assert!(!is_copy(0, 9, 1));
        assert!(is_copy(20, 9, 2) && is_copy(30, 9, 1), "the same number");
        assert!(!is_copy(40, 10, 1), "sent again");
        assert!(!is_copy(1_100, 9, 2), "too late");
        assert!(!is_copy(1_200, 0, 1) && !is_copy(1_210, 0, 1) && is_copy(1_220, 0, 2), "without numbers");
    }
}
