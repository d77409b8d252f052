//! Traces of the block layer, recorded beside a JVM: `blktrace`'s own files, and the text of `blkparse`.
//!
//! Each completed bio is a request, as the collector of block requests records it, with its stages by btt's definitions
//! (`blktrace`). Its thread is the one that queued it.
//!
//! Time: blktrace's files have both clocks at the start of the trace. The text of blkparse counts from there and does
//! not say when that was: it is refused unless `--clock-offset` places it.

mod load;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

use crate::{LoadError, LoadOptions, Reader, blktrace};

/// The format.
pub(crate) static READER: BlockTrace = BlockTrace;

/// Traces of the block layer.
pub(crate) struct BlockTrace;

impl Reader for BlockTrace {
    fn name(&self) -> &'static str {
        load::SOURCE
    }

    fn sniff(&self, head: &[u8], _: &Path) -> bool {
        blktrace::is_trace(head)
    }

    /// The files of all CPUs are one trace.
    fn group(&self, files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
        let mut traces: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for file in files {
            let name = file.to_string_lossy().into_owned();
            let base = name.split_once(blktrace::OF_CPU).map_or(name.as_str(), |(base, _)| base);
            traces.entry(PathBuf::from(base)).or_default().push(file);
        }
        traces.into_values().collect()
    }

    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
        load::load(files, options)
    }
}
