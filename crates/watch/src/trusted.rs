//! Files and folders that no other user can change: a service that may be root trusts and writes no others.
//!
//! A user who can write a folder, or one of its parents, can put links and other files there. So owners and modes are
//! checked once, at the start, as PostgreSQL does with its data folder. What has passed stays as it is, because only
//! its owner can change it.

use std::env;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, StatVfsMountFlags};
use rustix::process::{getegid, geteuid};

const ROOT: u32 = 0;
/// In a folder with this bit only its owner may rename and remove a file.
const STICKY: u32 = 0o1000;
const WRITTEN_BY_GROUP: u32 = 0o020;
const WRITTEN_BY_ALL: u32 = 0o002;

/// Entries of the service's folder that are looked at.
const ENTRIES_MAX: usize = 100_000;
/// Folders in it, in each other: recordings have `raw`, minutes have their days.
const FOLDERS_DEEP: usize = 3;

/// User and group.
pub(crate) type Owner = (u32, u32);

/// Who called sudo.
fn caller() -> Option<Owner> {
    let id = |name: &str| env::var(name).ok().and_then(|id| id.parse::<u32>().ok());
    geteuid().is_root().then(|| id("SUDO_UID").zip(id("SUDO_GID"))).flatten()
}

/// Makes the service's folder if it is not there, and refuses one that others can change. Its path without links.
pub(crate) fn folder(path: &Path) -> io::Result<PathBuf> {
    let own = [ROOT, geteuid().as_raw()];
    let there = path.ancestors().find(|folder| folder.symlink_metadata().is_ok()).unwrap_or(path);
    check_chain(&fs::canonicalize(there)?, &own, there == path)?;
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let path = fs::canonicalize(path)?;
    check_chain(&path, &own, true)?;
    let mut left = ENTRIES_MAX;
    check_content(&path, FOLDERS_DEEP, &mut left)?;
    Ok(path)
}

/// The folder and those above it. In one that is open to all, as `/tmp`, what is ours stays ours; but the service's own `is_closed`.
fn check_chain(path: &Path, owners: &[u32], is_closed: bool) -> io::Result<()> {
    for folder in path.ancestors() {
        let is = fs::symlink_metadata(folder)?;
        check_owner(folder, &is, owners)?;
        let is_shared = is.mode() & STICKY != 0 && !(is_closed && folder == path);
        if !is_shared && is_written_by_others(&is) && !is_read_only(folder) {
            return Err(refused(folder, "others can write there: chmod go-w, or name another"));
        }
    }
    Ok(())
}

/// What is in the service's folder: what others put there before it was closed is not believed.
fn check_content(folder: &Path, deep: usize, left: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is = fs::symlink_metadata(&path)?;
        check_owner(&path, &is, &owners_of_content())?;
        if is.is_symlink() {
            return Err(refused(&path, "a link, which the service does not make: remove it"));
        }
        *left = left.checked_sub(1).ok_or_else(|| refused(folder, "holds too many files for a service's folder"))?;
        if is.is_dir() && deep > 0 {
            check_content(&path, deep - 1, left)?;
        }
    }
    Ok(())
}

/// What is recorded under sudo may have been given to who called it.
fn owners_of_content() -> Vec<u32> {
    [ROOT, geteuid().as_raw()].into_iter().chain(caller().map(|(uid, _)| uid)).collect()
}

fn check_owner(path: &Path, is: &Metadata, owners: &[u32]) -> io::Result<()> {
    match owners.contains(&is.uid()) {
        true => Ok(()),
        false => Err(refused(path, &format!("belongs to user {}, not to user {}", is.uid(), geteuid().as_raw()))),
    }
}

/// A read-only mount cannot be written, whatever the mode: Kubernetes mounts configurations so.
fn is_read_only(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Root and its own user may share a group with others of it only where that is theirs.
fn is_written_by_others(is: &Metadata) -> bool {
    let by_group = is.mode() & WRITTEN_BY_GROUP != 0 && ![0, getegid().as_raw()].contains(&is.gid());
    is.mode() & WRITTEN_BY_ALL != 0 || by_group
}

fn refused(path: &Path, says: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{}: {says}", path.display()))
}

/// Opens a file of root, of the own user, or of the user who called sudo, which others can neither change nor exchange.
/// Also returns the owner if that is the user who called sudo.
pub(crate) fn file(path: &Path) -> io::Result<(File, Option<Owner>)> {
    let file = open(path)?;
    let is = file.metadata()?;
    let owner = caller().filter(|(uid, _)| *uid == is.uid());
    let mut owners = vec![ROOT, geteuid().as_raw()];
    owners.extend(owner.map(|(uid, _)| uid));
    check_file(path, &is, &owners)?;
    let real = fs::canonicalize(path)?;
    check_chain(real.parent().unwrap_or(&real), &owners, false)?;
    Ok((file, owner))
}

/// Opens a file with a secret. If another user's configuration names it, that user must own it: root can read what they cannot.
pub(crate) fn secret(path: &Path, named_by: Option<Owner>) -> io::Result<File> {
    let file = open(path)?;
    let owners = named_by.map_or_else(|| vec![ROOT, geteuid().as_raw()], |(uid, _)| vec![uid]);
    check_file(path, &file.metadata()?, &owners)?;
    Ok(file)
}

/// A regular file, without waiting for the other end of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refused(path, "this is no file")),
    }
}

