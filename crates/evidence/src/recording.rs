//! A recording in memory.

use crate::dictionaries::{StackId, Stacks, StrId, Strings, Thread, Threads};
use crate::mask;
use crate::roles::role_of;
use crate::table::{Remap, Table};
use crate::tables::{Clocks, Counter, Counters, Fact, Facts, Log, Logs, Loss, Losses, Samples, Span, Spans};
use crate::values::Value;

/// Longest line that is kept of a log, in bytes.
const LOG_TEXT_MAX_BYTES: usize = 1_000;

/// Rows of each table of a recording.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct RowCounts {
    /// What is true of the whole recording.
    pub facts: usize,
    /// Threads seen at instants.
    pub samples: usize,
    /// What has a beginning and an end.
    pub spans: usize,
    /// Numbers at instants.
    pub counters: usize,
    /// Lines of text.
    pub logs: usize,
}

/// What a recording holds whose rows are on disk.
#[derive(Debug)]
pub struct Finished {
    /// Rows of each table.
    pub rows: RowCounts,
    /// Its facts, losses and dictionaries; none of its other rows.
    pub kept: Recording,
}

/// All that is known about one JVM over one stretch of time.
#[derive(Debug, Default, Clone)]
pub struct Recording {
    /// Every text.
    pub strings: Strings,
    /// Frames and stacks.
    pub stacks: Stacks,
    /// Threads by id.
    pub threads: Threads,
    /// What is true of the whole recording.
    pub facts: Facts,
    /// Threads seen at instants.
    pub samples: Samples,
    /// What has a beginning and an end.
    pub spans: Spans,
    /// Numbers at instants.
    pub counters: Counters,
    /// Lines of text.
    pub logs: Logs,
    /// What is missing.
    pub losses: Losses,
    /// Instants known on two clocks.
    pub clocks: Clocks,
}

impl Recording {
    /// The text of `id`.
    pub fn text(&self, id: StrId) -> &str {
        self.strings.get(id)
    }

    /// Takes over everything of `other`, renumbering its ids. Rows keep their order, `other`'s last.
    pub fn absorb(&mut self, other: Recording) {
        let remap = self.absorb_dictionaries(&other);
        self.facts.absorb(other.facts, &remap);
        self.samples.absorb(other.samples, &remap);
        self.spans.absorb(other.spans, &remap);
        self.counters.absorb(other.counters, &remap);
        self.logs.absorb(other.logs, &remap);
        self.losses.absorb(other.losses, &remap);
        self.clocks.absorb(other.clocks, &remap);
    }

    /// Takes over the dictionaries, facts and losses of `other`. Its other rows stay with it, their texts as well; the ids of
    /// their stacks are then those of this recording.
    pub fn absorb_but_large_tables(&mut self, other: &mut Recording) {
        let remap = self.absorb_dictionaries(other);
        self.facts.absorb(std::mem::take(&mut other.facts), &remap);
        self.losses.absorb(std::mem::take(&mut other.losses), &remap);
        StackId::remap(&mut other.samples.stack_id, &remap);
        StackId::remap(&mut other.spans.stack_id, &remap);
        StackId::remap(&mut other.spans.kernel_stack_id, &remap);
    }

    fn absorb_dictionaries(&mut self, other: &Recording) -> Remap {
        let strings = self.strings.absorb(&other.strings);
        let stacks = self.stacks.absorb(&other.stacks, &strings);
        let known: Vec<(i64, Thread)> = self.threads.iter().collect();
        self.threads.absorb(&other.threads, &strings);
        self.keep_whole_names(known);
        Remap { strings, stacks }
    }

    /// The kernel keeps 15 bytes of a thread's name: a source that read only those does not shorten a name that is known.
    fn keep_whole_names(&mut self, known: Vec<(i64, Thread)>) {
        const KERNEL_BYTES: usize = 15;
        for (tid, before) in known {
            let [was, is] = [Some(before), self.threads.get(tid)]
                .map(|thread| thread.map_or("", |thread| self.strings.get(thread.name)));
            if is.len() == KERNEL_BYTES && was.len() > is.len() && was.starts_with(is) {
                self.threads.insert(tid, before);
            }
        }
    }

    /// Forgets texts that are only in rows, which must be gone: those of threads and frames stay, as do the ids of frames and
    /// stacks.
    pub fn forget_texts_of_rows(&mut self) {
        let old = std::mem::take(&mut self.strings);
        let mut keep = |id: StrId| self.strings.intern(old.get(id));
        self.threads.renumber(&mut keep);
        self.stacks.renumber(&mut keep);
    }

