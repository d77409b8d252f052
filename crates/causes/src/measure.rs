//! Measurements that more than one cause needs.

pub mod absence;
pub mod arm;
pub mod block;
pub mod calls;
pub mod code_cache;
pub mod collections;
pub mod faults;
pub mod held_up;
pub mod io_limit;
pub mod shortage;
pub mod stacks;
pub mod waits;

pub(crate) use fathom_timeline::median;
