//! Thread dumps of HotSpot: `jstack`, `jcmd PID Thread.print`, `kill -3` (the dump is then in the JVM's standard output), and
//! `jcmd PID Thread.dump_to_file` as text or JSON, which also has virtual threads.
//!
//! One dump is one look at every thread. Several dumps of one JVM, in one file or in several, are samples of the wall
//! clock: each dump represents half of the time to its neighbours. A thread that was found in the same wait twice
//! without using a CPU in between waited all the time. Locks have owners, so the thread that caused a wait is known.
//!
//! Time: dumps as text have local time without a zone, in whole seconds. They are read as UTC with a `clock_estimated` loss until
//! the start of the JVM is known from elsewhere; how long each thread has lived (JDK 11 and later) then gives the time to 10 ms. JSON has UTC.

mod dump;
mod gather;
mod gather_file;
mod gather_json;
mod load;
mod parse;
mod parse_thread;
mod place;
mod waits;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: ThreadDump = ThreadDump;

/// Thread dumps.
pub(crate) struct ThreadDump;

impl Reader for ThreadDump {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::Form::of(head).is_some()
    }

    fn group(&self, files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
        load::group(files)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
