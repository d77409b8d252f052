//! When which thread handled requests.

use std::collections::BTreeMap;

use fathom_timeline::{Intervals, Request};

use crate::cause::ThreadTime;

/// For who answers, who reads and who works on them: from their first read to their answer.
pub fn times<'r>(requests: impl Iterator<Item = &'r Request>) -> ThreadTime {
    let mut times: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for request in requests {
        let read_ns = request.from_ns.saturating_add(request.unread_ns);
        let worker = request.worked_on.map(|(tid, _)| tid);
        for tid in request.threads.into_iter().chain(worker).filter(|tid| *tid != 0) {
            times.entry(tid).or_default().push((read_ns, request.to_ns));
        }
    }
    times.into_iter().map(|(tid, times)| (tid, Intervals::union(times))).collect()
}
