//! A folder of the target's user in the target's `/tmp`, for files that the JVM has to read or write.
//!
//! No other user can enter it, so no other user can put a link there. It is removed when the value is dropped. A folder
//! whose maker was killed is removed by the next one that is made: its lock shows that the maker has gone.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::Target;
use crate::clock::monotonic_ns;
use crate::hostile_files::{clear, create_file, create_folder, names, open_file, open_folder, remove_file, tmp_of};
use crate::raw::Raw;

/// What the names begin with. What follows is the process and an instant.
const PREFIX: &str = "fathom-";
/// What follows the beginning of the one for what the JVM writes when it ends.
const END: &str = "end-";
/// Entries of `/tmp` that are looked at for folders left behind.
const ENTRIES_MAX: usize = 20_000;
/// A folder that is younger may not have been locked yet by its maker, in s.
const LEFT_BEHIND_S: i64 = 60;
/// No file that a JVM wrote for us is larger, in bytes.
const FILE_MAX_BYTES: u64 = 1 << 30;

/// The folder.
#[derive(Debug)]
pub(crate) struct PrivateFolder {
    target: Target,
    tmp: OwnedFd,
    folder: OwnedFd,
    name: String,
}

impl PrivateFolder {
    /// Makes one.
    pub(crate) fn make(target: &Target) -> io::Result<PrivateFolder> {
        PrivateFolder::make_named(target, PREFIX)
    }

    /// Makes one for what the JVM writes when it ends. That it is held tells nothing of what is at work in the process
    /// ([`PrivateFolder::is_only`]).
    pub(crate) fn make_for_the_end(target: &Target) -> io::Result<PrivateFolder> {
        PrivateFolder::make_named(target, &format!("{PREFIX}{END}"))
    }

    fn make_named(target: &Target, start: &str) -> io::Result<PrivateFolder> {
        let tmp = tmp_of(target)?;
        remove_left_behind(target, &tmp);
        let name = format!("{start}{}-{:x}", target.inner_pid, monotonic_ns());
        create_folder(target, &tmp, &name)?;
        let folder = open_folder(target, &tmp, &name)?;
        flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
        Ok(PrivateFolder { target: target.clone(), tmp, folder, name })
    }

    /// Takes over the one of a recorder that is gone, or is just going.
    pub(crate) fn adopt(target: &Target, name: &str) -> io::Result<PrivateFolder> {
        let tmp = tmp_of(target)?;
        let folder = open_folder(target, &tmp, name)?;
        flock(&folder, FlockOperation::LockExclusive)?;
        Ok(PrivateFolder { target: target.clone(), tmp, folder, name: name.to_owned() })
    }

    /// Its name in `/tmp`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A file in it, as the JVM has to name it.
    pub(crate) fn inner_path(&self, file: &str) -> String {
        format!("/tmp/{}/{file}", self.name)
    }

    /// Writes a file that the JVM will read.
    pub(crate) fn write(&self, file: &str, bytes: &[u8]) -> io::Result<()> {
        create_file(&self.target, &self.folder, file)?.write_all(bytes)
    }

    /// Opens a file that the JVM has written, or is writing.
    pub(crate) fn open(&self, file: &str) -> io::Result<File> {
        open_file(&self.target, &self.folder, file)
    }

    /// Copies a file that the JVM has written to a new one, which is its owner's only.
    pub(crate) fn take(&self, file: &str, raw: &Raw, name: &str) -> io::Result<()> {
        raw.keep(&mut self.open(file)?.take(FILE_MAX_BYTES), name)
    }

    /// Removes a file; one that is not there is as good.
    pub(crate) fn remove(&self, file: &str) {
        let _ = remove_file(&self.target, &self.folder, file);
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next recording.
        let _ = clear(&self.target, &self.tmp, &self.folder, &self.name, ENTRIES_MAX);
    }
}

impl PrivateFolder {
    /// Whether no other recorder is at work in this process: none holds a folder.
    pub(crate) fn is_only(&self) -> bool {
        let mut others = own_names(&self.target, &self.tmp).filter(|name| *name != self.name);
        let start = format!("{PREFIX}{}-", self.target.inner_pid);
        !others.any(|name| name.starts_with(&start) && self.is_held(&name))
    }

