//! Labels of a container, as its engine keeps them in a file of the host: Docker's own file, and the bundle that every runtime of
//! the Open Container Initiative is given (containerd and with it Kubernetes, CRI-O, Podman). No engine is asked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Labels by name.
pub(crate) type Labels = BTreeMap<String, String>;

/// The root of the host, also where we are in a container that shares its processes. Some hosts let no other process in there.
const HOST: &str = "/proc/1/root";
const OWN_ROOT: &str = "/";

/// A bundle has some 20 KB.
const MAX_BYTES: u64 = 4 << 20;

/// Folders of which each has a folder for a container, named by its whole id, and the file in it.
const PLACES: [(&str, &str); 5] = [
    ("var/lib/docker/containers", "config.v2.json"),
    ("run/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json"),
    ("run/containerd/io.containerd.runtime.v2.task/moby", "config.json"),
    ("run/containers/storage/overlay-containers", "userdata/config.json"),
    ("var/lib/containers/storage/overlay-containers", "userdata/config.json"),
];

/// The annotation in which CRI-O keeps the labels of a container, as JSON.
const LABELS_OF_CRIO: &str = "io.kubernetes.cri-o.Labels";

/// The labels and annotations of a container of this host; none where its engine is not known.
pub(crate) fn of(container: &str) -> Labels {
    let host = Path::new(HOST);
    within(if host.exists() { host } else { Path::new(OWN_ROOT) }, container)
}

/// Labels that hold what people call a container: its name, that of its pod, of its service.
const CALLED: [&str; 6] = [
    NAME_OF_DOCKER,
    "com.docker.compose.service",
    "io.kubernetes.container.name",
    "io.kubernetes.cri.container-name",
    "io.kubernetes.cri.sandbox-name",
    "io.kubernetes.pod.name",
];

/// Docker keeps the name beside the labels.
const NAME_OF_DOCKER: &str = "container.name";

/// Whether this is the container with a name, or with an id, whole or its beginning, also as `kubectl` prints it (`containerd://…`).
pub fn is_container(container: &str, name: &str) -> bool {
    let id = name.split_once("://").map_or(name, |(_, id)| id);
    let is_id = id.len() >= ID_MIN && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && (container.starts_with(id) || id.starts_with(container))) || is_called(&of(container), name)
}

/// Shorter ones could be words.
const ID_MIN: usize = 4;

fn is_called(labels: &Labels, name: &str) -> bool {
    CALLED.iter().any(|label| labels.get(*label).is_some_and(|called| called == name))
}

fn within(host: &Path, container: &str) -> Labels {
    // What stands for "a namespace of its own" is no id.
    if container.len() < 12 || !container.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Labels::new();
    }
    let files = PLACES.iter().filter_map(|(folder, file)| Some(folder_of(&host.join(folder), container)?.join(file)));
    let documents = files.filter_map(|file| serde_json::from_slice(&read(&file)?).ok());
    documents.flat_map(|document: Value| labels(&document)).collect()
}

/// The folder whose name begins with the id, of which only the beginning is known.
fn folder_of(folder: &Path, container: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(container)))
}

fn read(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn labels(document: &Value) -> Labels {
    let texts = |pointer: &str| {
        let object = document.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
        object.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
    };
    let mut all: Labels = texts("/Config/Labels").chain(texts("/annotations")).collect();
    let of_crio = all.get(LABELS_OF_CRIO).and_then(|text| serde_json::from_str::<Labels>(text).ok());
    all.extend(of_crio.unwrap_or_default());
    let of_docker = document.pointer("/Name").and_then(Value::as_str).map(|name| name.trim_start_matches('/'));
    all.extend(of_docker.map(|name| (NAME_OF_DOCKER.to_owned(), name.to_owned())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn labels_in(place: &str, file: &str, text: &str) -> Labels {
        let host = tempfile::tempdir().unwrap();
        let file = host.path().join(place).join(ID).join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        within(host.path(), &ID[..12])
    }

    #[test]
    fn each_engine_has_its_file() {
        for (place, file, text, expected) in [
            (PLACES[0].0, "config.v2.json", r#"{"Config":{"Labels":{"app":"cart","n":3}}}"#, vec![("app", "cart")]),
            (
                PLACES[1].0,
                "config.json",
                r#"{"ociVersion":"1.1.0","annotations":{"io.kubernetes.cri.sandbox-namespace":"shop"}}"#,
                vec![("io.kubernetes.cri.sandbox-namespace", "shop")],
            ),
            (
                PLACES[3].0,
                "userdata/config.json",
                r#"{"annotations":{"io.kubernetes.cri-o.Labels":"{\"app\":\"cart\"}"}}"#,
                vec![("app", "cart"), ("io.kubernetes.cri-o.Labels", "{\"app\":\"cart\"}")],
            ),
            (
                PLACES[0].0,
                "config.v2.json",
                r#"{"Name":"/shop-cart-1","Config":{"Labels":null}}"#,
                vec![("container.name", "shop-cart-1")],
            ),
            (PLACES[0].0, "config.v2.json", "{\"Config\":", vec![]),
        ] {
            let found = labels_in(place, file, text);
            let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_container_has_an_id_and_names() {
        for (name, expected) in [
            (ID, true),
            (&ID[..12], true),
            ("0123", true),
            (&format!("containerd://{ID}"), true),
            ("4567", false),
            ("012", false),
            ("", false),
            ("cart", false),
        ] {
            assert_eq!(is_container(&ID[..12], name), expected, "{name}");
        }
        let labels: Labels = [("io.kubernetes.cri.sandbox-name", "cart-7d4f"), ("tier", "web")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let called = ["cart-7d4f", "web", ""].map(|name| is_called(&labels, name));
        assert_eq!(called, [true, false, false], "other labels are no names");
    }

    #[test]
    fn only_an_id_names_a_folder() {
        let host = tempfile::tempdir().unwrap();
        for container in ["", "own namespace", "../../../etc", "0123"] {
            assert_eq!(within(host.path(), container), Labels::new(), "{container}");
        }
    }
}
