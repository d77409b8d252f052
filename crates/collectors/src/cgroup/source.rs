//! The files of a control group and the numbers in them.

use std::time::Duration;

use fathom_evidence::Recording;
use fathom_evidence::kinds::counter;

use crate::changed_counters::ChangedCounters;
use crate::control_groups::parse::{self, Io, IoLimit};
use crate::control_groups::place::Group;
use crate::pressure;
use crate::procfs::{ProcFile, named_numbers, number, utf8};
use crate::rate_limit::RateLimit;

/// How the text of a file is to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `cpu.stat` of both versions.
    CpuStat,
    /// One number: CPU time in ns.
    CpuUsage,
    /// One number: bytes of this kind of memory.
    Memory(&'static str),
    /// One number: bytes that the memory may have, or that there is no limit. It can be changed at any time.
    Limit,
    /// `memory.events`.
    MemoryEvents,
    /// One number: how often the limit was hit.
    MemoryFailures,
    /// `memory.oom_control` of version 1, of which the kills are of interest.
    OomControl,
    /// `memory.stat`; version 1 has the sums over the groups below with this before the names.
    MemoryStat(&'static str),
    /// `io.stat`.
    IoStat,
    /// Bytes or requests per device of version 1.
    Blkio { is_bytes: bool },
    /// `io.max`.
    IoMax,
    /// A limit per device of version 1, on this.
    Throttle(&'static str),
    /// One number: processes and threads.
    Tasks,
    /// `cgroup.events`, which says whether all of the group is frozen, by it or by one above.
    Events,
    /// `freezer.state` of version 1, which says the same.
    Freezer,
    /// A pressure file about this resource.
    Pressure(&'static str),
}

/// A file and what it holds.
pub(super) struct File {
    name: &'static str,
    kind: Kind,
    period: Duration,
    /// Whether it is also read of the groups above, where a limit may stand as well.
    is_of_limits: bool,
}

const FAST: Duration = Duration::from_millis(100);
const SLOW: Duration = Duration::from_secs(1);

const fn file(name: &'static str, kind: Kind, period: Duration, is_of_limits: bool) -> File {
    File { name, kind, period, is_of_limits }
}

/// Files of version 2.
pub(super) const UNIFIED: &[File] = &[
    file("cpu.stat", Kind::CpuStat, FAST, true),
    file("memory.current", Kind::Memory("current"), FAST, true),
    file("memory.max", Kind::Limit, SLOW, true),
    file("memory.events", Kind::MemoryEvents, FAST, true),
    file("memory.swap.current", Kind::Memory("swap"), SLOW, false),
    file("memory.stat", Kind::MemoryStat(""), SLOW, false),
    file("io.stat", Kind::IoStat, SLOW, false),
    file("io.max", Kind::IoMax, SLOW, true),
    file("pids.current", Kind::Tasks, SLOW, false),
    file("cgroup.events", Kind::Events, FAST, false),
    file("cpu.pressure", Kind::Pressure("cpu"), FAST, false),
    file("memory.pressure", Kind::Pressure("memory"), FAST, false),
    file("io.pressure", Kind::Pressure("io"), FAST, false),
];

/// Files of version 1, by controller.
pub(super) const BY_CONTROLLER: &[(&str, &[File])] = &[
    ("cpu", &[file("cpu.stat", Kind::CpuStat, FAST, true)]),
    ("cpuacct", &[file("cpuacct.usage", Kind::CpuUsage, FAST, false)]),
    (
        "memory",
        &[
            file("memory.usage_in_bytes", Kind::Memory("current"), FAST, true),
            file("memory.limit_in_bytes", Kind::Limit, SLOW, true),
            file("memory.failcnt", Kind::MemoryFailures, FAST, true),
            file("memory.oom_control", Kind::OomControl, FAST, true),
            file("memory.stat", Kind::MemoryStat("total_"), SLOW, false),
        ],
    ),
    (
        "blkio",
        &[
            file("blkio.throttle.io_service_bytes_recursive", Kind::Blkio { is_bytes: true }, SLOW, false),
            file("blkio.throttle.io_serviced_recursive", Kind::Blkio { is_bytes: false }, SLOW, false),
            file("blkio.throttle.read_bps_device", Kind::Throttle("read bytes"), SLOW, false),
            file("blkio.throttle.write_bps_device", Kind::Throttle("write bytes"), SLOW, false),
            file("blkio.throttle.read_iops_device", Kind::Throttle("read requests"), SLOW, false),
            file("blkio.throttle.write_iops_device", Kind::Throttle("write requests"), SLOW, false),
        ],
    ),
    ("pids", &[file("pids.current", Kind::Tasks, SLOW, false)]),
    ("freezer", &[file("freezer.state", Kind::Freezer, FAST, false)]),
];

/// Fields of `memory.stat` that count events; those that end with `*` stand for all that begin so.
const MEMORY_EVENTS: &[&str] = &[
    "pgfault",
    "pgmajfault",
    "workingset_refault*",
    "workingset_activate*",
    "workingset_restore*",
    "pgscan*",
    "pgsteal*",
    "pgrefill",
    "pgactivate",
    "pgdeactivate",
    "thp_*",
    "pswpin",
    "pswpout",
    "swpin_zero",
];

/// Fields of `memory.stat` that are bytes now, by the names of version 2.
const MEMORY_PARTS: &[(&str, &str)] = &[
    ("anon", "anon"),
    ("file", "file"),
    ("kernel", "kernel"),
    ("slab", "slab"),
    ("shmem", "shmem"),
    ("file_mapped", "file_mapped"),
    ("file_dirty", "file_dirty"),
    ("file_writeback", "file_writeback"),
    ("anon_thp", "anon_thp"),
    ("rss", "anon"),
    ("cache", "file"),
    ("mapped_file", "file_mapped"),
    ("dirty", "file_dirty"),
    ("writeback", "file_writeback"),
    ("rss_huge", "anon_thp"),
    ("swap", "swap"),
];

/// An open file of one group.
pub(super) struct Source {
    file: ProcFile,
    kind: Kind,
    ancestor: String,
    limit: RateLimit,
}

impl Source {
    /// Opens those of `files` that a group has.
    pub(super) fn open(group: &Group, files: &[File]) -> impl Iterator<Item = Source> {
        let wanted = files.iter().filter(|file| group.ancestor.is_empty() || file.is_of_limits);
        wanted.filter_map(|file| {
            let (kind, ancestor, limit) = (file.kind, group.ancestor.clone(), RateLimit::every(file.period));
            Some(Source { file: ProcFile::open(group.folder.join(file.name)).ok()?, kind, ancestor, limit })
        })
    }

    /// Whether it reports throttling in the target's own group.
    pub(super) fn tells_throttling(&self, buffer: &mut Vec<u8>) -> bool {
        let is_own = self.ancestor.is_empty() && self.kind == Kind::CpuStat;
        let text = if is_own { self.file.read(buffer).unwrap_or_default() } else { &[] };
        named_numbers(text).any(|(field, _)| field == "nr_throttled")
    }

    pub(super) fn limit(&mut self) -> &mut RateLimit {
        &mut self.limit
    }

    /// Reads the file and takes its numbers.
    pub(super) fn read(&self, buffer: &mut Vec<u8>, taker: &mut Taker<'_>) {
        let Ok(text) = self.file.read(buffer) else { return };
        taker.ancestor.clone_from(&self.ancestor);
        take(self.kind, text, taker);
    }
}

/// Where numbers of one look go.
pub(super) struct Taker<'a> {
    pub(super) numbers: &'a mut ChangedCounters,
    pub(super) found: &'a mut Recording,
    pub(super) at_ns: i64,
    /// Set while a file of an ancestor is read.
    pub(super) ancestor: String,
    /// Whether a group that freezes what is in it says that it does; nothing where no such file was read.
    pub(super) is_frozen: &'a mut Option<bool>,
}

impl Taker<'_> {
    /// One of several hierarchies is enough.
    fn see_frozen(&mut self, is_frozen: bool) {
        *self.is_frozen = Some(self.is_frozen.unwrap_or(false) || is_frozen);
    }

    fn see(&mut self, name: &'static str, part: &str, value: f64) {
        let instance = match (part, self.ancestor.as_str()) {
            (part, "") => part.to_owned(),
            ("", ancestor) => ancestor.to_owned(),
            (part, ancestor) => format!("{part} {ancestor}"),
        };
        self.numbers.see(self.found, self.at_ns, name, &instance, value);
    }
}

fn take(kind: Kind, text: &[u8], taker: &mut Taker<'_>) {
    let one = || number(text.trim_ascii()).map(|value| value as f64);
    match kind {
        Kind::CpuStat => named_numbers(text).for_each(|(field, value)| take_cpu(field, value, taker)),
        Kind::CpuUsage => one().into_iter().for_each(|ns| taker.see(counter::CGROUP_CPU_NS, "", ns)),
        Kind::Memory(part) => one().into_iter().for_each(|bytes| taker.see(counter::CGROUP_MEMORY_BYTES, part, bytes)),
        Kind::Limit => {
            let limit = utf8(text).and_then(parse::limit);
            limit.into_iter().for_each(|bytes| taker.see(counter::CGROUP_MEMORY_BYTES, "limit", bytes as f64));
        }
        Kind::MemoryEvents => {
            let events = named_numbers(text);
            events.for_each(|(event, count)| taker.see(counter::CGROUP_MEMORY_EVENTS_COUNT, event, count as f64));
        }
        Kind::MemoryFailures => {
            one().into_iter().for_each(|count| taker.see(counter::CGROUP_MEMORY_EVENTS_COUNT, "max", count));
        }
        Kind::OomControl => {
            let kills = named_numbers(text).find(|(field, _)| *field == "oom_kill");
            kills.into_iter().for_each(|(field, count)| {
                taker.see(counter::CGROUP_MEMORY_EVENTS_COUNT, field, count as f64);
            });
        }
        Kind::MemoryStat(prefix) => {
            let fields = named_numbers(text).filter_map(|(field, value)| Some((field.strip_prefix(prefix)?, value)));
            fields.for_each(|(field, value)| take_memory(field, value, taker));
        }
        Kind::IoStat => parse::io_stat(text).for_each(|io| take_io(&io, taker)),
        Kind::Blkio { is_bytes } => parse::blkio(text, is_bytes).for_each(|io| take_io(&io, taker)),
        Kind::IoMax => parse::io_max(text).for_each(|limit| take_limit(&limit, taker)),
        Kind::Throttle(what) => parse::throttle(text, what).for_each(|limit| take_limit(&limit, taker)),
        Kind::Events => {
            let frozen = named_numbers(text).find(|(name, _)| *name == "frozen");
            frozen.into_iter().for_each(|(_, is)| taker.see_frozen(is == 1));
        }
        Kind::Freezer => taker.see_frozen(text.trim_ascii() == b"FROZEN"),
        Kind::Tasks => one().into_iter().for_each(|count| taker.see(counter::CGROUP_TASKS_COUNT, "", count)),
        Kind::Pressure(resource) => pressure::totals_us(text).for_each(|(share, us)| {
            taker.see(counter::CGROUP_PRESSURE_NS, &format!("{resource} {share}"), us as f64 * 1e3);
        }),
    }
}

fn take_limit(limit: &IoLimit<'_>, taker: &mut Taker<'_>) {
    taker.see(counter::CGROUP_IO_LIMIT, &format!("{} {}", limit.device, limit.what), limit.per_second as f64);
}

fn take_cpu(field: &str, value: u64, taker: &mut Taker<'_>) {
    let value = value as f64;
    let (name, value) = match field {
        "nr_periods" => (counter::CGROUP_PERIODS_COUNT, value),
        "nr_throttled" => (counter::CGROUP_THROTTLED_COUNT, value),
        // Version 2 counts in µs, version 1 in ns.
        "throttled_usec" => (counter::CGROUP_THROTTLED_NS, value * 1e3),
        "throttled_time" => (counter::CGROUP_THROTTLED_NS, value),
        "usage_usec" => (counter::CGROUP_CPU_NS, value * 1e3),
        _ => return,
    };
    taker.see(name, "", value);
}

fn take_memory(field: &str, value: u64, taker: &mut Taker<'_>) {
    let matches =
        |pattern: &&&str| pattern.strip_suffix('*').map_or(**pattern == field, |start| field.starts_with(start));
    if MEMORY_EVENTS.iter().any(|pattern| matches(&pattern)) {
        taker.see(counter::CGROUP_MEMORY_STAT_COUNT, field, value as f64);
    } else if let Some((_, part)) = MEMORY_PARTS.iter().find(|(name, _)| *name == field) {
        taker.see(counter::CGROUP_MEMORY_BYTES, part, value as f64);
    }
}

fn take_io(io: &Io<'_>, taker: &mut Taker<'_>) {
    let name = if io.is_bytes { counter::CGROUP_IO_BYTES } else { counter::CGROUP_IO_COUNT };
    taker.see(name, &format!("{} {}", io.device, io.operation), io.value as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers in a text of a kind, as `name instance value`.
    fn numbers(kind: Kind, text: &str, ancestor: &str) -> Vec<String> {
        let (mut numbers, mut found) = (ChangedCounters::new("test"), Recording::default());
        let (numbers, found_rows) = (&mut numbers, &mut found);
        let ancestor = ancestor.to_owned();
        let mut taker = Taker { numbers, found: found_rows, at_ns: 1, ancestor, is_frozen: &mut None };
        take(kind, text.as_bytes(), &mut taker);
        let says = |row: fathom_evidence::tables::Counter| {
            format!("{} {} {}", found.text(row.name), found.text(row.instance), row.value)
        };
        found.counters.rows().map(says).collect()
    }

    #[test]
    fn both_versions_make_the_same_numbers() {
        let throttled = ["cgroup_periods_count  9", "cgroup_throttled_count  4", "cgroup_throttled_ns  7000"];
        let version_1 = "nr_periods 9\nnr_throttled 4\nthrottled_time 7000\nnr_bursts 0\n";
        let version_2 = "nr_periods 9\nnr_throttled 4\nthrottled_usec 7\nuser_usec 1\n";
        assert_eq!(numbers(Kind::CpuStat, version_1, ""), throttled);
        assert_eq!(numbers(Kind::CpuStat, version_2, ""), throttled);
        let memory = ["cgroup_memory_bytes anon 5", "cgroup_memory_stat_count pgmajfault 3"];
        assert_eq!(
            numbers(Kind::MemoryStat("total_"), "rss 1\npgmajfault 1\ntotal_rss 5\ntotal_pgmajfault 3\n", ""),
            memory
        );
        assert_eq!(numbers(Kind::MemoryStat(""), "anon 5\nsock 9\npgmajfault 3\n", ""), memory);
        let io = ["cgroup_io_bytes 7:1 read 5"];
        assert_eq!(numbers(Kind::IoStat, "7:1 rbytes=5\n", ""), io);
        assert_eq!(numbers(Kind::Blkio { is_bytes: true }, "7:1 Read 5\n7:1 Total 5\n", ""), io);
    }

    #[test]
    fn instances_name_the_part_and_the_ancestor() {
        for (kind, text, ancestor, expected) in [
            (Kind::CpuStat, "nr_throttled 4", "/pods", "cgroup_throttled_count /pods 4"),
            (Kind::CpuUsage, "5\n", "", "cgroup_cpu_ns  5"),
            (Kind::Memory("current"), "6\n", "/pods", "cgroup_memory_bytes current /pods 6"),
            (Kind::Limit, "9\n", "", "cgroup_memory_bytes limit 9"),
            (Kind::IoMax, "7:1 rbps=max riops=24\n", "/pods", "cgroup_io_limit 7:1 read requests /pods 24"),
            (Kind::Throttle("write bytes"), "7:1 24\n", "", "cgroup_io_limit 7:1 write bytes 24"),
            (Kind::MemoryFailures, "6\n", "", "cgroup_memory_events_count max 6"),
            (
                Kind::OomControl,
                "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
                "",
                "cgroup_memory_events_count oom_kill 2",
            ),
            (Kind::MemoryEvents, "oom_kill 1\n", "/a b", "cgroup_memory_events_count oom_kill /a b 1"),
            (Kind::Tasks, "27\n", "", "cgroup_tasks_count  27"),
            (Kind::Pressure("io"), "full avg10=0.00 total=8\n", "", "cgroup_pressure_ns io full 8000"),
        ] {
            assert_eq!(numbers(kind, text, ancestor), [expected], "{kind:?}");
        }
    }

    #[test]
    fn no_limit_is_no_number() {
        for text in ["max\n", "9223372036854771712\n", "", "x\n"] {
            assert!(numbers(Kind::Limit, text, "").is_empty(), "{text:?}");
        }
    }
}
