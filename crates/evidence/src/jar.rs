//! Names of Java libraries.

/// What stands for the version of a jar whose name has none.
const NO_VERSION: &str = "none";

/// Name and version of a jar by its path: `lib/name-1.2.3.jar`. `None` for any other file.
pub fn name_and_version(path: &str) -> Option<(&str, &str)> {
    let name = path.rsplit(['/', '\\']).next()?.strip_suffix(".jar").filter(|name| !name.is_empty())?;
    let begins = |(at, _): &(usize, &str)| name[at + 1..].starts_with(|first: char| first.is_ascii_digit());
    Some(name.match_indices('-').find(begins).map_or((name, NO_VERSION), |(at, _)| (&name[..at], &name[at + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_begin_with_a_digit() {
        for (path, expected) in [
            ("/a/spring-core-6.2.1.jar", Some(("spring-core", "6.2.1"))),
            ("netty-all-4.1.118.Final.jar", Some(("netty-all", "4.1.118.Final"))),
            ("C:\\app\\app.jar", Some(("app", "none"))),
            ("x-.jar", Some(("x-", "none"))),
            ("/x/.jar", None),
            ("/classes", None),
        ] {
            assert_eq!(name_and_version(path), expected, "{path}");
        }
    }
}
