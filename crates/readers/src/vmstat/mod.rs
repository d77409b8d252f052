//! `vmstat -t N`: the machine's runnable tasks, memory, swap and CPUs, row by row.
//!
//! Time: `-t` prints local time and the name of the zone above it. UTC is trusted; the name of another zone gives no offset, and is read
//! as UTC with a `clock_estimated` loss. Without `-t` no row has a time, and the file is refused with the command that records one.

mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Vmstat = Vmstat;

/// Tables of vmstat.
pub(crate) struct Vmstat;

impl Reader for Vmstat {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_vmstat(head)
    }

    fn load(&self, files: &[PathBuf], _: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files)
    }
}
