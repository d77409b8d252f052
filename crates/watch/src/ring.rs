//! The time before: rows of the last minute or so, in memory.
//!
//! Segments of one second each, encoded, which takes a fraction of the memory; the oldest is dropped when the ring is full. What holds
//! for the whole time (facts, threads' names, losses) and the last value of each counter are kept, so that rows taken out of the ring are
//! complete. Collectors write a number only when it changes: without this, a number that has not changed for an hour would be missing.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use fathom_evidence::tables::{Counter, Loss};
use fathom_evidence::{Recording, StrId, Strings, Table};

use crate::segment;

const SECOND_NS: i64 = 1_000_000_000;

/// Rows of one second that are kept, of each table; the others are counted. Collectors send a fraction of that.
const ROWS_MAX: usize = 4_000;

/// Counters whose last value is known; ports, peers and control groups have some hundred each.
const COUNTERS_MAX: usize = 50_000;

/// Facts, losses and names of threads that are kept.
const KEPT_MAX: usize = 10_000;

/// Source of losses that go with the second in which they were.
pub(crate) const GAP: &str = "watch";

/// Identity of a counter: name, instance, source.
type Key = (StrId, StrId, StrId);

/// The rows of some time.
#[derive(Debug, Clone)]
pub struct Ring {
    segments: VecDeque<(i64, Arc<[u8]>)>,
    keeps_ns: i64,
    /// What holds for all of it.
    kept: Recording,
    seen: HashSet<String>,
    /// Last values of counters of segments that are gone.
    texts: Strings,
    last: HashMap<Key, f64>,
    dropped: i64,
}

impl Ring {
    /// A ring of so much time.
    pub fn new(keeps: Duration) -> Ring {
        Ring {
            segments: VecDeque::new(),
            keeps_ns: i64::try_from(keeps.as_nanos()).unwrap_or(i64::MAX),
            kept: Recording::default(),
            seen: HashSet::new(),
            texts: Strings::default(),
            last: HashMap::new(),
            dropped: 0,
        }
    }

    /// Adds what was found until `now_ns`; gives what of it is kept, encoded.
    pub fn push(&mut self, now_ns: i64, mut segment: Recording) -> Arc<[u8]> {
        self.keep(&segment);
        self.cut(&mut segment);
        let rows: Arc<[u8]> = segment::encode(&segment).into();
        self.segments.push_back((now_ns, Arc::clone(&rows)));
        while self.segments.front().is_some_and(|(time_ns, _)| now_ns - time_ns > self.keeps_ns) {
            if let Some((_, oldest)) = self.segments.pop_front() {
                self.remember(&decoded(&oldest));
            }
        }
        rows
    }

    /// Facts, losses and threads of a segment, each once.
    fn keep(&mut self, segment: &Recording) {
        let kept = self.seen.len();
        for fact in segment.facts.rows().take(KEPT_MAX.saturating_sub(kept)) {
            let texts = [fact.subject, fact.key, fact.value, fact.source].map(|id| segment.text(id));
            if self.seen.insert(texts.join("\0")) {
                self.kept.add_fact(texts[0], texts[1], texts[2], texts[3]);
            }
        }
        for (tid, thread) in segment.threads.iter() {
            if self.kept.threads.len() < KEPT_MAX || self.kept.threads.get(tid).is_some() {
                self.kept.add_thread(tid, segment.text(thread.name));
            }
        }
        for loss in segment.losses.rows().filter(|loss| !is_gap(segment, loss)).take(KEPT_MAX.saturating_sub(kept)) {
            let [source, kind, says] = [loss.source, loss.kind, loss.says].map(|id| segment.text(id));
            if self.seen.insert([source, kind, says].join("\0")) {
                self.kept.add_loss(source, kind, loss.count, says);
            }
        }
    }

    fn cut(&mut self, segment: &mut Recording) {
        let rows = [segment.samples.len(), segment.spans.len(), segment.counters.len(), segment.logs.len()];
        self.dropped += rows.into_iter().map(|rows| rows.saturating_sub(ROWS_MAX) as i64).sum::<i64>();
        let first = |rows: usize| (0..rows).map(|at| at < ROWS_MAX).collect::<Vec<bool>>();
        if rows.into_iter().any(|rows| rows > ROWS_MAX) {
            segment.samples.retain(&first(rows[0]));
            segment.spans.retain(&first(rows[1]));
            segment.counters.retain(&first(rows[2]));
            segment.logs.retain(&first(rows[3]));
        }
    }

