//! Parses texts that describe how the machine and the process are set up.

use std::collections::BTreeSet;

use crate::procfs::{lines, number, utf8, words};

/// Options of the kernel's command line that affect speed. Other options may contain private data and are left out. A
/// name that ends with `*` stands for all that begin so.
const KERNEL_OPTIONS: &[&str] = &[
    "mitigations",
    "spectre_v2",
    "isolcpus",
    "nohz*",
    "rcu_nocbs",
    "irqaffinity",
    "transparent_hugepage*",
    "hugepages*",
    "hugepagesz",
    "default_hugepagesz",
    "psi",
    "numa*",
    "clocksource",
    "tsc",
    "notsc",
    "idle",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "intel_pstate",
    "amd_pstate",
    "cpufreq*",
    "preempt",
    "threadirqs",
    "cgroup*",
    "systemd.unified_cgroup_hierarchy",
    "elevator",
    "scsi_mod.use_blk_mq",
    "nosmt",
    "maxcpus",
    "mem",
    "lockdown",
    "audit",
    "nmi_watchdog",
    "skew_tick",
];

/// What of the kernel's command line bears on speed, in its order.
pub(super) fn kernel_options(text: &str) -> String {
    let matches = |name: &str| {
        KERNEL_OPTIONS
            .iter()
            .any(|known| known.strip_suffix('*').map_or(*known == name, |start| name.starts_with(start)))
    };
    let kept = text.split_whitespace().filter(|option| matches(option.split('=').next().unwrap_or_default()));
    kept.collect::<Vec<_>>().join(" ")
}

/// The chosen one of a list like `always [madvise] never`; the text itself when none is marked.
pub(super) fn chosen(text: &str) -> &str {
    let marked = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    marked.map_or(text, |(chosen, _)| chosen)
}

/// How much memory is free when the kernel begins to reclaim and when it ceases, in pages.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Watermarks {
    pub(super) low: u64,
    pub(super) high: u64,
}

/// The watermarks of all zones together, from `/proc/zoneinfo`. Of a zone that is kept for those who can use no other,
/// that part is added which ordinary memory does not get.
pub(super) fn watermarks(text: &[u8]) -> Watermarks {
    let mut all = Watermarks::default();
    let mut zone = Zone::default();
    for line in lines(text) {
        let mut words = words(line);
        let name = words.next().unwrap_or_default();
        let mut value = || words.next().and_then(number).unwrap_or(0);
        match name {
            b"Node" => std::mem::take(&mut zone).add_to(&mut all),
            b"low" => zone.low = value(),
            b"high" => zone.high = value(),
            b"managed" => zone.managed = value(),
            b"protection:" => zone.kept = largest(words),
            _ => {}
        }
    }
    zone.add_to(&mut all);
    all
}

/// Pages of one zone.
#[derive(Debug, Default)]
struct Zone {
    low: u64,
    high: u64,
    managed: u64,
    kept: u64,
}

impl Zone {
    fn add_to(&self, all: &mut Watermarks) {
        let at_most = |pages: u64| pages.saturating_add(self.kept).min(self.managed);
        all.low = all.low.saturating_add(at_most(self.low));
        all.high = all.high.saturating_add(at_most(self.high));
    }
}

/// The largest of numbers in brackets, with commas between.
fn largest<'a>(words: impl Iterator<Item = &'a [u8]>) -> u64 {
    let digits = |word: &'a [u8]| word.split(|letter| !letter.is_ascii_digit()).find(|part| !part.is_empty());
    words.filter_map(|word| number(digits(word)?)).max().unwrap_or(0)
}

/// What `/proc/cpuinfo` says of the CPUs.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Cpus {
    pub(super) count: usize,
    /// Facts about the first CPU: key and value.
    pub(super) facts: Vec<(&'static str, String)>,
    /// Main identification registers of arm64, one for each kind of core.
    pub(super) midr: BTreeSet<u32>,
}

/// Lines of `cpuinfo` and the keys of the facts made of them.
const CPU_LINES: &[(&str, &str)] = &[
    ("model name", "cpu"),
    ("vendor_id", "cpu_vendor"),
    ("cpu family", "cpu_family"),
    ("model", "cpu_model"),
    ("stepping", "cpu_stepping"),
    ("microcode", "cpu_microcode"),
    ("cache size", "cpu_cache"),
    ("bugs", "cpu_bugs"),
    ("CPU implementer", "cpu_implementer"),
    ("CPU part", "cpu_part"),
    ("CPU variant", "cpu_variant"),
    ("CPU revision", "cpu_revision"),
];

