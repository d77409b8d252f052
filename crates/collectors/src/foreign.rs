//! Files in folders where anybody may write: the target's `/tmp`, in whatever mount namespace it is.
//!
//! Names there may be links that somebody put there for us to follow. So: the target's root is
//! entered once, as a folder; paths are resolved inside it; the last part of a name is never
//! followed; and what was opened, not its name, is asked what it is and whose.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2};

use crate::Target;

/// Where HotSpot has its sockets and counters, whatever `java.io.tmpdir` says.
const TEMPORARY: &str = "tmp";

/// The target's `/tmp`.
pub(crate) fn tmp_of(target: &Target) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, target.proc("root"), flags, Mode::empty())?;
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match openat2(&root, TEMPORARY, flags, Mode::empty(), within) {
        Ok(tmp) => Ok(tmp),
        // Old kernels and some sandboxes lack the call; then a link is not followed at all.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            Ok(openat(&root, TEMPORARY, flags | OFlags::NOFOLLOW, Mode::empty())?)
        }
        Err(error) => Err(error.into()),
    }
}

/// The folder that the target works in.
pub(crate) fn working_folder_of(target: &Target) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(CWD, target.proc("cwd"), flags, Mode::empty())?)
}

/// Opens a folder inside a folder, no links followed, if it belongs to the target's user or root.
pub(crate) fn open_folder(target: &Target, folder: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(folder, name, flags, Mode::empty())?;
    belongs_to(target, &fstat(&opened)?, name)?;
    Ok(opened)
}

/// Opens a regular file inside a folder for reading, no links followed, if it belongs to the
/// target's user or root.
pub(crate) fn open_file(target: &Target, folder: impl AsFd, name: &str) -> io::Result<File> {
    // Without NONBLOCK the opening of a pipe would wait for its other end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(folder, name, flags, Mode::empty())?;
    let is = fstat(&opened)?;
    belongs_to(target, &is, name)?;
    match FileType::from_raw_mode(is.st_mode) {
        FileType::RegularFile => Ok(File::from(opened)),
        other => Err(io::Error::other(format!("{name} is a {other:?}, not a file"))),
    }
}

/// Refuses what belongs neither to the target's user nor to root.
pub(crate) fn belongs_to(target: &Target, is: &Stat, name: &str) -> io::Result<()> {
    match is.st_uid == target.uid || is.st_uid == 0 {
        true => Ok(()),
        false => {
            let says = format!("{name} belongs to user {}, not to the process's user {}", is.st_uid, target.uid);
            Err(io::Error::new(io::ErrorKind::PermissionDenied, says))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_pipes_and_strangers_are_refused() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), "x").unwrap();
        fs::create_dir(place.path().join("folder")).unwrap();
        symlink("file", place.path().join("link")).unwrap();
        symlink("folder", place.path().join("link_to_folder")).unwrap();
        rustix::fs::mkfifoat(CWD, place.path().join("pipe"), Mode::RUSR).unwrap();
        let own = Target::of(std::process::id()).unwrap();
        let folder = File::open(place.path()).unwrap();
        for (name, is_file, is_folder) in [
            ("file", true, false),
            ("folder", false, true),
            ("link", false, false),
            ("link_to_folder", false, false),
            ("pipe", false, false),
            ("nothing", false, false),
        ] {
            assert_eq!(open_file(&own, &folder, name).is_ok(), is_file, "{name}");
            assert_eq!(open_folder(&own, &folder, name).is_ok(), is_folder, "{name}");
        }
        if own.uid != 0 {
            let stranger = Target { uid: own.uid + 1, ..own };
            assert!(open_file(&stranger, &folder, "file").is_err());
        }
    }

    #[test]
    fn the_tmp_of_this_process_is_tmp() {
        let own = Target::of(std::process::id()).unwrap();
        let (here, there) = (fstat(tmp_of(&own).unwrap()).unwrap(), rustix::fs::stat("/tmp").unwrap());
        assert_eq!((here.st_dev, here.st_ino), (there.st_dev, there.st_ino));
    }
}
