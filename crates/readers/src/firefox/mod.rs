//! Profiles of Firefox Profiler in its processed format: the viewer's own files, samply's, and those of converters.
//!
//! Time: `meta.startTime` and the times of samples place each sample. `samply import` uses the time at which perf.data
//! was written as the start, which is late by the length of the recording: such files need `--clock-offset`.

mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Firefox = Firefox;

/// Profiles of Firefox Profiler.
pub(crate) struct Firefox;

impl Reader for Firefox {
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
