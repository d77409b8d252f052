//! Containers, from files that their engines keep on the host: Docker's own file, and the bundle that every runtime of
//! the Open Container Initiative gets (containerd and with it Kubernetes, CRI-O, Podman). No engine is asked.

mod image;
pub mod labels;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) use image::image;

use crate::{Target, procfs};

/// The root of the host, also where we are in a container that shares its processes. Some hosts let no other process in there.
const HOST: &str = "/proc/1/root";
const OWN_ROOT: &str = "/";

/// Folders of which each has a folder for a container, named by its whole id, and the file in it.
const PLACES: [(&str, &str); 5] = [
    ("var/lib/docker/containers", "config.v2.json"),
    ("run/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json"),
    ("run/containerd/io.containerd.runtime.v2.task/moby", "config.json"),
    ("run/containers/storage/overlay-containers", "userdata/config.json"),
    ("var/lib/containers/storage/overlay-containers", "userdata/config.json"),
];

/// Digits of an id by which people name a container.
const ID_DIGITS: usize = 12;

/// A container has namespaces of its own; its id is what container engines call its control group. None where the process is in
/// none, or in the same as we are.
pub(crate) fn of(target: &Target) -> Option<String> {
    let namespace = |folder: &Path, name: &str| procfs::link(folder.join("ns").join(name)).ok();
    let (own, its) = (Path::new("/proc/self"), target.proc(""));
    let differs = |name| matches!((namespace(own, name), namespace(&its, name)), (Some(a), Some(b)) if a != b);
    if !differs("pid") && !differs("mnt") {
        return None;
    }
    let groups = procfs::read_text(target.proc("cgroup")).unwrap_or_default();
    Some(id_in(&groups).unwrap_or("own namespace").to_owned())
}

/// The first of the sixty-four hexadecimal digits that name a container.
fn id_in(groups: &str) -> Option<&str> {
    let mut parts = groups.split(['/', '\n', '-', '.', ':']);
    let is_whole = |part: &&str| part.len() == 64 && is_id(part);
    parts.rfind(is_whole).map(|id| &id[..ID_DIGITS])
}

/// Whether this is an id, and not what stands for "a namespace of its own".
pub(crate) fn is_id(container: &str) -> bool {
    container.len() >= ID_DIGITS && container.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What engines of this host wrote about a container when they started it; nothing where its engine is not known.
fn documents(container: &str) -> Vec<Value> {
    documents_in(host(), container)
}

fn host() -> &'static Path {
    let host = Path::new(HOST);
    if host.exists() { host } else { Path::new(OWN_ROOT) }
}

/// The same in a folder that is the host's root.
fn documents_in(host: &Path, container: &str) -> Vec<Value> {
    if !is_id(container) {
        return Vec::new();
    }
    let files = PLACES.iter().filter_map(|(folder, file)| Some(folder_of(&host.join(folder), container)?.join(file)));
    files.filter_map(document).collect()
}

/// The folder whose name begins with the id, of which only the beginning is known.
fn folder_of(folder: &Path, container: &str) -> Option<PathBuf> {
    procfs::names(folder).find(|name| name.starts_with(container)).map(|name| folder.join(name))
}

fn document(file: PathBuf) -> Option<Value> {
    serde_json::from_slice(&procfs::read(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_in_control_groups() {
        let id = "0123456789abcdef".repeat(4);
        for (groups, expected) in [
            (format!("0::/system.slice/docker-{id}.scope\n"), Some("0123456789ab")),
            (format!("12:cpu:/kubepods/burstable/pod12/{id}\n0::/\n"), Some("0123456789ab")),
            (format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{id}.scope\n"), Some("0123456789ab")),
            (format!("0::/machine.slice/libpod-{id}.scope/container\n"), Some("0123456789ab")),
            ("0::/user.slice\n".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(id_in(&groups), expected, "{groups}");
        }
    }

    #[test]
    fn only_an_id_names_a_folder() {
        let host = tempfile::tempdir().unwrap();
        for container in ["", "own namespace", "../../../etc", "0123"] {
            assert_eq!(documents_in(host.path(), container), Vec::<Value>::new(), "{container}");
        }
    }
}
