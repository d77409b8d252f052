//! Both directions of a connection: requests and their answers, whatever the protocol. Knows no evidence.
//!
//! As in the collector of requests, a request begins with the first byte to the answering side after the previous
//! answer. It ends with the last byte that comes back before the next request begins, or before half a second of
//! silence. Where requests overlap, or much unrequested data comes back, the row is a busy period and says so.

use crate::pcap::packet::{ACK, FIN, Packet, RST, SYN, Segment};
use crate::pcap::stream::{Seen, Stream};

/// Who asks in the middle of what it asks and pauses for so long may have asked anew, in ns.
const PAUSE_NS: i64 = 100_000_000;
/// What is followed by nothing for so long has ended, in ns.
const IDLE_NS: i64 = 500_000_000;
/// A request without an answer is a row from this length on, in ns.
const UNANSWERED_NS: i64 = 1_000_000_000;
/// What leaves no later than this after what was sent before it was not held up, in ns.
const AT_ONCE_NS: i64 = 1_000_000;
/// A connection on which so often something overlapped, or came unasked, carries several things at once.
const SEVERAL: u8 = 3;
/// How HTTP/2 in the clear begins.
const HTTP_2: &[u8] = b"PRI * HTTP/2.0";

/// What held up the end of what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// It was lost and sent again.
    Lost,
    /// The other side had no room.
    Window,
}

/// A request that has ended, or did not get an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exchange {
    pub(super) began_ns: i64,
    pub(super) end_ns: i64,
    /// First byte of the answer.
    pub(super) answered_ns: Option<i64>,
    pub(super) asked_bytes: u64,
    pub(super) answered_bytes: u64,
    pub(super) is_overlapping: bool,
    /// Whether who asked had closed its side by the end.
    pub(super) is_given_up: bool,
    /// For how long the end of the question, and of the answer, was held up, and why.
    pub(super) held: [Option<(i64, Hold)>; 2],
    /// For how long who asked had no room for more of the answer.
    pub(super) window_full_ns: i64,
}

/// What a packet adds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Data that is new: whether it is of who answers, and how many bytes.
    pub(super) data: Option<(bool, u32)>,
    /// A segment was sent again.
    pub(super) is_resent: bool,
    /// Some segments were not captured.
    pub(super) is_missed: bool,
    /// A side has reset the connection.
    pub(super) is_reset: bool,
    /// The attempt to connect was refused, or not answered.
    pub(super) is_refused: bool,
    /// It ended after something had been asked, without any answer ever.
    pub(super) is_closed_unanswered: bool,
    /// What has ended.
    pub(super) ended: Option<Exchange>,
}

/// Data of one side within a request.
#[derive(Debug, Default, Clone, Copy)]
struct Sent {
    first_ns: Option<i64>,
    /// When the last of it was sent for the first time.
    last_ns: i64,
    /// When some of it was sent again last.
    again_ns: Option<i64>,
    bytes: u64,
}

/// A request under way.
#[derive(Debug, Default, Clone, Copy)]
struct UnderWay {
    began_ns: i64,
    asked: Sent,
    answered: Sent,
    is_overlapping: bool,
    /// It paused and may be several requests.
    has_paused: bool,
    given_up_ns: Option<i64>,
    /// For how long each side had no room, who asks first.
    full_ns: [i64; 2],
    /// When who asked had room again.
    room_ns: i64,
}

/// A connection. Of pairs the first is of who asks.
#[derive(Debug, Default)]
pub(super) struct Connection {
    streams: [Stream; 2],
    under_way: Option<UnderWay>,
    /// Since when a side has no room.
    full_since_ns: [Option<i64>; 2],
    /// When each side said that the connection begins.
    began_ns: [Option<i64>; 2],
    /// How long a packet needs from one side to the other and back.
    round_trip_ns: Option<i64>,
    fins: [bool; 2],
    /// Whether who answers, or a reset, closed it.
    is_closed: bool,
    several: u8,
    is_pushing: bool,
    was_asked: bool,
    was_answered: bool,
    /// Whether both sides or a reset ended it.
    pub(super) has_ended: bool,
    pub(super) last_ns: i64,
}

