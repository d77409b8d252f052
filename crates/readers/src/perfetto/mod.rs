//! Traces of Perfetto as protocol buffers: samples with call stacks (`perf_sample`). Events of ftrace and of tracks are not read.
//!
//! Time: packets have the time of one clock or another, and the trace has snapshots of all of them, the wall clock included. Traces
//! without a snapshot need `--clock-offset`.

mod clocks;
mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Perfetto = Perfetto;

/// Traces of Perfetto.
pub(crate) struct Perfetto;

impl Reader for Perfetto {
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
