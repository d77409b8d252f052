//! Who a recording belongs to: the person who called, also under sudo.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{fchown, lchown};
use std::path::Path;

use anyhow::{Context, Result};
use rustix::process::geteuid;

/// Gives what was written under sudo to whoever called sudo.
pub(crate) fn give_to_caller(path: &Path) -> Result<()> {
    match caller() {
        Some((uid, gid)) => {
            give(path, uid, gid).with_context(|| format!("{}: cannot be given to user {uid}", path.display()))
        }
        None => Ok(()),
    }
}

/// Gives an open file to whoever called sudo.
pub(crate) fn give_file(file: &File) -> io::Result<()> {
    caller().map_or(Ok(()), |(uid, gid)| fchown(file, Some(uid), Some(gid)))
}

/// Whether a user is one whom this program works for: its own, root, or who called sudo.
pub(crate) fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw() || caller().is_some_and(|(caller, _)| caller == uid)
}

/// User and group of who called sudo.
fn caller() -> Option<(u32, u32)> {
    let id = |name: &str| env::var(name).ok().and_then(|id| id.parse::<u32>().ok());
    geteuid().is_root().then(|| id("SUDO_UID").zip(id("SUDO_GID"))).flatten()
}

/// Links are not followed: the folder is ours, but what is in it need not be.
fn give(path: &Path, uid: u32, gid: u32) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), uid, gid)?;
        }
    }
    lchown(path, Some(uid), Some(gid))
}
