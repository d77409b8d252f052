//! Files of `/proc` that a loop wrote one after the other, with the time before each round: `status`, `stat`, `schedstat`, `smaps_rollup` of a process,
//! `meminfo`, `vmstat`, `stat`, `loadavg`, `diskstats` and pressure of the machine, `cpu.stat` of a control group. Bare, below headings as `head` and
//! `tail` print them, or behind names as `grep` does.
//!
//! Time: a line with only a time places what follows it (`date` in any usual form). Without one the file is refused
//! with the command that records it.

mod lines_of;
mod load;
mod parse;
mod place;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: ProcFiles = ProcFiles;

/// Files of `/proc`.
pub(crate) struct ProcFiles;

impl Reader for ProcFiles {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_proc(head)
    }

    fn load(&self, files: &[PathBuf], _: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files)
    }
}
