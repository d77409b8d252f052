//! When which thread handled requests.

use fathom_timeline::{Intervals, Request};

use crate::cause::ThreadTime;

/// For who answers, who reads and who works on them: from their first read to their answer.
pub fn times<'r>(requests: impl Iterator<Item = &'r Request>) -> ThreadTime {
    Intervals::by_key(requests.flat_map(|request| {
        let read_ns = request.from_ns.saturating_add(request.unread_ns);
        let worker = request.worked_on.map(|(tid, _)| tid);
        let threads = request.threads.into_iter().chain(worker).filter(|tid| *tid != 0);
        threads.map(move |tid| (tid, read_ns, request.to_ns))
    }))
}
