//! Everything that is opened of a foreign process: what the target, or anybody in a folder that is open to everybody,
//! named and may exchange at any moment. Nothing else in this crate opens such a path (`.ci/checks/files` sees to it).
//!
//! Names may be links that somebody put there for us to follow, pipes that nobody writes to, devices, files without an
//! end, files whose owner holds a lease. So: the target's root is entered once, as a folder; paths are resolved inside
//! it; the last part of a name is never followed; what was found is looked at before it is opened for reading, and
//! opened without waiting; and what was opened, not its name, is asked what it is and whose.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use fathom_symbols::maps::Mapping;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, open, openat, openat2, statat,
    unlinkat,
};
use rustix::io::Errno;

use crate::{Target, procfs};

/// Where HotSpot has its sockets and counters, whatever `java.io.tmpdir` says.
const TEMPORARY: &str = "tmp";

/// A lookup that a rename went through is tried again, this often at most: somebody may rename without end.
const LOOKUPS_MAX: usize = 16;

/// Opened as a place only, without any effect on what is there.
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Reading that waits for nobody: not for the other end of a pipe, nor for the holder of a lease.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The root of the target's mount namespace.
fn root_of(target: &Target) -> io::Result<OwnedFd> {
    Ok(openat(CWD, target.proc("root"), PLACE | OFlags::DIRECTORY, Mode::empty())?)
}

/// The folder that is the target's root, where the kernel writes its paths with that folder before them: a process that was only
/// given another root (`chroot`). A root that is a mount namespace's own, as in most containers, is not seen in paths.
#[derive(Debug, Clone)]
pub(crate) struct Root(String);

impl Root {
    pub(crate) fn of(target: &Target) -> Root {
        let folder = procfs::link(target.proc("root")).unwrap_or_default();
        Root(folder.trim_end_matches('/').to_owned())
    }

    /// A path of the kernel as the target names it. What is not in its root keeps its name.
    pub(crate) fn inside<'a>(&self, path: &'a str) -> &'a str {
        match path.strip_prefix(&*self.0) {
            Some("") => "/",
            Some(rest) if rest.starts_with('/') => rest,
            _ => path,
        }
    }
}

/// Looks up a path as if the target's root were ours: neither `..` nor a link leads out of it.
fn inside(target: &Target, path: &str, flags: OFlags, more: ResolveFlags) -> io::Result<OwnedFd> {
    let root = root_of(target)?;
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS | more;
    for _ in 0..LOOKUPS_MAX {
        match openat2(&root, path, flags, Mode::empty(), within) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            found => return Ok(found?),
        }
    }
    Err(Errno::AGAIN.into())
}

/// The target's `/tmp`.
pub(crate) fn tmp_of(target: &Target) -> io::Result<OwnedFd> {
    let flags = PLACE | OFlags::DIRECTORY;
    match inside(target, TEMPORARY, flags, ResolveFlags::empty()) {
        // Old kernels and some sandboxes lack the call; then a link is not followed at all.
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::NOSYS | Errno::PERM)) => {
            Ok(openat(root_of(target)?, TEMPORARY, flags | OFlags::NOFOLLOW, Mode::empty())?)
        }
        tmp => tmp,
    }
}

/// The folder that the target works in.
pub(crate) fn working_folder_of(target: &Target) -> io::Result<OwnedFd> {
    Ok(openat(CWD, target.proc("cwd"), PLACE | OFlags::DIRECTORY, Mode::empty())?)
}