    fn is_held(&self, name: &str) -> bool {
        let Ok(folder) = open_folder(&self.target, &self.tmp, name) else { return false };
        flock(&folder, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
    }
}

/// Folders of recorders that were killed.
fn remove_left_behind(target: &Target, tmp: &OwnedFd) {
    for name in own_names(target, tmp) {
        let _ = remove_if_left_behind(target, tmp, &name);
    }
}

/// Names as [`PrivateFolder::make_named`] makes them. Users keep folders of their own that only begin in the same way.
fn own_names(target: &Target, tmp: &OwnedFd) -> impl Iterator<Item = String> {
    names(target, tmp, ENTRIES_MAX).into_iter().filter(|name| is_own_name(name))
}

fn is_own_name(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let parts = rest.strip_prefix(END).unwrap_or(rest).split_once('-');
    parts.is_some_and(|(pid, instant)| pid.parse::<u32>().is_ok() && i64::from_str_radix(instant, 16).is_ok())
}

fn remove_if_left_behind(target: &Target, tmp: &OwnedFd, name: &str) -> io::Result<()> {
    let folder = open_folder(target, tmp, name)?;
    let is = fstat(&folder)?;
    let age_s = clock_gettime(ClockId::Realtime).tv_sec.saturating_sub(is.st_mtime);
    let is_ours = is.st_uid == target.uid && is.st_mode & 0o777 == 0o700;
    if !is_ours || age_s < LEFT_BEHIND_S {
        return Ok(());
    }
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => clear(target, tmp, &folder, name, ENTRIES_MAX),
        Err(Errno::WOULDBLOCK) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::hostile_files::tests::Nobody;

    fn own() -> Target {
        Target::of(std::process::id()).unwrap()
    }

    #[test]
    fn folders_of_users_are_not_taken_for_own_ones() {
        for own in ["fathom-7-1f", "fathom-end-4194304-7fffffffffffffff"] {
            assert!(is_own_name(own), "{own}");
        }
        for of_users in
            ["fathom-labs", "fathom-7", "fathom-7-recordings", "fathom-end-7", "fathom-2026-11-25", "fathom-"]
        {
            assert!(!is_own_name(of_users), "{of_users}");
        }
    }

    #[test]
    fn files_go_in_and_out_and_nothing_stays() {
        let folder = PrivateFolder::make(&own()).unwrap();
        let path = PathBuf::from(folder.inner_path("settings"));
        folder.write("settings", b"x").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x");
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(folder.write("settings", b"y").is_err(), "nothing is overwritten");
        let place = tempfile::tempdir().unwrap();
        let raw = Raw::left(place.path());
        folder.take("settings", &raw, "copy").unwrap();
        assert_eq!(fs::read(raw.file("copy")).unwrap(), b"x");
        assert_eq!(fs::metadata(raw.file("copy")).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(folder.take("settings", &raw, "copy").is_err(), "what is there already stays");
        symlink("/etc/passwd", path.with_file_name("link")).unwrap();
        assert!(folder.take("link", &raw, "other").is_err());
        drop(folder);
        assert!(!path.parent().unwrap().exists());
        assert!(Path::new("/etc/passwd").exists());
    }

    #[test]
    fn belongs_to_the_targets_user() {
        let Some(nobody) = Nobody::new(&[]) else { return };
        let folder = PrivateFolder::make(&nobody.target()).unwrap();
        let path = PathBuf::from(folder.inner_path("x"));
        folder.write("x", b"").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().uid(), Nobody::UID);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().uid(), Nobody::UID);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_recorder_left_is_removed() {
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
        let make = |instant: u64| {
            let path = PathBuf::from(format!("/tmp/{PREFIX}{}-{instant:x}", std::process::id()));
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            fs::write(path.join("settings"), "x").unwrap();
            path
        };
        let (left, used, young) = (make(1), make(2), make(3));
        for path in [&left, &used] {
            File::open(path).unwrap().set_modified(old).unwrap();
        }
        let lock = File::open(&used).unwrap();
        lock.lock().unwrap();
        drop(PrivateFolder::make(&own()).unwrap());
        assert_eq!((left.exists(), used.exists(), young.exists()), (false, true, true));
        drop(lock);
        for path in [used, young] {
            fs::remove_dir_all(path).unwrap();
        }
    }
}
