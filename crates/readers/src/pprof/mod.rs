//! pprof's `profile.proto`: sums of samples by stack, of Go's own profiler, async-profiler's converter and many others.
//!
//! Time: the file has the start and the duration of the whole profile, but no times of samples. It shows where time
//! went, but not when it was slow, so `explain` refuses it.

mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Pprof = Pprof;

/// Profiles of pprof.
pub(crate) struct Pprof;

impl Reader for Pprof {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_profile(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
