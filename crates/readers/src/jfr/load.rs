//! A whole file: chunks in parallel, then everything that spans several chunks.

use std::path::Path;

use rayon::prelude::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rustc_hash::FxHashMap;

use fathom_evidence::tables::ClockPair;
use fathom_evidence::{Recording, StrId};

use super::load_chunk::{self, Before, Damage, Lost, SOURCE, Stacks};
use super::load_gc::Collections;
use super::load_losses::{self, Losses};
use super::load_profiler::Profiler;
use super::load_resolve::is_of_profiler;
use super::load_safepoint::{self, SafepointEvent};
use super::load_stack_shape::KnownStacks;
use super::parse_chunk::{Chunk, split};
use super::parse_metadata::KnownTypes;
use super::parse_pools::{Layout, layout};
use crate::{Input, LoadError};

/// Reads the content of the JFR file `path`, all of it or what verdicts need.
pub(super) fn load(file: &Input, path: &Path, for_verdicts: bool) -> Result<Recording, LoadError> {
    let (chunks, gaps) = split(file);
    if chunks.is_empty() {
        let why = gaps.first().map_or("the file has no chunk", |gap| gap.why);
        return Err(LoadError::Unusable {
            path: path.to_owned(),
            says: format!("not readable as a JFR recording: {why}"),
        });
    }
    let known = KnownTypes::default();
    let opened: Vec<Opened<'_>> =
        chunks.into_par_iter().map(|chunk| Opened::new(chunk, file, &known, for_verdicts)).collect();
    let settings = opened.iter().find_map(|opened| Profiler::of(&opened.chunk, opened.layout.as_ref()?));
    let shares = shares(&opened).into_par_iter().enumerate();
    // The first share is what the rows of the others are put behind. What is no chunk gives no rows.
    let bytes = |number: usize, share: &[Opened<'_>]| if number == 0 { bytes_of(&opened) } else { bytes_of(share) };
    let run = |(number, share)| Run::of(file, share, bytes(number, share), settings.as_ref());
    let runs: Vec<Run> = shares.map(run).collect();
    let mut all = runs.into_iter().reduce(Run::followed_by).unwrap_or_default();
    all.finish_jvm();
    let Run { mut recording, lost, stacks, damage, .. } = all;
    keep_changed_facts(&mut recording);
    opened.iter().for_each(|opened| add_clock(&opened.chunk, &mut recording));
    load_losses::add_lost(lost, &mut recording);
    let file = path.display().to_string();
    let mut losses = Losses::new(&file);
    opened.iter().zip(&damage).for_each(|(opened, damage)| losses.chunk(&opened.chunk, damage.as_ref()));
    losses.gaps(&gaps);
    losses.stacks(stacks);
    if recording.is_empty() {
        losses.without_events();
    }
    losses.finish(&mut recording);
    Ok(recording)
}

/// A chunk with its types and the places of its tables, if they can be read.
struct Opened<'a> {
    chunk: Chunk<'a>,
    layout: Option<Layout>,
    for_verdicts: bool,
}

impl<'a> Opened<'a> {
    fn new(chunk: Chunk<'a>, file: &Input, known: &KnownTypes<'a>, for_verdicts: bool) -> Self {
        let opened = Opened { layout: layout(&chunk, known), chunk, for_verdicts };
        // Its tables are all over it, and its turn comes later: until then it is no part of the process's memory.
        file.was_read(opened.chunk.bytes());
        opened
    }
}

/// One share of neighbouring chunks for each processor: within a share, names and stacks that chunks repeat
/// are interned once.
fn shares<'a, 'b>(opened: &'b [Opened<'a>]) -> Vec<&'b [Opened<'a>]> {
    let share = (bytes_of(opened) / rayon::current_num_threads()).max(1);
    let start = opened.first().map_or(0, |first| first.chunk.offset);
    let number = |opened: &Opened<'_>| (opened.chunk.offset - start + opened.chunk.data.len() / 2) / share;
    opened.chunk_by(|a, b| number(a) == number(b)).collect()
}

