//! The JVMs of this machine, those in containers included, as far as the caller may look.
//!
//! A JVM is a process that has libjvm mapped, whatever its program is called. What its counters say is trusted; a JVM
//! without counters is identified by its command line and its JDK's files. Nothing is attached to and nothing is
//! signalled.

mod command_line;

use std::path::Path;

use fathom_evidence::mask;
use regex::Regex;

use crate::jvm_counters::Counters;
use crate::mapped::Mapped;
use crate::{Target, containers, hostile_files, procfs};

/// The file `release` of a JDK has some 2 KB.
const RELEASE_MAX_BYTES: u64 = 64 << 10;

/// A running JVM. What is not known is empty or `None`.
#[derive(Debug, Clone)]
pub struct Jvm {
    /// The process.
    pub target: Target,
    /// Its user, by name where the name is known.
    pub user: String,
    /// Main class, module or jar.
    pub main: String,
    /// Command line from the main class on, or the whole one; secrets are masked.
    pub command_line: String,
    /// System properties that were given to the launcher, `-Dname=value`; secrets are masked.
    pub properties: String,
    /// Version of Java, for example `17.0.15`.
    pub version: String,
    /// `G1`, `Parallel`, `Serial`, `CMS`, `ZGC` or `Shenandoah`.
    pub collector: String,
    /// Time since the process began, in ns.
    pub uptime_ns: i64,
    /// Heap in use when the collector last said so, in bytes.
    pub heap_used_bytes: Option<u64>,
    /// Limit of the heap, in bytes.
    pub heap_max_bytes: Option<u64>,
    /// What tells the container, when the process is in one and we are not in the same.
    pub container: Option<String>,
}

/// All JVMs that the caller may look at, by process id. Others are left out silently: whether a
/// process is a JVM is only visible to its user and to root.
pub fn jvms() -> Vec<Jvm> {
    let mut found: Vec<Jvm> = pids().filter_map(|pid| Jvm::of(&Target::of(pid).ok()?)).collect();
    found.sort_by_key(|jvm| jvm.target.pid);
    found
}

/// All processes of this machine.
pub fn pids() -> impl Iterator<Item = u32> {
    procfs::names("/proc").filter_map(|name| name.parse().ok())
}

/// Whether a process is seen to be no JVM, at this moment: by what it maps, or where that may not be read by the names of its
/// threads, one of which does the work of safepoints in every HotSpot.
pub fn is_no_jvm(target: &Target) -> bool {
    const VM_THREAD: &[u8] = b"VM Thread";
    match Mapped::of(target) {
        Ok(mapped) => mapped.libjvm.is_none(),
        Err(_) => {
            let tasks = target.proc("task");
            let mut names =
                procfs::names(&tasks).filter_map(|tid| procfs::read(tasks.join(tid).join("comm")).ok()).peekable();
            names.peek().is_some() && !names.any(|name| name.trim_ascii() == VM_THREAD)
        }
    }
}

/// The options of the launcher on a command line as procfs has it, without the program and what follows the main class.
pub(crate) fn options(bytes: &[u8]) -> Vec<String> {
    let mut arguments = command_line::arguments(bytes);
    arguments.truncate(arguments.len() - command_line::from_main(&arguments).len());
    arguments
}

impl Jvm {
    /// What is known of a process; `None` when it is no JVM or cannot be looked at.
    pub fn of(target: &Target) -> Option<Jvm> {
        let mapped = Mapped::of(target).ok()?;
        let libjvm = mapped.libjvm.as_deref()?;
        let arguments = command_line::arguments(&procfs::read(target.proc("cmdline")).unwrap_or_default());
        let counters = Counters::of(target, &mapped).ok();
        let said = counters.as_ref().map(Said::of).unwrap_or_default();
        let command_line = masked(&arguments, said.command_line.as_deref());
        Some(Jvm {
            user: user(target, &mapped),
            main: command_line.split_whitespace().next().unwrap_or_default().to_owned(),
            command_line,
            properties: properties(&arguments),
            version: said.version.or_else(|| release(target, libjvm)).unwrap_or_default(),
            collector: said.collector.or_else(|| command_line::collector(&arguments)).unwrap_or_default().to_owned(),
            uptime_ns: target.age_ns(),
            heap_used_bytes: said.heap_used_bytes,
            heap_max_bytes: said.heap_max_bytes,
            container: containers::of(target),
            target: target.clone(),
        })
    }

    /// A short name for people: the class without its package, the jar without its folder.
    pub fn short_name(&self) -> &str {
        let file = self.main.rsplit('/').next().unwrap_or_default();
        let class = || file.rsplit('.').next().unwrap_or_default();
        let name = file.strip_suffix(".jar").unwrap_or_else(class);
        if name.is_empty() { "java" } else { name }
    }

