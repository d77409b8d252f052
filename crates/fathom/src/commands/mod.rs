//! The commands, one module each: its arguments, and a function from them to an [`Answer`].

use std::process::ExitCode;

pub(crate) mod blk;
pub(crate) mod causes;
pub(crate) mod compare;
pub(crate) mod demo;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
pub(crate) mod explain;
#[cfg(feature = "full")]
mod full;
pub(crate) mod import;
#[cfg(not(feature = "full"))]
mod left_out;
#[cfg(target_os = "linux")]
mod linux;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod report;
pub(crate) mod routing;
pub(crate) mod runs;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{doctor, guard, lab, load, minutes, probe, ps, record, watch};
#[cfg(feature = "full")]
pub(crate) use full::{completions, export, open};
#[cfg(not(feature = "full"))]
pub(crate) use left_out::{completions, export, open};
#[cfg(target_os = "linux")]
pub(crate) use linux::{doctor, guard, lab, load, minutes, probe, ps, record, watch};

/// What a command has to say on standard output, and how it ended.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) code: ExitCode,
}

impl Answer {
    fn done(text: String) -> Answer {
        Answer { text, code: ExitCode::SUCCESS }
    }
}
