//! What a lab wants around its program: native code, a disk, limits, other processes.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A program or library in C, compiled by the machine's `cc`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Native {
    /// Name of the file.
    pub(crate) output: String,
    /// Names of the sources, which lie beside `lab.json`.
    pub(crate) sources: Vec<String>,
    /// Flags of the compiler. The JDK's headers are found without one.
    #[serde(default)]
    pub(crate) flags: Vec<String>,
}

/// Java libraries that are not in the project. They are looked for in Maven's local repository.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Libraries {
    /// What Maven is asked for, as `group:artifact:version`; the rest is what this one needs.
    pub(crate) maven: String,
    /// Sources of the lab that are compiled only with them.
    pub(crate) sources: Vec<String>,
    /// Every jar that is used, with its SHA-256.
    pub(crate) jars: BTreeMap<String, String>,
}

/// What the machine must have. What native code and the stage need follows from them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Needs {
    /// The rights of root, because what is to be shown is told by the kernel only.
    #[serde(default)]
    pub(crate) root: bool,
    /// Programs, each with the Debian package that has it.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, String>,
}

/// What is prepared before the program starts and undone after it, whatever happens.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stage {
    /// A disk that is slow to a known degree, mounted as `{disk}`.
    #[serde(default)]
    pub(crate) slow_disk: Option<SlowDisk>,
    /// Memory that the program and the companions of its group may use together, page cache included.
    #[serde(default)]
    pub(crate) memory_limit_mb: Option<u64>,
    /// From the beginning of a phase on, by phase, the limit is what they then use for themselves and so much more, which
    /// is left for the page cache. Less than nothing makes them swap.
    #[serde(default)]
    pub(crate) memory_left_mb: BTreeMap<String, i64>,
    /// Reads of the slow disk that they may make per second together, from the beginning of a phase on, by phase.
    #[serde(default)]
    pub(crate) disk_reads_per_s: BTreeMap<String, u64>,
    /// CPUs that they may use together.
    #[serde(default)]
    pub(crate) cpu_limit: Option<f64>,
    /// Whether the JVM keeps its performance counters on the slow disk.
    #[serde(default)]
    pub(crate) perf_data_on_disk: bool,
}

/// A file system, or swap, on a loop device on a disk whose requests are held up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlowDisk {
    /// Size of the disk.
    pub(crate) size_mb: u64,
    /// Whether the machine swaps to it; then it has no files.
    #[serde(default)]
    pub(crate) swap: bool,
    /// Each read takes that much longer; many may be held up at once.
    pub(crate) read_delay_ms: u32,
    /// Each write takes that much longer.
    pub(crate) write_delay_ms: u32,
    /// What the disk transfers from the beginning of a phase on, by phase; until the first of them as
    /// much as it can. Requests then queue inside the device, as when a cloud disk has used up its credit.
    #[serde(default)]
    pub(crate) rates_kib_per_s: BTreeMap<String, u64>,
    /// Files on it, by name. Nothing of them is in memory when the program starts.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, Content>,
    /// Its I/O scheduler.
    #[serde(default)]
    pub(crate) scheduler: Option<String>,
    /// How many requests it may have at once.
    #[serde(default)]
    pub(crate) nr_requests: Option<u32>,
    /// How much is read ahead.
    #[serde(default)]
    pub(crate) read_ahead_kb: Option<u32>,
}

/// What is in a file of the slow disk.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Content {
    /// A piece of native code.
    Native(String),
    /// Noise, so many MB.
    NoiseMb(u64),
    /// Nothing: it is a folder.
    Folder {},
}

/// A process that runs beside the program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Companion {
    /// For messages and the name of its log.
    pub(crate) name: String,
    /// What it runs.
    pub(crate) program: Executable,
    /// Its arguments.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// The phases during which it runs; when none is named, the whole run.
    #[serde(default)]
    pub(crate) phases: Vec<String>,
    /// Whether the stage's limits hold for it too.
    #[serde(default)]
    pub(crate) in_group: bool,
}

/// What a companion runs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Executable {
    /// A piece of native code.
    Native(String),
    /// A class with `main`, on the JDK of the run.
    Java(String),
}
