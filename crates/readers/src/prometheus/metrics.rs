//! What metrics of node_exporter, Micrometer and client_java mean, as counters of the schema. Knows no rows.
//!
//! Left out on purpose: the whole heap and the metaspace, which other sources know as they were before and after
//! collections, and protocol events, which node_exporter counts in the network namespace of the host. So is the share
//! of CPUs that the process used: the number of CPUs is not known, and the process's CPU time is there as well.

use fathom_evidence::kinds::counter;

use super::labels::Labels;

const S: f64 = 1e9;
const MS: f64 = 1e6;
const SECTOR_BYTES: f64 = 512.0;

/// What a series is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum About {
    Machine,
    Jvm,
    /// Any process; of which program nothing tells.
    Process,
}

/// What a series is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Is {
    /// A number that only grows: counter, instance, factor.
    Grows(&'static str, String, f64),
    /// A part of such a number, which is the sum of several series.
    Part(&'static str, String, f64),
    /// What something is now.
    Now(&'static str, String, f64),
    /// CPU time of one CPU (its number) in a mode.
    Cpu(u32, String),
    /// Time of pauses in s, or their number: scope, cause.
    PauseTime(Pauses),
    PauseCount(Pauses),
}

impl Is {
    /// Whether it only grows while whose it is does not begin anew.
    pub(super) fn only_grows(&self) -> bool {
        !matches!(self, Is::Now(..))
    }
}

/// Pauses of one kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pauses {
    pub(super) scope: &'static str,
    pub(super) cause: Option<String>,
}

/// What a series means, if it is known.
pub(super) fn meaning(labels: &Labels) -> Option<(About, Is)> {
    let name = labels.name()?;
    of_machine(name, labels)
        .map(|is| (About::Machine, is))
        .or_else(|| of_jvm(name, labels).map(|is| (About::Jvm, is)))
        .or_else(|| of_process(name).map(|is| (About::Process, is)))
}

fn of_machine(name: &str, labels: &Labels) -> Option<Is> {
    let rest = name.strip_prefix("node_")?;
    let alone = |counter: &'static str, instance: &str| Some(Is::Grows(counter, instance.to_owned(), 1.0));
    let now = |counter: &'static str, instance: &str| Some(Is::Now(counter, instance.to_owned(), 1.0));
    match rest {
        "cpu_seconds_total" => Some(Is::Cpu(labels.get("cpu")?.parse().ok()?, labels.get("mode")?.to_owned())),
        "context_switches_total" => alone(counter::CONTEXT_SWITCHES_COUNT, ""),
        "intr_total" => alone(counter::INTERRUPTS_COUNT, "all"),
        "forks_total" => alone(counter::TASKS_CREATED_COUNT, ""),
        "procs_running" => now(counter::TASKS_COUNT, "runnable"),
        "procs_blocked" => now(counter::TASKS_COUNT, "blocked"),
        "load1" => now(counter::LOAD_COUNT, "1 min"),
        "load5" => now(counter::LOAD_COUNT, "5 min"),
        "load15" => now(counter::LOAD_COUNT, "15 min"),
        _ => of_pressure(rest).or_else(|| of_memory(rest)).or_else(|| of_disk(rest, labels)),
    }
}

/// Some tasks wait, and all tasks are stalled.
fn of_pressure(rest: &str) -> Option<Is> {
    let (what, how) = rest.strip_prefix("pressure_")?.strip_suffix("_seconds_total")?.split_once('_')?;
    let some = match how {
        "waiting" => "some",
        "stalled" => "full",
        _ => return None,
    };
    ["cpu", "memory", "io"].contains(&what).then(|| Is::Grows(counter::PRESSURE_NS, format!("{what} {some}"), S))
}

fn of_memory(rest: &str) -> Option<Is> {
    // Among the fields of /proc/vmstat those are numbers of pages now.
    if let Some(field) = rest.strip_prefix("vmstat_").filter(|field| !field.starts_with("nr_")) {
        return Some(Is::Grows(counter::VMSTAT_COUNT, field.to_owned(), 1.0));
    }
    let field = rest.strip_prefix("memory_")?.strip_suffix("_bytes")?;
    // Of `Active(anon)` the name does not say where the parentheses were.
    (!field.contains('_')).then(|| Is::Now(counter::MEMINFO_BYTES, field.to_owned(), 1.0))
}

/// A metric of a disk: what stands behind `node_disk_`, counter, operation, factor.
type OfDisk = (&'static str, &'static str, &'static str, f64);

const OF_DISK: &[OfDisk] = &[
    ("reads_completed_total", counter::DISK_REQUESTS_COUNT, " read", 1.0),
    ("writes_completed_total", counter::DISK_REQUESTS_COUNT, " write", 1.0),
    ("discards_completed_total", counter::DISK_REQUESTS_COUNT, " discard", 1.0),
    ("flush_requests_total", counter::DISK_REQUESTS_COUNT, " flush", 1.0),
    ("reads_merged_total", counter::DISK_MERGED_COUNT, " read", 1.0),
    ("writes_merged_total", counter::DISK_MERGED_COUNT, " write", 1.0),
    ("discards_merged_total", counter::DISK_MERGED_COUNT, " discard", 1.0),
    ("read_bytes_total", counter::DISK_BYTES, " read", 1.0),
    ("written_bytes_total", counter::DISK_BYTES, " write", 1.0),
    ("discarded_sectors_total", counter::DISK_BYTES, " discard", SECTOR_BYTES),
    ("read_time_seconds_total", counter::DISK_TIME_NS, " read", S),
    ("write_time_seconds_total", counter::DISK_TIME_NS, " write", S),
    ("discard_time_seconds_total", counter::DISK_TIME_NS, " discard", S),
    ("flush_requests_time_seconds_total", counter::DISK_TIME_NS, " flush", S),
    ("io_time_seconds_total", counter::DISK_BUSY_NS, "", S),
    ("io_time_weighted_seconds_total", counter::DISK_QUEUE_TIME_NS, "", S),
];

fn of_disk(rest: &str, labels: &Labels) -> Option<Is> {
    let (rest, device) = (rest.strip_prefix("disk_")?, labels.get("device")?);
    if rest == "io_now" {
        return Some(Is::Now(counter::DISK_IN_FLIGHT_COUNT, device.to_owned(), 1.0));
    }
    let (_, counter, operation, factor) = OF_DISK.iter().find(|known| known.0 == rest)?;
    Some(Is::Grows(counter, format!("{device}{operation}"), *factor))
}

fn of_jvm(name: &str, labels: &Labels) -> Option<Is> {
    let grows = |counter: &'static str, factor: f64| Some(Is::Grows(counter, String::new(), factor));
    match name {
        "jvm_threads_live_threads" | "jvm_threads_current" => Some(Is::Now(counter::THREADS_COUNT, String::new(), 1.0)),
        "jvm_classes_loaded_total" | "jvm_classes_loaded_count_classes_total" => {
            grows(counter::CLASSES_LOADED_COUNT, 1.0)
        }
        "jvm_classes_unloaded_total" | "jvm_classes_unloaded_classes_total" => {
            grows(counter::CLASSES_UNLOADED_COUNT, 1.0)
        }
        "jvm_compilation_time_ms_total" => grows(counter::COMPILE_TIME_NS, MS),
        "jvm_compilation_time_seconds_total" => grows(counter::COMPILE_TIME_NS, S),
        "http_server_requests_seconds_count" => Some(Is::Part(counter::REQUESTS_COUNT, String::new(), 1.0)),
        "http_server_requests_seconds_sum" => Some(Is::Part(counter::REQUEST_TIME_NS, String::new(), S)),
        "jvm_buffer_memory_used_bytes" | "jvm_buffer_pool_used_bytes" => {
            let is_direct = labels.get("id").or_else(|| labels.get("pool")) == Some("direct");
            is_direct.then(|| Is::Now(counter::DIRECT_MEMORY_BYTES, "used".to_owned(), 1.0))
        }
        "jvm_gc_pause_seconds_sum" | "jvm_gc_collection_seconds_sum" => pauses(labels).map(Is::PauseTime),
        "jvm_gc_pause_seconds_count" | "jvm_gc_collection_seconds_count" => pauses(labels).map(Is::PauseCount),
        "jvm_memory_used_bytes" | "jvm_memory_pool_used_bytes" | "jvm_memory_pool_bytes_used" => {
            of_pool(labels, Size::Used)
        }
        "jvm_memory_committed_bytes" | "jvm_memory_pool_committed_bytes" | "jvm_memory_pool_bytes_committed" => {
            of_pool(labels, Size::Committed)
        }
        "jvm_memory_max_bytes" | "jvm_memory_pool_max_bytes" | "jvm_memory_pool_bytes_max" => {
            of_pool(labels, Size::Most)
        }
        _ => None,
    }
}

/// Which size of a pool.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Size {
    Used,
    Committed,
    Most,
}

/// A pool of memory by its name, as the JVM has it in `MemoryPoolMXBean`.
fn of_pool(labels: &Labels, size: Size) -> Option<Is> {
    let pool = labels.get("id").or_else(|| labels.get("pool"))?;
    let space = match pool {
        _ if pool.contains("Eden") => "young eden",
        _ if pool.ends_with("Old Gen") || pool == "Tenured Gen" => "old",
        _ if pool.starts_with("CodeHeap") => return of_code(pool, size),
        "CodeCache" | "Code Cache" => return of_code("", size),
        _ => return None,
    };
    let counter = match size {
        Size::Used => counter::HEAP_SPACE_USED_BYTES,
        Size::Committed => counter::HEAP_SPACE_CAPACITY_BYTES,
        Size::Most => return None,
    };
    Some(Is::Now(counter, space.to_owned(), 1.0))
}

fn of_code(segment: &str, size: Size) -> Option<Is> {
    let counter = match size {
        Size::Used => counter::CODE_CACHE_USED_BYTES,
        Size::Most => counter::CODE_CACHE_RESERVED_BYTES,
        Size::Committed => return None,
    };
    Some(Is::Now(counter, segment.to_owned(), 1.0))
}

/// Micrometer says what ended and why, client_java which collector it was. Cycles of collectors that work beside the application are no
/// pauses.
fn pauses(labels: &Labels) -> Option<Pauses> {
    let gc = labels.get("gc").unwrap_or_default();
    if ["Cycles", "Concurrent", "ConcurrentMarkSweep"].iter().any(|word| gc.contains(word)) {
        return None;
    }
    let scope = match (labels.get("action"), gc) {
        (Some("end of minor GC"), _) | (None, "G1 Young Generation" | "PS Scavenge" | "Copy" | "ParNew") => "young",
        (Some("end of major GC"), _) | (None, "G1 Old Generation" | "PS MarkSweep" | "MarkSweepCompact") => "full",
        _ => "other",
    };
    Some(Pauses { scope, cause: labels.get("cause").map(str::to_owned) })
}

fn of_process(name: &str) -> Option<Is> {
    let now = |counter: &'static str| Some(Is::Now(counter, String::new(), 1.0));
    let grows = |factor: f64| Some(Is::Grows(counter::PROCESS_CPU_NS, String::new(), factor));
    match name {
        "process_cpu_seconds_total" => grows(S),
        "process_cpu_time_ns_total" => grows(1.0),
        "system_cpu_usage" => now(counter::CPU_MACHINE_RATIO),
        "process_resident_memory_bytes" => now(counter::RESIDENT_BYTES),
        "process_open_fds" | "process_files_open_files" => now(counter::OPEN_FILES_COUNT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_all_libraries() {
        let is = |text: &str| Labels::of_selector(text).and_then(|labels| meaning(&labels));
        let now = |counter, instance: &str| Is::Now(counter, instance.to_owned(), 1.0);
        let young = |cause: Option<&str>| Pauses { scope: "young", cause: cause.map(str::to_owned) };
        for (text, expected) in [
            ("node_cpu_seconds_total{cpu=\"1\",mode=\"idle\"}", Some((About::Machine, Is::Cpu(1, "idle".to_owned())))),
            (
                "node_pressure_io_stalled_seconds_total",
                Some((About::Machine, Is::Grows(counter::PRESSURE_NS, "io full".to_owned(), S))),
            ),
            ("node_memory_MemFree_bytes", Some((About::Machine, now(counter::MEMINFO_BYTES, "MemFree")))),
            ("node_memory_Active_anon_bytes", None),
            ("node_vmstat_nr_dirty", None),
            ("node_netstat_Tcp_RetransSegs", None),
            (
                "jvm_memory_used_bytes{area=\"heap\",id=\"G1 Old Gen\"}",
                Some((About::Jvm, now(counter::HEAP_SPACE_USED_BYTES, "old"))),
            ),
            ("jvm_memory_used_bytes{area=\"heap\"}", None),
            (
                "jvm_memory_pool_max_bytes{pool=\"CodeCache\"}",
                Some((About::Jvm, now(counter::CODE_CACHE_RESERVED_BYTES, ""))),
            ),
            (
                "jvm_gc_pause_seconds_sum{action=\"end of minor GC\",cause=\"System.gc()\"}",
                Some((About::Jvm, Is::PauseTime(young(Some("System.gc()"))))),
            ),
            ("jvm_gc_collection_seconds_count{gc=\"Copy\"}", Some((About::Jvm, Is::PauseCount(young(None))))),
            ("jvm_gc_collection_seconds_count{gc=\"ZGC Cycles\"}", None),
            ("process_open_fds", Some((About::Process, now(counter::OPEN_FILES_COUNT, "")))),
            ("jvm_memory_used_bytes{id=\"Metaspace\"}", None),
            ("up", None),
        ] {
            assert_eq!(is(text), expected, "{text}");
        }
    }
}
