//! Which sockets are the target's: its descriptors link to them.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::time::Duration;

use rustix::fs::{Dir, readlinkat};

use super::parse;
use crate::Target;
use crate::procfs;
use crate::rate_limit::RateLimit;

/// Descriptors beyond this many are not looked at.
const MAX_DESCRIPTORS: usize = 200_000;

/// The inodes of the target's sockets, looked up every few seconds: with many descriptors that is dear.
pub(super) struct OwnedSockets {
    folder: io::Result<File>,
    uid: u64,
    inodes: HashSet<u64>,
    pub(super) limit: RateLimit,
    /// Whether there were more descriptors than are looked at.
    pub(super) has_more: bool,
    /// How many descriptors there were at the last look.
    pub(super) open: Option<usize>,
}

impl OwnedSockets {
    pub(super) fn of(target: &Target) -> OwnedSockets {
        OwnedSockets {
            folder: procfs::file(target.proc("fd")),
            uid: u64::from(target.uid),
            inodes: HashSet::new(),
            limit: RateLimit::every(Duration::from_secs(2)),
            has_more: false,
            open: None,
        }
    }

    /// Why the descriptors cannot be seen, if so.
    pub(super) fn refused(&self) -> Option<&io::Error> {
        self.folder.as_ref().err()
    }

    /// Looks again if it is time.
    pub(super) fn renew(&mut self, now_ns: i64) {
        let Some(reading) = self.limit.begin(now_ns) else { return };
        if let Ok(folder) = &self.folder
            && let Ok(entries) = Dir::read_from(folder)
        {
            self.inodes.clear();
            let mut open = 0;
            let mut link = Vec::new();
            let mut left = MAX_DESCRIPTORS;
            for entry in entries.flatten() {
                if left == 0 {
                    self.has_more = true;
                    break;
                }
                left -= 1;
                open += usize::from(entry.file_name() != c"." && entry.file_name() != c"..");
                // The descriptor may have been closed meanwhile.
                if let Ok(text) = readlinkat(folder, entry.file_name(), std::mem::take(&mut link)) {
                    self.inodes.extend(parse::inode(text.as_bytes()));
                    link = text.into_bytes();
                }
            }
            self.open = Some(open).filter(|_| !self.has_more);
        }
        self.limit.end(reading);
    }

    /// Whether a socket is the target's; where descriptors are hidden, whether it is its user's.
    pub(super) fn has(&self, inode: u64, uid: u64) -> bool {
        match &self.folder {
            Ok(_) => self.inodes.contains(&inode),
            Err(_) => uid == self.uid && inode != 0,
        }
    }
}
