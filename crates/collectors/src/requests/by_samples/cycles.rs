//! What looks at a connection show of the requests on it.
//!
//! The kernel keeps when data came last and when data was sent last, and how many segments of each there were. From one
//! arrival to the next is a cycle: a request, its answer, and a pause. A cycle that is under way at a look is seen; one that
//! lies between two looks is not, and the one that is seen stands for it.

use crate::sock_diag::Connection;

const MS_NS: i64 = 1_000_000;

/// A request, as far as looks show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) came_ns: i64,
    pub(super) duration_ns: i64,
    /// How much longer it may have taken, beside the coarseness of the kernel's clock.
    pub(super) longer_ns: i64,
    pub(super) stands_for: u64,
    pub(super) is_unanswered: bool,
}

/// How far the last request of a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is not answered.
    Open,
    /// The last that was sent of its answer was sent then.
    Answered { sent_ns: i64 },
    /// It has become a row, or is from before the first look: what is sent now has no request.
    Told,
}

/// One connection, as the last look found it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycle {
    came_ns: i64,
    /// Requests that came from the look before it came to the one after.
    came_with: u32,
    /// Between these two.
    apart_ns: i64,
    state: State,
    segments_in: u32,
    segments_out: u32,
    looked_ns: i64,
    /// Whether the last request was surely answered: if data came and was sent within one tick, it is unknown which was last.
    is_sure: bool,
    /// Whether all of its answer has arrived, and the connection was at rest from one look to the next.
    is_at_rest: bool,
    pairs: Pairs,
}

/// Whether each request and each answer is one segment: then the numbers of segments show whether a request is still open.
#[derive(Debug, Clone, Copy)]
struct Pairs {
    /// Segments that came and went until the last look at which all requests were surely answered.
    answered: Option<[u32; 2]>,
    is_seen: bool,
    is_broken: bool,
}

impl Pairs {
    const NONE: Pairs = Pairs { answered: None, is_seen: false, is_broken: false };

    /// All requests were answered when so many segments had come and gone.
    fn see_answered(&mut self, now: [u32; 2]) {
        if let Some(before) = self.answered.replace(now) {
            let [came, went] = [0, 1].map(|way| now[way].wrapping_sub(before[way]));
            self.is_seen |= came > 0;
            self.is_broken |= came != went;
        }
    }

    /// Whether the last request is answered when so many segments have come and gone; none where they do not show it.
    fn is_answered(&self, now: [u32; 2]) -> Option<bool> {
        let before = self.answered.filter(|_| self.is_seen && !self.is_broken)?;
        Some(now[0].wrapping_sub(before[0]) == now[1].wrapping_sub(before[1]))
    }
}

/// Before a connection was looked at.
const NEVER: Cycle = Cycle {
    came_ns: 0,
    came_with: 0,
    apart_ns: 0,
    state: State::Told,
    segments_in: 0,
    segments_out: 0,
    looked_ns: 0,
    is_sure: false,
    is_at_rest: false,
    pairs: Pairs::NONE,
};

impl Cycle {
    /// A connection at the first look of all: what it did before is nothing of ours, but what is under way is.
    pub(super) fn found(now_ns: i64, seen: &Connection) -> Cycle {
        let is_unanswered = seen.segments_out == 0 || seen.received_ago_ms < seen.sent_ago_ms;
        let is_open = seen.segments_in > 0 && is_unanswered;
        let (came_with, state) = if is_open { (1, State::Open) } else { (0, State::Told) };
        let came_ns = ago(now_ns, seen.received_ago_ms);
        let Connection { segments_in, segments_out, .. } = *seen;
        Cycle { came_ns, came_with, state, segments_in, segments_out, looked_ns: now_ns, ..NEVER }
    }

    /// A connection that was made since the look at `before_ns`, with the requests that are over.
    pub(super) fn new(before_ns: i64, now_ns: i64, seen: &Connection) -> Cycle {
        let mut cycle = Cycle { looked_ns: before_ns, ..NEVER };
        cycle.look(now_ns, seen);
        cycle
    }

    /// Whether a request waits for its answer.
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Segments that came and that were sent until the last look.
    pub(super) fn segments(&self) -> [u32; 2] {
        [self.segments_in, self.segments_out]
    }

    /// Whether something was sent since the last look without a request.
    pub(super) fn is_unasked(&self, seen: &Connection) -> bool {
        self.is_at_rest && seen.segments_in == self.segments_in && seen.segments_out != self.segments_out
    }

