//! What was set, built in or given on each side, and where the sides differ.
//!
//! A fact that differs from run to run anyway (a number of a process, a time, a path) is none: [`Facts::of`] leaves those out that
//! are known by name, [`FactsCompared`] those whose value is another one in each run.

use std::collections::{BTreeMap, BTreeSet};

use fathom_causes::explanation::RecordingSummary;
use fathom_evidence::kinds::subject;
use fathom_evidence::tables::Fact;
use fathom_evidence::{Recording, jar, settings};
use serde::Serialize;

/// Facts of the host that differ at each look, or are texts with such things in them.
const CHANGING: &[&str] = &[
    "uptime_s",
    "os",
    "cpu_description",
    "memory_bytes",
    "memory_low_watermark_bytes",
    "memory_high_watermark_bytes",
    "cpu_bugs",
];

/// Facts that follow from others: of the kernel's build and of what the JVM makes of its machine.
const FOLLOWING: &[&str] = &["kernel_build", "container_cpus", "container_memory_limit_bytes"];

/// The source of what the kernel has of the process; others have numbers and times of it.
const FACTS: &str = "facts";

/// The source whose words for a CPU differ between JDKs.
const JFR: &str = "jfr";

/// What names of native libraries begin with in the table.
const NATIVE: &str = "native ";

/// The JVM itself, by which its JDK's folder is found.
const LIBJVM: &str = "/libjvm.so";

/// The facts of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// What the user chose.
    given: BTreeMap<String, String>,
    /// What follows from that, or from the JDK.
    derived: BTreeMap<String, String>,
    /// Whether flags that are not there had their default values: a source that knows where flags come from lists all of them.
    knows_flags: bool,
}

impl Facts {
    /// Those of a recording.
    pub(crate) fn of(recording: &Recording, summary: &RecordingSummary) -> Facts {
        let mut facts = Facts::default();
        let known = |text: &String| !text.is_empty();
        facts.given.extend(Some(summary.jvm.clone()).filter(known).map(|jvm| ("jdk".to_owned(), jvm)));
        facts.given.extend(Some(summary.collector.clone()).filter(known).map(|name| ("collector".to_owned(), name)));
        let origins = Origins::of(recording);
        facts.add_native(recording);
        facts.knows_flags = !origins.by_flag.is_empty();
        recording.facts.rows().for_each(|row| facts.add(recording, &origins, row));
        facts
    }

    fn add(&mut self, recording: &Recording, origins: &Origins<'_>, fact: Fact) {
        let [about, key, value] = [fact.subject, fact.key, fact.value].map(|text| recording.text(text));
        match about {
            subject::HOST if key == "memory_bytes" => self.give("memory_gib", &gib(value)),
            subject::HOST if key == "os" => self.give_all(kernel_of(value).map(|kernel| ("kernel".to_owned(), kernel))),
            subject::HOST if CHANGING.contains(&key) || key.starts_with("swap ") => (),
            subject::HOST if FOLLOWING.contains(&key) => self.derive(key, value),
            subject::HOST if key == "cpu" && recording.text(fact.source) == JFR => self.derive("cpu of the JVM", value),
            subject::HOST => self.give(key, value),
            subject::FLAG => self.add_flag(key, value, origins.by_whom(key)),
            subject::JVM if key == "java_arguments" => self.give_all(arguments(value)),
            subject::JVM if key == "arguments" => self.give_all(options(value)),
            // What follows says for which system and when it was built.
            subject::JVM if key == "version" => self.derive("jdk build", value.split(" for ").next().unwrap_or(value)),
            subject::PROPERTY if key == "java.class.path" => self.give_all(jars(value)),
            subject::CGROUP if !key.contains('/') && key != "path" => self.give(&format!("cgroup {key}"), value),
            subject::CONTAINER if key != "id" => self.give(&format!("container {key}"), value),
            subject::PROCESS if recording.text(fact.source) == FACTS => self.give(key, value),
            subject::DISK if settings::is_of_disk(key) => self.give(&format!("disk {key}"), value),
            subject::PLACE if key.ends_with(".file_system") => self.give(key, value),
            subject::JAR => self.give(&format!("library {key}"), value),
            _ => (),
        }
    }

