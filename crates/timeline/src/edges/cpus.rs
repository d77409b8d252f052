//! The thread that ran while another one waited for a CPU. The kernel reports it for waits that are recorded one by one.

use std::collections::HashMap;

use fathom_evidence::detail::{RunQueueWait, from_text};
use fathom_evidence::kinds::span;

use super::Root;
use crate::partition::Segment;
use crate::sources::Sources;
use crate::states::ThreadState;

/// For rows of such waits the thread of this process that ran instead. Others have no time of their own here.
#[derive(Debug, Default)]
pub(super) struct RanInstead(HashMap<u32, i64>);

impl RanInstead {
    pub(super) fn of(sources: &Sources<'_>) -> RanInstead {
        let of_row = |row: &u32| {
            let wait = sources.recording.spans.row(*row as usize);
            let detail: RunQueueWait = from_text(sources.recording.text(wait.detail));
            let tid = detail.instead_tid.filter(|tid| *tid > 0 && *tid != wait.tid)?;
            (detail.own == Some(true)).then_some((*row, tid))
        };
        RanInstead(sources.rows(span::RUN_QUEUE_WAIT).iter().filter_map(of_row).collect())
    }

    /// The thread that ran during a wait for a CPU.
    pub(super) fn during(&self, wait: &Segment) -> Option<Root> {
        let tid = *self.0.get(&wait.row.filter(|_| wait.state == ThreadState::Runnable)?)?;
        Some(Root { tid, segment: Segment { state: ThreadState::Unknown, row: None, ..*wait } })
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;

    use crate::edges::Edges;
    use crate::partition::Partition;
    use crate::sources::Sources;

    const MS: i64 = 1_000_000;

    fn hops(recording: &Recording, tid: i64) -> Vec<Vec<i64>> {
        let sources = Sources::new(recording).unwrap();
        let partition = Partition::new(&sources, &[]);
        let edges = Edges::new(&sources, &partition);
        let waits = partition.recorded().filter(|(other, _)| *other == tid).flat_map(|(_, segments)| segments.to_vec());
        let chains = waits.flat_map(|wait| edges.chains(&partition, tid, &wait));
        chains.map(|chain| chain.hops.iter().map(|hop| hop.tid).collect()).collect()
    }

    #[test]
    fn who_waits_for_an_owner_without_a_cpu_waits_for_who_ran() {
        use fathom_evidence::kinds::span;
        let mut recording = Recording::default();
        for (tid, name) in [(1, "handler-1"), (2, "handler-2"), (3, "report"), (4, "handler-4")] {
            recording.add_thread(tid, name);
        }
        let owner = r#"{"previous_owner":"handler-2","address":7}"#;
        recording.add_span(0, 100 * MS, 1, span::MONITOR_ENTER, "shop.Cart", owner, "jfr");
        let own = r#"{"instead_tid":3,"own":true}"#;
        recording.add_span(0, 100 * MS, 2, span::RUN_QUEUE_WAIT, "", own, "scheduler");
        // Another process has no time here.
        let other = r#"{"instead_tid":99,"own":false}"#;
        recording.add_span(0, 100 * MS, 4, span::RUN_QUEUE_WAIT, "", other, "scheduler");
        assert_eq!(hops(&recording, 1), [[2, 3]]);
        assert_eq!(hops(&recording, 2), [[3]]);
        assert!(hops(&recording, 4).is_empty());
    }
}
