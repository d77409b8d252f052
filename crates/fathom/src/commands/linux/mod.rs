//! Commands that look at running JVMs and at the kernel, or start other programs.

pub(crate) mod doctor;
pub(crate) mod guard;
pub(crate) mod lab;
pub(crate) mod load;
#[cfg(feature = "full")]
pub(crate) mod minutes;
mod policy;
pub(crate) mod probe;
pub(crate) mod ps;
pub(crate) mod record;
mod record_all;
mod record_args;
mod target;
#[cfg(feature = "full")]
pub(crate) mod watch;

use super::Answer;
#[cfg(not(feature = "full"))]
pub(crate) use super::left_out::{minutes, watch};
use crate::terminal::Terminal;

/// The time of now as it goes into a name: `20261128-101500`.
fn now_for_name(terminal: &Terminal) -> String {
    jiff::Zoned::now().with_time_zone(terminal.zone.clone()).strftime("%Y%m%d-%H%M%S").to_string()
}