impl Connection {
    /// Takes a packet, of who answers or of who asks; nothing of one that was seen already.
    pub(super) fn see(&mut self, packet: &Packet<'_>, segment: &Segment<'_>, is_answer: bool) -> Option<Found> {
        let side = usize::from(is_answer);
        if self.streams[side].is_copy(packet, segment) {
            return None;
        }
        let now_ns = packet.time_ns;
        self.last_ns = self.last_ns.max(now_ns);
        let mut found = Found::default();
        if segment.has(RST) {
            self.reset(side, now_ns, &mut found);
            return Some(found);
        }
        self.acknowledge(segment, 1 - side, &mut found);
        self.window(segment, side, now_ns);
        if segment.has(SYN) {
            self.begin(segment, side, now_ns, &mut found);
        } else if segment.length > 0 {
            self.data(segment, side, now_ns, &mut found);
        } else {
            self.streams[side].is_at(segment.seq);
        }
        if segment.has(FIN) {
            self.close(side, now_ns, &mut found);
        }
        Some(found)
    }

    /// What is left at the end, of the capture or of what is remembered.
    pub(super) fn ends(&mut self, now_ns: i64) -> Found {
        let mut found = Found::default();
        let is_asking = self.began_ns[0].filter(|_| self.began_ns[1].is_none() && !self.was_asked);
        found.is_refused = is_asking.is_some_and(|at| now_ns.saturating_sub(at) >= UNANSWERED_NS);
        self.finish(now_ns, &mut found);
        found
    }

    fn begin(&mut self, segment: &Segment<'_>, side: usize, now_ns: i64, found: &mut Found) {
        found.is_resent = self.streams[side].begins(segment.seq);
        if !found.is_resent {
            self.began_ns[side] = Some(now_ns);
        }
    }

    fn acknowledge(&mut self, segment: &Segment<'_>, other: usize, found: &mut Found) {
        if !segment.has(ACK) {
            return;
        }
        if let (1, None, [Some(asked_ns), Some(_)]) = (other, self.round_trip_ns, self.began_ns) {
            self.round_trip_ns = Some(self.last_ns.saturating_sub(asked_ns));
        }
        if self.streams[other].is_acknowledged(segment.ack) {
            found.is_missed = true;
            // What it asked or answered was not seen.
            self.under_way = None;
        }
    }

    fn window(&mut self, segment: &Segment<'_>, side: usize, now_ns: i64) {
        match (segment.window, self.full_since_ns[side]) {
            (0, None) => self.full_since_ns[side] = Some(now_ns),
            (1.., Some(_)) => {
                self.fill(side, now_ns);
                self.full_since_ns[side] = None;
            }
            _ => {}
        }
    }

    /// Adds the time for which a side had no room to what is under way.
    fn fill(&mut self, side: usize, now_ns: i64) {
        if let (Some(since_ns), Some(under_way)) = (self.full_since_ns[side], &mut self.under_way) {
            let full_ns = now_ns.saturating_sub(since_ns.max(under_way.began_ns)).max(0);
            under_way.full_ns[side] = under_way.full_ns[side].saturating_add(full_ns);
            under_way.room_ns = if side == 0 { now_ns } else { under_way.room_ns };
            self.full_since_ns[side] = Some(now_ns);
        }
    }

    fn data(&mut self, segment: &Segment<'_>, side: usize, now_ns: i64, found: &mut Found) {
        let seen = self.streams[side].data(segment, now_ns, self.round_trip_ns);
        found.is_resent = matches!(seen, Seen::Again | Seen::Late);
        match seen {
            Seen::KeepAlive => {}
            Seen::Again => self.again(side, now_ns),
            Seen::New | Seen::Late => {
                found.data = Some((side == 1, segment.length));
                match side {
                    0 => self.asks(segment, now_ns, found),
                    _ => self.answers(segment, now_ns, found),
                }
                if seen == Seen::Late {
                    self.again(side, now_ns);
                }
            }
        }
    }

