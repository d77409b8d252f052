//! Threads wait for files, and their requests spend that time in the driver and the device.

mod disk_counts;

use crate::measure::block_io::{self, Place, Words};
use crate::{Cause, Comparison, Family, Finding, Need, Refined};
use fathom_evidence::kinds::span;

pub(crate) static CAUSE: Cause = Cause {
    id: "block_device_slow",
    readme: include_str!("README.md"),
    family: Family::Device,
    refines: &[Refined::Cause("file_sync_slow")],
    equals: &[
        (
            &["file_pages_evicted", "lazy_symbol_binding", "memory_reclaim", "perf_data_writeback", "swap_in"],
            "a fault is of one kind, by its mapping and the kernel's frames",
        ),
        (&["block_queue_wait"], "the kernel tells a request's time in the queue from that in the device"),
    ],
    has_lab: true,
    collectors: &["block", "system_calls"],
    needs: &[&[Need::Spans(span::BLOCK_REQUEST, "block")]],
    actions: &["fewer requests in flight, or a faster device"],
    decide,
};

const WORDS: Words = Words {
    absent: "no thread waited for a file while a request was at a device",
    waiting: "threads wait for files while their requests are at the device",
    mean: "mean time from the issue of a request to its completion (D2C)",
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let counted = || disk_counts::decide(comparison);
    let of_counts = (!block_io::is_recorded(comparison)).then(counted).flatten();
    of_counts.unwrap_or_else(|| block_io::decide(comparison, Place::Device, &WORDS))
}
