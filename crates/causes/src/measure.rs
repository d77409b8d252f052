//! Measurements that more than one cause needs.

pub mod absence;
pub mod code_cache;
pub mod collections;