fn check_file(path: &Path, is: &Metadata, owners: &[u32]) -> io::Result<()> {
    check_owner(path, is, owners)?;
    match is_written_by_others(is) {
        true => Err(refused(path, "others can write it: chmod go-w")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const NOBODY: u32 = 65_534;

    fn with_mode(path: PathBuf, mode: u32) -> PathBuf {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_folder_is_nobody_elses() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let made = |name: &str, mode| {
            fs::create_dir_all(at(name)).unwrap();
            with_mode(at(name), mode)
        };
        assert!(folder(&at("new/one")).is_ok() && folder(&at("new/one")).is_ok(), "made, and there");
        assert_eq!(fs::metadata(at("new/one")).unwrap().mode() & 0o777, 0o700);
        assert!(folder(&made("readable", 0o755)).is_ok());
        assert!(folder(&made("open", 0o777)).is_err());
        assert!(folder(&made("sticky", 0o1777)).is_err(), "others could put files in it");
        made("sticky/own", 0o700);
        assert!(folder(&at("sticky/own")).is_ok() && folder(&at("sticky/new")).is_ok(), "as in /tmp");
        made("open/own", 0o700);
        assert!(folder(&at("open/own")).is_err() && folder(&at("open/new")).is_err(), "others could exchange it");
        assert!(!at("open/new").exists());
        symlink(at("readable"), at("link")).unwrap();
        assert_eq!(folder(&at("link")).unwrap(), fs::canonicalize(at("readable")).unwrap());
        // What the attack lays there: a link to a file of root's.
        fs::write(at("victim"), "precious").unwrap();
        symlink(at("victim"), at("readable/lock")).unwrap();
        assert!(folder(&at("readable")).unwrap_err().to_string().contains("a link"));
        fs::create_dir(at("new/one/minutes")).unwrap();
        symlink(at("victim"), at("new/one/minutes/journal.jsonl")).unwrap();
        assert!(folder(&at("new/one")).is_err());
        assert_eq!(fs::read_to_string(at("victim")).unwrap(), "precious");
        if geteuid().is_root() {
            chown(made("theirs", 0o700), Some(NOBODY), Some(NOBODY)).unwrap();
            assert!(folder(&at("theirs")).unwrap_err().to_string().contains("belongs to user 65534"));
            chown(made("shared", 0o770), None, Some(NOBODY)).unwrap();
            assert!(folder(&at("shared")).is_err(), "a group of others");
        }
    }

    #[test]
    fn a_configuration_is_a_file_that_others_cannot_change() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let made = |name: &str, mode| {
            fs::write(at(name), "x").unwrap();
            with_mode(at(name), mode)
        };
        assert!(file(&made("good", 0o644)).is_ok() && secret(&at("good"), None).is_ok());
        assert!(file(&made("open", 0o666)).is_err() && secret(&at("open"), None).is_err());
        assert!(file(place.path()).is_err());
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
        assert!(file(&at("pipe")).unwrap_err().to_string().contains("no file"), "and it does not wait");
        assert!(file(Path::new("/dev/zero")).is_err());
        symlink(at("good"), at("link")).unwrap();
        assert!(file(&at("link")).is_ok());
        fs::create_dir(at("folder")).unwrap();
        made("folder/good", 0o644);
        with_mode(at("folder"), 0o777);
        assert!(file(&at("folder/good")).is_err(), "others could exchange it");
        with_mode(at("folder"), 0o1777);
        assert!(file(&at("folder/good")).is_ok());
        if geteuid().is_root() {
            chown(made("theirs", 0o600), Some(NOBODY), Some(NOBODY)).unwrap();
            assert!(file(&at("theirs")).is_err());
            assert!(secret(&at("theirs"), Some((NOBODY, NOBODY))).is_ok());
            assert!(secret(&at("good"), Some((NOBODY, NOBODY))).is_err(), "root's secret for somebody else");
        }
    }
}
