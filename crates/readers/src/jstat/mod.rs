//! `jstat -OPTION -t PID N`: collections, spaces of the heap, classes and compilations, row by row.
//!
//! The number of collections and their total time rise from row to row. Where they rise there were pauses: these are placed
//! at the end of the time between the rows, each with the mean length. So they are only as exact as the rows are far apart.
//!
//! Time: `-t` prints the JVM's uptime, so its start has to be known: from another file of the JVM, or `--started-at`. Until then, the last
//! row is placed at the file's time, with a `clock_estimated` loss. Without `-t` the file is refused with a command that records one.

mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Jstat = Jstat;

/// Tables of jstat.
pub(crate) struct Jstat;

impl Reader for Jstat {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_jstat(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
