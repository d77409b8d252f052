//! Facts that are settings: what two hosts, or two runs, are compared by.

/// What of a disk is a setting or its kind.
const OF_DISKS: &[&str] = &[
    "kind",
    "model",
    "scheduler",
    "nr_requests",
    "queue_depth",
    "rotational",
    "read_ahead_kb",
    "write_cache",
    "wbt_lat_usec",
];

/// Options of the JVM that load an agent, by their beginnings.
const AGENTS: &[&str] = &["-javaagent:", "-agentpath:", "-agentlib:"];

/// Options of the JVM whose value stands right behind their name.
const SIZES: &[&str] = &["-Xms", "-Xmx", "-Xmn", "-Xss"];

/// Whether a fact about a disk (`vda.scheduler`) is a setting, and not where it is or what it did.
pub fn is_of_disk(key: &str) -> bool {
    key.rsplit_once('.').is_some_and(|(_, what)| OF_DISKS.contains(&what))
}

/// Words with a capital at their beginning, as Flight Recorder writes where flags come from (`Command line`).
pub fn capitalised(words: &str) -> String {
    let mut rest = words.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Name and path of the agent that an option of the JVM loads, without the agent's own options, which may be secrets.
pub fn agent(option: &str) -> Option<(&str, &str)> {
    let agent = AGENTS.iter().find_map(|kind| option.strip_prefix(kind))?;
    let path = agent.split_once('=').map_or(agent, |(path, _)| path);
    Some((path.rsplit('/').next().unwrap_or(path), path))
}

/// Name and value of an option such as `-Xmx4g`.
pub fn size(option: &str) -> Option<(&str, &str)> {
    let name = SIZES.iter().find(|name| option.starts_with(**name))?;
    Some(option.split_at(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_names_and_values() {
        assert_eq!(agent("-javaagent:/opt/apm/agent.jar=key=secret"), Some(("agent.jar", "/opt/apm/agent.jar")));
        assert_eq!(agent("-agentlib:jdwp=transport=dt_socket"), Some(("jdwp", "jdwp")));
        assert_eq!((agent("-Xmx4g"), agent("")), (None, None));
        assert_eq!(size("-Xmx4g"), Some(("-Xmx", "4g")));
        assert_eq!((size("-Xint"), size("-XX:+UseZGC")), (None, None));
    }

    #[test]
    fn settings_of_disks() {
        for (key, expected) in
            [("vda.scheduler", true), ("nvme0n1.p1.kind", true), ("vda.size_bytes", false), ("kind", false)]
        {
            assert_eq!(is_of_disk(key), expected, "{key}");
        }
    }
}
