//! `vmstat`, `meminfo`, pressure files, `status` and `smaps_rollup`, as text.

use crate::procfs::{lines, named_numbers, number, utf8, words};
use fathom_evidence::process_memory;

/// Fields of `vmstat` that count events and say something about a slow process. The kernels differ;
/// what one lacks is left out. A name that ends with `*` stands for all that begin so.
const EVENTS: &[&str] = &[
    "pgpgin",
    "pgpgout",
    "pswpin",
    "pswpout",
    "pgfault",
    "pgmajfault",
    "pgactivate",
    "pgdeactivate",
    "pgrefill",
    "pginodesteal",
    "kswapd_inodesteal",
    "pageoutrun",
    "allocstall*",
    "pgscan*",
    "pgsteal*",
    "pgdemote*",
    "pgpromote*",
    "pgmigrate*",
    "workingset_refault*",
    "workingset_activate*",
    "workingset_restore*",
    "workingset_nodereclaim",
    "kswapd_low_wmark_hit_quickly",
    "kswapd_high_wmark_hit_quickly",
    "slabs_scanned",
    "drop_pagecache",
    "drop_slab",
    "oom_kill",
    "numa_pte_updates",
    "numa_huge_pte_updates",
    "numa_hint_faults*",
    "numa_pages_migrated",
    "compact_*",
    "thp_*",
    "swap_ra*",
    "zswpin",
    "zswpout",
    "balloon_*",
    "unevictable_pgs_mlocked",
    "direct_map_level*",
    "nr_dirtied",
    "nr_written",
    "nr_vmscan_write",
    "nr_vmscan_immediate_reclaim",
    "nr_throttled_written",
];

/// Fields of `vmstat` that are levels in pages and change too fast for `meminfo` each second, with
/// the name that `meminfo` has for them.
const LEVELS: &[(&str, &str)] = &[("nr_free_pages", "MemFree"), ("nr_dirty", "Dirty"), ("nr_writeback", "Writeback")];

/// Fields of `meminfo` that are kept.
const MEMINFO: &[&str] = &[
    "MemTotal",
    "MemAvailable",
    "Buffers",
    "Cached",
    "SwapCached",
    "Active(anon)",
    "Inactive(anon)",
    "Active(file)",
    "Inactive(file)",
    "Unevictable",
    "Mlocked",
    "SwapTotal",
    "SwapFree",
    "AnonPages",
    "Mapped",
    "Shmem",
    "KReclaimable",
    "SReclaimable",
    "SUnreclaim",
    "PageTables",
    "CommitLimit",
    "Committed_AS",
    "AnonHugePages",
    "ShmemHugePages",
    "FileHugePages",
    "HugePages_Total",
    "HugePages_Free",
    "Hugepagesize",
    "Hugetlb",
];

/// A line of `vmstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VmStat<'a> {
    /// Events since boot.
    Event(&'a str, u64),
    /// Pages now, by the name of `meminfo`.
    Pages(&'static str, u64),
}

/// What a line of `vmstat` is about.
#[derive(Debug, Clone, Copy)]
enum Line {
    Event,
    Pages(&'static str),
    NotKept,
}

impl Line {
    fn of(name: &str) -> Line {
        let level = LEVELS.iter().find(|(field, _)| *field == name);
        let is_event = || EVENTS.iter().any(|event| matches(event, name));
        match level {
            Some((_, level)) => Line::Pages(level),
            None if is_event() => Line::Event,
            None => Line::NotKept,
        }
    }
}

/// The lines of `vmstat` by their places: a kernel writes the same ones each time, and to look through all the names above for each of them
/// takes longer than to read the file.
#[derive(Debug, Default)]
pub(super) struct VmStatLines(Vec<(Box<str>, Line)>);

impl VmStatLines {
    /// What is kept of `vmstat`.
    pub(super) fn read<'a>(&mut self, text: &'a [u8]) -> impl Iterator<Item = VmStat<'a>> {
        named_numbers(text).enumerate().filter_map(|(at, (name, value))| match self.line(at, name) {
            Line::Event => Some(VmStat::Event(name, value)),
            Line::Pages(level) => Some(VmStat::Pages(level, value)),
            Line::NotKept => None,
        })
    }

    fn line(&mut self, at: usize, name: &str) -> Line {
        match self.0.get(at) {
            Some((known, line)) if **known == *name => *line,
            _ => {
                let line = Line::of(name);
                self.0.truncate(at);
                self.0.push((name.into(), line));
                line
            }
        }
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// What is kept of `meminfo`, in bytes; numbers of huge pages as they are.
pub(super) fn meminfo(text: &[u8]) -> impl Iterator<Item = (&str, u64)> {
    sizes(text).filter(|(name, _)| MEMINFO.contains(name))
}

/// What is kept of `status`, in bytes.
pub(super) fn status(text: &[u8]) -> impl Iterator<Item = (&'static str, u64)> {
    renamed(text, &process_memory::STATUS)
}

/// The resident set, of `status`, in bytes.
pub(super) fn resident_bytes(text: &[u8]) -> Option<u64> {
    sizes(text).find(|(name, _)| *name == "VmRSS").map(|(_, bytes)| bytes)
}

/// What is kept of `smaps_rollup`, in bytes.
pub(super) fn rollup(text: &[u8]) -> impl Iterator<Item = (&'static str, u64)> {
    renamed(text, &process_memory::ROLLUP)
}

fn renamed<'a>(text: &'a [u8], names: &'static [(&str, &str)]) -> impl Iterator<Item = (&'static str, u64)> + 'a {
    sizes(text).filter_map(|(name, bytes)| Some((names.iter().find(|(field, _)| *field == name)?.1, bytes)))
}

