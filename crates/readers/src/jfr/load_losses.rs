//! What is missing in a file, in sentences: what the recorder lost, what was cut, what is invalid.

use fathom_evidence::Recording;
use fathom_evidence::kinds::loss;
use fathom_evidence::tables::Loss;

use super::load_chunk::{Damage, Lost, SOURCE, Stacks};
use super::parse_chunk::{Chunk, Gap};

/// Most losses that are listed one by one.
const MAX_ROWS: usize = 100;

/// One row for each way to lose events, with the time in which it happened.
pub(super) fn add_lost(lost: Vec<Lost>, recording: &mut Recording) {
    let mut totals: Vec<(Lost, i64)> = Vec::new();
    for lost in lost {
        match totals.iter_mut().find(|(total, _)| total.says == lost.says) {
            Some((total, to_ns)) => {
                total.count = total.count.saturating_add(lost.count);
                (total.time_ns, *to_ns) = (total.time_ns.min(lost.time_ns), lost.time_ns.max(*to_ns));
            }
            None => totals.push((lost, lost.time_ns)),
        }
    }
    for (Lost { says, count, time_ns }, to_ns) in totals {
        let row = Loss {
            source: recording.strings.intern(SOURCE),
            kind: recording.strings.intern(loss::EVENTS_LOST),
            count,
            says: recording.strings.intern(&format!("{count} {says}")),
            from_ns: time_ns,
            to_ns,
        };
        recording.losses.push(row);
    }
}

/// Losses of a file, as sentences.
pub(super) struct Losses<'a> {
    file: &'a str,
    /// Losses beyond those that are listed one by one.
    more: i64,
    rows: Vec<(&'static str, i64, String)>,
}

impl<'a> Losses<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Losses { file, more: 0, rows: Vec::new() }
    }

    pub(super) fn finish(self, recording: &mut Recording) {
        if self.more > 0 {
            let says = format!("{}: {} more losses of the same kinds", self.file, self.more);
            recording.add_loss(&format!("{SOURCE} {}", self.file), loss::DAMAGED, self.more, &says);
        }
        for (kind, count, says) in self.rows {
            recording.add_loss(&format!("{SOURCE} {}", self.file), kind, count, &says);
        }
    }

    fn add(&mut self, kind: &'static str, count: usize, says: String) {
        if self.rows.len() == MAX_ROWS {
            self.more += 1;
            return;
        }
        self.rows.push((kind, count as i64, format!("{}: {says}", self.file)));
    }

    pub(super) fn gaps(&mut self, gaps: &[Gap]) {
        for Gap { bytes, why } in gaps {
            let says = format!("bytes {} to {} were skipped: {why}", bytes.start, bytes.end);
            self.add(loss::DAMAGED, bytes.len(), says);
        }
    }

    /// Stacks that were deeper than the recorder goes.
    pub(super) fn stacks(&mut self, Stacks { all, truncated }: Stacks) {
        if truncated > 0 {
            let says = format!(
                "{truncated} of {all} stacks lack their callers because they were deeper than the recorder's limit \
                 (-XX:FlightRecorderOptions:stackdepth=N; async-profiler: jstackdepth=N)"
            );
            self.add(loss::STACKS_CUT, truncated, says);
        }
    }

    /// Where nothing else is wrong with a file that gave nothing: what it holds are no events that are read.
    pub(super) fn without_events(&mut self) {
        if self.rows.is_empty() {
            self.add(loss::NOT_UNDERSTOOD, 0, "none of its events is one that fathom reads".to_owned());
        }
    }

    fn chunk_without_metadata(&mut self, chunk: &Chunk<'_>) {
        let kind = if chunk.complete { loss::DAMAGED } else { loss::TRUNCATED };
        let says = format!(
            "the chunk at byte {} has no readable metadata; its {} bytes were skipped",
            chunk.offset,
            chunk.data.len()
        );
        self.add(kind, chunk.data.len(), says);
    }

    /// What is missing of a chunk; all of it where `damage` is `None`.
    pub(super) fn chunk(&mut self, chunk: &Chunk<'_>, damage: Option<&Damage>) {
        let Some(damage) = damage else { return self.chunk_without_metadata(chunk) };
        let at = chunk.offset;
        if chunk.cut {
            let says = format!(
                "the file ends within the chunk at byte {at}: its later events, and names that stand at its end, are missing"
            );
            self.add(loss::TRUNCATED, 0, says);
        }
        if !chunk.complete && !chunk.cut {
            self.add(loss::TRUNCATED, 0, format!("the chunk at byte {at} was still being written, or its recorder was killed: the last seconds are missing"));
        }
        if let Some(stop) = damage.stopped_at {
            let lost = chunk.data.len() - stop;
            let kind = if chunk.complete { loss::DAMAGED } else { loss::TRUNCATED };
            self.add(kind, lost, format!("{lost} bytes from byte {} on could not be read as events", at + stop));
        }
        for (event, count) in &damage.events {
            self.add(
                loss::DAMAGED,
                *count as usize,
                format!("{count} events {event} of the chunk at byte {at} do not fit their type"),
            );
        }
        if damage.checkpoints > 0 {
            let count = damage.checkpoints;
            self.add(
                loss::DAMAGED,
                count,
                format!("{count} tables of constants of the chunk at byte {at} could not be read to their end"),
            );
        }
        if damage.keys > 0 {
            let count = damage.keys as usize;
            let says = format!(
                "{count} references to threads, stacks or names have no entry in the tables of the chunk at byte {at}"
            );
            // The JVM leaves some out of a chunk that is complete, those of threads that come or go at its end.
            self.add(if chunk.complete { loss::NOT_UNDERSTOOD } else { loss::TRUNCATED }, count, says);
        }
    }
}
