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

/// The middle value; none of no values.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}
