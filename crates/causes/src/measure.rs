//! Measurements that more than one cause needs.

pub mod aarch64;
pub mod block_io;
pub mod calls;
pub mod code_cache;
pub mod collections;
mod cpu_shortage;
pub mod event_loops;
pub mod faults;
pub mod growth;
pub mod handling;
pub mod lengths;
pub mod memory_pressure;
pub mod recording_threshold;
pub mod requests;
pub mod safepoints;
pub mod sleeps;
pub mod stacks;
pub mod stalled_threads;
pub mod startup;
pub mod syscalls;
pub mod system_gc;
pub mod unsent;
pub mod waits;
pub mod waits_below;

pub use cpu_shortage::{CpuShortage, cpu_shortage};
pub use fathom_timeline::median;
