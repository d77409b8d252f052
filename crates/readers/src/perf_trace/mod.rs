//! `perf trace`: one line for each system call, with its thread, when it began and how long it took.
//!
//! The rows are those of the collector of system calls, as for strace.
//!
//! Time: milliseconds since the first event, or perf's own clock (`-T`), which is not related to any other clock. Only a
//! clock offset from the caller places them; otherwise the file is refused with the command that records one with a clock.

mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: PerfTrace = PerfTrace;

/// Traces of system calls by perf.
pub(crate) struct PerfTrace;

impl Reader for PerfTrace {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_trace(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
