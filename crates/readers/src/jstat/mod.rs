//! `jstat -OPTION -t PID N`: collections, spaces of the heap, classes and compilations, row by row.
//!
//! How many collections there have been and how long they took in all rises from row to row. Where it does there were pauses: they are placed at the end of
//! the time between the rows, each as long as their mean, which is as exact as the rows are far apart.
//!
//! Time: `-t` prints the JVM's uptime, so that its start has to be known: from another file of the JVM, or `--started-at`. Until it is, the last row is
//! placed at the time of the file, with a `clock_estimated` loss. Without `-t` the file is refused with the command that records one.

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