fn bytes_of(chunks: &[Opened<'_>]) -> usize {
    chunks.iter().map(|opened| opened.chunk.data.len()).sum()
}

/// What neighbouring chunks give together.
#[derive(Default)]
struct Run {
    recording: Recording,
    /// Parts that wait for the rest of their collection or safepoint.
    collections: Collections,
    safepoints: Vec<SafepointEvent>,
    lost: Vec<Lost>,
    stacks: Stacks,
    /// When the JVMs of the first and of the last chunk were started.
    jvms: Option<(String, String)>,
    /// Of each chunk what could not be used; `None` if nothing could.
    damage: Vec<Option<Damage>>,
}

impl Run {
    /// Reads `share` into a recording that is to take the rows of as many `bytes`.
    fn of(file: &Input, share: &[Opened<'_>], bytes: usize, settings: Option<&Profiler>) -> Run {
        let (mut run, mut known) = (Run::default(), KnownStacks::default());
        let mut left = bytes;
        for opened in share {
            let chunk = opened.chunk.bytes();
            file.will_read(chunk.clone());
            run.add(opened, settings, left, &mut known);
            left -= chunk.len();
            file.was_read(chunk);
        }
        run
    }

    fn add<'a>(&mut self, opened: &Opened<'a>, settings: Option<&Profiler>, left: usize, known: &mut KnownStacks<'a>) {
        let Some(layout) = &opened.layout else {
            self.damage.push(None);
            return;
        };
        let unknown = Profiler::default();
        let profiler = is_of_profiler(&layout.types).then(|| settings.unwrap_or(&unknown));
        let before =
            Before { recording: std::mem::take(&mut self.recording), known, left, for_verdicts: opened.for_verdicts };
        let loaded = load_chunk::load(&opened.chunk, layout, profiler, before);
        self.recording = loaded.recording;
        self.enter_jvm(loaded.jvm_started.map(|started| (started.clone(), started)));
        self.collections.absorb(loaded.collections);
        self.safepoints.extend(loaded.safepoints);
        self.lost.extend(loaded.lost);
        self.stacks += loaded.stacks;
        self.damage.push(Some(loaded.damage));
    }

    fn followed_by(mut self, later: Run) -> Run {
        self.recording.absorb(later.recording);
        self.enter_jvm(later.jvms);
        self.collections.absorb(later.collections);
        self.safepoints.extend(later.safepoints);
        self.lost.extend(later.lost);
        self.stacks += later.stacks;
        self.damage.extend(later.damage);
        self
    }

    /// Another JVM numbers its collections and safepoints anew, and its chunks may be in the same file.
    fn enter_jvm(&mut self, jvms: Option<(String, String)>) {
        let Some((first, last)) = jvms else { return };
        if self.jvms.as_ref().is_some_and(|(_, current)| *current != first) {
            self.finish_jvm();
        }
        match &mut self.jvms {
            Some((_, current)) => *current = last,
            None => self.jvms = Some((first, last)),
        }
    }

    fn finish_jvm(&mut self) {
        std::mem::take(&mut self.collections).finish(&mut self.recording, SOURCE);
        load_safepoint::finish(std::mem::take(&mut self.safepoints), &mut self.recording, SOURCE);
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

/// The clock at the beginning of a chunk, and at its end where that is known.
fn add_clock(chunk: &Chunk<'_>, recording: &mut Recording) {
    let clock = &chunk.clock;
    for ns in std::iter::once(0).chain(chunk.duration_ns.filter(|ns| *ns > 0)) {
        let ticks = (i128::from(ns) * i128::from(clock.ticks_per_second) / 1_000_000_000) as i64;
        let row = ClockPair {
            clock: recording.strings.intern("jfr_ticks"),
            reading: clock.start_ticks.saturating_add(ticks),
            per_second: clock.ticks_per_second,
            time_ns: clock.start_ns.saturating_add(ns),
            source: recording.strings.intern(SOURCE),
        };
        recording.clocks.push(row);
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
