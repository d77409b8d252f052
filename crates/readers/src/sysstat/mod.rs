//! `iostat`, `mpstat`, `pidstat` and `sar` of the package sysstat, as text, and sar's own files: themselves, and as `sadf -j` prints them.
//! These have the kernel's numbers. This module reads them without `sadf`, because files are read without the right to start programs.
//!
//! Every row of text is an average since the row before. It becomes a rise of the kernel's counter, so that recordings
//! of these tools and of Fathom have the same rows.
//!
//! Time: sar's own file has seconds since the epoch. `sadf -j` has UTC or local time and says which; iostat has a zone where `S_TIME_FORMAT=ISO` is set. Otherwise the date stands in the first line
//! and the time in each row, local and without a zone: read as UTC with a `clock_estimated` loss.

mod load;
mod load_binary;
mod meaning;
mod parse;
mod parse_binary;
mod parse_json;
mod times;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Sysstat = Sysstat;

/// Tables of sysstat's tools.
pub(crate) struct Sysstat;

impl Reader for Sysstat {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_tables(head) || parse_json::is_sadf(head) || parse_binary::is_binary(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