    /// Whether main class and arguments match.
    pub fn matches(&self, pattern: &Regex) -> bool {
        pattern.is_match(&self.command_line)
    }
}

/// The command line from the main class on, as the JVM says it itself or else as the kernel does, which knows where an argument ends.
fn masked(arguments: &[String], said: Option<&str>) -> String {
    said.map_or_else(
        || mask::arguments(command_line::from_main(arguments)),
        |line| mask::command_line(line).into_owned(),
    )
}

/// The system properties before the main class.
fn properties(arguments: &[String]) -> String {
    let before_main = arguments.len() - command_line::from_main(arguments).len();
    let given = arguments.iter().take(before_main).filter(|argument| argument.starts_with("-D"));
    mask::arguments(&given.collect::<Vec<_>>())
}

/// What a JVM says of itself in its counters.
#[derive(Debug, Default)]
struct Said {
    command_line: Option<String>,
    version: Option<String>,
    collector: Option<&'static str>,
    heap_used_bytes: Option<u64>,
    heap_max_bytes: Option<u64>,
}

impl Said {
    fn of(counters: &Counters) -> Said {
        let collector = (0..4).find_map(|index| collector(&counters.text(&format!("sun.gc.collector.{index}.name"))?));
        let text = |name: &str| counters.text(name).filter(|text| !text.is_empty());
        Said {
            command_line: text("sun.rt.javaCommand"),
            version: text("java.property.java.version"),
            collector,
            heap_used_bytes: heap_used_bytes(counters),
            heap_max_bytes: heap_max_bytes(counters, collector),
        }
    }
}

/// The name that people use for a collector, from what the JVM calls one of its parts.
fn collector(name: &str) -> Option<&'static str> {
    let known: [(&[&str], &str); 6] = [
        (&["G1"], "G1"),
        (&["PS", "Parallel"], "Parallel"),
        (&["Copy", "MSC", "Serial"], "Serial"),
        (&["CMS"], "CMS"),
        (&["Z"], "ZGC"),
        (&["Shenandoah"], "Shenandoah"),
    ];
    known.into_iter().find(|(starts, _)| starts.iter().any(|start| name.starts_with(start))).map(|(_, known)| known)
}

fn heap_used_bytes(counters: &Counters) -> Option<u64> {
    let spaces = (0..2).flat_map(|generation| (0..3).map(move |space| (generation, space)));
    let used = spaces.filter_map(|(generation, space)| {
        counters.number(&format!("sun.gc.generation.{generation}.space.{space}.used"))
    });
    used.filter_map(|bytes| u64::try_from(bytes).ok()).reduce(u64::saturating_add)
}

/// Where the generations share the heap, each may grow to its limit; elsewhere it is their sum.
fn heap_max_bytes(counters: &Counters, collector: Option<&str>) -> Option<u64> {
    let limits = (0..2).filter_map(|generation| {
        let limit = counters.number(&format!("sun.gc.generation.{generation}.maxCapacity"))?;
        u64::try_from(limit).ok()
    });
    let limit = match collector {
        Some("Serial" | "Parallel") => limits.reduce(u64::saturating_add),
        _ => limits.max(),
    };
    // G1 adds some bytes so that no counter is ever zero; the limit itself is of whole kilobytes.
    limit.map(|bytes| bytes - bytes % 1024)
}

/// The name by which the counters go, else the one of this machine's list, else the number.
fn user(target: &Target, mapped: &Mapped) -> String {
    let of_counters = || mapped.counters.as_ref()?.0.strip_prefix("hsperfdata_").map(str::to_owned);
    let listed = || {
        let list = procfs::read_text("/etc/passwd").ok()?;
        let is_user = |line: &&str| line.split(':').nth(2).and_then(|uid| uid.parse().ok()) == Some(target.uid);
        list.lines().find(is_user)?.split(':').next().map(str::to_owned)
    };
    of_counters().or_else(listed).unwrap_or_else(|| target.uid.to_string())
}

