//! `hs_err_pidN.log`: what HotSpot writes when it crashes by a signal, by an internal error, or because memory has run out.
//!
//! Such a file says why the JVM ended: signal, thread, frame, the use of heap and code cache, and the last events.
//!
//! Time: the file has its time in whole seconds, and only the name of its time zone. UTC is understood; any other zone is read as UTC
//! with a `clock_estimated` loss until the start of the JVM is known from elsewhere. The file states exactly how long the JVM had run.

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