    /// Looks again; the request that is over, if one is.
    pub(super) fn look(&mut self, now_ns: i64, seen: &Connection) -> Option<Told> {
        let (came, went) =
            (seen.segments_in.wrapping_sub(self.segments_in), seen.segments_out.wrapping_sub(self.segments_out));
        if seen.sent_ago_ms < seen.received_ago_ms {
            self.pairs.see_answered([seen.segments_in, seen.segments_out]);
        }
        let is_more_of_it = self.is_open() && went == 0;
        let told = match came {
            0 => self.go_on(seen, now_ns, went),
            _ if is_more_of_it => None,
            _ => self.next(seen, now_ns, came, went),
        };
        let is_over = self.is_sure && self.state == State::Told && seen.unacknowledged_bytes == 0;
        self.is_at_rest = is_over && came == 0 && went == 0;
        (self.segments_in, self.segments_out, self.looked_ns) = (seen.segments_in, seen.segments_out, now_ns);
        told
    }

    /// Nothing came since the last look.
    fn go_on(&mut self, seen: &Connection, now_ns: i64, went: u32) -> Option<Told> {
        match self.state {
            State::Answered { sent_ns } if went == 0 => {
                self.state = State::Told;
                Some(self.told(sent_ns, 0))
            }
            State::Open | State::Answered { .. } if went > 0 => {
                self.is_sure = true;
                self.state = State::Answered { sent_ns: ago(now_ns, seen.sent_ago_ms) };
                None
            }
            _ => None,
        }
    }

    /// Another request came: the one before is over, and the last one begins.
    fn next(&mut self, seen: &Connection, now_ns: i64, came: u32, went: u32) -> Option<Told> {
        let (came_ns, sent_ns) = (ago(now_ns, seen.received_ago_ms), ago(now_ns, seen.sent_ago_ms));
        // Within a tick of the kernel's clock the segments show which was first.
        let is_paired = || self.pairs.is_answered([seen.segments_in, seen.segments_out]).unwrap_or(went >= came);
        let is_answered = sent_ns > came_ns || (sent_ns == came_ns && is_paired());
        let told = match self.state {
            State::Told => None,
            State::Answered { sent_ns } => Some(self.told(sent_ns, 0)),
            // The last answer is that to the request before the last.
            State::Open if came == 1 && !is_answered => Some(self.told(sent_ns, 0)),
            State::Open => Some(self.told(self.looked_ns, came_ns.saturating_sub(self.looked_ns))),
        };
        *self = Cycle {
            came_ns,
            came_with: came.min(went).max(1),
            apart_ns: now_ns.saturating_sub(self.looked_ns),
            state: if is_answered { State::Answered { sent_ns } } else { State::Open },
            is_sure: sent_ns > came_ns,
            ..*self
        };
        told
    }

    /// The connection is gone, or the recording ends with it: what is known of a request that is not reported yet.
    pub(super) fn end(&self, is_gone: bool) -> Option<Told> {
        match self.state {
            State::Told => None,
            State::Answered { sent_ns } => Some(self.told(sent_ns, 0)),
            State::Open => Some(Told { is_unanswered: !is_gone, ..self.told(self.looked_ns, 0) }),
        }
    }

    fn told(&self, end_ns: i64, longer_ns: i64) -> Told {
        let duration_ns = end_ns.saturating_sub(self.came_ns).max(0);
        // The longer it was, the less likely it lay between two looks.
        let likely_ns = duration_ns.saturating_add(longer_ns.max(0) / 2);
        let seen_of_many = self.apart_ns.checked_div(likely_ns).unwrap_or(i64::MAX).max(1);
        let stands_for = u64::from(self.came_with).min(seen_of_many as u64).max(1);
        Told { came_ns: self.came_ns, duration_ns, longer_ns: longer_ns.max(0), stands_for, is_unanswered: false }
    }
}

