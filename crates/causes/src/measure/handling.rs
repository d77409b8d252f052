//! When which thread handled requests.

use fathom_timeline::{Intervals, Request, Segment, ThreadState, Wait};

use crate::cause::ThreadTime;
use crate::comparison::Comparison;

/// For who answers, who reads and who works on them: from their first read to their answer.
pub fn times<'r>(requests: impl Iterator<Item = &'r Request>) -> ThreadTime {
    Intervals::by_key(requests.flat_map(|request| {
        let read_ns = request.from_ns.saturating_add(request.unread_ns);
        let worker = request.worked_on.map(|(tid, _)| tid);
        let threads = request.threads.into_iter().chain(worker).filter(|tid| *tid != 0);
        threads.map(move |tid| (tid, read_ns, request.to_ns))
    }))
}

/// For who works on a result for which one of those threads waits meanwhile, as far as it is known who ended the wait.
pub fn of_helpers(comparison: &Comparison<'_>, handling: &ThreadTime) -> ThreadTime {
    let partition = &comparison.analysis.account.partition;
    let mut helpers = Vec::new();
    for (tid, recorded) in partition.recorded() {
        let Some(times) = handling.get(&tid) else { continue };
        let is_for_a_result =
            |wait: &&Segment| wait.state == ThreadState::Blocked(Wait::Task) && times.touches(wait.from_ns, wait.to_ns);
        let waits = recorded.iter().filter(is_for_a_result);
        let chains = waits.flat_map(|wait| comparison.analysis.edges().chains(partition, tid, wait));
        let hops = chains.flat_map(|chain| chain.hops);
        helpers.extend(hops.map(|helper| (helper.tid, helper.segment.from_ns, helper.segment.to_ns)));
    }
    Intervals::by_key(helpers)
}
