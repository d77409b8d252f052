//! Folders for unpacked files. They are deleted when they are no longer needed, also when TERM, HUP or INT ends the
//! program. What a killed program has left is removed by the next one that needs such a folder.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock, fstatvfs};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempDir;

/// What their names begin with.
const PREFIX: &str = "fathom-unpacked-";

/// A folder that is younger may not have been locked yet by its maker.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// Entries of the folder for temporary files that are looked at for those left behind.
const ENTRIES_MAX: usize = 20_000;

/// How often a folder is removed in which something is written meanwhile.
const TRIES: usize = 100;

/// Those that are there now.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    folder: TempDir,
    /// Held for as long as the folder is wanted.
    _lock: File,
}

impl Folder {
    /// One inside of another one, or for itself.
    pub(crate) fn within(outer: Option<&Path>) -> io::Result<Folder> {
        static AT_FIRST: Once = Once::new();
        AT_FIRST.call_once(|| {
            remove_left_behind(&std::env::temp_dir());
            remove_at_signals();
        });
        let builder = tempfile::Builder::new().prefix(PREFIX).to_owned();
        // A signal finds none that is not listed.
        let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = outer.map_or_else(|| builder.tempdir(), |outer| builder.tempdir_in(outer))?;
        let lock = File::open(folder.path())?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        folders.push(folder.path().to_owned());
        Ok(Folder { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The program does not end in between.
        let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = fs::remove_dir_all(self.folder.path());
        folders.retain(|path| path != self.folder.path());
    }
}

/// Removes those that are there, before the program ends: threads that hold one may live on to the end.
pub(crate) fn remove_all() {
    drop(remove_and_make_none());
}

/// The same; no other is made while the answer is kept.
fn remove_and_make_none() -> MutexGuard<'static, Vec<PathBuf>> {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    for folder in folders.drain(..) {
        let _ = (0..TRIES).find(|_| fs::remove_dir_all(&folder).is_ok() || !folder.exists());
    }
    folders
}

/// Removes the folders and lets the signal do what it does. Where signals cannot be waited for the next start removes them.
fn remove_at_signals() {
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let _none_is_made = remove_and_make_none();
            let _ = emulate_default_handler(signal);
        }
    });
}

/// Removes what programs of the same user have left that do not live any more.
fn remove_left_behind(place: &Path) {
    let entries = fs::read_dir(place).into_iter().flatten().flatten().take(ENTRIES_MAX);
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let _ = remove_if_left_behind(&entry.path());
    }
}

fn remove_if_left_behind(path: &Path) -> io::Result<()> {
    let is = fs::symlink_metadata(path)?;
    let is_own = is.is_dir() && is.uid() == rustix::process::geteuid().as_raw();
    let age = SystemTime::now().duration_since(is.modified()?).unwrap_or_default();
    if !is_own || age < LEFT_BEHIND {
        return Ok(());
    }
    let lock = File::open(path)?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

/// What is free on the disk that a file is on.
pub(crate) fn free_bytes(file: &File) -> io::Result<u64> {
    let disk = fstatvfs(file)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_behind_is_removed_and_what_is_used_stays() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str, age_s: u64| {
            let path = place.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
            File::open(&path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
            path
        };
        let folders = [
            make("fathom-unpacked-1", 600),
            make("fathom-unpacked-2", 600),
            make("fathom-unpacked-3", 1),
            make("fathom-4", 600),
        ];
        let lock = File::open(&folders[1]).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        remove_left_behind(place.path());
        assert_eq!(folders.map(|path| path.exists()), [false, true, true, true]);
    }

    #[test]
    fn a_folder_is_there_until_it_is_dropped() {
        let folder = Folder::within(None).unwrap();
        let path = folder.path().to_owned();
        assert!(path.is_dir() && FOLDERS.lock().unwrap().contains(&path));
        drop(folder);
        assert!(!path.exists() && !FOLDERS.lock().unwrap().contains(&path));
    }
}
