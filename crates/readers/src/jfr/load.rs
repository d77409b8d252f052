//! A whole file: chunks in parallel, then what spans several of them.

use std::path::Path;

use rayon::prelude::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rustc_hash::FxHashMap;

use fathom_evidence::kinds::loss;
use fathom_evidence::tables::{ClockPair, Loss};
use fathom_evidence::{Recording, StrId};

use super::load_chunk::{self, Damage, Loaded, Lost, SOURCE};
use super::load_gc::Collections;
use super::load_safepoint;
use super::load_settings::Profiler;
use super::parse_chunk::{Chunk, Gap, split};
use super::parse_pools::{Layout, layout};
use crate::LoadError;

/// Reads the content of a JFR file; `name` stands in losses.
pub(super) fn load(file: &[u8], path: &Path) -> Result<Recording, LoadError> {
    let (chunks, gaps) = split(file);
    if chunks.is_empty() {
        let why = gaps.first().map_or("the file has no chunk", |gap| gap.why);
        return Err(LoadError::Unusable {
            path: path.to_owned(),
            says: format!("not readable as a JFR recording: {why}"),
        });
    }
    let opened: Vec<(Chunk<'_>, Option<Layout>)> =
        chunks.into_par_iter().map(|chunk| (chunk.clone(), layout(&chunk))).collect();
    let settings = opened.iter().find_map(|(chunk, layout)| Profiler::of(chunk, layout.as_ref()?));
    let loaded: Vec<Option<Loaded>> =
        opened.par_iter().map(|(chunk, layout)| Some(load_one(chunk, layout.as_ref()?, settings.as_ref()))).collect();
    Ok(merge(&opened, loaded, gaps, &path.display().to_string()))
}

fn load_one(chunk: &Chunk<'_>, layout: &Layout, settings: Option<&Profiler>) -> Loaded {
    let unknown = Profiler::default();
    let profiler = Profiler::wrote(&layout.types).then(|| settings.unwrap_or(&unknown));
    load_chunk::load(chunk, layout, profiler)
}

fn merge(opened: &[(Chunk<'_>, Option<Layout>)], loaded: Vec<Option<Loaded>>, gaps: Vec<Gap>, name: &str) -> Recording {
    let mut all: Option<Recording> = None;
    let mut collections = Collections::default();
    let mut safepoints = Vec::new();
    let mut recorder_losses = Vec::new();
    let mut losses = Losses { name, rows: Vec::new() };
    for ((chunk, _), loaded) in opened.iter().zip(loaded) {
        let Some(loaded) = loaded else {
            losses.chunk_without_metadata(chunk);
            continue;
        };
        losses.chunk(chunk, &loaded.damage);
        collections.absorb(loaded.collections);
        safepoints.extend(loaded.safepoints);
        recorder_losses.extend(loaded.lost);
        match &mut all {
            Some(all) => all.absorb(loaded.recording),
            None => all = Some(loaded.recording),
        }
    }
    let mut recording = all.unwrap_or_default();
    collections.finish(&mut recording, SOURCE);
    load_safepoint::finish(safepoints, &mut recording, SOURCE);
    keep_changed_facts(&mut recording);
    for (chunk, _) in opened {
        add_clock(chunk, &mut recording);
    }
    losses.gaps(&gaps);
    add_recorder_losses(recorder_losses, &mut recording);
    for (kind, count, says) in losses.rows {
        recording.add_loss(&format!("{SOURCE} {name}"), kind, count, &says);
    }
    recording
}

/// One row for each way to lose events, with the time in which it happened.
fn add_recorder_losses(lost: Vec<Lost>, recording: &mut Recording) {
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

/// Each chunk repeats flags and settings: keeps a fact when it is new or has changed.
fn keep_changed_facts(recording: &mut Recording) {
    let mut last: FxHashMap<(StrId, StrId), StrId> = FxHashMap::default();
    let facts = std::mem::take(&mut recording.facts);
    for fact in facts.rows() {
        if last.insert((fact.subject, fact.key), fact.value) != Some(fact.value) {
            recording.facts.push(fact);
        }
    }
}

fn add_clock(chunk: &Chunk<'_>, recording: &mut Recording) {
    let row = ClockPair {
        clock: recording.strings.intern("jfr_ticks"),
        reading: chunk.clock.start_ticks,
        per_second: chunk.clock.ticks_per_second,
        time_ns: chunk.clock.start_ns,
        source: recording.strings.intern(SOURCE),
    };
    recording.clocks.push(row);
}

/// Losses of a file, as sentences.
struct Losses<'a> {
    name: &'a str,
    rows: Vec<(&'static str, i64, String)>,
}

impl Losses<'_> {
    fn add(&mut self, kind: &'static str, count: usize, says: String) {
        self.rows.push((kind, count as i64, format!("{}: {says}", self.name)));
    }

    fn gaps(&mut self, gaps: &[Gap]) {
        for Gap { bytes, why } in gaps {
            let says = format!("bytes {} to {} were skipped: {why}", bytes.start, bytes.end);
            self.add(loss::DAMAGED, bytes.len(), says);
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

    fn chunk(&mut self, chunk: &Chunk<'_>, damage: &Damage) {
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
        if damage.stacks > 0 {
            let count = damage.stacks as usize;
            self.add(loss::DAMAGED, count, format!("{count} stacks of the chunk at byte {at} could not be read"));
        }
        if damage.keys > 0 {
            let count = damage.keys as usize;
            let says = format!("{count} references to threads, stacks or names of the chunk at byte {at} lead nowhere");
            self.add(if chunk.complete { loss::DAMAGED } else { loss::TRUNCATED }, count, says);
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Table;

    use super::*;

    #[test]
    fn facts_are_kept_when_they_change() {
        let mut recording = Recording::default();
        for value in ["1", "1", "2", "1", "1"] {
            recording.add_fact("flag", "Xmn", value, SOURCE);
        }
        keep_changed_facts(&mut recording);
        assert_eq!(recording.facts.len(), 3);
        assert_eq!(recording.fact("flag", "Xmn"), Some("1"));
    }
}
