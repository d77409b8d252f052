//! Which container the target is in, what it was made of, and which system is in its root.

use fathom_evidence::kinds::subject;

use super::sheet::Sheet;
use crate::{Target, containers, hostile_files};

/// Where a system says what it is; the second is a link to the first in most. Links are not followed.
const RELEASE: [&str; 2] = ["/usr/lib/os-release", "/etc/os-release"];

/// They have some 400 bytes.
const RELEASE_MAX_BYTES: u64 = 16 << 10;

/// Writes them. Nothing is guessed: of a container without a file of a known engine only the id is known.
pub(super) fn note(target: &Target, sheet: &mut Sheet<'_>) {
    sheet.add_some(subject::PROCESS, "system", system(target));
    let Some(container) = containers::of(target).filter(|container| containers::is_id(container)) else { return };
    let image = containers::image(&container);
    sheet.add(subject::CONTAINER, "id", &container);
    for (key, value) in [("image", image.name), ("image_id", image.id), ("image_digest", image.digest)] {
        sheet.add_some(subject::CONTAINER, key, Some(value));
    }
}

fn system(target: &Target) -> Option<String> {
    let read = |path| hostile_files::small_file(target, path, RELEASE_MAX_BYTES).ok();
    let text = RELEASE.into_iter().find_map(read)?;
    name_of(&String::from_utf8_lossy(&text))
}

fn name_of(release: &str) -> Option<String> {
    let name = release.lines().find_map(|line| line.trim().strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_say_their_names() {
        for (text, expected) in [
            (
                "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
                Some("Debian GNU/Linux 12 (bookworm)"),
            ),
            ("ID=alpine\nPRETTY_NAME='Alpine Linux v3.20'\n", Some("Alpine Linux v3.20")),
            ("ID=scratch\n", None),
            ("", None),
        ] {
            assert_eq!(name_of(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn this_process_has_the_system_of_its_root() {
        let target = Target::of(std::process::id()).unwrap();
        let expected = std::fs::read_to_string(RELEASE[0]).ok().and_then(|text| name_of(&text));
        assert!(expected.is_none() || system(&target) == expected, "{:?}", system(&target));
    }
}