    fn remember(&mut self, segment: &Recording) {
        // Rows of single threads stand where a number began to rise and where it was read since: they need no memory.
        for row in segment.counters.rows().filter(|row| row.tid == 0) {
            let texts = [row.name, row.instance, row.source].map(|id| segment.text(id));
            if self.last.len() >= COUNTERS_MAX && !self.knows(texts) {
                self.dropped += 1;
                continue;
            }
            let [name, instance, source] = texts.map(|text| self.texts.intern(text));
            self.last.insert((name, instance, source), row.value);
        }
    }

    /// Whether the last value of this counter is known. What is not stays out of the texts as well.
    fn knows(&self, texts: [&str; 3]) -> bool {
        let [name, instance, source] = texts.map(|text| self.texts.find(text));
        let key = name.zip(instance).zip(source).map(|((name, instance), source)| (name, instance, source));
        key.is_some_and(|key| self.last.contains_key(&key))
    }

    /// From when on rows are there: a segment has those of the second before.
    pub fn from_ns(&self) -> Option<i64> {
        self.segments.front().map(|(time_ns, _)| time_ns - SECOND_NS)
    }

    /// Rows that were more than a second may have, and last values of counters for which there was no room, since this
    /// was last asked.
    pub fn take_dropped(&mut self) -> i64 {
        std::mem::take(&mut self.dropped)
    }

    /// What is known by `now_ns` without its rows: facts, threads, losses, and the last value of each counter.
    pub fn known(&self, now_ns: i64) -> Recording {
        let mut last: HashMap<Key, f64> = HashMap::new();
        let mut known = self.kept.clone();
        for ((name, instance, source), value) in &self.last {
            let [name, instance, source] =
                [*name, *instance, *source].map(|id| known.strings.intern(self.texts.get(id)));
            last.insert((name, instance, source), *value);
        }
        for (_, rows) in &self.segments {
            let segment = decoded(rows);
            for row in segment.counters.rows().filter(|row| row.tid == 0) {
                let texts = [row.name, row.instance, row.source].map(|id| segment.text(id));
                let [name, instance, source] = texts.map(|text| known.strings.intern(text));
                last.insert((name, instance, source), row.value);
            }
        }
        for ((name, instance, source), value) in last {
            known.counters.push(Counter { time_ns: now_ns, name, instance, tid: 0, value, source });
        }
        known
    }

    /// Everything that is in the ring, which stays there.
    pub fn copy(&self) -> Recording {
        self.clone().take()
    }

    /// Everything that is in the ring, as rows of a recording; the ring is empty afterwards.
    pub fn take(&mut self) -> Recording {
        let mut all = std::mem::take(&mut self.kept);
        self.seen.clear();
        let from_ns = self.from_ns().unwrap_or_default();
        for ((name, instance, source), value) in self.last.drain() {
            let [name, instance, source] = [name, instance, source].map(|id| all.strings.intern(self.texts.get(id)));
            all.counters.push(Counter { time_ns: from_ns, name, instance, tid: 0, value, source });
        }
        self.texts = Strings::default();
        for (_, rows) in self.segments.drain(..) {
            let mut segment = decoded(&rows);
            segment.facts = Default::default();
            let gaps: Vec<bool> = segment.losses.rows().map(|loss| is_gap(&segment, &loss)).collect();
            segment.losses.retain(&gaps);
            all.absorb(segment);
        }
        // Where a number began to rise may have been long ago; it was the same at the beginning.
        all.counters.time_ns.iter_mut().for_each(|time_ns| *time_ns = from_ns.max(*time_ns));
        all
    }
}

/// What was encoded here is whole.
fn decoded(rows: &[u8]) -> Recording {
    segment::decode(rows).unwrap_or_default()
}

