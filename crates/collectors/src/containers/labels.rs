//! Labels of a container, as its engine keeps them in a file of the host.

use std::collections::BTreeMap;

use serde_json::Value;

use super::documents;

/// Labels by name.
pub type Labels = BTreeMap<String, String>;

/// The annotation in which CRI-O keeps the labels of a container, as JSON.
const LABELS_OF_CRIO: &str = "io.kubernetes.cri-o.Labels";

/// The labels and annotations of a container of this host; none where its engine is not known.
pub fn of(container: &str) -> Labels {
    documents(container).iter().flat_map(labels).collect()
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
    use std::fs;

    use super::*;
    use crate::containers::documents_in;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    const DOCKER: &str = "var/lib/docker/containers";
    const KUBERNETES: &str = "run/containerd/io.containerd.runtime.v2.task/k8s.io";
    const CRIO: &str = "run/containers/storage/overlay-containers";

    fn labels_in(place: &str, file: &str, text: &str) -> Labels {
        let host = tempfile::tempdir().unwrap();
        let file = host.path().join(place).join(ID).join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        documents_in(host.path(), &ID[..12]).iter().flat_map(labels).collect()
    }

    #[test]
    fn each_engine_has_its_file() {
        for (place, file, text, expected) in [
            (DOCKER, "config.v2.json", r#"{"Config":{"Labels":{"app":"cart","n":3}}}"#, vec![("app", "cart")]),
            (
                KUBERNETES,
                "config.json",
                r#"{"ociVersion":"1.1.0","annotations":{"io.kubernetes.cri.sandbox-namespace":"shop"}}"#,
                vec![("io.kubernetes.cri.sandbox-namespace", "shop")],
            ),
            (
                CRIO,
                "userdata/config.json",
                r#"{"annotations":{"io.kubernetes.cri-o.Labels":"{\"app\":\"cart\"}"}}"#,
                vec![("app", "cart"), ("io.kubernetes.cri-o.Labels", "{\"app\":\"cart\"}")],
            ),
            (
                DOCKER,
                "config.v2.json",
                r#"{"Name":"/shop-cart-1","Config":{"Labels":null}}"#,
                vec![("container.name", "shop-cart-1")],
            ),
            (DOCKER, "config.v2.json", "{\"Config\":", vec![]),
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
}
