//! `perf.data`, as `perf record` writes it, to a file or to a pipe: samples with stacks of the CPU and of page faults, and tracepoints.
//!
//! This module reads container and records itself: the crate for the container allocates any length that a file states,
//! and the crate for the records, `linux-perf-event-reader`, panics at a build id that is too long. The latter is used
//! for the meaning of an event and for the position of the id in a record.
//!
//! Names: perf.data has addresses only. Functions of libraries come from the mapped files, if their build id, or else
//! their inode, is the one that perf noted; the kernel's come from `/proc/kallsyms` if the kernel has not been
//! rebooted; Java's come from `jit-PID.dump` or `perf-PID.map` beside the file.
//!
//! Time: with `-k CLOCK_REALTIME` it is the wall clock; with another clock of `-k` the file holds one reading of both
//! clocks. perf's own clock is not related to any other; such a file is refused with the command that records a usable one.

mod attributes;
mod container;
mod formats;
mod images;
mod jitdump;
mod load;
mod names;
mod notes;
mod order;
mod records;
mod sample;
mod scan;
mod switches;
mod system_calls;
mod walks;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: PerfData = PerfData;

/// Files of perf.
pub(crate) struct PerfData;

impl Reader for PerfData {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        container::is_perf_data(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
