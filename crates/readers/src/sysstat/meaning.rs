//! What the columns of sysstat's tables mean. Knows the words of evidence, and no rows.

use fathom_evidence::kinds::counter;

/// A column with the counter that it is: column, counter, instance, factor.
pub(super) type Meaning = (&'static str, &'static str, &'static str, f64);

const KIB: f64 = 1_024.0;

/// What is so at the end of an interval.
pub(super) const NOW: &[Meaning] = &[
    ("runq-sz", counter::TASKS_COUNT, "runnable", 1.0),
    ("blocked", counter::TASKS_COUNT, "blocked", 1.0),
    ("ldavg-1", counter::LOAD_COUNT, "1 min", 1.0),
    ("ldavg-5", counter::LOAD_COUNT, "5 min", 1.0),
    ("ldavg-15", counter::LOAD_COUNT, "15 min", 1.0),
    ("kbmemfree", counter::MEMINFO_BYTES, "MemFree", KIB),
    ("kbavail", counter::MEMINFO_BYTES, "MemAvailable", KIB),
    ("kbbuffers", counter::MEMINFO_BYTES, "Buffers", KIB),
    ("kbcached", counter::MEMINFO_BYTES, "Cached", KIB),
    ("kbdirty", counter::MEMINFO_BYTES, "Dirty", KIB),
    ("kbswpused", counter::MEMORY_USED_BYTES, "swap", KIB),
];

/// What happened per second.
pub(super) const PER_SECOND: &[Meaning] = &[
    ("proc/s", counter::TASKS_CREATED_COUNT, "", 1.0),
    ("cswch/s", counter::CONTEXT_SWITCHES_COUNT, "", 1.0),
    ("pswpin/s", counter::VMSTAT_COUNT, "pswpin", 1.0),
    ("pswpout/s", counter::VMSTAT_COUNT, "pswpout", 1.0),
    ("pgpgin/s", counter::VMSTAT_COUNT, "pgpgin", 1.0),
    ("pgpgout/s", counter::VMSTAT_COUNT, "pgpgout", 1.0),
    ("fault/s", counter::VMSTAT_COUNT, "pgfault", 1.0),
    ("majflt/s", counter::VMSTAT_COUNT, "pgmajfault", 1.0),
    ("pgscank/s", counter::VMSTAT_COUNT, "pgscan_kswapd", 1.0),
    ("pgscand/s", counter::VMSTAT_COUNT, "pgscan_direct", 1.0),
    ("retrans/s", counter::NETWORK_COUNT, "Tcp RetransSegs", 1.0),
];

/// Modes of CPUs: names of the columns, which differ from tool to tool, and the kernel's.
pub(super) const MODES: &[(&[&str], &str)] = &[
    (&["%usr", "%user"], "user"),
    (&["%nice"], "nice"),
    (&["%sys", "%system"], "system"),
    (&["%iowait"], "iowait"),
    (&["%irq"], "irq"),
    (&["%soft"], "softirq"),
    (&["%steal"], "steal"),
    (&["%guest"], "guest"),
    (&["%gnice"], "guest_nice"),
    (&["%idle"], "idle"),
];

/// A device's operation: suffix of the instance, requests per second, KiB per second, merged per second, ms per request.
pub(super) type Operation = (&'static str, &'static str, &'static str, &'static str, &'static str);

pub(super) const OPERATIONS: &[Operation] = &[
    ("read", "r/s", "rkB/s", "rrqm/s", "r_await"),
    ("write", "w/s", "wkB/s", "wrqm/s", "w_await"),
    ("discard", "d/s", "dkB/s", "drqm/s", "d_await"),
    ("flush", "f/s", "", "", "f_await"),
];

/// Names that `sadf -j` has for columns of sar.
pub(super) const OF_JSON: &[(&str, &str, &str)] = &[
    ("queue", "runq-sz", "runq-sz"),
    ("queue", "blocked", "blocked"),
    ("queue", "ldavg-1", "ldavg-1"),
    ("queue", "ldavg-5", "ldavg-5"),
    ("queue", "ldavg-15", "ldavg-15"),
    ("process-and-context-switch", "proc", "proc/s"),
    ("process-and-context-switch", "cswch", "cswch/s"),
    ("swap-pages", "pswpin", "pswpin/s"),
    ("swap-pages", "pswpout", "pswpout/s"),
    ("paging", "pgpgin", "pgpgin/s"),
    ("paging", "pgpgout", "pgpgout/s"),
    ("paging", "fault", "fault/s"),
    ("paging", "majflt", "majflt/s"),
    ("paging", "pgscank", "pgscank/s"),
    ("paging", "pgscand", "pgscand/s"),
    ("memory", "memfree", "kbmemfree"),
    ("memory", "avail", "kbavail"),
    ("memory", "buffers", "kbbuffers"),
    ("memory", "cached", "kbcached"),
    ("memory", "dirty", "kbdirty"),
    ("memory", "swpused", "kbswpused"),
];
