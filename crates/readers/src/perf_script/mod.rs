//! What `perf script` prints of `perf.data`: samples with stacks of Java (by a perf map), the JVM, native code and the kernel.
//!
//! Time: perf's own clock counts from some time after boot, and the text does not relate it to any other clock. With
//! `perf record -k CLOCK_REALTIME` it is the wall clock. Other files are refused with the command that records one.

mod load;
mod parse;
pub(crate) mod symbols;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: PerfScript = PerfScript;

/// Samples of perf as text.
pub(crate) struct PerfScript;

impl Reader for PerfScript {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_script(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
