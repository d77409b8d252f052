//! For which time each kind of thing was recorded: what was not recorded is not zero.

use std::collections::BTreeMap;
use std::ops::Range;

use fathom_evidence::kinds::{counter, span, subject};
use fathom_evidence::{STANDING, StrId};

use crate::grid::BUCKET_NS;
use crate::intervals::Intervals;
use crate::sources::Sources;

/// Kinds of file operations that the JVM's recorder reports, and the kernel reports as system calls.
pub(crate) const TOLD_BY_CALLS: [&str; 3] = [span::FILE_READ, span::FILE_WRITE, span::FILE_FORCE];

/// Sources of system calls that may have been attached for some seconds only.
pub const TRACES: [&str; 3] = ["strace", "perf_trace", "perf_data"];

impl Sources<'_> {
    /// The buckets in which a recorder looked at the running process. What the JVM itself kept may
    /// begin long before; a recording that says nothing was looked at all the time.
    pub(crate) fn observed(&self) -> Range<usize> {
        let at = |key: &str| self.recording.fact(subject::RECORDING, key)?.parse::<i64>().ok();
        let Some(from_ns) = at("observed_from_ns") else { return 0..self.grid.len };
        let to_ns = at("observed_to_ns").unwrap_or(i64::MAX);
        // Only whole buckets: half a bucket of a counter is no second.
        let first = (0..self.grid.len).find(|index| self.grid.start_of(*index) >= from_ns).unwrap_or(self.grid.len);
        let end = (first..self.grid.len).find(|index| self.grid.start_of(index + 1) > to_ns).unwrap_or(self.grid.len);
        first..end
    }

    /// The buckets for which the kernel's counts of threads were read: while a recorder ran, and before that for as long as
    /// `fathom watch` kept the last minutes.
    pub(crate) fn threads_read(&self, name: &str) -> Range<usize> {
        self.reaching_back(self.observed(), self.counted_from_ns(name))
    }

    /// Buckets, and those before them from some instant on.
    fn reaching_back(&self, buckets: Range<usize>, first_ns: Option<i64>) -> Range<usize> {
        let is_after = |index: &usize| first_ns.is_some_and(|first_ns| self.grid.start_of(*index) >= first_ns);
        (0..buckets.start).find(is_after).unwrap_or(buckets.start)..buckets.end
    }

    /// The buckets for which it was recorded what threads waited for: as far as the JVM's own recorder or a profiler
    /// reaches back, else while a recorder ran. What `fathom watch` keeps of the last minutes does not count.
    pub(crate) fn waits_read(&self) -> Range<usize> {
        const OF_THE_JVM: &str = "jfr";
        let observed = self.observed();
        let recorder = self.recording.strings.find(OF_THE_JVM);
        let spans = self.recording.spans.source.iter().zip(&self.recording.spans.time_ns);
        let of_the_jvm = spans.filter(|(source, _)| Some(**source) == recorder).map(|(_, time_ns)| time_ns);
        let first_ns = self.recording.samples.time_ns.iter().chain(of_the_jvm).min();
        // Collectors have started before the first whole bucket.
        let from_ns = self.grid.start_of(observed.start.saturating_sub(2));
        let reaches_back = first_ns.is_some_and(|first_ns| *first_ns < from_ns);
        if reaches_back || observed.start == 0 { self.recorded() } else { observed }
    }

    /// The buckets whose waits count: those for which waits were recorded, and earlier ones for which `fathom watch` kept
    /// the long waits. A wait that was seen there happened; others may be missing.
    pub(crate) fn waits_seen(&self) -> Range<usize> {
        let who = self.recording.strings.find(STANDING);
        let spans = self.recording.spans.source.iter().zip(&self.recording.spans.time_ns);
        let first_ns = spans.filter(|(source, _)| Some(**source) == who).map(|(_, time_ns)| *time_ns).min();
        self.reaching_back(self.waits_read(), first_ns)
    }

    /// When system calls were looked at, if any were seen: the kernel sees those of all classes, the JVM's recorder some of the same,
    /// and those of the time before. A file of another tool covers the time from its first to its last call.
    pub fn calls_looked_at(&self) -> &Intervals {
        self.calls_looked_at.get_or_init(|| self.find_calls_looked_at())
    }

    fn find_calls_looked_at(&self) -> Intervals {
        if self.rows(span::SYSTEM_CALL).is_empty() {
            return Intervals::default();
        }
        let of_files = self.calls_in_files();
        let observed = || Intervals::union(vec![self.grid.time_of(&self.observed())]);
        if of_files.is_empty() { observed() } else { of_files }
    }

    /// From when to when files of other tools have system calls, unless a recorder looked at them as well.
    fn calls_in_files(&self) -> Intervals {
        let id = |text| self.recording.strings.find(text);
        let (name, tools) = (id(counter::SYSTEM_CALLS_COUNT), TRACES.map(id));
        let mut found: BTreeMap<StrId, (i64, i64)> = BTreeMap::new();
        for row in self.recording.counters.rows().filter(|row| Some(row.name) == name) {
            if !tools.contains(&Some(row.source)) {
                return Intervals::default();
            }
            let (from_ns, to_ns) = found.entry(row.source).or_insert((row.time_ns, row.time_ns));
            (*from_ns, *to_ns) = (row.time_ns.min(*from_ns), row.time_ns.max(*to_ns));
        }
        Intervals::union(found.into_values().collect())
    }

    /// The buckets for which it was recorded how long threads waited for files: where calls were observed, and as far as
    /// the JVM's recorder reported such waits at other times.
    pub(crate) fn files_read(&self) -> Range<usize> {
        let calls = self.calls_looked_at();
        let time_ns = |row: &u32| self.recording.spans.time_ns[*row as usize];
        let mut told = TOLD_BY_CALLS.iter().flat_map(|kind| self.rows(kind)).map(time_ns);
        match calls.extent() {
            Some((from_ns, to_ns)) if told.all(|time_ns| calls.contains(time_ns)) => {
                self.grid.buckets_of(from_ns, to_ns)
            }
            _ => self.waits_read(),
        }
    }

    /// The buckets for which more than requests was recorded; those at the ends in part.
    pub(crate) fn recorded(&self) -> Range<usize> {
        let (from_ns, to_ns) = self.observed_ns;
        let first = (0..self.grid.len).find(|index| self.grid.start_of(index + 1) > from_ns).unwrap_or(0);
        let end = (first..self.grid.len).find(|index| self.grid.start_of(*index) >= to_ns).unwrap_or(self.grid.len);
        first..end
    }

    /// The part of each bucket for which more than requests was recorded.
    pub(crate) fn covered(&self) -> Vec<f64> {
        let (from_ns, to_ns) = self.observed_ns;
        let mut covered = self.grid.zeros();
        self.grid.spread(&mut covered, from_ns, to_ns, to_ns.saturating_sub(from_ns) as f64 / BUCKET_NS as f64);
        covered
    }
}