    fn again(&mut self, side: usize, now_ns: i64) {
        if let Some(under_way) = &mut self.under_way {
            let sent = if side == 0 { &mut under_way.asked } else { &mut under_way.answered };
            sent.again_ns = sent.first_ns.map(|_| now_ns);
        }
    }

    fn asks(&mut self, segment: &Segment<'_>, now_ns: i64, found: &mut Found) {
        if segment.data.starts_with(HTTP_2) {
            self.several = SEVERAL;
        }
        // Who has not got all of the answer asks for something else meanwhile.
        let overlaps = !self.streams[1].is_all_at(segment.ack);
        if self.under_way.is_some_and(|under_way| under_way.answered.first_ns.is_some()) {
            self.note_overlap(overlaps);
            self.finish(now_ns, found);
        }
        self.was_asked = true;
        self.is_pushing = false;
        let under_way = self.under_way.get_or_insert_with(|| UnderWay { began_ns: now_ns, ..UnderWay::default() });
        under_way.has_paused |=
            under_way.asked.first_ns.is_some() && now_ns.saturating_sub(under_way.asked.last_ns) > PAUSE_NS;
        under_way.is_overlapping |= overlaps || under_way.has_paused;
        under_way.asked.add(segment.length, now_ns);
    }

    fn answers(&mut self, segment: &Segment<'_>, now_ns: i64, found: &mut Found) {
        // While the other side has no room it is the same answer still.
        let is_over = |under_way: &UnderWay| {
            let since_ns = under_way.answered.left_ns().max(under_way.room_ns);
            under_way.answered.first_ns.is_some() && now_ns.saturating_sub(since_ns) > IDLE_NS
        };
        if self.full_since_ns[0].is_none() && self.under_way.as_ref().is_some_and(is_over) {
            self.finish(now_ns, found);
        }
        self.was_answered = true;
        match &mut self.under_way {
            Some(under_way) => under_way.answered.add(segment.length, now_ns),
            None if !self.is_pushing => {
                self.is_pushing = true;
                self.several = self.several.saturating_add(1).min(SEVERAL);
            }
            None => {}
        }
    }

    fn note_overlap(&mut self, overlaps: bool) {
        if overlaps {
            self.several = self.several.saturating_add(1).min(SEVERAL);
        }
        if let Some(under_way) = &mut self.under_way {
            under_way.is_overlapping |= overlaps;
        }
    }

    fn close(&mut self, side: usize, now_ns: i64, found: &mut Found) {
        self.fins[side] = true;
        if side == 0 {
            // Who asked may still wait for the answer.
            if let Some(under_way) = &mut self.under_way {
                under_way.given_up_ns.get_or_insert(now_ns);
            }
        } else {
            self.closed(now_ns, found);
        }
        self.has_ended = self.fins == [true; 2];
    }

    fn reset(&mut self, side: usize, now_ns: i64, found: &mut Found) {
        found.is_refused = side == 1 && self.began_ns[1].is_none() && self.began_ns[0].is_some() && !self.was_asked;
        found.is_reset = !found.is_refused && !self.has_ended;
        if let (0, Some(under_way)) = (side, &mut self.under_way) {
            under_way.given_up_ns.get_or_insert(now_ns);
        }
        self.closed(now_ns, found);
        self.has_ended = true;
    }

    fn closed(&mut self, now_ns: i64, found: &mut Found) {
        found.is_closed_unanswered = self.was_asked && !self.was_answered && !self.is_closed;
        self.is_closed = true;
        self.finish(now_ns, found);
    }

