//! What a lab needs around its program: native code, a disk, limits, other processes.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A program or library in C, compiled by the machine's `cc`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Native {
    /// Name of the file.
    pub(crate) output: String,
    /// Names of the sources, in the folder of `lab.json`.
    pub(crate) sources: Vec<String>,
    /// Flags of the compiler. The JDK's headers are found without one.
    #[serde(default)]
    pub(crate) flags: Vec<String>,
}

/// Java libraries that are not in the project. They are looked for in Maven's local repository.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Libraries {
    /// The artifact for Maven, as `group:artifact:version`; the other jars are its dependencies.
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
    /// Root rights, because only the kernel can show the fault.
    #[serde(default)]
    pub(crate) root: bool,
    /// Programs, each with the Debian package that has it.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, String>,
}

/// What is prepared before the program starts and undone after it in every case.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stage {
    /// A disk that is slow to a known degree, mounted as `{disk}`.
    #[serde(default)]
    pub(crate) slow_disk: Option<SlowDisk>,
    /// Memory that the program and the companions of its group may use together, page cache included.
    #[serde(default)]
    pub(crate) memory_limit_mb: Option<u64>,
    /// By phase: from its beginning on, the limit is their memory use without page cache at that time plus this much,
    /// which is left for the page cache. A negative number makes them swap.
    #[serde(default)]
    pub(crate) memory_left_mb: BTreeMap<String, i64>,
    /// By phase: how many reads of the slow disk per second they may make together from its beginning on.
    #[serde(default)]
    pub(crate) disk_reads_per_s: BTreeMap<String, u64>,
    /// CPUs that they may use together.
    #[serde(default)]
    pub(crate) cpu_limit: Option<f64>,
    /// Whether the JVM keeps its performance counters on the slow disk.
    #[serde(default)]
    pub(crate) perf_data_on_disk: bool,
}

/// A file system, or swap, on a loop device on a disk whose requests are delayed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlowDisk {
    /// Size of the disk.
    pub(crate) size_mb: u64,
    /// Whether it is a swap device; then it has no files.
    #[serde(default)]
    pub(crate) swap: bool,
    /// Delay of each read; many may be delayed at once.
    pub(crate) read_delay_ms: u32,
    /// Delay of each write.
    pub(crate) write_delay_ms: u32,
    /// By phase: the transfer rate of the disk from its beginning on; unlimited before the first of them. Requests then
    /// queue inside the device, as when a cloud disk has used up its credit.
    #[serde(default)]
    pub(crate) rates_kib_per_s: BTreeMap<String, u64>,
    /// Files on it, by name. None of their pages is in memory when the program starts.
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
    /// This many MB of noise.
    NoiseMb(u64),
    /// A folder without content.
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
