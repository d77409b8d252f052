//! What the programs hand over, as structs.

use crate::bpf::{halves, words};

/// Powers of two by which times are counted.
pub(super) const BUCKETS: usize = 24;

/// Words of a row of the table `places`, and which are what.
pub(super) const PLACE_WORDS: usize = 12 + BUCKETS;
pub(super) const WALK: usize = 3;
pub(super) const QUEUE_MOST: usize = 6;
pub(super) const GAP_MOST: usize = 7;
pub(super) const SLOW_NS: usize = 10;
pub(super) const ONE_IN: usize = 11;

/// Where the times of a bucket begin: the first holds all that are shorter than the second's.
pub(super) fn bucket_from_ns(bucket: usize) -> u64 {
    const FIRST_POWER: usize = 10;
    if bucket == 0 { 0 } else { 1 << (FIRST_POWER + bucket) }
}

/// A socket that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) id: u64,
    pub(super) inode: u64,
    pub(super) port: u32,
    pub(super) queued: u64,
    pub(super) dropped: u64,
    pub(super) queue_most: u64,
    pub(super) gap_most_ns: u64,
    /// Those with an answer to the peer that sent them, and the sum of the times until then.
    pub(super) answered: u64,
    pub(super) answer_ns: u64,
    pub(super) by_unread: [u64; BUCKETS],
}

impl Place {
    /// Reads a row of the table `places`; none of one that is free.
    pub(super) fn parse(row: &[u64; PLACE_WORDS]) -> Option<Place> {
        let [id, inode, port, _, queued, dropped, queue_most, gap_most_ns, answered, answer_ns, _, _, by_unread @ ..] =
            *row;
        let port = u32::try_from(port).ok()?;
        (id != 0).then_some(Place {
            id,
            inode,
            port,
            queued,
            dropped,
            queue_most,
            gap_most_ns,
            answered,
            answer_ns,
            by_unread,
        })
    }

    /// As rows name the socket; the collector `sockets` does so as well.
    pub(super) fn name(&self) -> String {
        format!("udp {} #{}", self.port, self.inode)
    }
}

/// A thread that reads from a socket: a key of the map `readers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Reader {
    /// The socket's.
    pub(super) id: u64,
    pub(super) tid: u32,
}

impl Reader {
    pub(super) fn parse(key: &[u8]) -> Option<Reader> {
        let (id, tid) = halves(words(key).next()?);
        Some(Reader { id: u64::from(id), tid })
    }
}

/// What a thread has read from a socket.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) count: u64,
    /// Of those whose arrival was seen.
    pub(super) timed: u64,
    pub(super) unread_ns: u64,
    /// After which it sent one from the same socket before it read the next.
    pub(super) answered: u64,
    pub(super) answer_ns: u64,
}

impl Read {
    pub(super) fn parse(value: &[u8]) -> Read {
        let mut all = words(value);
        let mut next = || all.next().unwrap_or(0);
        Read { count: next(), timed: next(), unread_ns: next(), answered: next(), answer_ns: next() }
    }
}

/// Datagrams that were read late, one after the other; times are on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Late {
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    pub(super) longest_ns: i64,
    pub(super) pause_ns: i64,
    pub(super) count: u64,
    pub(super) queue_most: u64,
    pub(super) dropped: u64,
    pub(super) inode: u64,
    pub(super) port: u32,
    /// None where the last of them was not read.
    pub(super) tid: Option<u32>,
}

impl Late {
    const BYTES: usize = 9 * size_of::<u64>();

    pub(super) fn parse(event: &[u8]) -> Option<Late> {
        let mut all = words(event.get(..Late::BYTES)?);
        let mut next = || all.next().unwrap_or(0);
        let [from_ns, to_ns, longest_ns, pause_ns] = [(); 4].map(|()| next() as i64);
        let [count, queue_most, dropped, inode] = [(); 4].map(|()| next());
        let (port, tid) = halves(next());
        let tid = (tid != 0).then_some(tid);
        Some(Late { from_ns, to_ns, longest_ns, pause_ns, count, queue_most, dropped, inode, port, tid })
    }
}

/// What a row says, as in `answers.bpf.h`.
const OF_SEVERAL: u64 = 1;
const WITHOUT_ANSWER: u64 = 2;

/// A datagram with the answer to it, or several of one peer with theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) came_ns: i64,
    pub(super) answered_ns: i64,
    pub(super) stands_for: u64,
    pub(super) port: u32,
    pub(super) tid: u32,
    pub(super) are_several: bool,
    /// Until then there was no answer.
    pub(super) is_unanswered: bool,
}

impl Answered {
    pub(super) fn parse(event: &[u8]) -> Option<Answered> {
        let mut all = words(event.get(..5 * size_of::<u64>())?);
        let mut next = || all.next().unwrap_or(0);
        let [came_ns, answered_ns] = [(); 2].map(|()| next() as i64);
        let stands_for = next();
        let (port, tid) = halves(next());
        let flags = next();
        let (are_several, is_unanswered) = (flags & OF_SEVERAL != 0, flags & WITHOUT_ANSWER != 0);
        Some(Answered { came_ns, answered_ns, stands_for, port, tid, are_several, is_unanswered })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let row: [u64; PLACE_WORDS] = std::array::from_fn(|word| word as u64 + 1);
        let place = Place::parse(&row).unwrap();
        assert_eq!((place.id, place.inode, place.port, place.queued, place.dropped), (1, 2, 3, 5, 6));
        assert_eq!((row[WALK], row[QUEUE_MOST], row[GAP_MOST]), (4, place.queue_most, place.gap_most_ns));
        assert_eq!((place.answered, place.answer_ns), (9, 10));
        assert_eq!((place.by_unread[0], place.by_unread[BUCKETS - 1]), (13, 12 + BUCKETS as u64));
        assert_eq!(place.name(), "udp 3 #2");
        assert_eq!(Place::parse(&[0; PLACE_WORDS]), None);
        assert_eq!([0, 1, 2].map(bucket_from_ns), [0, 2048, 4096]);
    }

    #[test]
    fn readers_and_events_are_read() {
        let bytes = |words: &[u64]| words.iter().copied().flat_map(u64::to_ne_bytes).collect::<Vec<u8>>();
        let two = |low: u32, high: u32| [low, high].into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<u8>>();
        assert_eq!(Reader::parse(&two(7, 8)), Some(Reader { id: 7, tid: 8 }));
        assert_eq!(Reader::parse(&[1, 2]), None);
        assert_eq!(
            Read::parse(&bytes(&[3, 2, 9, 1, 8, 0])),
            Read { count: 3, timed: 2, unread_ns: 9, answered: 1, answer_ns: 8 }
        );
        let mut event = bytes(&[1, 2, 3, 4, 5, 6, 7, 8]);
        event.extend(two(53, 99));
        let late = Late::parse(&event).unwrap();
        assert_eq!((late.from_ns, late.to_ns, late.longest_ns, late.pause_ns), (1, 2, 3, 4));
        assert_eq!((late.count, late.queue_most, late.dropped, late.inode), (5, 6, 7, 8));
        assert_eq!((late.port, late.tid), (53, Some(99)));
        assert_eq!(Late::parse(&event[1..]), None);
    }
}
