//! What `/proc` calls the parts of a process's memory, and what recordings call them, for all sources.

/// Fields of `/proc/PID/status` about memory, and what they are.
pub const STATUS: [(&str, &str); 9] = [
    ("VmSize", "virtual"),
    ("VmLck", "locked"),
    ("VmHWM", "resident_peak"),
    ("RssAnon", "anonymous"),
    ("RssFile", "file"),
    ("RssShmem", "shared"),
    ("VmPTE", "page_tables"),
    ("VmSwap", "swap"),
    ("HugetlbPages", "huge_tlb"),
];

/// Fields of `/proc/PID/smaps_rollup` that `status` lacks, and what they are.
pub const ROLLUP: [(&str, &str); 6] = [
    ("Pss", "proportional"),
    ("AnonHugePages", "anonymous_huge"),
    ("ShmemPmdMapped", "shared_huge"),
    ("FilePmdMapped", "file_huge"),
    ("LazyFree", "lazily_freed"),
    ("Private_Dirty", "private_dirty"),
];
