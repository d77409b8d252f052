//! Who owns a recording: the user who called, also under sudo.
//!
//! Root writes in a folder that another user may rename or replace at any moment. So the recording's folder is made and
//! opened once, it becomes the working folder, and everything is written and given away from there: never by a path
//! that may have changed its meaning.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fstat, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::{fchdir, geteuid};

/// A folder and nothing that a link of its name leads to.
const FOLDER_ITSELF: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Folders in folders of a recording; ours have one.
const DEPTH_MAX: usize = 3;

/// A folder that was made for a recording, open.
pub(crate) struct Place {
    folder: OwnedFd,
    parent: OwnedFd,
    name: OsString,
}

impl Place {
    /// Makes the folder, for its owner only.
    pub(crate) fn make(path: &Path) -> Result<Place> {
        let cannot = || format!("{}: cannot be made", path.display());
        let name = path.file_name().with_context(|| format!("{}: -o has to name a folder", path.display()))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let reachable = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = openat(CWD, parent, reachable, Mode::empty()).with_context(cannot)?;
        match mkdirat(&parent, name, Mode::RWXU) {
            Err(Errno::EXIST) => bail!("{}: exists already; name another folder with -o", path.display()),
            made => made.with_context(cannot)?,
        }
        let made = openat(&parent, name, FOLDER_ITSELF, Mode::empty()).with_context(cannot)?;
        let is = fstat(&made).with_context(cannot)?;
        // Another user may have replaced the folder by one of their own.
        if is.st_uid != geteuid().as_raw() || is.st_mode & 0o777 != 0o700 {
            bail!("{}: the output folder was replaced while it was made; write where only you can", path.display());
        }
        Ok(Place { folder: made, parent, name: name.to_owned() })
    }

    /// Makes it the working folder: from now on it is `.`, whatever becomes of its name.
    pub(crate) fn enter(&self) -> Result<()> {
        fchdir(&self.folder).context("cannot enter the recording's folder")
    }

    /// Takes the folder away if nothing was written into it.
    pub(crate) fn remove_if_empty(&self) {
        // One that is not empty refuses, and one that was exchanged is not ours.
        let _ = unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
    }

    /// A path to the folder, whatever becomes of its name.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }

    /// Gives what was written under sudo to the user who called sudo.
    pub(crate) fn give_to_caller(&self) -> Result<()> {
        give_folder(&self.folder)
    }
}

/// Makes an existing folder the working folder, if it must later be given to another user: then it is `.`.
pub(crate) fn enter_to_give(path: &Path) -> Result<Option<OwnedFd>> {
    if caller().is_none() {
        return Ok(None);
    }
    let cannot = || format!("{}: cannot be entered; name the folder itself, not a link to it", path.display());
    let folder = openat(CWD, path, FOLDER_ITSELF, Mode::empty()).with_context(cannot)?;
    fchdir(&folder).with_context(cannot)?;
    Ok(Some(folder))
}

/// Gives an open folder and its content to the user who called sudo.
pub(crate) fn give_folder(folder: impl AsFd) -> Result<()> {
    let Some((uid, gid)) = caller() else { return Ok(()) };
    give(folder, uid, gid, DEPTH_MAX).with_context(|| format!("the recording cannot be given to user {uid}"))
}

/// Makes the missing folders on the way, for the user who called sudo.
pub(crate) fn make_folders(path: &Path) -> Result<()> {
    make_folders_for(caller(), path)
}

fn make_folders_for(caller: Option<(u32, u32)>, path: &Path) -> Result<()> {
    let made = match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_folders_for(caller, path.parent().ok_or(error)?)?;
            fs::create_dir(path)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        made => made,
    };
    made?;
    caller.map_or(Ok(()), |(uid, gid)| give_made(path, uid, gid))
}

/// Gives a folder that was just made.
fn give_made(path: &Path, uid: u32, gid: u32) -> Result<()> {
    // Behind a slash a link would be followed.
    let made = openat(CWD, path.components().collect::<PathBuf>(), FOLDER_ITSELF, Mode::empty())?;
    let entries = Dir::read_from(&made)?.collect::<Result<Vec<_>, _>>()?;
    // With something in it, it is another one.
    if entries.iter().any(|entry| !matches!(entry.file_name().to_bytes(), b"." | b"..")) {
        bail!("the output folder was replaced while it was made; write where only you can");
    }
    Ok(own(made, uid, gid)?)
}

/// Gives an open file to the user who called sudo.
pub(crate) fn give_file(file: &File) -> io::Result<()> {
    caller().map_or(Ok(()), |(uid, gid)| fchown(file, Some(uid), Some(gid)))
}