/// Lines of `name: number kB`; without a unit the number is one of pieces.
fn sizes(text: &[u8]) -> impl Iterator<Item = (&str, u64)> {
    lines(text).filter_map(|line| {
        let mut words = words(line);
        let name = utf8(words.next()?)?.strip_suffix(':')?;
        let value = number(words.next()?)?;
        let unit = if words.next() == Some(b"kB") { 1024 } else { 1 };
        Some((name, value.checked_mul(unit)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vmstat_of_several_kernels() {
        // 5.4 writes allocstall per zone and thp_split_pmd, but neither anon nor file of refaults.
        let old = "nr_free_pages 17\nnr_dirty 3\nworkingset_refault 5\nallocstall_normal 2\nthp_split_pmd 1\nnr_zone_inactive_anon 9\n";
        let new = "nr_free_pages 17\nworkingset_refault_anon 1\nworkingset_refault_file 4\npgscan_direct_throttle 6\nthp_swpout 8\npgfault x\n";
        // The lines of another kernel are none of this one's.
        let mut lines = VmStatLines::default();
        for (text, expected) in [
            (
                old,
                vec![
                    VmStat::Pages("MemFree", 17),
                    VmStat::Pages("Dirty", 3),
                    VmStat::Event("workingset_refault", 5),
                    VmStat::Event("allocstall_normal", 2),
                    VmStat::Event("thp_split_pmd", 1),
                ],
            ),
            (
                new,
                vec![
                    VmStat::Pages("MemFree", 17),
                    VmStat::Event("workingset_refault_anon", 1),
                    VmStat::Event("workingset_refault_file", 4),
                    VmStat::Event("pgscan_direct_throttle", 6),
                    VmStat::Event("thp_swpout", 8),
                ],
            ),
            ("", vec![]),
            ("pgfault", vec![]),
            ("pgfault 99999999999999999999999\npgmajfault 1", vec![VmStat::Event("pgmajfault", 1)]),
        ] {
            assert_eq!(lines.read(text.as_bytes()).collect::<Vec<_>>(), expected);
            assert_eq!(lines.read(text.as_bytes()).collect::<Vec<_>>(), expected, "the lines are known");
        }
    }

    #[test]
    fn sizes_are_bytes() {
        let text = "MemTotal:       24677044 kB\nMemFree:  1 kB\nHugePages_Total:       4\nAnonHugePages: 2048 kB\nCached: 99999999999999999999 kB\n";
        let expected = [("MemTotal", 24677044 * 1024), ("HugePages_Total", 4), ("AnonHugePages", 2048 * 1024)];
        assert_eq!(meminfo(text.as_bytes()).collect::<Vec<_>>(), expected);
        let text = "Name:\tjava\nVmHWM:\t  1768 kB\nVmRSS:\t  1700 kB\nVmSwap:\t 0 kB\nThreads:\t1\n";
        assert_eq!(status(text.as_bytes()).collect::<Vec<_>>(), [("resident_peak", 1768 * 1024), ("swap", 0)]);
        assert_eq!(resident_bytes(text.as_bytes()), Some(1700 * 1024));
        let text = "56540709d000-7ffc551a3000 ---p 00000000 00:00 0    [rollup]\nRss: 9 kB\nPss:  261 kB\nAnonHugePages: 8 kB\n";
        assert_eq!(
            rollup(text.as_bytes()).collect::<Vec<_>>(),
            [("proportional", 261 * 1024), ("anonymous_huge", 8192)]
        );
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>)| {
            let counts = (VmStatLines::default().read(&bytes).count(), meminfo(&bytes).count(), status(&bytes).count(), rollup(&bytes).count());
            let _ = (counts, resident_bytes(&bytes));
        });
    }
}
