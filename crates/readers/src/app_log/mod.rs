//! Logs of applications: log4j, logback, `java.util.logging`, lines of JSON, syslog and what journald exports, bare or as containers write them.
//!
//! Messages are grouped by what they have in common ([`templates`], the algorithm Drain), and counted second by second. These
//! counts and a few lines of each kind are all that is kept of a log of any size. An exception below a line is a kind of its own.
//!
//! Time: a date with a zone is exact, and so is the time that a container or journald puts before a line. Without a zone it is read as UTC, without
//! a year (syslog) as of the year in which the file was written: `clock_estimated` losses. A time of day alone is refused unless the start of the
//! JVM is known.

mod entry;
mod export;
mod head;
mod json;
mod load;
mod stamp;
mod templates;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: AppLog = AppLog;

/// Logs of applications.
pub(crate) struct AppLog;

impl Reader for AppLog {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        entry::is_log(head)
    }

    fn is_broad(&self) -> bool {
        true
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
