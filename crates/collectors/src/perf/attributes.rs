//! What is asked of the kernel for an event.

use std::mem::size_of;

use libbpf_rs::libbpf_sys::{PERF_TYPE_SOFTWARE, perf_event_attr};

/// A software event that the kernel raises in the thread that faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum FaultEvent {
    /// A page fault begins.
    Begins = 2,
    /// A page fault has been served from memory.
    ServedMinor = 5,
    /// A page fault has been served and had to read.
    ServedMajor = 6,
}

/// Each occurrence of `event`.
pub(crate) fn attributes(event: FaultEvent) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: event as u64,
        ..perf_event_attr::default()
    };
    attributes.__bindgen_anon_1.sample_period = 1;
    attributes
}
