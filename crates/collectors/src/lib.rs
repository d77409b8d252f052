//! Collects evidence on the running machine.
//!
//! One folder with a `mod.rs` is one source: it declares its [`Collector`] as `pub(crate) static COLLECTOR`. The build
//! script finds the folders; there is no list to edit. A collector says whether it could run ([`Collector::check`], for
//! `fathom doctor`), and starts an [`Observer`]. The [`recorder`] asks each observer for new data on a thread of its
//! own, so that a hanging one does not block the others and the cost of each is known.
//!
//! What is refused is a [`Refusal`], never an error: the rest still records, and the recording says what was refused,
//! why, and how to grant it.

pub mod allocator;
pub mod attach;
mod bpf;
mod changed_counters;
mod clock;
mod collector;
pub mod containers;
mod control_groups;
mod cpu_ticks;
pub mod endings;
mod folder_size;
mod followed;
pub mod host;
mod hostile_files;
mod jvm_counters;
pub mod jvms;
mod late;
mod mapped;
mod mountinfo;
mod perf;
pub mod policy;
mod pressure;
mod procfs;
mod rate_limit;
mod raw;
pub mod recorder;
mod refusal;
mod serving;
mod sock_diag;
mod standing;
mod stopped;
pub mod symbols;
mod target;
mod words;

pub use async_profiler::Guarded;
pub use clock::Clock;
pub use collector::{Collector, Lesser, Observer, Order, Outstanding, Profiler, Tier};
pub use cpu_ticks::{CpuTicks, ProcessTicks};
pub use facts::{ComparedFact, compared as compared_facts};
pub use hsperfdata::scope as scope_of_collector;
pub use jfr::fetch_left as fetch_flight_recording;
pub use policy::{Policy, Use};
pub use refusal::Refusal;
pub use serving::who_listens;
pub use target::{Target, TargetError};

include!(concat!(env!("OUT_DIR"), "/collectors.rs"));

/// All collectors, by name of their folder.
pub fn collectors() -> &'static [&'static dyn Collector] {
    ALL
}