    /// Builds of native libraries; those of the JDK follow from it.
    fn add_native(&mut self, recording: &Recording) {
        let builds = recording.facts.rows().filter(|row| recording.text(row.subject) == subject::LIBRARY_BUILD);
        let builds: BTreeMap<&str, &str> =
            builds.map(|row| (recording.text(row.key), recording.text(row.value))).collect();
        let libjvm = builds.keys().find(|path| path.ends_with(LIBJVM));
        let jdk = libjvm.and_then(|path| path.rsplit_once("/lib/")).map(|(home, _)| format!("{home}/"));
        for (path, build) in builds {
            let is_of_jdk = jdk.as_ref().is_some_and(|jdk| path.starts_with(jdk));
            let facts = if is_of_jdk { &mut self.derived } else { &mut self.given };
            let known = facts.entry(format!("{NATIVE}{}", native_name(path)));
            // Two libraries of one name differ by their builds alone.
            known.and_modify(|builds| *builds = format!("{builds} {build}")).or_insert_with(|| build.to_owned());
        }
    }

    fn add_flag(&mut self, name: &str, value: &str, by: Setter) {
        // Files of logs and dumps.
        if value.contains('/') {
            return;
        }
        match by {
            Setter::Default => (),
            Setter::Jvm => self.derive(&format!("flag {name}"), value),
            Setter::User => self.give(&format!("flag {name}"), value),
        }
    }

    fn give(&mut self, key: &str, value: &str) {
        self.given.insert(key.to_owned(), value.to_owned());
    }

    fn give_all(&mut self, facts: impl IntoIterator<Item = (String, String)>) {
        self.given.extend(facts.into_iter().filter(|(_, value)| !value.contains('/')));
    }

    fn derive(&mut self, key: &str, value: &str) {
        self.derived.insert(key.to_owned(), value.to_owned());
    }

    /// Whether it would have a fact of a kind that is there.
    fn knows(&self, kind: &str) -> bool {
        (kind == FLAG && self.knows_flags) || self.given.keys().any(|key| key.starts_with(kind))
    }

    /// The value of a fact.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.given.get(key).or_else(|| self.derived.get(key)).map(String::as_str)
    }
}

/// Who set a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setter {
    User,
    Jvm,
    Default,
}

/// Where flags got their values.
struct Origins<'a> {
    by_flag: BTreeMap<&'a str, &'a str>,
    /// The options that the JVM was given, if they are known.
    options: Option<&'a str>,
}

