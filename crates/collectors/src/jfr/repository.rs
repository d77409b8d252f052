//! The files that Flight Recorder writes while it records, held open in case the JVM ends before it can be asked for a
//! copy: the JVM removes them at a normal end, and leaves the last one unfinished when it is killed. An open file stays
//! readable either way.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;

use crate::Target;
use crate::followed::Followed;
use crate::hostile_files::{names, open_file, open_folder, tmp_of};
use crate::raw::Raw;

/// Files that are held: enough for the recording's size limit at the recorder's usual 12 MB each.
const FILES_MAX: usize = 6;
/// Entries of the folder that are looked at.
const ENTRIES_MAX: usize = 1_000;

/// The folder and its files.
#[derive(Debug)]
pub(super) struct Repository {
    target: Target,
    folder: OwnedFd,
    /// By name, which is the time at which each was begun.
    files: BTreeMap<String, File>,
    /// The one that is being followed: the newest when it began.
    followed: Option<String>,
}

impl Repository {
    /// Opens the folder that the JVM states; only one in `/tmp`, where it is unless it was moved.
    pub(super) fn open(target: &Target, path: &str) -> io::Result<Repository> {
        let name = path.strip_prefix("/tmp/").filter(|name| !name.contains('/'));
        let name = name.ok_or_else(|| io::Error::other(format!("{path} is not in /tmp")))?;
        let tmp = tmp_of(target)?;
        let folder = open_folder(target, tmp, name)?;
        let mut repository = Repository { target: target.clone(), folder, files: BTreeMap::new(), followed: None };
        repository.look();
        repository.followed = repository.files.keys().next_back().cloned();
        Ok(repository)
    }

    /// Opens files that are new and lets go of the oldest.
    pub(super) fn look(&mut self) {
        // The folder is gone when the JVM is.
        for name in names(&self.target, &self.folder, ENTRIES_MAX) {
            if !name.ends_with(".jfr") || self.files.contains_key(&name) {
                continue;
            }
            if let Ok(file) = open_file(&self.target, &self.folder, &name) {
                self.files.insert(name, file);
            }
        }
        while self.files.len() > FILES_MAX {
            self.files.pop_first();
        }
    }

    /// Copies what was written since the last time into `copy`.
    pub(super) fn follow(&mut self, copy: &mut Followed) -> io::Result<()> {
        let from = self.followed.clone().unwrap_or_default();
        for (name, file) in self.files.range(from..) {
            if self.followed.as_ref().is_some_and(|before| before != name) {
                copy.begin_file();
            }
            self.followed = Some(name.clone());
            copy.step(file)?;
        }
        Ok(())
    }

    /// Writes all files into one: a recording is pieces one after the other. Whether there was any.
    pub(super) fn take(mut self, raw: &Raw, name: &str) -> io::Result<bool> {
        self.look();
        let mut all: Box<dyn Read> = Box::new(io::empty());
        let mut has_any = false;
        for mut file in self.files.into_values() {
            file.rewind()?;
            has_any |= file.metadata()?.len() > 0;
            all = Box::new(all.chain(file));
        }
        if has_any {
            raw.keep(&mut all, name)?;
        }
        Ok(has_any)
    }
}
