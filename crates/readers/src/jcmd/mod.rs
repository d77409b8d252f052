//! What `jcmd` prints: `VM.flags`, `Compiler.codecache`, `GC.heap_info`, `VM.native_memory`, `GC.class_histogram`, `VM.uptime`, `VM.version`, in a
//! file each or one after the other. Thread dumps have a reader of their own.
//!
//! Time: such outputs have none. A line with only a time before them (`date`) places what follows; so does the JVM's uptime if its
//! start is known. Otherwise the time at which the file was written is used, with a `clock_estimated` loss. Flags need no time.

mod load;
mod parse;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader};

/// The format.
pub(crate) static READER: Jcmd = Jcmd;

/// Answers of a JVM to diagnostic commands.
pub(crate) struct Jcmd;

impl Reader for Jcmd {
    fn name(&self) -> &'static str {
        load::FORMAT
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        parse::is_output(head)
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
