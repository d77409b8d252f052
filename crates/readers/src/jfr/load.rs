//! A whole file: chunks in parallel, then what spans several of them.

use std::path::Path;

use rayon::prelude::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rustc_hash::FxHashMap;

use fathom_evidence::kinds::subject;
use fathom_evidence::tables::ClockPair;
use fathom_evidence::{Recording, StrId};

use super::load_chunk::{self, Loaded, Lost, SOURCE};
use super::load_gc::Collections;
use super::load_losses::{self, Losses};
use super::load_safepoint::{self, SafepointEvent};
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
    let opened: Vec<Opened<'_>> =
        chunks.into_par_iter().map(|chunk| Opened { layout: layout(&chunk), chunk }).collect();
    let settings = opened.iter().find_map(|opened| Profiler::of(&opened.chunk, opened.layout.as_ref()?));
    let loaded = opened.par_iter().map(|opened| opened.load(settings.as_ref())).collect();
    Ok(merge(&opened, loaded, &gaps, &path.display().to_string()))
}

/// A chunk with its types and the places of its tables, if they can be read.
struct Opened<'a> {
    chunk: Chunk<'a>,
    layout: Option<Layout>,
}

impl Opened<'_> {
    fn load(&self, settings: Option<&Profiler>) -> Option<Loaded> {
        let layout = self.layout.as_ref()?;
        let unknown = Profiler::default();
        let profiler = Profiler::wrote(&layout.types).then(|| settings.unwrap_or(&unknown));
        Some(load_chunk::load(&self.chunk, layout, profiler))
    }
}

/// Puts the chunks of a file together.
#[derive(Default)]
struct Merger {
    all: Option<Recording>,
    collections: Collections,
    safepoints: Vec<SafepointEvent>,
    lost: Vec<Lost>,
    /// When the JVM of the chunks so far was started.
    started: Option<String>,
}

impl Merger {
    fn add(&mut self, loaded: Loaded) {
        // Collections and safepoints are numbered anew in another JVM, whose chunks may be in the same file.
        let started = loaded.recording.fact(subject::JVM, "started_at_ns").map(str::to_owned);
        if started.is_some() && self.started.is_some() && started != self.started {
            self.finish_jvm();
        }
        self.started = started.or(self.started.take());
        self.collections.absorb(loaded.collections);
        self.safepoints.extend(loaded.safepoints);
        self.lost.extend(loaded.lost);
        match &mut self.all {
            Some(all) => all.absorb(loaded.recording),
            None => self.all = Some(loaded.recording),
        }
    }

    fn finish_jvm(&mut self) {
        let all = self.all.get_or_insert_default();
        std::mem::take(&mut self.collections).finish(all, SOURCE);
        load_safepoint::finish(std::mem::take(&mut self.safepoints), all, SOURCE);
    }

    fn finish(mut self) -> Recording {
        self.finish_jvm();
        let mut recording = self.all.unwrap_or_default();
        keep_changed_facts(&mut recording);
        load_losses::add_lost(self.lost, &mut recording);
        recording
    }
}

fn merge(opened: &[Opened<'_>], loaded: Vec<Option<Loaded>>, gaps: &[Gap], file: &str) -> Recording {
    let mut merger = Merger::default();
    let mut losses = Losses::new(file);
    for (Opened { chunk, .. }, loaded) in opened.iter().zip(loaded) {
        let Some(loaded) = loaded else {
            losses.chunk_without_metadata(chunk);
            continue;
        };
        losses.chunk(chunk, &loaded.damage);
        merger.add(loaded);
    }
    losses.gaps(gaps);
    let mut recording = merger.finish();
    opened.iter().for_each(|opened| add_clock(&opened.chunk, &mut recording));
    losses.finish(&mut recording);
    recording
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
