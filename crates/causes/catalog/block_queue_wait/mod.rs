//! Threads wait for files, and their requests spend that time in the queue, before the device gets them.

mod io_limit;

use crate::measure::block_io::{self, Place, Words};
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support};
use fathom_evidence::kinds::span;

pub(crate) static CAUSE: Cause = Cause {
    id: "block_queue_wait",
    readme: include_str!("README.md"),
    family: Family::Device,
    refines: &[Refined::Cause("file_sync_slow")],
    equals: &[],
    has_lab: true,
    collectors: &["block", "system_calls"],
    needs: &[&[Need::Spans(span::BLOCK_REQUEST, "block")]],
    actions: &["more request structures (nr_requests) or queue depth, another scheduler, fewer writers at once"],
    decide,
};

const WORDS: Words = Words {
    absent: "no thread waited for a file while a request was in the queue of a device",
    waiting: "threads wait for files while their requests wait to be issued",
    mean: "mean time from queueing a request to its issue (Q2D)",
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !block_io::is_recorded(comparison) {
        return block_io::decide(comparison, Place::Queue, &WORDS);
    }
    let finding = io_limit::find(comparison).unwrap_or_else(|| block_io::decide(comparison, Place::Queue, &WORDS));
    match finding.support == Support::Absent && io_limit::may_be(comparison) {
        true => Finding::needs_kernel(
            "threads waited for files without a request of theirs; the limits of the control group were not recorded",
        ),
        false => finding,
    }
}