impl<'a> Origins<'a> {
    fn of(recording: &'a Recording) -> Origins<'a> {
        let rows = recording.facts.rows().filter(|row| recording.text(row.subject) == subject::FLAG_ORIGIN);
        let by_flag = rows.map(|row| (recording.text(row.key), recording.text(row.value))).collect();
        Origins { by_flag, options: recording.fact(subject::JVM, "arguments") }
    }

    /// The JVM says `Command line` also of flags that it set because of another one that was given.
    fn by_whom(&self, flag: &str) -> Setter {
        let is_given = || self.options.is_none_or(|options| options.contains(flag));
        match self.by_flag.get(flag) {
            Some(&"Default") => Setter::Default,
            Some(&("Ergonomic" | "Internal")) => Setter::Jvm,
            Some(&"Command line") if !is_given() => Setter::Jvm,
            _ => Setter::User,
        }
    }
}

/// In whole GiB: machines of one kind differ by what their firmware takes.
fn gib(bytes: &str) -> String {
    bytes.parse::<u64>().map_or_else(|_| String::new(), |bytes| (bytes.saturating_add(1 << 29) >> 30).to_string())
}

/// The release of the kernel in what the JVM says of the system.
fn kernel_of(os: &str) -> Option<String> {
    let after = os.split_once("uname:")?.1;
    let is_release =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.matches('.').count() >= 2;
    after.split_whitespace().find(is_release).map(str::to_owned)
}

/// What the program was given: `name=value`, and words by themselves.
fn arguments(line: &str) -> Vec<(String, String)> {
    let of = |word: &str| match word.split_once('=') {
        Some((name, value)) => (format!("argument {name}"), value.to_owned()),
        None => (format!("argument {word}"), "given".to_owned()),
    };
    line.split_whitespace().filter(|word| !word.contains('/')).map(of).collect()
}

/// Options of the JVM that are no flags: agents by their names, system properties, and what begins with `-X`.
fn options(line: &str) -> Vec<(String, String)> {
    line.split_whitespace().filter_map(option).collect()
}

fn option(text: &str) -> Option<(String, String)> {
    if let Some((name, _)) = settings::agent(text) {
        return Some((format!("agent {name}"), "loaded".to_owned()));
    }
    if let Some((name, value)) = text.strip_prefix("-D").and_then(|property| property.split_once('=')) {
        return Some((format!("property {name}"), value.to_owned()));
    }
    text.strip_prefix("-X").filter(|flag| !flag.starts_with(['X', ':']))?;
    // Their values are paths.
    let is_path = ["-Xlog", "-Xbootclasspath"].iter().any(|start| text.starts_with(start));
    let (name, value) = settings::size(text).or_else(|| text.split_once(':')).unwrap_or((text, "given"));
    (!is_path).then(|| (format!("option {name}"), value.to_owned()))
}

/// The jars of a class path with their versions.
fn jars(path: &str) -> Vec<(String, String)> {
    let files = path.split([':', ';']).filter_map(jar::name_and_version);
    files.map(|(name, version)| (format!("library {name}"), version.to_owned())).collect()
}

/// The name of a native library without its version and without the digits of a copy that the program unpacked for itself:
/// `libc.so.6` and `libc-2.31.so` are `libc`, `libnetty_epoll_x86_641234.so` is `libnetty_epoll_x86`.
fn native_name(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.split('.').next().unwrap_or(file);
    let begins = |(at, _): &(usize, &str)| stem[at + 1..].starts_with(|first: char| first.is_ascii_digit());
    let name = match stem.match_indices('-').find(begins) {
        Some((at, _)) => &stem[..at],
        None => stem.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches('_'),
    };
    if name.is_empty() { file } else { name }
}

/// A fact that is another one on the other side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactDifference {
    /// Which.
    pub fact: String,
    /// Its values on the first side, the most frequent first.
    pub a: Vec<String>,
    /// Its values on the second side.
    pub b: Vec<String>,
}

/// Where the facts of two sides differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FactsCompared {
    /// What the user chose.
    pub given: Vec<FactDifference>,
    /// What follows from that, or from the JDK.
    pub derived: Vec<FactDifference>,
    /// How many facts are the same on both sides.
    pub same: usize,
    /// Facts that only one side knows: whether they differ is unknown.
    pub one_sided: Vec<String>,
}

/// Beginning of facts that are flags.
const FLAG: &str = "flag ";

/// What a flag, argument or library is when it is not among those of a run that knows them.
const ABSENT: &str = "not there";

/// Facts whose absence is a value: a run that has any of them has all.
const COMPLETE: &[&str] = &[FLAG, "argument ", "property ", "agent ", "option ", "library "];

impl FactsCompared {
    /// Of two sides.
    pub(crate) fn of(a: &[&Facts], b: &[&Facts]) -> FactsCompared {
        let mut compared = FactsCompared::default();
        let all = || a.iter().chain(b);
        let keys: BTreeSet<&String> = all().flat_map(|facts| facts.given.keys()).collect();
        for key in keys {
            let [of_a, of_b] = [a, b].map(|side| given(side, key));
            match is_different(&of_a, &of_b) {
                None => compared.one_sided.push(key.clone()),
                Some(true) => compared.given.push(difference(key, of_a, of_b)),
                Some(false) => compared.same += 1,
            }
        }
        let keys: BTreeSet<&String> = all().flat_map(|facts| facts.derived.keys()).collect();
        for key in keys {
            // What was given on one side follows from other things on the other.
            let is_given = all().any(|facts| facts.given.contains_key(key));
            let value = |facts: &&Facts| facts.derived.get(key).cloned();
            let [of_a, of_b] = [a, b].map(|side| side.iter().filter_map(value).collect::<Vec<String>>());
            if !is_given && is_different(&of_a, &of_b) == Some(true) {
                compared.derived.push(difference(key, of_a, of_b));
            }
        }
        compared
    }
}

