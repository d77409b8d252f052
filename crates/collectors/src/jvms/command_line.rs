//! Parses a command line of Java: text to text, no I/O.

/// Options of the launcher that take the next argument.
const WITH_VALUE: &[&str] = &[
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "--enable-native-access",
    "--source",
];

/// The arguments as procfs has them: each ends with a NUL.
pub(super) fn arguments(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// Main class, module or jar and what follows it; everything when none can be told.
pub(super) fn from_main(arguments: &[String]) -> &[String] {
    let at = main_at(arguments).unwrap_or(0);
    arguments.get(at..).unwrap_or_default()
}

fn main_at(arguments: &[String]) -> Option<usize> {
    let mut at = 1;
    while let Some(argument) = arguments.get(at) {
        match argument.as_str() {
            "-jar" | "-m" | "--module" => return (at + 1 < arguments.len()).then_some(at + 1),
            option if WITH_VALUE.contains(&option) => at += 2,
            option if option.starts_with(['-', '@']) => at += 1,
            _ => return Some(at),
        }
    }
    None
}

/// The collector that was asked for; the last one counts.
pub(super) fn collector(arguments: &[String]) -> Option<&'static str> {
    arguments.iter().rev().find_map(|argument| match argument.strip_prefix("-XX:+Use")? {
        "G1GC" => Some("G1"),
        "ParallelGC" | "ParallelOldGC" => Some("Parallel"),
        "SerialGC" => Some("Serial"),
        "ConcMarkSweepGC" => Some("CMS"),
        "ZGC" => Some("ZGC"),
        "ShenandoahGC" => Some("Shenandoah"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_classes_and_collectors() {
        for (line, main, collector_of) in [
            ("java\0-Xmx1g\0shop.Main\0a\0b\0", "shop.Main a b", None),
            ("java\0-cp\0a:b\0-XX:+UseZGC\0shop.Main\0", "shop.Main", Some("ZGC")),
            ("java\0-XX:+UseG1GC\0-jar\0shop.jar\0--port\x001\0", "shop.jar --port 1", Some("G1")),
            ("java\0-p\0mods\0-m\0shop/shop.Main\0", "shop/shop.Main", None),
            ("java\0@arguments\0shop.Main\0", "shop.Main", None),
            ("java\0-cp\0", "java -cp", None),
            ("java\0-jar\0", "java -jar", None),
            ("launcher\0", "launcher", None),
            ("", "", None),
        ] {
            let arguments = arguments(line.as_bytes());
            assert_eq!(
                (from_main(&arguments).join(" ").as_str(), collector(&arguments)),
                (main, collector_of),
                "{line:?}"
            );
        }
    }
}