fn ago(now_ns: i64, ms: u32) -> i64 {
    now_ns.saturating_sub(i64::from(ms) * MS_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection on which data came and went at these times, looked at at `now_ms`.
    fn at(now_ms: i64, received: &[i64], sent: &[i64]) -> Connection {
        let past = |times: &[i64]| times.iter().copied().filter(|time| *time <= now_ms).collect::<Vec<_>>();
        let (received, sent) = (past(received), past(sent));
        let ago = |times: &[i64]| (now_ms - times.last().copied().unwrap_or(0)) as u32;
        Connection {
            received_ago_ms: ago(&received),
            sent_ago_ms: ago(&sent),
            segments_in: received.len() as u32,
            segments_out: sent.len() as u32,
            ..Connection::default()
        }
    }

    /// What looks each 100 ms show: when it came, how long it took, how much longer it may have been, for how many it stands.
    fn told(received: &[i64], sent: &[i64], until_ms: i64) -> Vec<(i64, i64, i64, u64)> {
        let mut cycle = Cycle::found(0, &at(0, received, sent));
        let looks = (1..=until_ms / 100).map(|look| look * 100);
        let mut found: Vec<Told> = looks.filter_map(|now| cycle.look(now * MS_NS, &at(now, received, sent))).collect();
        found.extend(cycle.end(true));
        let ms = |ns: i64| ns / MS_NS;
        found.iter().map(|told| (ms(told.came_ns), ms(told.duration_ns), ms(told.longer_ns), told.stands_for)).collect()
    }

    #[test]
    fn a_request_now_and_then_is_told_as_it_was() {
        assert_eq!(told(&[10, 310], &[40, 320], 600), [(10, 30, 0, 1), (310, 10, 0, 1)]);
        assert_eq!(told(&[10], &[1_240], 1_500), [(10, 1_230, 0, 1)]);
        // In several segments, both ways: before the first look it is not seen which one was the first.
        assert_eq!(told(&[10, 90, 150], &[240, 350, 420], 700), [(90, 330, 0, 1)]);
        // The next one comes as soon as the answer is there.
        assert_eq!(told(&[10, 251], &[250, 340], 500), [(10, 240, 0, 1), (251, 89, 0, 1)]);
        // That one is answered as well before anybody looks.
        assert_eq!(told(&[10, 251], &[250, 260], 500), [(10, 190, 51, 1), (251, 9, 0, 1)]);
    }

    #[test]
    fn a_first_request_is_under_way_though_nothing_was_ever_sent() {
        assert_eq!(told(&[0], &[240], 400), [(0, 240, 0, 1)]);
    }

    #[test]
    fn what_nobody_asked_for_is_no_answer() {
        assert_eq!(told(&[10], &[20, 900, 1_800], 2_500), [(10, 10, 0, 1)]);
        assert_eq!(told(&[], &[300], 600), []);
    }

    #[test]
    fn of_a_request_that_was_under_way_and_others_after_it_the_least_is_told() {
        // Under way at 100; two more came and went before the next look.
        let found = told(&[90, 130, 150], &[120, 140, 160], 300);
        assert_eq!(found, [(90, 10, 50, 1), (150, 10, 0, 2)]);
    }

    #[test]
    fn long_and_short_ones_count_as_often_as_they_are() {
        // In turns 100 ms with a request each ms, and one of 100 ms.
        let (mut received, mut sent) = (Vec::new(), Vec::new());
        for turn in 0..100 {
            let begin = turn * 205 + 3;
            let short = (0..100).map(|nth| begin + nth);
            received.extend(short.clone().chain([begin + 100]));
            sent.extend(short.chain([begin + 200]));
        }
        let found = told(&received, &sent, 21_000);
        let of =
            |is_long: bool| -> u64 { found.iter().filter(|told| (told.1 > 0) == is_long).map(|told| told.3).sum() };
        let part = of(true) as f64 / (of(true) + of(false)) as f64;
        assert!((0.005..0.03).contains(&part), "1 in 101 is long, {part} was told: {found:?}");
    }

    #[test]
    fn the_next_request_in_the_tick_of_an_answer_is_open() {
        // Two quick ones, then calls of 40 ms, each of which is sent as soon as the one before is answered.
        let busy: Vec<i64> = (0..25).map(|nth| 215 + 40 * nth).collect();
        let received = [&[10, 110], &busy[..]].concat();
        let sent = [&[12, 112], &busy[1..], &[1_215]].concat();
        let found = told(&received, &sent, 1_500);
        let [first, second, rest @ ..] = &found[..] else { panic!("{found:?}") };
        assert_eq!([*first, *second], [(10, 2, 0, 1), (110, 2, 0, 1)]);
        // Looks see the part of each that is over, and that it went on.
        assert!(rest.iter().all(|one| one.1 + one.2 >= 40) && rest.len() >= 9, "{rest:?}");
        // Where an answer is two segments, they do not show that.
        let twice: Vec<i64> = sent.iter().flat_map(|at| [*at, *at]).collect();
        assert!(told(&received, &twice, 1_500).iter().skip(2).any(|one| one.1 == 0));
    }

    #[test]
    fn nothing_is_too_strange() {
        proptest::proptest!(|(looks: Vec<(i64, u32, u32, u32, u32)>)| {
            let seen = |(_, sent_ago_ms, received_ago_ms, segments_in, segments_out)| Connection {
                sent_ago_ms, received_ago_ms, segments_in, segments_out, ..Connection::default()
            };
            let mut cycle = Cycle::new(0, 1, &Connection::default());
            for look in looks {
                let told = cycle.look(look.0, &seen(look)).or(cycle.end(false));
                assert!(told.is_none_or(|told| told.duration_ns >= 0 && told.longer_ns >= 0 && told.stands_for > 0));
            }
        });
    }
}
