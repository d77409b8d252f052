//! Profiles of speedscope's own format.
//!
//! Time: none that can be relied on. Samples have weights, one after the other, and samples of waiting threads may be left out:
//! the position of a sample on that axis is not its time. So such files show where time went, but not when it was slow.

mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Speedscope = Speedscope;

/// Profiles of speedscope.
pub(crate) struct Speedscope;

impl Reader for Speedscope {
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
