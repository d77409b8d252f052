//! Collapsed stacks: one line per stack, frames from the caller on with semicolons between them, and the number of samples.
//!
//! Time: none. Such files show where time went, but not when it was slow, so `explain` refuses them.

mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Collapsed = Collapsed;

/// Collapsed stacks.
pub(crate) struct Collapsed;

impl Reader for Collapsed {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::are_collapsed(head)
    }

    /// Lines of a log may have semicolons and end with a number.
    fn is_broad(&self) -> bool {
        true
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
