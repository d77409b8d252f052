//! Measurements that more than one cause needs.

pub mod aarch64;
pub mod block_io;
pub mod code_cache;
pub mod collections;
pub mod faults;
pub mod io_limit;
pub mod memory_pressure;
pub mod recording_threshold;
pub mod stacks;
pub mod stalled_threads;
pub mod syscalls;
pub mod unsent;
pub mod waits;

pub(crate) use fathom_timeline::median;
