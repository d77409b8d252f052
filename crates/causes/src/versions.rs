//! Versions of JVMs as they write them.

/// The feature release in a version such as `17.0.15+6`, `1.8.0_504`, `OpenJDK 64-Bit Server VM (25.0.3+…`.
///
/// Up to JDK 8 the virtual machine had a version of its own: `VM (25.302-b05) … JRE (1.8.0_302-b05)` is JDK 8.
pub(crate) fn major_version(text: &str) -> Option<u32> {
    let number = |text: &str| -> Option<u32> {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|major| (1..200).contains(major))
    };
    let starts = text.char_indices().filter(|(index, c)| {
        c.is_ascii_digit() && !text[..*index].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '.')
    });
    // "64-Bit" is not a version: a version has a point or stands alone.
    let versions =
        starts.map(|(index, _)| &text[index..]).filter(|rest| !rest.starts_with("64-") && !rest.starts_with("32-"));
    let versions: Vec<&str> = versions.collect();
    let first = versions.first()?;
    if let Some(old) = versions.iter().find_map(|version| version.strip_prefix("1.")) {
        return number(old);
    }
    let major = number(first)?;
    Some(if is_of_the_virtual_machine(first) { jdk_of_the_virtual_machine(major) } else { major })
}

/// `25.302-b05`, two numbers and a build, where later versions have `25.0.3+9`.
fn is_of_the_virtual_machine(version: &str) -> bool {
    let numbers = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    let (numbers, build) = version.split_at(numbers);
    numbers.split('.').count() == 2
        && build.strip_prefix("-b").is_some_and(|build| build.starts_with(|c: char| c.is_ascii_digit()))
}

/// The release that a virtual machine with a version of its own came with.
fn jdk_of_the_virtual_machine(major: u32) -> u32 {
    match major {
        25 => 8,
        21..=24 => 7,
        10..=20 => 6,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::major_version;

    #[test]
    fn versions_as_jvms_write_them() {
        for (text, expected) in [
            ("17.0.15+6-Debian-1deb12u1", Some(17)),
            ("25", Some(25)),
            ("25.0.3", Some(25)),
            ("1.8.0_504-b07", Some(8)),
            ("OpenJDK 64-Bit Server VM (25.0.3+9-LTS) for linux-amd64 JRE (25.0.3+9-LTS)", Some(25)),
            ("OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) for linux-amd64", Some(17)),
            ("OpenJDK 64-Bit Server VM (25.302-b05) for linux-amd64 JRE (1.8.0_302-b05), built on x", Some(8)),
            ("OpenJDK 64-Bit Server VM (25.302-b05)", Some(8)),
            ("Java HotSpot(TM) 64-Bit Server VM (24.45-b08) for linux-amd64 JRE (1.7.0_45-b18)", Some(7)),
            ("20.6-b01", Some(6)),
            ("25-ea+12-1", Some(25)),
            ("", None),
            ("no version", None),
        ] {
            assert_eq!(major_version(text), expected, "{text}");
        }
    }
}
