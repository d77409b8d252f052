//! What was counted as rows of a recording.

use std::collections::HashMap;

use fathom_evidence::Recording;
use fathom_evidence::detail::{self, DatagramsLate, Request};
use fathom_evidence::kinds::{counter, span};

use super::parse::{Answered, Late, Place, Read, Reader, bucket_from_ns};
use super::{ARRIVALS, DROPS, NAME};
use crate::Clock;
use crate::bpf::{Increments, LeftOut, Part, counter_of};
use crate::changed_counters::ChangedCounters;

/// Who measures requests at sockets.
const AT_SOCKETS: &str = "requests";

/// The numbers of a thread.
const OF_READER: [(&str, Part<Read>); 5] = [
    (counter::DATAGRAMS_READ_COUNT, |read| read.count),
    (counter::DATAGRAMS_TIMED_COUNT, |read| read.timed),
    (counter::DATAGRAM_UNREAD_NS, |read| read.unread_ns),
    (counter::DATAGRAMS_ANSWERED_COUNT, |read| read.answered),
    (counter::DATAGRAM_ANSWER_NS, |read| read.answer_ns),
];

/// Writes rows of what has changed.
pub(super) struct Rows {
    clock: Clock,
    sees_arrivals: bool,
    sees_drops: bool,
    /// By socket.
    queued: Increments<u64, u64>,
    came: HashMap<u64, u64>,
    by_unread: Increments<(u64, usize), u64>,
    readers: Increments<Reader, Read>,
    /// What came to each port, whatever sockets were there.
    at_ports: HashMap<u32, u64>,
    ports: Increments<u32, u64>,
    levels: ChangedCounters,
}

impl Rows {
    pub(super) fn new(clock: Clock, left_out: &LeftOut) -> Rows {
        let start_ns = clock.now_ns();
        Rows {
            clock,
            sees_arrivals: !left_out.has(ARRIVALS),
            sees_drops: !left_out.has(DROPS),
            queued: Increments::new(start_ns),
            came: HashMap::new(),
            by_unread: Increments::new(start_ns),
            readers: Increments::new(start_ns),
            at_ports: HashMap::new(),
            ports: Increments::new(start_ns),
            levels: ChangedCounters::new(NAME),
        }
    }

    /// A reading begins.
    pub(super) fn read(&mut self, is_second: bool) {
        let now_ns = self.clock.now_ns();
        self.queued.read(now_ns);
        self.readers.read(now_ns);
        self.ports.read(now_ns);
        if is_second {
            self.by_unread.read(now_ns);
        }
    }

    /// Writes what changed at a socket.
    pub(super) fn add_socket(&mut self, place: &Place, name: &str, is_second: bool, found: &mut Recording) {
        if !self.sees_arrivals {
            return;
        }
        if let Some(rise) = self.queued.see(place.id, place.queued) {
            let row = counter_of(found, counter::DATAGRAMS_QUEUED_COUNT, name, 0, NAME);
            rise.write(found, &row, |count| *count);
        }
        if self.sees_drops {
            self.add_port(place, found);
        }
        let now_ns = self.clock.now_ns();
        self.levels.see(found, now_ns, counter::DATAGRAM_QUEUE_MOST_COUNT, name, place.queue_most as f64);
        self.levels.see(found, now_ns, counter::DATAGRAM_GAP_MOST_NS, name, place.gap_most_ns as f64);
        if is_second {
            self.add_times(place, name, found);
        }
    }

    /// What came to the port: sockets come and go there.
    fn add_port(&mut self, place: &Place, found: &mut Recording) {
        let came = place.queued + place.dropped;
        let before = self.came.insert(place.id, came).unwrap_or(0);
        let all = self.at_ports.entry(place.port).or_default();
        *all += came.saturating_sub(before);
        if let Some(rise) = self.ports.see(place.port, *all) {
            let row = counter_of(found, counter::DATA_ARRIVALS_COUNT, &format!("udp {}", place.port), 0, NAME);
            rise.write(found, &row, |count| *count);
        }
    }

    fn add_times(&mut self, place: &Place, name: &str, found: &mut Recording) {
        for (bucket, count) in place.by_unread.iter().enumerate() {
            if let Some(rise) = self.by_unread.see((place.id, bucket), *count) {
                let instance = format!("{name} {}", bucket_from_ns(bucket));
                let row = counter_of(found, counter::DATAGRAMS_BY_UNREAD_COUNT, &instance, 0, NAME);
                rise.write(found, &row, |count| *count);
            }
        }
    }

    /// Writes what changed of what a thread has read.
    pub(super) fn add_reader(&mut self, reader: Reader, read: Read, name: &str, found: &mut Recording) {
        let Some(rise) = self.readers.see(reader, read) else { return };
        for (word, part) in OF_READER {
            let row = counter_of(found, word, name, reader.tid, NAME);
            rise.write(found, &row, part);
        }
    }

    /// Writes what was read late.
    pub(super) fn add_late(&self, late: &Late, found: &mut Recording) {
        let detail = DatagramsLate {
            port: Some(late.port),
            inode: Some(late.inode),
            count: Some(late.count),
            longest_ns: Some(late.longest_ns),
            pause_ns: Some(late.pause_ns),
            queue_most: Some(late.queue_most),
            dropped: self.sees_drops.then_some(late.dropped),
            unread: late.tid.is_none().then_some(true),
        };
        let (from_ns, tid) = (self.clock.wall_ns(late.from_ns), i64::from(late.tid.unwrap_or(0)));
        let (length_ns, name) = (late.to_ns.saturating_sub(late.from_ns), format!("udp {}", late.port));
        found.add_span(from_ns, length_ns, tid, span::DATAGRAMS_LATE, &name, &detail::to_text(&detail), NAME);
    }

    /// Writes a datagram with its answer as what it is, a request that was measured at its socket.
    pub(super) fn add_answered(&self, answered: &Answered, found: &mut Recording) {
        let detail = Request {
            port: Some(answered.port),
            stands_for: (answered.stands_for > 1).then_some(answered.stands_for),
            overlapping: answered.are_several.then_some(true),
            unanswered: answered.is_unanswered.then_some(true),
            // Whether it was read is not known.
            unread_ns: answered.is_unanswered.then_some(0),
            ..Request::default()
        };
        let (from_ns, text) = (self.clock.wall_ns(answered.came_ns), detail::to_text(&detail));
        let (took_ns, name) = (answered.answered_ns - answered.came_ns, format!("udp :{}", answered.port));
        found.add_span(from_ns, took_ns, i64::from(answered.tid), span::REQUEST, &name, &text, AT_SOCKETS);
    }

    /// Forgets a socket that is closed; what came to its port stays counted.
    pub(super) fn forget(&mut self, id: u64) {
        self.queued.forget(&id);
        self.came.remove(&id);
        self.by_unread.retain(|(of, _)| *of != id);
        self.readers.retain(|reader| reader.id != id);
    }

    /// Writes for every level how long it was what it last was.
    pub(super) fn close(&mut self, found: &mut Recording) {
        self.levels.close(found);
    }
}
