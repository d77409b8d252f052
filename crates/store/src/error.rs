//! What can go wrong with a folder.

use std::io;
use std::path::{Path, PathBuf};

use fathom_evidence::schema::SCHEMA_VERSION;

/// Why a folder could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was accessed.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file is there but is not what it should be.
    #[error("{}: not a table of a recording: {says}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        says: String,
    },
    /// No table at all.
    #[error("{}: no table of a recording in this folder", .0.display())]
    NotARecording(PathBuf),
    /// Another process writes or finishes it.
    #[error("{}: in use: its recorder, or who finishes it, is at work", .0.display())]
    InUse(PathBuf),
    /// Another process has finished it meanwhile.
    #[error("{}: this recording is finished already", .0.display())]
    FinishedAlready(PathBuf),
    /// Written by a newer Fathom.
    #[error("{}: schema version {found}, this program reads up to {SCHEMA_VERSION}: use a newer fathom", path.display())]
    TooNew {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

pub(crate) fn io_error(path: &Path, source: io::Error) -> FolderError {
    FolderError::Io { path: path.to_owned(), source }
}

pub(crate) fn format_error(path: &Path, says: &dyn std::fmt::Display) -> FolderError {
    FolderError::Format { path: path.to_owned(), says: says.to_string() }
}
