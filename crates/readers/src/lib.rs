//! Reads files of other programs as evidence.
//!
//! One folder is one format: `parse*.rs` knows the format and no evidence, `load*.rs` knows both, `mod.rs` declares the
//! [`Reader`] as `pub(crate) static READER`. The build script finds the folders, so there is no list to edit. Formats
//! are recognised by their content; the user never names them.

pub mod archive;
pub mod blktrace;
mod bytes;
mod calls;
mod columns;
mod counts;
mod cursor;
mod cycles;
mod error;
mod input;
mod json_columns;
mod lines;
#[cfg_attr(not(unix), path = "not_mapped.rs")]
mod mapped;
mod pauses;
mod profiles;
mod rates;
mod time;
mod timed;
mod unread;
mod utf16;
mod wire;

pub use error::LoadError;
pub use input::{Input, written_ns};
pub use latency::arrivals::{Arrivals, Arrived, arrivals, as_request};
pub use time::TIMES_NS;

use std::path::{Path, PathBuf};

use fathom_evidence::Recording;

include!(concat!(env!("OUT_DIR"), "/readers.rs"));

/// How much of a file a reader sees to recognise it, in bytes (after decompression).
pub const SNIFF_BYTES: usize = 64 * 1024;

/// What the caller knows about the files.
#[derive(Debug, Default, Clone)]
pub struct LoadOptions {
    /// When the JVM started, for logs that only know the JVM's uptime, in ns since the Unix epoch.
    pub started_at_ns: Option<i64>,
    /// A regular expression with the groups `time` and `latency_ms` (or `latency_us`, `latency_s`,
    /// `latency_ns`) for lines of request logs in a format of their own.
    pub latency_pattern: Option<String>,
    /// What is added to the times of some files, in ns: their clock is another one. A reader only needs it for times that
    /// nothing else places; the caller moves what the files gave.
    pub clock_offsets: Vec<(PathBuf, i64)>,
    /// Whether verdicts are all that is wanted. They ask how many bytes there were, and not where: samples of bytes may then
    /// come without stacks, those of a thread and [a short time](fathom_evidence::tables::BYTES_TOGETHER_NS) as one row.
    pub for_verdicts: bool,
    /// Whether profiles are wanted that have no time of each sample. They show where time went; when it was slow, and why then,
    /// they cannot tell, and are refused with that.
    pub takes_untimed: bool,
}

impl LoadOptions {
    /// What is added to the times of a file, if that is known: by its path, or its name alone.
    pub fn clock_offset_ns(&self, file: &Path) -> Option<i64> {
        let is_it = |named: &Path| named == file || Some(named.as_os_str()) == file.file_name();
        self.clock_offsets.iter().find(|(named, _)| is_it(named)).map(|(_, ns)| *ns)
    }
}

/// A file format.
pub trait Reader: Sync {
    /// Name of the format, as users see it: `jfr`, `gc_log`.
    fn name(&self) -> &'static str;

    /// Whether a file that begins with `head` (at most [`SNIFF_BYTES`]) is of this format.
    fn sniff(&self, head: &[u8], path: &Path) -> bool;

    /// Whether files of other formats may look like this one too: it is asked last.
    fn is_broad(&self) -> bool {
        false
    }

    /// Puts files together that are parts of one whole, such as a rotated log. Most formats have none.
    fn group(&self, files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
        files.into_iter().map(|file| vec![file]).collect()
    }

    /// Reads one group of files. A file that is damaged gives what can be read and a loss row; an
    /// error is for a file of which nothing can be used.
    fn load(&self, files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError>;
}

/// All formats.
pub fn readers() -> &'static [&'static dyn Reader] {
    ALL
}

/// The reader of a format, by its name.
pub fn reader(name: &str) -> Option<&'static dyn Reader> {
    readers().iter().find(|reader| reader.name() == name).copied()
}

/// The reader for a file, by its content.
pub fn sniff(path: &Path) -> Result<&'static dyn Reader, LoadError> {
    let head = input::head(path, SNIFF_BYTES)?;
    if head.is_empty() {
        return Err(LoadError::Empty(path.to_owned()));
    }
    let of = |is_broad: bool| {
        readers().iter().find(|reader| reader.is_broad() == is_broad && reader.sniff(&head, path)).copied()
    };
    match (of(false), unread::says(&head)) {
        (Some(reader), _) => Ok(reader),
        (None, Some(says)) => Err(LoadError::Unusable { path: path.to_owned(), says }),
        (None, None) => of(true).ok_or_else(|| LoadError::UnknownFormat(path.to_owned())),
    }
}

/// Recognises and reads one file.
pub fn load_file(path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    sniff(path)?.load(&[path.to_owned()], options)
}

/// Files of which each is read by itself, as one recording.
pub(crate) fn load_each(
    files: &[PathBuf],
    load: impl Fn(&Path) -> Result<Recording, LoadError>,
) -> Result<Recording, LoadError> {
    let mut all = Recording::default();
    for file in files {
        all.absorb(load(file)?);
    }
    Ok(all)
}

/// Takes secrets out of a file in place: properties, environment and command lines in a Flight Recorder file, the same
/// that tables mask. How many texts were changed. Files of other formats hold none.
pub fn scrub(path: &Path) -> Result<usize, LoadError> {
    match sniff(path)?.name() {
        "jfr" => jfr::scrub(path),
        _ => Ok(0),
    }
}
