//! The image that a container was made of. What an engine did not write is not reported: containerd, and with it
//! Kubernetes, keeps the name in the bundle and the digest in a database that is not read.

use std::path::Path;

use serde_json::Value;

use super::{document, documents_in, host, is_id};

/// Digits of a digest that are kept: two images have the same ones by chance once in 2^64, and longer ones are masked as secrets.
const DIGEST_DIGITS: usize = 16;

/// Where Docker and CRI-O (both images and their names) and containerd (names) have them.
const NAMES: [&str; 4] = [
    "/Config/Image",
    "/annotations/io.kubernetes.cri-o.Image",
    "/annotations/io.kubernetes.cri-o.ImageName",
    "/annotations/io.kubernetes.cri.image-name",
];
const IDS: [&str; 2] = ["/Image", "/annotations/io.kubernetes.cri-o.ImageRef"];

/// Docker has the digest where its images are containerd's.
const DIGEST: &str = "/ImageManifest/digest";

/// The lists of Podman's containers, those of them that end with the machine, and its images. That of a user without root is
/// somewhere below their home.
const OF_PODMAN: [&str; 2] = [
    "var/lib/containers/storage/overlay-containers/containers.json",
    "run/containers/storage/overlay-containers/volatile-containers.json",
];
const IMAGES_OF_PODMAN: &str = "var/lib/containers/storage/overlay-images/images.json";

/// An image; empty is what is not known.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    /// As it was called when the container was made.
    pub(crate) name: String,
    /// The beginning of the digest of its configuration, which engines call its id.
    pub(crate) id: String,
    /// The beginning of the digest of its manifest, by which registries name it.
    pub(crate) digest: String,
}

/// The image of a container of this host.
pub(crate) fn image(container: &str) -> Image {
    within(host(), container)
}

fn within(host: &Path, container: &str) -> Image {
    if !is_id(container) {
        return Image::default();
    }
    let mut image = of_podman(host, container);
    for document in documents_in(host, container) {
        image.add(&NAMES.map(|place| text(&document, place)), &IDS.map(|place| text(&document, place)));
        add(&mut image.digest, &digits(text(&document, DIGEST)));
    }
    image
}

impl Image {
    /// What was not known yet, by the first that is.
    fn add(&mut self, names: &[&str], ids: &[&str]) {
        names.iter().for_each(|name| add(&mut self.name, name));
        ids.iter().for_each(|id| add(&mut self.id, &digits(id)));
    }
}

fn add(known: &mut String, more: &str) {
    if known.is_empty() {
        more.clone_into(known);
    }
}

fn of_podman(host: &Path, container: &str) -> Image {
    let mut image = Image::default();
    for list in OF_PODMAN {
        let Some(row) = row(host, list, |id| id.starts_with(container)) else { continue };
        let metadata: Value = serde_json::from_str(text(&row, "/metadata")).unwrap_or_default();
        let id = text(&row, "/image");
        image.add(&[text(&metadata, "/image-name")], &[id]);
        add(&mut image.digest, &digest_of_podman(host, id).unwrap_or_default());
    }
    image
}

fn digest_of_podman(host: &Path, image: &str) -> Option<String> {
    let row = row(host, IMAGES_OF_PODMAN, |id| !id.is_empty() && id == image)?;
    Some(digits(text(&row, "/digest")))
}

/// The object of a list whose id is wanted.
fn row(host: &Path, list: &str, is_wanted: impl Fn(&str) -> bool) -> Option<Value> {
    let Value::Array(rows) = document(host.join(list))? else { return None };
    rows.into_iter().find(|row| is_wanted(text(row, "/id")))
}

fn text<'a>(document: &'a Value, place: &str) -> &'a str {
    document.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