/// Whether a loss concerns its second only: a gap in watching is nothing that a recording of a week later lacks.
fn is_gap(segment: &Recording, loss: &Loss) -> bool {
    segment.text(loss.source) == GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(second: i64, value: Option<f64>) -> Recording {
        let mut found = Recording::default();
        found.add_fact("jvm", "version", "25", "test");
        found.add_thread(second, &format!("thread {second}"));
        found.add_span(second * SECOND_NS, 5, 7, "request", ":80", "", "test");
        if let Some(value) = value {
            found.add_counter(second * SECOND_NS, "gc_runs_count", "young", value, "test");
        }
        found
    }

    #[test]
    fn the_last_seconds_stand_on_their_own() {
        let mut ring = Ring::new(Duration::from_secs(10));
        for second in 0..100 {
            // The counter has not changed for a long time.
            ring.push(second * SECOND_NS, segment(second, (second < 50).then_some(second as f64)));
        }
        let taken = ring.take();
        assert_eq!(taken.spans.len(), 11);
        assert_eq!(taken.fact("jvm", "version"), Some("25"));
        assert_eq!(taken.facts.len(), 1);
        let counters: Vec<(i64, f64)> = taken.counters.rows().map(|row| (row.time_ns, row.value)).collect();
        assert_eq!(counters, [(88 * SECOND_NS, 49.0)]);
        assert!(ring.take().is_empty());
    }

    #[test]
    fn what_is_known_stands_for_all_that_came_before() {
        let mut ring = Ring::new(Duration::from_secs(10));
        for second in 0..100 {
            let mut found = segment(second, (second < 50).then_some(second as f64));
            found.add_counter(second * SECOND_NS, "heap_used_bytes", "", second as f64, "test");
            ring.push(second * SECOND_NS, found);
        }
        let known = ring.known(99 * SECOND_NS);
        let mut values: Vec<(i64, f64)> = known.counters.rows().map(|row| (row.time_ns, row.value)).collect();
        values.sort_by(|a, b| a.1.total_cmp(&b.1));
        assert_eq!(values, [(99 * SECOND_NS, 49.0), (99 * SECOND_NS, 99.0)]);
        assert_eq!((known.fact("jvm", "version"), known.spans.len()), (Some("25"), 0));
    }

    #[test]
    fn a_gap_is_forgotten_with_its_second() {
        let mut ring = Ring::new(Duration::from_secs(10));
        for second in 0..100 {
            let mut found = segment(second, None);
            if second == 85 || second == 95 {
                found.add_loss(GAP, "events_lost", 0, &format!("not watched at {second}"));
            }
            found.add_loss("requests", "refused", 0, "no ports are seen");
            ring.push(second * SECOND_NS, found);
        }
        assert_eq!(ring.known(99 * SECOND_NS).losses.len(), 1, "gaps stand in their own segments");
        let taken = ring.take();
        let says: Vec<&str> = taken.losses.rows().map(|loss| taken.text(loss.says)).collect();
        assert_eq!(says, ["no ports are seen", "not watched at 95"]);
    }

    #[test]
    fn a_flood_is_cut_and_counted() {
        let mut ring = Ring::new(Duration::from_secs(10));
        let mut flood = Recording::default();
        (0..ROWS_MAX as i64 + 5).for_each(|at| flood.add_span(at, 1, 1, "request", ":80", "", "test"));
        ring.push(1, flood);
        assert_eq!((ring.take_dropped(), ring.take().spans.len()), (5, ROWS_MAX));
    }

    #[test]
    fn counters_that_come_and_go_fill_no_memory() {
        let mut ring = Ring::new(Duration::ZERO);
        let per_second = ROWS_MAX as i64;
        let seconds = COUNTERS_MAX as i64 / per_second + 3;
        for second in 0..=seconds {
            let mut found = Recording::default();
            for at in 0..per_second {
                found.add_counter(second, "peers", &format!("{second} {at}"), 1.0, "test");
            }
            ring.push(second, found);
        }
        let more = seconds * per_second - COUNTERS_MAX as i64;
        assert_eq!((ring.last.len(), ring.take_dropped()), (COUNTERS_MAX, more));
        assert!(ring.texts.len() <= COUNTERS_MAX + 3);
    }
}