    /// Rows of each table.
    pub fn row_counts(&self) -> RowCounts {
        RowCounts {
            facts: self.facts.len(),
            samples: self.samples.len(),
            spans: self.spans.len(),
            counters: self.counters.len(),
            logs: self.logs.len(),
        }
    }

    /// Takes over of `other` what is not here yet: two dumps of one recorder hold the same events as
    /// far as their times overlap.
    pub fn absorb_overlapping(&mut self, other: Recording) {
        let (samples, spans) = (self.samples.len(), self.spans.len());
        let (counters, logs) = (self.counters.len(), self.logs.len());
        self.absorb(other);
        let table = &mut self.samples;
        table.retain(&new_rows(samples, &table.time_ns, |index| table.row(index)));
        let table = &mut self.spans;
        table.retain(&new_rows(spans, &table.time_ns, |index| table.row(index)));
        let table = &mut self.counters;
        table.retain(&new_rows(counters, &table.time_ns, |index| table.row(index)));
        let table = &mut self.logs;
        table.retain(&new_rows(logs, &table.time_ns, |index| table.row(index)));
    }

    /// Adds a fact. Where its name is that of a secret, the value is masked.
    pub fn add_fact(&mut self, subject: &str, key: &str, value: &str, source: &str) {
        let row = Fact {
            subject: self.strings.intern(subject),
            key: self.strings.intern(key),
            value: self.strings.intern(mask::unless_secret(key, value)),
            source: self.strings.intern(source),
        };
        self.facts.push(row);
    }

    /// The last value of a fact, which is the one that held at the end.
    pub fn fact(&self, subject: &str, key: &str) -> Option<&str> {
        let (subject, key) = (self.strings.find(subject)?, self.strings.find(key)?);
        let found = self.facts.rows().rev().find(|fact| fact.subject == subject && fact.key == key)?;
        Some(self.text(found.value))
    }

    /// Adds a number.
    pub fn add_counter(&mut self, time_ns: i64, name: &str, instance: &str, value: f64, source: &str) {
        let row = Counter {
            time_ns,
            name: self.strings.intern(name),
            instance: self.strings.intern(instance),
            tid: 0,
            value,
            source: self.strings.intern(source),
        };
        self.counters.push(row);
    }

    /// Adds a span of the whole process or of a thread, without stacks.
    #[allow(clippy::too_many_arguments)]
    pub fn add_span(
        &mut self,
        time_ns: i64,
        duration_ns: i64,
        tid: i64,
        kind: &str,
        name: &str,
        detail: &str,
        source: &str,
    ) {
        let row = Span {
            time_ns,
            duration_ns,
            tid,
            kind: self.strings.intern(kind),
            name: self.strings.intern(name),
            detail: self.strings.intern(detail),
            source: self.strings.intern(source),
            ..Span::default()
        };
        self.spans.push(row);
    }

    /// Adds a line of a log, cut to a bounded length.
    pub fn add_log(&mut self, time_ns: i64, source: &str, level: &str, class: &str, text: &str) {
        let cut = text.floor_char_boundary(LOG_TEXT_MAX_BYTES.min(text.len()));
        let row = Log {
            time_ns,
            source: self.strings.intern(source),
            level: self.strings.intern(level),
            class: self.strings.intern(class),
            template: StrId(0),
            text: self.strings.intern(&text[..cut]),
        };
        self.logs.push(row);
    }

    /// Adds a loss that concerns the whole source.
    pub fn add_loss(&mut self, source: &str, kind: &str, count: i64, says: &str) {
        let row = Loss {
            source: self.strings.intern(source),
            kind: self.strings.intern(kind),
            count,
            says: self.strings.intern(says),
            from_ns: 0,
            to_ns: 0,
        };
        self.losses.push(row);
    }

    /// Remembers a thread by its name, of which free text is left out; its role follows from the name.
    pub fn add_thread(&mut self, tid: i64, name: &str) {
        let thread =
            Thread { name: self.strings.intern(&mask::thread_name(name)), role: self.strings.intern(role_of(name)) };
        self.threads.insert(tid, thread);
    }

    /// First and last instant of samples, spans and counters; `None` when there is none.
    pub fn time_range_ns(&self) -> Option<(i64, i64)> {
        let instants = self.samples.time_ns.iter().chain(&self.counters.time_ns);
        let first = instants.clone().chain(&self.spans.time_ns).copied().min()?;
        let ends = self.spans.time_ns.iter().zip(&self.spans.duration_ns);
        let last = instants.copied().chain(ends.map(|(time, duration)| time.saturating_add(*duration))).max()?;
        Some((first, last))
    }

