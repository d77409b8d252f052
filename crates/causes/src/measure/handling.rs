//! When which thread handled requests.

use std::collections::BTreeMap;

use fathom_timeline::{Intervals, Request, Segment, ThreadState, Wait};

use crate::cause::ThreadTime;
use crate::comparison::Comparison;
use crate::period::Period;

type Times = BTreeMap<i64, Vec<(i64, i64)>>;

/// For who answers, who reads and who works on them: from their first read to their answer.
pub fn times<'r>(requests: impl Iterator<Item = &'r Request>) -> ThreadTime {
    let mut times = Times::new();
    for request in requests {
        let read_ns = request.from_ns.saturating_add(request.unread_ns);
        let worker = request.worked_on.map(|(tid, _)| tid);
        for tid in request.threads.into_iter().chain(worker).filter(|tid| *tid != 0) {
            times.entry(tid).or_default().push((read_ns, request.to_ns));
        }
    }
    united(times)
}

/// The same, and who works meanwhile on a result that one of those waits for, as far as it is known who ended the wait.
pub fn with_helpers(comparison: &Comparison<'_>, side: &Period<'_>) -> ThreadTime {
    let handling = times(side.sources.measured_requests());
    if !std::ptr::eq(side.sources, comparison.sources()) {
        return handling;
    }
    let partition = &comparison.analysis.account.partition;
    let mut all: Times = handling.iter().map(|(tid, times)| (*tid, times.iter().collect())).collect();
    for (tid, recorded) in partition.recorded() {
        let Some(times) = handling.get(&tid) else { continue };
        let is_for_a_result =
            |wait: &&Segment| wait.state == ThreadState::Blocked(Wait::Task) && times.touches(wait.from_ns, wait.to_ns);
        for wait in recorded.iter().filter(is_for_a_result) {
            for helper in comparison.analysis.edges().chains(partition, tid, wait).iter().flat_map(|chain| &chain.hops)
            {
                all.entry(helper.tid).or_default().push((helper.segment.from_ns, helper.segment.to_ns));
            }
        }
    }
    united(all)
}

fn united(times: Times) -> ThreadTime {
    times.into_iter().map(|(tid, times)| (tid, Intervals::union(times))).collect()
}