    /// What is under way ends, with an answer or without.
    fn finish(&mut self, now_ns: i64, found: &mut Found) {
        (0..2).for_each(|side| self.fill(side, now_ns));
        let Some(under_way) = self.under_way.take() else { return };
        let is_several = under_way.is_overlapping || self.several >= SEVERAL;
        found.ended = match under_way.answered.first_ns {
            Some(_) => Some(under_way.answered(is_several)),
            None => under_way.unanswered(now_ns, is_several),
        };
    }
}

impl Sent {
    fn add(&mut self, bytes: u32, now_ns: i64) {
        self.first_ns.get_or_insert(now_ns);
        self.last_ns = self.last_ns.max(now_ns);
        self.bytes += u64::from(bytes);
    }

    /// When all of it had left.
    fn left_ns(&self) -> i64 {
        self.last_ns.max(self.again_ns.unwrap_or(0))
    }

    /// For how long its end was held up, and why.
    fn held(&self, full_ns: i64) -> Option<(i64, Hold)> {
        let ns = self.left_ns() - self.last_ns;
        if ns > AT_ONCE_NS {
            return Some((ns, if full_ns > ns / 2 { Hold::Window } else { Hold::Lost }));
        }
        None
    }
}

impl UnderWay {
    fn answered(&self, is_overlapping: bool) -> Exchange {
        let [of_asking, of_answering] = self.full_ns;
        Exchange {
            began_ns: self.began_ns,
            end_ns: self.answered.left_ns(),
            answered_ns: self.answered.first_ns,
            asked_bytes: self.asked.bytes,
            answered_bytes: self.answered.bytes,
            is_overlapping,
            is_given_up: false,
            held: [self.asked.held(of_answering), self.answered.held(of_asking)],
            window_full_ns: of_asking,
        }
    }

