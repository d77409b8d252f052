//! Attacks by names.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::fs::{CWD, Mode, openat};

use super::*;

/// A process of the user nobody that waits, with arguments of its own; none where only that user's rights are to be had.
pub(crate) struct Nobody(Child);

impl Nobody {
    pub(crate) const UID: u32 = 65_534;

    pub(crate) fn new(arguments: &[&str]) -> Option<Nobody> {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: only root can start a process of another user");
            return None;
        }
        let mut command = Command::new("/bin/sh");
        // What is not there any more when the pipe is shut.
        command.args(["-c", "read line", "java"]).args(arguments).stdin(Stdio::piped()).current_dir("/");
        Some(Nobody(command.uid(Nobody::UID).gid(Nobody::UID).spawn().unwrap()))
    }

    pub(crate) fn target(&self) -> Target {
        Target::of(self.0.id()).unwrap()
    }
}

impl Drop for Nobody {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder with a file that only root can read, one that everybody can, and one of nobody's.
fn roots_files() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for (name, mode) in [("roots", 0o600), ("everybodys", 0o644), ("its", 0o600)] {
        fs::write(place.path().join(name), "2026 secret\n").unwrap();
        fs::set_permissions(place.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    std::os::unix::fs::chown(place.path().join("its"), Some(Nobody::UID), Some(Nobody::UID)).unwrap();
    place
}

#[test]
fn what_a_process_names_is_opened_with_its_rights() {
    let Some(nobody) = Nobody::new(&[]) else { return };
    let (target, place) = (nobody.target(), roots_files());
    let folder = fs::File::open(place.path()).unwrap();
    fs::hard_link(place.path().join("roots"), place.path().join("linked")).unwrap();
    for (name, is_read) in [("roots", false), ("linked", false), ("everybodys", true), ("its", true)] {
        let path = place.path().canonicalize().unwrap().join(name);
        let path = path.to_str().unwrap();
        assert_eq!(open_file(&target, &folder, name).is_ok(), is_read, "{name}, in a folder");
        assert_eq!(small_file(&target, path, 99).is_ok(), is_read, "{name}, by its name");
        assert_eq!(by_name(&target, path).is_some(), is_read, "{name}, as a debug file");
        assert_eq!(by_own_name(&target, path).is_some(), is_read, "{name}, as a debug file of ours");
        let pinned = Pinned::new(pin(&target, &folder, name).unwrap(), name).unwrap();
        assert_eq!(pinned.open(&target).is_ok(), is_read, "{name}, mapped");
    }
    assert!(create_file(&target, &folder, "new").is_err());
    assert!(remove_file(&target, &folder, "its").is_err(), "the folder is root's");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(open_file(&target, &folder, "everybodys").is_err(), "it could not enter the folder");
    assert!(names(&target, &folder, 9).is_empty());
}

#[test]
fn a_descriptor_is_read_if_the_process_writes_it() {
    let place = roots_files();
    let at = |name: &str| place.path().join(name);
    // As the child has them: numbers without close-on-exec.
    let opened = |name: &str, flags| openat(CWD, at(name), flags, Mode::empty()).unwrap();
    let cases = [
        (opened("roots", OFlags::PATH), false),
        (opened("roots", OFlags::WRONLY), false),
        (opened("its", OFlags::PATH), false),
        (opened("its", OFlags::RDONLY), false),
        (opened("its", OFlags::WRONLY), true),
        (opened("its", OFlags::RDWR), true),
    ];
    let Some(nobody) = Nobody::new(&[]) else { return };
    for (descriptor, is_read) in &cases {
        let number = descriptor.as_raw_fd().to_string();
        let read = written(&nobody.target(), &number);
        assert_eq!(read.is_ok(), *is_read, "descriptor {number}: {read:?}");
    }
}

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