/// The beginning of a digest, without the name of its function.
fn digits(digest: &str) -> String {
    let digits = digest.rsplit(':').next().unwrap_or_default();
    if is_id(digits) { digits.chars().take(DIGEST_DIGITS).collect() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CONTAINER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const IMAGE: &str = "89abcdef01234567cccccccccccccccccccccccccccccccccccccccccccccccc";
    const MANIFEST: &str = "fedcba9876543210dddddddddddddddddddddddddddddddddddddddddddddddd";

    /// The image as it is found where these files are.
    fn found(files: &[(&str, String)]) -> [String; 3] {
        let host = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = host.path().join(path.replace("ID", CONTAINER));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let Image { name, id, digest } = within(host.path(), &CONTAINER[..12]);
        [name, id, digest]
    }

    #[test]
    fn docker_keeps_name_and_id() {
        let of_docker = |more: &str| {
            let text = format!(
                r#"{{"ID":"{CONTAINER}","Config":{{"Env":["PASSWORD=x"],"Image":"shop/cart:7"}},"Image":"sha256:{IMAGE}"{more}}}"#
            );
            found(&[
                ("var/lib/docker/containers/ID/config.v2.json", text),
                (
                    "run/containerd/io.containerd.runtime.v2.task/moby/ID/config.json",
                    r#"{"ociVersion":"1.2.0"}"#.to_owned(),
                ),
            ])
        };
        assert_eq!(of_docker(""), ["shop/cart:7", "89abcdef01234567", ""]);
        let manifest = format!(r#","ImageManifest":{{"digest":"sha256:{MANIFEST}","size":1234}}"#);
        assert_eq!(of_docker(&manifest), ["shop/cart:7", "89abcdef01234567", "fedcba9876543210"]);
    }

    #[test]
    fn kubernetes_keeps_the_name() {
        let of = |name: &str| {
            let text = format!(r#"{{"annotations":{{"io.kubernetes.cri.image-name":"{name}"}}}}"#);
            found(&[("run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json", text)])
        };
        assert_eq!(of("registry.example/shop/cart:7"), ["registry.example/shop/cart:7", "", ""]);
        let by_digest = format!("shop/cart@sha256:{MANIFEST}");
        assert_eq!(of(&by_digest), [&by_digest, "", ""]);
        assert_eq!(fathom_evidence::mask::text(&by_digest), by_digest, "it is not taken for a secret");
    }

    #[test]
    fn crio_keeps_name_and_id() {
        let text = format!(
            r#"{{"annotations":{{"io.kubernetes.cri-o.Image":"quay.io/shop/cart:7","io.kubernetes.cri-o.ImageRef":"{IMAGE}"}}}}"#
        );
        let found = found(&[("run/containers/storage/overlay-containers/ID/userdata/config.json", text)]);
        assert_eq!(found, ["quay.io/shop/cart:7", "89abcdef01234567", ""]);
    }

    #[test]
    fn podman_keeps_lists() {
        let metadata = format!(r#"{{\"image-name\":\"localhost/cart:7\",\"image-id\":\"{IMAGE}\",\"name\":\"cart\"}}"#);
        let other = format!(r#"{{"id":"{}","image":"{MANIFEST}"}}"#, "a".repeat(64));
        let own = format!(r#"{{"id":"{CONTAINER}","names":["cart"],"image":"{IMAGE}","metadata":"{metadata}"}}"#);
        let images = format!(r#"[{{"id":"{IMAGE}","digest":"sha256:{MANIFEST}"}}]"#);
        for list in OF_PODMAN {
            let found = found(&[(list, format!("[{other},{own}]")), (IMAGES_OF_PODMAN, images.clone())]);
            assert_eq!(found, ["localhost/cart:7", "89abcdef01234567", "fedcba9876543210"], "{list}");
        }
        assert_eq!(found(&[(OF_PODMAN[0], format!("[{other}]"))]), ["", "", ""]);
    }

    #[test]
    fn what_was_not_written_is_not_told() {
        for text in ["", "{", "[]", r#"{"Image":7,"Config":null}"#, r#"{"Image":"sha256:zz"}"#] {
            let found = found(&[("var/lib/docker/containers/ID/config.v2.json", text.to_owned())]);
            assert_eq!(found, ["", "", ""], "{text}");
        }
    }
}