    /// One that came in pieces may be several, or need no answer.
    fn unanswered(&self, now_ns: i64, is_overlapping: bool) -> Option<Exchange> {
        let end_ns = self.given_up_ns.unwrap_or(now_ns);
        let is_long = !self.has_paused && end_ns.saturating_sub(self.began_ns) >= UNANSWERED_NS;
        is_long.then_some(Exchange {
            began_ns: self.began_ns,
            end_ns,
            answered_ns: None,
            asked_bytes: self.asked.bytes,
            answered_bytes: 0,
            is_overlapping,
            is_given_up: self.given_up_ns.is_some(),
            held: [self.asked.held(self.full_ns[1]), None],
            window_full_ns: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::frame::Direction;
    use crate::pcap::packet::Endpoint;

    const MS: i64 = 1_000_000;

    /// A connection that a drawing tells: the time in ms, `>` for who asks or `<` for who answers, and what: `20` bytes of new
    /// data, `again` for those before, `full` and `room` of the window, `fin`, `rst`, `syn`; `late` for data that was asked for before
    /// all of the answer had come.
    fn draw(drawing: &str) -> (Vec<Exchange>, Vec<Found>) {
        let mut connection = Connection::default();
        let (mut next, mut before) = ([1_u32; 2], [1_u32; 2]);
        let mut all = Vec::new();
        let mut last_ns = 0;
        for (number, step) in drawing.split(", ").enumerate() {
            let words: Vec<&str> = step.split(' ').collect();
            let side = usize::from(words[1] == "<");
            last_ns = words[0].parse::<i64>().unwrap() * MS;
            let mut segment =
                Segment { flags: ACK, window: 100, seq: next[side], ack: next[1 - side], ..Segment::default() };
            match words[2] {
                "again" => (segment.seq, segment.length) = (before[side], next[side].wrapping_sub(before[side])),
                "full" => segment.window = 0,
                "room" => {}
                "fin" => segment.flags |= FIN,
                "rst" => segment.flags |= RST,
                "syn" => (segment.seq, segment.flags) = (0, if side == 0 { SYN } else { SYN | ACK }),
                bytes => {
                    segment.length = bytes.parse().unwrap();
                    (before[side], next[side]) = (next[side], next[side] + segment.length);
                }
            }
            if words.last() == Some(&"late") {
                segment.ack = before[1 - side];
            }
            let end = Endpoint { address: 1, port: 1 };
            let id = number as u16 + 1;
            let packet = Packet {
                time_ns: last_ns,
                from: end,
                to: end,
                direction: Direction::Unknown,
                place: 0,
                id,
                segment: None,
            };
            all.extend(connection.see(&packet, &segment, side == 1));
        }
        all.push(connection.ends(last_ns));
        (all.iter().filter_map(|found| found.ended).collect(), all)
    }

    #[test]
    fn requests_and_their_answers() {
        // Beginning and end in ms, bytes of the answer, whether it overlaps, and for how long its end was held up.
        for (drawing, expected) in [
            ("0 > 20, 5 < 100, 9 < 50", vec![(0, 9, 150, false, None)]),
            ("0 > 20, 5 < 100, 10 > 20, 30 < 10", vec![(0, 5, 100, false, None), (10, 30, 10, false, None)]),
            ("0 > 20, 5 < 100, 10 > 20 late, 30 < 10", vec![(0, 5, 100, true, None), (10, 30, 10, true, None)]),
            ("0 > 20, 20 > 20, 30 < 10", vec![(0, 30, 10, false, None)]),
            ("0 > 20, 200 > 20, 300 < 10", vec![(0, 300, 10, true, None)]),
            ("0 > 20, 5 < 100, 205 < again", vec![(0, 205, 100, false, Some((200, Hold::Lost)))]),
            (
                "0 > 20, 5 < 100, 6 > full, 205 < again, 206 > room",
                vec![(0, 205, 100, false, Some((200, Hold::Window)))],
            ),
            // It was waited for all that time, and then something came that was not asked for.
            ("0 > 20, 5 < 100, 6 > full, 900 > room, 905 < 10, 1500 < 10", vec![(0, 905, 110, false, None)]),
            ("0 > 20, 999 > fin", vec![]),
            ("0 > 20, 2000 > fin, 2500 < fin", vec![(0, 2_000, 0, false, None)]),
            ("0 > 20, 2000 > fin, 2500 < 10", vec![(0, 2_500, 10, false, None)]),
            ("0 > 20, 200 > 20, 5000 > 20", vec![]),
            ("0 < 50, 1 > 20, 2 < 20", vec![(1, 2, 20, false, None)]),
        ] {
            let found: Vec<_> = draw(drawing)
                .0
                .iter()
                .map(|one| {
                    let held = one.held[1].map(|(ns, why)| (ns / MS, why));
                    (one.began_ns / MS, one.end_ns / MS, one.answered_bytes, one.is_overlapping, held)
                })
                .collect();
            assert_eq!(found, expected, "{drawing}");
        }
    }

    #[test]
    fn how_connections_end() {
        // Sent again, reset, refused, closed without any answer.
        for (drawing, expected) in [
            ("0 > syn, 1 < syn, 2 > 20, 3 < 20, 4 > fin, 5 < fin", [0, 0, 0, 0]),
            ("0 > syn, 1000 > syn, 1001 < syn", [1, 0, 0, 0]),
            ("0 > syn, 1 < rst", [0, 0, 1, 0]),
            ("0 > syn, 1000 > syn, 3000 > syn", [2, 0, 1, 0]),
            ("0 > syn, 1 < syn, 2 > 20, 3 < rst", [0, 1, 0, 1]),
            ("0 > 20, 3 < fin, 4 > rst", [0, 1, 0, 1]),
            ("0 > 20, 1 < 20, 2 < fin, 3 > fin, 4 > rst", [0, 0, 0, 0]),
            ("0 > 20, 200 > again, 201 < 5, 500 < again", [2, 0, 0, 0]),
        ] {
            let count = |is: fn(&Found) -> bool| draw(drawing).1.iter().filter(|found| is(found)).count();
            let found = [
                count(|found| found.is_resent),
                count(|found| found.is_reset),
                count(|found| found.is_refused),
                count(|found| found.is_closed_unanswered),
            ];
            assert_eq!(found, expected, "{drawing}");
        }
    }
}
