//! Java libraries that a variant is about, for example third-party clients. They are not in the project but in Maven's
//! local repository, where `make deps` or the command in the message puts them. Each jar must match its pinned hash.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::declaration::{Lab, Libraries, Variant};

/// Where Maven keeps artifacts by default.
const REPOSITORY: &str = ".m2/repository";

/// The jars of a variant, or what is missing and how to get it.
pub(crate) fn find(lab: &Lab, variant: &Variant) -> Result<Vec<PathBuf>, String> {
    let Some(libraries) = lab.libraries(variant) else { return Ok(Vec::new()) };
    let home = std::env::var_os("HOME").unwrap_or_default();
    find_in(&Path::new(&home).join(REPOSITORY), libraries)
}

fn find_in(repository: &Path, libraries: &Libraries) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for (coordinates, sha256) in &libraries.jars {
        let jar = path_of(repository, coordinates).ok_or_else(|| format!("{coordinates} names no jar"))?;
        match sha256_of(&jar) {
            Ok(read) if read == *sha256 => found.push(jar),
            Ok(read) => return Err(format!("{} with the checksum {sha256}; this one has {read}", jar.display())),
            Err(_) => {
                let maven = &libraries.maven;
                return Err(format!(
                    "{} (mvn dependency:get -Dartifact={maven}, which gets all that {maven} needs)",
                    jar.display()
                ));
            }
        }
    }
    Ok(found)
}

/// The file of `group:artifact:version` in a repository.
fn path_of(repository: &Path, coordinates: &str) -> Option<PathBuf> {
    let [group, artifact, version] = coordinates.split(':').collect::<Vec<_>>().try_into().ok()?;
    let file = format!("{artifact}-{version}.jar");
    Some(repository.join(group.replace('.', "/")).join(artifact).join(version).join(file))
}

fn sha256_of(path: &Path) -> io::Result<String> {
    let bytes = fs::read(path)?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn libraries(coordinates: &str, sha256: &str) -> Libraries {
        let jars = BTreeMap::from([(coordinates.to_owned(), sha256.to_owned())]);
        Libraries { maven: "org.x:x:1".to_owned(), sources: Vec::new(), jars }
    }

    #[test]
    fn only_the_pinned_jar_is_taken() {
        let repository = tempfile::tempdir().unwrap();
        let folder = repository.path().join("org/some/thing/1.2");
        fs::create_dir_all(&folder).unwrap();
        let jar = folder.join("thing-1.2.jar");
        fs::write(&jar, "abc").unwrap();
        for (coordinates, sha256, expected) in [
            ("org.some:thing:1.2", ABC, Ok(vec![jar.clone()])),
            ("org.some:thing:1.2", "0000", Err("this one has ba7816bf")),
            ("org.some:thing:1.3", ABC, Err("mvn dependency:get -Dartifact=org.x:x:1,")),
            ("org.some:thing", ABC, Err("names no jar")),
        ] {
            match (find_in(repository.path(), &libraries(coordinates, sha256)), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(says), Err(expected)) => assert!(says.contains(expected), "{says}"),
                (found, expected) => panic!("{found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn pins_of_all_labs_are_complete() {
        let hexadecimal = |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        for lab in crate::labs() {
            for libraries in lab.libraries.values() {
                assert!(libraries.jars.contains_key(&libraries.maven), "{}: {}", lab.id, libraries.maven);
                assert!(libraries.jars.keys().all(|jar| path_of(Path::new(""), jar).is_some()), "{}", lab.id);
                assert!(libraries.jars.values().all(hexadecimal), "{}", lab.id);
                let is_there = |name: &String| lab.sources.iter().any(|source| source.name == name);
                assert!(libraries.sources.iter().all(is_there), "{}: {:?}", lab.id, libraries.sources);
            }
            for variant in lab.variants.iter().filter(|variant| variant.libraries.is_some()) {
                assert!(lab.libraries(variant).is_some(), "{} {}", lab.id, variant.name);
            }
        }
    }
}