/// Opens a folder inside a folder, no links followed, if it belongs to the target's user or root.
pub(crate) fn open_folder(target: &Target, folder: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    let opened = openat(folder, name, READ | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    belongs_to(target, &fstat(&opened)?, name)?;
    Ok(opened)
}

/// Opens a regular file inside a folder for reading, no links followed, if it belongs to the
/// target's user or root.
pub(crate) fn open_file(target: &Target, folder: impl AsFd, name: &str) -> io::Result<File> {
    let (file, is) = regular(pin(folder, name)?, name)?;
    belongs_to(target, &is, name)?;
    Ok(file)
}

/// What has a name in a folder, whatever it is; no link is followed, and nothing happens to it.
pub(crate) fn pin(folder: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    Ok(openat(folder, name, PLACE | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Looks at what has a name in a folder; `None` when nothing has.
pub(crate) fn look(folder: impl AsFd, name: &str) -> io::Result<Option<Stat>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// The names in a folder, as many as `most` at most.
pub(crate) fn names(folder: impl AsFd, most: usize) -> impl Iterator<Item = String> {
    let entries = openat(folder, ".", READ | OFlags::DIRECTORY, Mode::empty()).and_then(Dir::new).into_iter();
    let entries = entries.flat_map(Iterator::flatten).take(most);
    entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
}

/// Makes a file that is new and its owner's only.
pub(crate) fn create_file(folder: impl AsFd, name: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Makes a folder that is new and its owner's only.
pub(crate) fn create_folder(folder: impl AsFd, name: &str) -> io::Result<()> {
    Ok(mkdirat(folder, name, Mode::RWXU)?)
}

/// Takes a file's name away; a folder is left as it is.
pub(crate) fn remove_file(folder: impl AsFd, name: &str) -> io::Result<()> {
    Ok(unlinkat(folder, name, AtFlags::empty())?)
}

/// Removes an empty folder.
pub(crate) fn remove_folder(folder: impl AsFd, name: &str) -> io::Result<()> {
    Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

/// The bytes of a small file of the target by its name in the target's mount namespace. No part of the name may be a
/// link, and a longer file is refused.
pub(crate) fn small_file(target: &Target, path: &str, longest_bytes: u64) -> io::Result<Vec<u8>> {
    let (file, _) = regular(inside(target, path, PLACE, ResolveFlags::NO_SYMLINKS)?, path)?;
    let mut bytes = Vec::new();
    // Its size may be anything by now: what is read counts.
    file.take(longest_bytes + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > longest_bytes {
        true => Err(io::Error::other(format!("{path} has more than {longest_bytes} bytes"))),
        false => Ok(bytes),
    }
}

/// The file that `mapping` shows: that very one, or none.
pub(crate) fn mapped(target: &Target, mapping: &Mapping) -> Option<(File, Stat)> {
    // The link leads to the file itself, also when its name is gone or of another mount namespace. It
    // needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
    let range = &mapping.addresses;
    let link = target.proc(&format!("map_files/{:x}-{:x}", range.start, range.end));
    if let Ok(found) = open(&link, PLACE, Mode::empty()) {
        return regular(found, &mapping.path).ok();
    }
    let found = inside(target, Root::of(target).inside(&mapping.path), PLACE, ResolveFlags::empty()).ok()?;
    // By name only if the name still means the file that is mapped: names of another build would be wrong.
    regular(found, &mapping.path).ok().filter(|(_, stat)| stat.st_ino == mapping.file.inode)
}

/// A file that the target has open, by the number of its descriptor: that very one, whatever its name means by now.
pub(crate) fn descriptor(target: &Target, number: &str) -> io::Result<(File, Stat)> {
    let link = target.proc("fd").join(number);
    regular(open(&link, PLACE, Mode::empty())?, &format!("descriptor {number}"))
}

/// A debug file by its name in the target's mount namespace; distributions lay links there.
pub(crate) fn by_name(target: &Target, path: &str) -> Option<File> {
    Some(regular(inside(target, path, PLACE, ResolveFlags::empty()).ok()?, path).ok()?.0)
}

/// A debug file by its name here.
pub(crate) fn by_own_name(path: &str) -> Option<File> {
    Some(regular(open(path, PLACE, Mode::empty()).ok()?, path).ok()?.0)
}

/// Opens what was found for reading, if it is a regular file.
fn regular(found: OwnedFd, name: &str) -> io::Result<(File, Stat)> {
    let is = fstat(&found)?;
    match FileType::from_raw_mode(is.st_mode) {
        FileType::RegularFile => {}
        other => return Err(io::Error::other(format!("{name} is a {other:?}, not a file"))),
    }
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok((File::from(open(path, READ, Mode::empty())?), is))
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
    fn a_small_file_is_regular_bounded_and_behind_no_link() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("folder/file"), "x").unwrap();
        fs::write(at("long"), [b'x'; 100]).unwrap();
        File::create(at("endless")).unwrap().set_len(1 << 40).unwrap();
        symlink("folder/file", at("link")).unwrap();
        symlink("folder", at("link_to_folder")).unwrap();
        symlink("/dev/zero", at("link_to_device")).unwrap();
        rustix::fs::mkfifoat(CWD, at("pipe"), Mode::RUSR).unwrap();
        let own = Target::of(std::process::id()).unwrap();
        for (name, is_read) in [
            ("folder/file", true),
            ("folder/../folder/file", true),
            ("long", false),
            ("endless", false),
            ("link", false),
            ("link_to_folder/file", false),
            ("link_to_device", false),
            ("pipe", false),
            ("folder", false),
            ("nothing", false),
        ] {
            let read = small_file(&own, at(name).to_str().unwrap(), 99);
            assert_eq!(read.is_ok(), is_read, "{name}: {read:?}");
        }
        for device in ["/dev/zero", "/proc/self/fd/0", "/proc/self/root/etc/passwd"] {
            assert!(small_file(&own, device, 1 << 20).is_err(), "{device}");
        }
    }

    #[test]
    fn a_lease_holds_nobody_up() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap().join("leased");
        fs::write(&path, "x").unwrap();
        let held = fs::OpenOptions::new().write(true).open(&path).unwrap();
        // SAFETY: the call takes and gives numbers only.
        if unsafe { libc::fcntl(held.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) } != 0 {
            println!("SKIPPED: this file system gives no leases");
            return;
        }
        // SAFETY: as above; without it the kernel would end this process when the lease is to be given back.
        unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
        let own = Target::of(std::process::id()).unwrap();
        let read = small_file(&own, path.to_str().unwrap(), 10);
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::WouldBlock, "whoever holds the lease would have 45 s");
    }

    #[test]
    fn a_root_is_left_out_of_paths() {
        for (root, path, expected) in [
            ("", "/usr/lib/x.so", "/usr/lib/x.so"),
            ("/srv/root", "/srv/root/usr/lib/x.so", "/usr/lib/x.so"),
            ("/srv/root", "/srv/root", "/"),
            ("/srv/root", "/srv/rootless/x.so", "/srv/rootless/x.so"),
            ("/srv/root", "/memfd:x (deleted)", "/memfd:x (deleted)"),
            ("/srv/root", "socket:[1]", "socket:[1]"),
        ] {
            assert_eq!(Root(root.to_owned()).inside(path), expected, "{root} {path}");
        }
        let own = Root::of(&Target::of(std::process::id()).unwrap());
        assert_eq!(own.inside("/usr/lib/x.so"), "/usr/lib/x.so");
    }

    #[test]
    fn the_tmp_of_this_process_is_tmp() {
        let own = Target::of(std::process::id()).unwrap();
        let (here, there) = (fstat(tmp_of(&own).unwrap()).unwrap(), rustix::fs::stat("/tmp").unwrap());
        assert_eq!((here.st_dev, here.st_ino), (there.st_dev, there.st_ino));
    }
}
