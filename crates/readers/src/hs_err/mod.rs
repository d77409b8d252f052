//! `hs_err_pidN.log`: what HotSpot writes when it dies of a signal, of an error of its own, or because there is no memory left.
//!
//! Such a file says why the JVM is gone: signal, thread, frame, how full the heap and the code cache were, and the last events before it.
//!
//! Time: the file has its time in whole seconds, in a zone of which it gives the name only. UTC is understood; any other is read as UTC with a
//! `clock_estimated` loss until the start of the JVM is known from elsewhere: how long the JVM had run the file says exactly.

mod load;
mod parse;
mod parts;
mod report;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: HsErr = HsErr;

/// Error files of HotSpot.
pub(crate) struct HsErr;

impl Reader for HsErr {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_error_file(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