    /// Whether nothing at all was observed.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.spans.is_empty() && self.counters.is_empty() && self.facts.is_empty()
    }
}
/// Which rows to keep so that none from `first_new` on repeats one before it.
fn new_rows<R: PartialEq>(first_new: usize, time_ns: &[i64], row: impl Fn(usize) -> R) -> Vec<bool> {
    let mut old: Vec<usize> = (0..first_new).collect();
    old.sort_by_key(|index| time_ns[*index]);
    let is_repeated = |index: usize| {
        let same_time = old.partition_point(|other| time_ns[*other] < time_ns[index]);
        let candidates = old[same_time..].iter().take_while(|other| time_ns[**other] == time_ns[index]);
        candidates.into_iter().any(|other| row(*other) == row(index))
    };
    (0..time_ns.len()).map(|index| index < first_new || !is_repeated(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dump of one recorder with the events of some seconds.
    fn dump(seconds: std::ops::Range<i64>) -> Recording {
        let mut recording = Recording::default();
        // Other texts come first in each dump, so that the same text has another number.
        recording.strings.intern(&format!("dump of {seconds:?}"));
        for second in seconds {
            recording.add_span(second, 5, 7, "gc_pause", "Pause Young", "", "jfr");
            recording.add_span(second, 5, 8, "gc_pause", "Pause Young", "", "jfr");
            recording.add_counter(second, "cpu", "", 0.5, "jfr");
        }
        recording
    }

    #[test]
    fn overlapping_dumps_count_once() {
        for (dumps, seconds) in [
            (&[(0, 3)][..], 3),
            (&[(0, 3), (0, 3)], 3),
            (&[(0, 3), (2, 5)], 5),
            (&[(2, 5), (0, 3), (0, 5)], 5),
            (&[(0, 2), (4, 6)], 4),
        ] {
            let mut all = Recording::default();
            dumps.iter().for_each(|(from, to)| all.absorb_overlapping(dump(*from..*to)));
            assert_eq!((all.spans.len(), all.counters.len()), (2 * seconds, seconds), "{dumps:?}");
        }
    }

    /// A sample of a stack of two frames.
    fn push_sample(recording: &mut Recording, time_ns: i64, root: &str, leaf: &str) {
        let frames = [root, leaf].map(|name| {
            let symbol = recording.strings.intern(name);
            recording.stacks.intern_frame(crate::Frame { symbol, ..crate::Frame::default() })
        });
        let stack_id = recording.stacks.intern_from_root(frames);
        recording.samples.push(crate::tables::Sample { time_ns, stack_id, ..Default::default() });
    }

    #[test]
    fn a_name_that_the_kernel_cut_replaces_no_whole_one() {
        for (first, second, expected) in [
            ("http-nio-8080-exec-1", "http-nio-8080-e", "http-nio-8080-exec-1"),
            ("http-nio-8080-e", "http-nio-8080-exec-1", "http-nio-8080-exec-1"),
            ("http-nio-8080-exec-1", "worker", "worker"),
        ] {
            let (mut left, mut right) = (Recording::default(), Recording::default());
            left.add_thread(7, first);
            right.add_thread(7, second);
            left.absorb(right);
            assert_eq!(left.text(left.threads.get(7).unwrap().name), expected);
        }
    }

    #[test]
    fn merging_renumbers_ids() {
        let (mut left, mut right) = (Recording::default(), Recording::default());
        push_sample(&mut left, 1, "other", "thing");
        right.add_fact("jvm", "version", "25.0.3", "test");
        right.add_span(10, 20, 41, "compilation", "a.B.c", "", "test");
        push_sample(&mut right, 11, "main", "work");
        left.absorb(right);
        let stack = |id| left.stacks.leaf_to_root(id).map(|f| left.text(f.symbol)).collect::<Vec<_>>().join("<");
        let stacks: Vec<String> = left.samples.rows().map(|sample| stack(sample.stack_id)).collect();
        assert_eq!(stacks, ["thing<other", "work<main"]);
        assert_eq!(left.fact("jvm", "version"), Some("25.0.3"));
        assert_eq!(left.stacks.leaf_to_root(StackId(9_999)).count(), 0);
        assert_eq!(left.time_range_ns(), Some((1, 30)));
    }
}
