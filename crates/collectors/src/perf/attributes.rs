//! The attributes of an event that the kernel is asked for.

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

/// When an event comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// At each page fault.
    Fault(FaultEvent),
    /// At regular times.
    Clock {
        /// From one to the next.
        interval_ns: u64,
    },
}

/// The clock of a CPU.
const CPU_CLOCK: u64 = 0;

/// An event at each `occasion`.
pub(crate) fn attributes(occasion: Occasion) -> perf_event_attr {
    let (config, period) = match occasion {
        Occasion::Fault(event) => (event as u64, 1),
        Occasion::Clock { interval_ns } => (CPU_CLOCK, interval_ns),
    };
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config,
        ..perf_event_attr::default()
    };
    attributes.__bindgen_anon_1.sample_period = period;
    attributes
}

impl std::fmt::Display for Occasion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Occasion::Fault(event) => write!(formatter, "the page fault event {}", *event as u64),
            Occasion::Clock { .. } => formatter.write_str("the clock"),
        }
    }
}
