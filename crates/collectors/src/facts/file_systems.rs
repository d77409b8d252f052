//! Facts about the places of the target's files: which file system, which device.

use std::collections::BTreeSet;
use std::path::Path;

use fathom_evidence::kinds::subject;

use super::devices;
use super::parse;
use super::sheet::Sheet;
use crate::Target;
use crate::hostile_files::Root;
use crate::mountinfo::{Mount, mount_of, mounts};
use crate::procfs;

/// Folders with files that the target has open for writing; more are not told.
const MAX_WRITTEN_FOLDERS: usize = 16;

/// Descriptors that are looked at for that.
const MAX_DESCRIPTORS: usize = 5_000;

/// Where HotSpot has its counters and sockets, whatever `java.io.tmpdir` says.
const TEMPORARY_FOLDER: &str = "/tmp";

/// Writes them.
pub(super) fn note(target: &Target, sheet: &mut Sheet<'_>) {
    let mut buffer = Vec::new();
    let theirs = mounts(sheet.read(target.proc("mountinfo"), &mut buffer));
    let ours = mounts(sheet.read("/proc/self/mountinfo", &mut buffer));
    let root = Root::of(target);
    let link = |name: &str| procfs::link(target.proc(name)).ok().map(|path| root.inside(&path).to_owned());
    let working = link("cwd");
    let mut places: Vec<(String, String)> = vec![("temporary_folder".into(), TEMPORARY_FOLDER.into())];
    places.extend(working.clone().map(|path| ("working_folder".into(), path)));
    places.extend(link("exe").map(|path| ("program".into(), path)));
    let arguments = sheet.read(target.proc("cmdline"), &mut buffer);
    for (role, path) in parse::places(arguments) {
        let path = Path::new(working.as_deref().unwrap_or("/")).join(path);
        places.push((role.into(), path.to_string_lossy().into_owned()));
    }
    let written = written_folders(target, &root).into_iter().enumerate();
    places.extend(written.map(|(number, folder)| (format!("written_folder_{}", number + 1), folder)));
    for (role, path) in places {
        note_place(sheet, &role, &path, &theirs, &ours);
    }
}

fn note_place(sheet: &mut Sheet<'_>, role: &str, path: &str, theirs: &[Mount], ours: &[Mount]) {
    let mut add = |what: &str, value: &str| sheet.add(subject::PLACE, &format!("{role}.{what}"), value);
    add("path", path);
    let Some(mount) = mount_of(theirs, path) else { return };
    add("mount", &mount.point);
    add("file_system", &mount.kind);
    add("options", &format!("{} {}", mount.options, mount.super_options));
    let below = below_overlay(mount, ours).unwrap_or(mount);
    add("device", &below.device);
    if let Some(name) = devices::name_of(&below.device, &below.from) {
        add("disk", &name);
    }
}

/// What an overlay (a container's root) writes to: a folder of the host, if that can be seen from here.
fn below_overlay<'a>(mount: &Mount, ours: &'a [Mount]) -> Option<&'a Mount> {
    let upper = parse::upper_folder(&mount.super_options).filter(|_| mount.kind == "overlay")?;
    mount_of(ours, upper)
}

/// Folders of the regular files that the target has open for writing.
fn written_folders(target: &Target, root: &Root) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for descriptor in procfs::names(target.proc("fd")).take(MAX_DESCRIPTORS) {
        let Ok(link) = procfs::link(target.proc("fd").join(&descriptor)) else { continue };
        let path = Path::new(root.inside(&link));
        let is_file = path.is_absolute() && !["/dev", "/proc", "/sys"].iter().any(|special| path.starts_with(special));
        if !is_file || folders.len() >= MAX_WRITTEN_FOLDERS {
            continue;
        }
        if procfs::is_open_for_writing(target.proc("fdinfo").join(&descriptor)) {
            folders.extend(path.parent().map(|folder| folder.to_string_lossy().into_owned()));
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_overlay_is_followed_to_the_hosts_disk() {
        let theirs =
            mounts(b"500 400 0:52 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/var/lib/c/7/upper,workdir=/w\n");
        let ours = mounts(b"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 254:16 / /var/lib rw - xfs /dev/vdb rw\n");
        let root = mount_of(&theirs, "/app/log").unwrap();
        assert_eq!(below_overlay(root, &ours).map(|mount| mount.device.as_str()), Some("254:16"));
        assert_eq!(below_overlay(&ours[0], &ours), None);
    }

    #[test]
    fn files_open_for_writing_tell_their_folders() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap();
        let (read, written) = (path.join("read"), path.join("log").join("app.log"));
        fs::create_dir(path.join("log")).unwrap();
        fs::write(&read, "x").unwrap();
        let _reading = fs::File::open(&read).unwrap();
        let _writing = fs::File::create(&written).unwrap();
        let own = Target::of(std::process::id()).unwrap();
        let folders = written_folders(&own, &Root::of(&own));
        assert!(folders.contains(path.join("log").to_str().unwrap()), "{folders:?}");
        assert!(!folders.contains(path.to_str().unwrap()), "{folders:?}");
    }
}
