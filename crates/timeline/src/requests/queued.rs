//! Requests that had been read and were queued for a thread.
//!
//! If the thread that worked on a request did not read it, the request was handed over through the queue of an executor or
//! an event loop. While that thread still worked on another request it did not work on this one. What it did before that is
//! not recorded, so this is a lower bound of the time in the queue. A request is not queued once another service was called
//! for it. A thread that was idle before it returned a request (a timer, say) did not work on it.

use std::collections::{BTreeMap, HashSet};

use crate::intervals::Intervals;
use crate::partition::Partition;
use crate::states::ThreadState;
use crate::traffic::users::Request;

/// When threads ended their work on requests that others had read, in order.
#[derive(Debug, Default)]
pub(crate) struct Workers(BTreeMap<i64, Vec<i64>>);

impl Workers {
    /// Those of a port's requests. An event loop works on many at once, so none that reads requests itself is among them.
    pub(crate) fn of(requests: &[Request]) -> Workers {
        let readers: HashSet<i64> = requests.iter().map(|request| request.threads[1]).collect();
        let mut ends: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for (worker, ended_ns) in requests.iter().filter_map(|request| request.worked_on) {
            if !readers.contains(&worker) {
                ends.entry(worker).or_default().push(ended_ns);
            }
        }
        ends.values_mut().for_each(|ends| ends.sort_unstable());
        Workers(ends)
    }

    /// Until when a request with calls was queued; none where its worker is not known to have worked on another one after
    /// it was read.
    pub(crate) fn began_ns(&self, partition: &Partition, request: &Request, calls: &Intervals) -> Option<i64> {
        let (worker, ended_ns) = request.worked_on?;
        let ends = self.0.get(&worker)?;
        let before_ns = *ends[..ends.partition_point(|end| *end < ended_ns)].last()?;
        if is_idle(partition, worker, before_ns, ended_ns) {
            return None;
        }
        let read_ns = request.from_ns.saturating_add(request.unread_ns.max(0));
        let began_ns = calls.extent().map_or(before_ns, |(first_call_ns, _)| first_call_ns.min(before_ns));
        (began_ns > read_ns).then_some(began_ns)
    }
}

/// Whether a thread had nothing to do for most of some time.
fn is_idle(partition: &Partition, tid: i64, from_ns: i64, to_ns: i64) -> bool {
    let segments = partition.segments(tid, from_ns, to_ns);
    let idle = segments.iter().filter(|segment| segment.state == ThreadState::Idle);
    idle.map(|segment| segment.length_ns()).sum::<i64>() > to_ns.saturating_sub(from_ns) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(from_ns: i64, threads: [i64; 2], worked_on: Option<(i64, i64)>) -> Request {
        Request { unread_ns: 5, threads, worked_on, ..Request::answered(from_ns, from_ns + 100) }
    }

    #[test]
    fn a_request_stands_in_line_while_its_worker_works_on_others() {
        const LOOP: [i64; 2] = [1, 1];
        for (what, requests, expected) in [
            ("its worker was free", vec![request(0, LOOP, Some((7, 50)))], None),
            ("one before it", vec![request(0, LOOP, Some((7, 50))), request(10, LOOP, Some((7, 90)))], Some(50)),
            ("one that had ended", vec![request(0, LOOP, Some((7, 12))), request(10, LOOP, Some((7, 90)))], None),
            ("another worker", vec![request(0, LOOP, Some((8, 50))), request(10, LOOP, Some((7, 90)))], None),
            ("nobody knows", vec![request(0, LOOP, Some((7, 50))), request(10, LOOP, None)], None),
            (
                "a loop that reads as well",
                vec![request(0, [2, 1], Some((2, 50))), request(5, [2, 2], None), request(10, [2, 1], Some((2, 90)))],
                None,
            ),
        ] {
            let last = &requests[requests.len() - 1];
            let began_ns = |calls: Vec<(i64, i64)>| {
                Workers::of(&requests).began_ns(&Partition::default(), last, &Intervals::union(calls))
            };
            assert_eq!(began_ns(Vec::new()), expected, "{what}");
            assert_eq!(began_ns(vec![(20, 80)]), expected.map(|_| 20), "{what}, with a call");
        }
    }
}