/// Reads `/proc/cpuinfo` of x86-64 or arm64.
pub(super) fn cpus(text: &[u8]) -> Cpus {
    let mut cpus = Cpus::default();
    let mut arm = [None; 4];
    for line in lines(text) {
        let Some((name, value)) = utf8(line).and_then(|line| line.split_once(':')) else { continue };
        let (name, value) = (name.trim(), value.trim());
        cpus.count += usize::from(name == "processor");
        if let Some((_, key)) = CPU_LINES.iter().find(|(known, _)| *known == name)
            && !cpus.facts.iter().any(|(known, _)| known == key)
        {
            cpus.facts.push((key, value.to_owned()));
        }
        if matches!(name, "flags" | "Features") && cpus.count <= 1 {
            let is_guest = value.split_whitespace().any(|flag| flag == "hypervisor");
            cpus.facts.extend(is_guest.then(|| ("cpu_is_virtual", "true".to_owned())));
        }
        cpus.midr.extend(midr(name, value, &mut arm));
    }
    cpus
}

/// Puts a register together from the lines of one CPU, of which the revision is the last.
fn midr(name: &str, value: &str, parts: &mut [Option<u32>; 4]) -> Option<u32> {
    let place = ["CPU implementer", "CPU variant", "CPU part", "CPU revision"].iter().position(|line| *line == name)?;
    let digits = value.strip_prefix("0x");
    parts[place] = digits.map_or_else(|| value.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok());
    match (place == 3).then(|| std::mem::take(parts))? {
        [Some(implementer), Some(variant), Some(part), Some(revision)] => Some(
            (implementer & 0xff) << 24 | (variant & 0xf) << 20 | 0xf << 16 | (part & 0xfff) << 4 | (revision & 0xf),
        ),
        _ => None,
    }
}

/// Lines of `/proc/PID/limits`: name, soft and hard limit.
pub(super) fn limits(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    text.lines().skip(1).filter_map(|line| {
        let (name, rest) = line.strip_prefix("Max ")?.split_once("  ")?;
        let mut values = rest.split_whitespace();
        let (soft, hard) = (values.next()?, values.next()?);
        Some((name.trim().replace(' ', "_"), format!("{soft} {hard}")))
    })
}

/// Variables of an environment that change how the process is linked and how it allocates. No other
/// is ever looked at.
const VARIABLES: &[&str] = &[
    "LD_BIND_NOW",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TOP_PAD_",
    "MALLOC_CONF",
];

/// The known variables of `/proc/PID/environ`.
pub(super) fn variables(text: &[u8]) -> impl Iterator<Item = (&'static str, &str)> {
    text.split(|byte| *byte == 0).filter_map(|one| {
        let (name, value) = utf8(one)?.split_once('=')?;
        Some((VARIABLES.iter().copied().find(|known| *known == name)?, value))
    })
}

/// Places that a JVM's arguments (`/proc/PID/cmdline`) name: what for, and the path as it stands there.
pub(super) fn places(arguments: &[u8]) -> Vec<(&'static str, &str)> {
    let place = |argument| {
        let argument: &str = utf8(argument)?;
        let plain = [
            ("-Djava.io.tmpdir=", "java_temporary_folder"),
            ("-Xloggc:", "gc_log"),
            ("-XX:HeapDumpPath=", "heap_dumps"),
        ];
        let plain = plain.into_iter().find_map(|(start, role)| Some((role, argument.strip_prefix(start)?)));
        plain.or_else(|| Some(("gc_log", log_file(argument.strip_prefix("-Xlog:")?)?)))
    };
    let found = arguments.split(|byte| *byte == 0).filter_map(place);
    found.filter(|(_, path)| !path.is_empty()).collect()
}

/// The file of `-Xlog:what:output:decorators:options`.
fn log_file(text: &str) -> Option<&str> {
    let output = text.split_once(':')?.1;
    let output = output.strip_prefix("file=").unwrap_or(output);
    let path = match output.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => output.split(':').next()?,
    };
    (!matches!(path, "stdout" | "stderr")).then_some(path)
}

/// The folder of an overlay's file system that takes what is written.
pub(super) fn upper_folder(super_options: &str) -> Option<&str> {
    super_options.split(',').find_map(|option| option.strip_prefix("upperdir="))
}

/// Swap devices and files (`/proc/swaps`): name and size in bytes.
pub(super) fn swaps(text: &[u8]) -> impl Iterator<Item = (&str, u64)> {
    lines(text).skip(1).filter_map(|line| {
        let mut fields = words(line);
        Some((utf8(fields.next()?)?, number(fields.nth(1)?)?.checked_mul(1024)?))
    })
}

#[cfg(test)]
mod tests;