/// Whether this program works for a user: its own, root, or the one who called sudo.
pub(crate) fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw() || caller().is_some_and(|(caller, _)| caller == uid)
}

/// User and group of who called sudo.
fn caller() -> Option<(u32, u32)> {
    let id = |name: &str| env::var(name).ok().and_then(|id| id.parse::<u32>().ok());
    geteuid().is_root().then(|| id("SUDO_UID").zip(id("SUDO_GID"))).flatten()
}

/// Gives the files in an open folder, then the folder: until then no other user can enter it.
fn give(folder: impl AsFd, uid: u32, gid: u32, depth: usize) -> io::Result<()> {
    let entries = Dir::read_from(&folder)?.collect::<Result<Vec<_>, _>>()?;
    for entry in entries.iter().filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b"..")) {
        let found =
            openat(&folder, entry.file_name(), OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let is = fstat(&found)?;
        match FileType::from_raw_mode(is.st_mode) {
            FileType::Directory if depth > 0 => {
                let inner = openat(&found, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
                give(inner, uid, gid, depth - 1)?;
            }
            // A file with another name elsewhere is not ours to give.
            FileType::RegularFile if is.st_nlink == 1 => own(&found, uid, gid)?,
            _ => {}
        }
    }
    own(folder, uid, gid)
}

fn own(found: impl AsFd, uid: u32, gid: u32) -> io::Result<()> {
    Ok(chownat(found, "", Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)), AtFlags::EMPTY_PATH)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_is_made_once_and_for_its_owner() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.fathom");
        Place::make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        symlink("a.fathom", place.path().join("link")).unwrap();
        for (name, says) in [
            ("a.fathom", "exists already"),
            ("link", "exists already"),
            ("no/such", "No such file"),
            ("..", "has to name"),
        ] {
            let error = Place::make(&place.path().join(name)).map(drop).unwrap_err();
            assert!(format!("{error:#}").contains(says), "{name}: {error:#}");
        }
    }

    #[test]
    fn folders_on_the_way_are_the_callers_and_others_stay_whose_they_are() {
        if !geteuid().is_root() {
            println!("SKIPPED: only root can give files away");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("there")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink("there", at("link")).unwrap();
        for path in ["there/a/b/", "there/a/c", "there", "link/d"] {
            make_folders_for(Some((65_534, 65_534)), &at(path)).unwrap();
        }
        for (name, owner) in [("there", 0), ("there/a", 65_534), ("there/a/b", 65_534), ("there/d", 65_534)] {
            assert_eq!(fs::symlink_metadata(at(name)).unwrap().uid(), owner, "{name}");
        }
        assert!(make_folders_for(None, &at("file")).is_err() && make_folders_for(None, &at("file/x")).is_err());
    }

    #[test]
    fn an_exchange_of_folders_gives_away_nothing_of_others() {
        if !geteuid().is_root() {
            println!("SKIPPED: only root can give files away");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for folder in ["mine", "others", "others/a.fathom"] {
            fs::create_dir(at(folder)).unwrap();
        }
        fs::write(at("others/a.fathom/shadow"), "root's").unwrap();
        let made = Place::make(&at("mine/a.fathom")).unwrap();
        fs::create_dir(at("mine/a.fathom/raw")).unwrap();
        fs::write(at("mine/a.fathom/raw/x.jfr"), "x").unwrap();
        fs::write(at("mine/a.fathom/facts.parquet"), "x").unwrap();
        fs::hard_link(at("others/a.fathom/shadow"), at("mine/a.fathom/hard")).unwrap();
        symlink(at("others/a.fathom/shadow"), at("mine/a.fathom/soft")).unwrap();
        symlink(at("others"), at("mine/a.fathom/folder")).unwrap();
        // The attack: the name now leads to what belongs to root.
        fs::rename(at("mine"), at("moved")).unwrap();
        symlink("others", at("mine")).unwrap();
        give(&made.folder, 65_534, 65_534, DEPTH_MAX).unwrap();
        for (name, owner) in [
            ("moved/a.fathom", 65_534),
            ("moved/a.fathom/facts.parquet", 65_534),
            ("moved/a.fathom/raw", 65_534),
            ("moved/a.fathom/raw/x.jfr", 65_534),
            ("others", 0),
            ("others/a.fathom", 0),
            ("others/a.fathom/shadow", 0),
        ] {
            assert_eq!(fs::symlink_metadata(at(name)).unwrap().uid(), owner, "{name}");
        }
    }
}
