//! Profiles of speedscope's own format.
//!
//! Time: none that can be relied on. Samples have weights, one after the other, and those during which a thread waited may be left out:
//! where a sample is on that axis is not when it was. So they show where time went and cannot tell when it was slow.

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
