//! Calls of other services, measured at their sockets: how long the other side took, without the time spent in this process.

use std::collections::{BTreeMap, HashSet};

use fathom_evidence::detail::{self, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::{Recording, StrId};

use super::peers::is_loopback;
use super::unsent::Unsent;
use super::users;
use crate::intervals::Intervals;

/// One call, or several like it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// `host:port` of the other side.
    pub peer: StrId,
    /// Who sent it.
    pub tid: i64,
    /// When its first byte was sent.
    pub from_ns: i64,
    /// For how long the other side had it; up to now where it has not answered.
    pub peer_ns: i64,
    /// Until the caller had read the answer, which may have lain there.
    pub to_ns: i64,
    /// Whether it has been answered.
    pub is_answered: bool,
    /// How many calls it stands for.
    pub weight: f64,
    /// For how long the end of the question had stood here in the kernel before it left: the other side did not have it then.
    pub unsent: Option<Unsent>,
    /// How far its length may be off; 0 where each byte was seen.
    pub uncertain_ns: i64,
    /// What `peer_ns` adds to a sum of lengths: one that is known to some ticks of a clock may seem longer than it was.
    pub counted_ns: i64,
}

/// The calls of a recording.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Those that were seen byte by byte, in order of their beginning.
    pub(crate) exact: Vec<Call>,
    /// Those found by polling connections: who sent them and what was retransmitted is unknown, and some are missing.
    pub(crate) coarse: Vec<Call>,
    /// Whether there are such, also among those that overlap.
    pub(crate) has_coarse: bool,
    /// When each thread had a call under way that it also read the answer of.
    waiting: BTreeMap<i64, Intervals>,
}

impl Calls {
    /// Those that were measured. A program that listens on a port calls itself there: such a call is a request seen from outside.
    pub(crate) fn of(recording: &Recording, listens_on: &HashSet<u32>) -> Calls {
        let Some(kind) = recording.strings.find(span::CALL) else { return Calls::default() };
        let source = users::measured_by(recording, span::CALL);
        let mut calls = Calls::default();
        let mut waiting = Vec::new();
        for row in recording.spans.rows().filter(|span| span.kind == kind && Some(span.source) == source) {
            let detail: detail::Call = from_text(recording.text(row.detail));
            let uncertain_ns = detail.uncertain_ns.unwrap_or(0).max(0);
            calls.has_coarse |= uncertain_ns > 0;
            let is_own =
                is_loopback(recording.text(row.name)) && detail.port.is_some_and(|port| listens_on.contains(&port));
            // A connection with several calls at once does not say how long each of them took.
            if is_own || detail.overlapping.unwrap_or(false) {
                continue;
            }
            let until_answer_ns = detail.peer_ns.unwrap_or(row.duration_ns).max(0);
            if detail.reader_tid.is_none() && uncertain_ns == 0 {
                waiting.push((row.tid, row.time_ns, row.time_ns.saturating_add(until_answer_ns)));
            }
            let weight = detail.stands_for.unwrap_or(1).max(1) as f64;
            let unsent = Unsent::of_question(&detail);
            let peer_ns = until_answer_ns.saturating_sub(unsent.map_or(0, |unsent| unsent.ns)).max(0);
            let of_kind = if uncertain_ns == 0 { &mut calls.exact } else { &mut calls.coarse };
            of_kind.push(Call {
                peer: row.name,
                tid: row.tid,
                from_ns: row.time_ns,
                peer_ns,
                to_ns: row.end_ns(),
                is_answered: detail.unanswered != Some(true),
                weight,
                unsent,
                uncertain_ns,
                counted_ns: detail.ticks_ns.map_or(peer_ns, |ns| ns.clamp(0, peer_ns)),
            });
        }
        for of_kind in [&mut calls.exact, &mut calls.coarse] {
            of_kind.sort_by_key(|call| call.from_ns);
        }
        calls.waiting = Intervals::by_key(waiting);
        calls
    }

    /// Whether a wait of a thread is for the answer of a call: nearly all of it has to lie within one.
    pub(crate) fn is_waited_for(&self, tid: i64, from_ns: i64, to_ns: i64) -> bool {
        const NEARLY_ALL: f64 = 0.9;
        let length_ns = to_ns.saturating_sub(from_ns) as f64;
        self.waiting.get(&tid).is_some_and(|calls| calls.within_ns(from_ns, to_ns) as f64 >= NEARLY_ALL * length_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_within_a_call_is_for_its_answer_and_a_program_does_not_call_itself() {
        let mut recording = Recording::default();
        let mut add = |at: i64, length: i64, tid: i64, peer: &str, detail: &str| {
            recording.add_span(at, length, tid, span::CALL, peer, detail, "requests");
        };
        add(100, 50, 1, "10.0.0.2:5432", "{\"port\":5432,\"peer_ns\":40,\"own_delay_ns\":10}");
        add(100, 50, 2, "10.0.0.2:80", "{\"port\":80,\"peer_ns\":40,\"reader_tid\":9}");
        add(100, 50, 3, "127.0.0.1:8080", "{\"port\":8080,\"peer_ns\":40}");
        add(100, 50, 4, "10.0.0.2:443", "{\"port\":443,\"overlapping\":true}");
        add(100, 50, 5, "10.0.0.2:6379", "{\"port\":6379,\"uncertain_ns\":8}");
        let calls = Calls::of(&recording, &HashSet::from([8080]));
        assert_eq!(calls.exact.iter().map(|call| (call.tid, call.peer_ns)).collect::<Vec<_>>(), [(1, 40), (2, 40)]);
        assert_eq!(calls.coarse.iter().map(|call| (call.peer_ns, call.uncertain_ns)).collect::<Vec<_>>(), [(50, 8)]);
        assert!(calls.is_waited_for(1, 105, 140));
        assert!(!calls.is_waited_for(1, 105, 200), "most of it is after the answer");
        assert!(!calls.is_waited_for(2, 105, 140), "another thread reads");
        assert!(!calls.is_waited_for(3, 105, 140) && !calls.is_waited_for(5, 105, 140));
    }
}
