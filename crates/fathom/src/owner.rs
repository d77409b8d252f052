//! Who a recording belongs to: the person who called, also under sudo.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::lchown;
use std::path::Path;

use anyhow::{Context, Result};

/// Gives what was written under sudo to whoever called sudo.
pub(crate) fn give_to_caller(path: &Path) -> Result<()> {
    let id = |name: &str| env::var(name).ok().and_then(|id| id.parse::<u32>().ok());
    match (id("SUDO_UID"), id("SUDO_GID")) {
        (Some(uid), Some(gid)) if rustix::process::geteuid().is_root() => {
            give(path, uid, gid).with_context(|| format!("{}: cannot be given to user {uid}", path.display()))
        }
        _ => Ok(()),
    }
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