/// Version of the JDK that libjvm belongs to, from the file beside its `lib`.
fn release(target: &Target, libjvm: &str) -> Option<String> {
    // `lib/server/libjvm.so`, and in JDK 8 `jre/lib/amd64/server/libjvm.so`.
    let mut homes = Path::new(libjvm).ancestors().skip(3).take(3);
    let bytes = homes
        .find_map(|home| hostile_files::small_file(target, home.join("release").to_str()?, RELEASE_MAX_BYTES).ok())?;
    let text = String::from_utf8_lossy(&bytes);
    let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(version.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process that looks like a JVM: what it runs is called libjvm.so, in a folder of its own.
    struct Impostor {
        home: tempfile::TempDir,
        process: Child,
    }

    impl Impostor {
        fn new() -> Impostor {
            let home = tempfile::tempdir().unwrap();
            let libjvm = home.path().join("lib/server/libjvm.so");
            fs::create_dir_all(libjvm.parent().unwrap()).unwrap();
            fs::copy("/bin/cat", &libjvm).unwrap();
            let mut process = Command::new(&libjvm).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            // It is the program when it answers.
            process.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            process.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            Impostor { home, process }
        }

        fn release(&self) -> PathBuf {
            self.home.path().join("release")
        }

        fn version(&self) -> String {
            Jvm::of(&Target::of(self.process.id()).unwrap()).unwrap().version
        }
    }

    impl Drop for Impostor {
        fn drop(&mut self) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }

    #[test]
    fn whatever_stands_in_place_of_release_neither_hangs_nor_fills_anybody() {
        let impostor = Impostor::new();
        let release = impostor.release();
        fs::write(&release, "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\n").unwrap();
        assert_eq!(impostor.version(), "17.0.15");
        type Attack = (&'static str, fn(&Path));
        let attacks: [Attack; 5] = [
            ("a pipe", |path| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR).unwrap()),
            ("a device without an end", |path| symlink("/dev/zero", path).unwrap()),
            ("a file of others", |path| symlink("/etc/passwd", path).unwrap()),
            ("itself", |path| symlink("release", path).unwrap()),
            ("a terabyte", |path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap()),
        ];
        for (what, attack) in attacks {
            fs::remove_file(&release).unwrap();
            attack(&release);
            assert_eq!(impostor.version(), "", "{what}");
        }
    }

    #[test]
    fn short_names() {
        let target = Target::of(std::process::id()).unwrap();
        let mut jvm = Jvm {
            target,
            user: String::new(),
            main: String::new(),
            command_line: String::new(),
            properties: String::new(),
            version: String::new(),
            collector: String::new(),
            uptime_ns: 0,
            heap_used_bytes: None,
            heap_max_bytes: None,
            container: None,
        };
        for (main, expected) in [
            ("shop.Cart", "Cart"),
            ("/opt/shop-1.2.jar", "shop-1.2"),
            ("lib/shop.jar", "shop"),
            ("", "java"),
            ("x.", "java"),
        ] {
            jvm.main = main.to_owned();
            assert_eq!(jvm.short_name(), expected, "{main}");
        }
    }

    #[test]
    fn properties_are_those_of_the_launcher() {
        let arguments: Vec<String> =
            ["java", "-Dapp=cart", "-Xmx1g", "-Ddb.password=x", "-jar", "shop.jar", "-Dlate=1"]
                .map(str::to_owned)
                .into();
        let told = properties(&arguments);
        assert!(
            told.starts_with("-Dapp=cart -Ddb.password=") && !told.contains("=x") && !told.contains("late"),
            "{told}"
        );
    }

    #[test]
    fn no_form_of_a_secret_is_passed_on() {
        const SECRET: &str = "Tr0ub4dor";
        let lines = include_str!("../../../testdata/secrets/forms.txt").lines().filter(|line| !line.starts_with("# "));
        for form in lines.map(|line| line.rsplit_once('|').map_or(line, |(text, _)| text)) {
            let alone = ["java", form].map(str::to_owned);
            let behind = ["java", "-cp", "lib", "shop.Main", form].map(str::to_owned);
            let told = [
                masked(&[], Some(form)),
                masked(&[], Some(&format!("shop.Main {form}"))),
                masked(&alone, None),
                masked(&behind, None),
                properties(&alone),
            ];
            assert!(told.iter().all(|text| !text.contains(SECRET)), "{form}: {told:?}");
        }
    }

    #[test]
    fn collectors_by_the_names_of_their_parts() {
        for (name, expected) in [
            ("G1 young collection pauses", Some("G1")),
            ("G1 incremental collections", Some("G1")),
            ("PSParallelCompact", Some("Parallel")),
            ("Parallel full collection pauses", Some("Parallel")),
            ("Copy", Some("Serial")),
            ("MSC", Some("Serial")),
            ("Serial young collection pauses", Some("Serial")),
            ("PCopy", None),
            ("CMS", Some("CMS")),
            ("CMS stop-the-world phases", Some("CMS")),
            ("ZGC minor collection pauses", Some("ZGC")),
            ("Z concurrent cycle pauses", Some("ZGC")),
            ("Shenandoah full", Some("Shenandoah")),
            ("", None),
            ("Epsilon", None),
        ] {
            assert_eq!(collector(name), expected, "{name}");
        }
    }
}