/// The values of a fact in the runs that know it.
fn given(side: &[&Facts], key: &str) -> Vec<String> {
    let kind = COMPLETE.iter().find(|kind| key.starts_with(**kind));
    let value = |facts: &&Facts| {
        let absent = || kind.filter(|kind| facts.knows(kind)).map(|_| ABSENT.to_owned());
        facts.given.get(key).cloned().or_else(absent)
    };
    side.iter().filter_map(value).collect()
}

/// Whether a fact differs between sides; `None` where a side does not know it. What is another value in each of several runs
/// is no fact of a side.
fn is_different(a: &[String], b: &[String]) -> Option<bool> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let distinct = |side: &[String]| side.iter().collect::<BTreeSet<_>>().len();
    let is_of_each_run = |side: &[String]| side.len() > 2 && distinct(side) == side.len();
    let (of_a, of_b): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
    Some(of_a != of_b && !is_of_each_run(a) && !is_of_each_run(b))
}

fn difference(key: &str, a: Vec<String>, b: Vec<String>) -> FactDifference {
    FactDifference { fact: key.to_owned(), a: by_frequency(a), b: by_frequency(b) }
}

fn by_frequency(values: Vec<String>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    values.into_iter().for_each(|value| *counts.entry(value).or_default() += 1);
    let mut sorted: Vec<(String, usize)> = counts.into_iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sorted.into_iter().map(|(value, _)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(given: &[(&str, &str)]) -> Facts {
        let given = given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Facts { given, knows_flags: true, ..Facts::default() }
    }

    fn names(a: &[Facts], b: &[Facts]) -> Vec<String> {
        let compared = FactsCompared::of(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>());
        compared
            .given
            .into_iter()
            .map(|one| format!("{}: {} | {}", one.fact, one.a.join(" "), one.b.join(" ")))
            .collect()
    }

    #[test]
    fn what_differs_is_named_and_nothing_else() {
        let a = [facts(&[("jdk", "JDK 17"), ("kernel", "6.1"), ("flag UseSerialGC", "true")])];
        let b = [facts(&[("jdk", "JDK 25"), ("kernel", "6.1"), ("governor", "powersave")])];
        assert_eq!(names(&a, &b), ["flag UseSerialGC: true | not there", "jdk: JDK 17 | JDK 25"]);
    }

    #[test]
    fn what_each_run_has_another_value_of_is_no_fact() {
        let side = |values: &[&str]| values.iter().map(|value| facts(&[("argument port", value)])).collect::<Vec<_>>();
        assert!(names(&side(&["1", "2", "3"]), &side(&["4", "5", "6"])).is_empty());
        assert_eq!(names(&side(&["1", "1", "2"]), &side(&["1", "1", "1"])), ["argument port: 1 2 | 1"]);
    }

    #[test]
    fn flags_that_the_jvm_set_by_itself_follow() {
        let mut recording = Recording::default();
        recording.add_fact(subject::JVM, "arguments", "-Xmx256m -XX:MaxTenuringThreshold=3", "jfr");
        for (flag, value, origin) in [
            ("MaxTenuringThreshold", "3", "Command line"),
            ("AlwaysTenure", "false", "Command line"),
            ("MaxHeapSize", "268435456", "Command line"),
            ("ReservedCodeCacheSize", "251658240", "Ergonomic"),
            ("UseTLAB", "true", "Default"),
        ] {
            recording.add_fact(subject::FLAG, flag, value, "jfr");
            recording.add_fact(subject::FLAG_ORIGIN, flag, origin, "jfr");
        }
        let facts = Facts::of(&recording, &RecordingSummary::default());
        assert_eq!(facts.given.keys().collect::<Vec<_>>(), ["flag MaxTenuringThreshold", "option -Xmx"]);
        let derived = ["flag AlwaysTenure", "flag MaxHeapSize", "flag ReservedCodeCacheSize"];
        assert_eq!(facts.derived.keys().collect::<Vec<_>>(), derived);
    }

    #[test]
    fn native_libraries_differ_by_their_builds() {
        let facts = |jdk: &str, libc: &str, more: &[(&str, &str)]| {
            let mut recording = Recording::default();
            let of_jdk = |name: &str| format!("/opt/{jdk}/lib/{name}");
            recording.add_fact(subject::LIBRARY_BUILD, &of_jdk("server/libjvm.so"), jdk, FACTS);
            recording.add_fact(subject::LIBRARY_BUILD, &of_jdk("libnio.so"), jdk, FACTS);
            recording.add_fact(subject::LIBRARY_BUILD, "/usr/lib/libc.so.6", libc, FACTS);
            more.iter().for_each(|(path, build)| recording.add_fact(subject::LIBRARY_BUILD, path, build, FACTS));
            Facts::of(&recording, &RecordingSummary::default())
        };
        let a = facts("jdk-17", "c1", &[("/tmp/liblz4-java-123.so", "d1"), ("/usr/lib/libjemalloc.so.2", "e1")]);
        let b = facts("jdk-25", "c2", &[("/tmp/liblz4-java-456.so", "d1")]);
        let compared = FactsCompared::of(&[&a], &[&b]);
        let names = |all: &[FactDifference]| all.iter().map(|one| one.fact.clone()).collect::<Vec<_>>();
        assert_eq!(names(&compared.given), ["native libc"]);
        assert_eq!(names(&compared.derived), ["native libjvm", "native libnio"]);
        // It may have been loaded later on the other side.
        assert_eq!((compared.one_sided, compared.same), (vec!["native libjemalloc".to_owned()], 1));
    }

    #[test]
    fn containers_differ_by_their_images() {
        let facts = |id: &str, name: &str, image: &str| {
            let mut recording = Recording::default();
            for (key, value) in [("id", id), ("image", name), ("image_id", image)] {
                recording.add_fact(subject::CONTAINER, key, value, FACTS);
            }
            recording.add_fact(subject::PROCESS, "system", "Debian GNU/Linux 12 (bookworm)", FACTS);
            Facts::of(&recording, &RecordingSummary::default())
        };
        let [a, b] = [facts("0123456789ab", "shop/cart:7", "89ab"), facts("ba9876543210", "shop/cart:7", "89ac")];
        assert_eq!(names(&[a], &[b]), ["container image_id: 89ab | 89ac"]);
    }

    #[test]
    fn native_libraries_have_one_name_in_all_versions() {
        for (path, expected) in [
            ("/lib/x86_64-linux-gnu/libc.so.6", "libc"),
            ("/lib/libc-2.31.so", "libc"),
            ("/usr/lib/libstdc++.so.6.0.30", "libstdc++"),
            ("/lib64/ld-linux-x86-64.so.2", "ld-linux-x86"),
            ("/tmp/libnetty_transport_native_epoll_x86_645531243.so", "libnetty_transport_native_epoll_x86"),
            ("/tmp/snappy-1.1.10-6ba7b810-9dad-11d1-80b4-00c04fd430c8-libsnappyjava.so", "snappy"),
            ("/root/.cache/JNA/temp/jna5512341.tmp", "jna"),
            ("/opt/jdk/bin/java", "java"),
            ("/tmp/.hidden", ".hidden"),
            ("", ""),
        ] {
            assert_eq!(native_name(path), expected, "{path}");
        }
    }

    #[test]
    fn options_arguments_and_jars() {
        for (text, expected) in [
            ("-javaagent:/opt/apm/agent.jar=secret", Some(("agent agent.jar", "loaded"))),
            ("-Dio.netty.threads=4", Some(("property io.netty.threads", "4"))),
            ("-Xint", Some(("option -Xint", "given"))),
            ("-Xshare:off", Some(("option -Xshare", "off"))),
            ("-Xmx4g", Some(("option -Xmx", "4g"))),
            ("-Xlog:gc:gc.log", None),
            ("-XX:+UseZGC", None),
            ("shop.Main", None),
        ] {
            let found = option(text);
            assert_eq!(found.as_ref().map(|(key, value)| (&**key, &**value)), expected, "{text}");
        }
        let found = jars("/a/spring-core-6.2.1.jar:/b/app.jar:/classes");
        let found: Vec<(&str, &str)> = found.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(found, [("library spring-core", "6.2.1"), ("library app", "none")]);
        assert_eq!(arguments("Main variant=sick out=/x/y fast").len(), 3);
        assert_eq!(kernel_of("Ubuntu\nuname: Linux 6.8.0-31 #1 SMP").as_deref(), Some("6.8.0-31"));
    }
}
