//! What the program asks of the system that it runs on.
//!
//! On Linux it may be root, and others may write in the folders that it writes in: `linux` is for that. Elsewhere it only reads files
//! and writes answers, with the rights of its user: `elsewhere` has the same names, from the standard library.

use std::path::PathBuf;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(all(target_os = "linux", feature = "full")))]
#[path = "unwatched.rs"]
pub(crate) mod watched;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{confine, folder, left_in_jvm, owner, unpacked};
#[cfg(all(target_os = "linux", feature = "full"))]
pub(crate) use linux::watched;
#[cfg(target_os = "linux")]
pub(crate) use linux::{confine, folder, left_in_jvm, owner, unpacked};

/// What a command may still do when it is confined.
#[derive(Debug, Default)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is confined there"))]
pub(crate) struct Needs {
    /// Files and folders that it reads.
    pub(crate) reads: Vec<PathBuf>,
    /// Folders in which it writes.
    pub(crate) writes: Vec<PathBuf>,
}

/// What has a name in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    File,
    /// A device or a pipe.
    Stream,
    /// What cannot be written, in words.
    Other(&'static str),
}
