//! What `strace` writes: one line for each system call, with threads (`-f`), times since the epoch (`-ttt`) and how long each call took (`-T`).
//!
//! The rows are those of the collector of system calls: sums of each thread and call, second by second, and single slow calls. Whether a descriptor is a
//! socket is known from the calls that only sockets have, or from `-yy`.
//!
//! Time: `-ttt` is the wall clock. Times of day without a date, times since the line before and summaries (`-c`) cannot be placed: they are
//! refused with the command that records a usable file. strace stops a thread at both ends of a call, which makes it some 20-30 µs longer.

mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Strace = Strace;

/// Traces of system calls.
pub(crate) struct Strace;

impl Reader for Strace {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_trace(head)
    }

    fn group(&self, files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
        load::group(files)
    }

    fn load(&self, files: &[PathBuf], _: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files)
    }
}
