//! Which calls of other services were made for which requests.
//!
//! A thread that serves a request makes its calls itself, or a client library makes them on threads of its own. In the
//! second case only time tells which request a call is for: it begins after the request was read and ends before the
//! answer, and one request waits for one such call after the other. A call is assigned to the latest request that could
//! have made it and does not wait for another call then. A call without such a request is assigned to none.

use super::calls::Call;
use super::users::Request;

/// So many requests before a call are looked at: more than are under way at once in a service that still answers.
const MOST_UNDER_WAY: usize = 256;

/// For each call, in order, the request in whose time it was made, if there is one; both in order of their beginning.
pub(crate) fn within(requests: &[Request], calls: &[Call]) -> Vec<Option<usize>> {
    let mut busy_until = vec![i64::MIN; requests.len()];
    let request_of = |call: &Call| {
        let begun = requests.partition_point(|request| request.from_ns <= call.from_ns);
        let able = || {
            let under_way = (begun.saturating_sub(MOST_UNDER_WAY)..begun).rev();
            under_way.filter(|index| contains(&requests[*index], call))
        };
        let is_free = |index: &usize| busy_until[*index] <= call.from_ns;
        let is_its_thread = |index: &usize| requests[*index].threads.contains(&call.tid);
        let index = able()
            .filter(is_free)
            .find(is_its_thread)
            .or_else(|| able().find(is_free))
            .or_else(|| able().find(is_its_thread))?;
        busy_until[index] = busy_until[index].max(call.to_ns);
        Some(index)
    };
    calls.iter().map(request_of).collect()
}

/// Whether a request had been read when a call was made, and was not answered before its end, as far as both are known.
fn contains(request: &Request, call: &Call) -> bool {
    let uncertain_ns = request.uncertain_ns.max(call.uncertain_ns);
    let read_ns = request.from_ns.saturating_add(request.unread_ns.max(0));
    read_ns.saturating_sub(uncertain_ns) <= call.from_ns && call.to_ns.saturating_sub(uncertain_ns) <= request.to_ns
}

#[cfg(test)]
mod tests {
    use fathom_evidence::StrId;

    use super::*;

    fn request(from_ns: i64, to_ns: i64, tid: i64) -> Request {
        Request { unread_ns: 5, threads: [tid; 2], ..Request::answered(from_ns, to_ns) }
    }

    fn call(from_ns: i64, to_ns: i64, tid: i64) -> Call {
        let peer_ns = to_ns - from_ns;
        let (peer, weight) = (StrId::default(), 1.0);
        let counted_ns = peer_ns;
        Call {
            peer,
            tid,
            from_ns,
            peer_ns,
            to_ns,
            is_answered: true,
            weight,
            unsent: None,
            uncertain_ns: 0,
            counted_ns,
        }
    }

    #[test]
    fn a_call_is_of_the_last_request_that_can_have_made_it() {
        const LIBRARY: i64 = 99;
        for (what, requests, calls, expected) in [
            ("one", vec![request(0, 100, 1)], vec![call(10, 90, LIBRARY)], vec![Some(0)]),
            ("before it was read", vec![request(0, 100, 1)], vec![call(3, 90, LIBRARY)], vec![None]),
            ("longer than it", vec![request(0, 100, 1)], vec![call(10, 101, LIBRARY)], vec![None]),
            (
                "two at once for two at once",
                vec![request(0, 100, 1), request(20, 130, 2)],
                vec![call(10, 90, LIBRARY), call(30, 120, LIBRARY)],
                vec![Some(0), Some(1)],
            ),
            (
                "two at once are not for one",
                vec![request(0, 100, 1)],
                vec![call(10, 90, LIBRARY), call(30, 80, LIBRARY)],
                vec![Some(0), None],
            ),
            (
                "its own thread knows better",
                vec![request(0, 100, 1), request(10, 100, 2)],
                vec![call(20, 90, 1), call(30, 90, 2)],
                vec![Some(0), Some(1)],
            ),
            (
                "its own thread may make two at once",
                vec![request(0, 100, 1)],
                vec![call(10, 90, 1), call(30, 80, 1)],
                vec![Some(0), Some(0)],
            ),
            (
                "one after the other",
                vec![request(0, 100, 1)],
                vec![call(10, 40, LIBRARY), call(40, 80, LIBRARY)],
                vec![Some(0), Some(0)],
            ),
        ] {
            assert_eq!(within(&requests, &calls), expected, "{what}");
        }
    }
}
