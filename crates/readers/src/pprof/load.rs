//! Sums of pprof to samples without times.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::loss;
use fathom_evidence::{FrameId, Recording};
use rustc_hash::FxHashMap;

use crate::input::{Input, written_ns};
use crate::pprof::parse::{self, Sample, Tables, Thread};
use crate::profiles::{self, FRAMES_MAX, Missing, Unit, Untimed};
use crate::{LoadError, LoadOptions, load_each};

/// The `source` column of everything that comes from pprof.
pub(super) const SOURCE: &str = "pprof";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    load_each(files, |file| load_file(file, options))
}

fn load_file(path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    if !options.takes_untimed {
        return Err(profiles::refusal(path, "pprof: sums"));
    }
    let input = Input::open(path)?;
    let (tables, read, is_damaged) = Tables::read(&input);
    let kinds = kinds(&tables);
    let at_ns = if tables.time_ns > 0 { tables.time_ns } else { written_ns(path) };
    let mut profile = Untimed::new(SOURCE, at_ns);
    let mut frames = FxHashMap::default();
    for sample in parse::samples(&input, &tables) {
        add(&mut profile, &tables, &kinds, &mut frames, &sample);
    }
    let name = path.display().to_string();
    if profile.is_empty() {
        let says = "pprof without samples: nothing was counted, or the file is cut".to_owned();
        return Err(LoadError::Unusable { path: path.to_owned(), says });
    }
    let mut recording = profile.finish(&name, tables.duration_ns.max(0));
    if tables.time_ns <= 0 {
        let says = format!("{name}: does not say when it was taken: placed at the time at which the file was written");
        recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, &says);
    }
    let missing = Missing { cut: input.cut(), ends: is_damaged.then_some(read), too_many: tables.too_many };
    missing.tell(&mut recording, SOURCE, &name);
    Ok(recording)
}

/// The event and unit of each value; none of those that count what another one measures.
fn kinds(tables: &Tables<'_>) -> Vec<Option<(String, Unit)>> {
    let of = |place: &(usize, usize)| (tables.text(place.0), Unit::of(&tables.text(place.1)));
    let all: Vec<_> = tables.types.iter().map(of).collect();
    let is_measured = all.iter().any(|(_, unit)| *unit != Unit::Count);
    let is_wanted = |unit: Unit| !is_measured || unit != Unit::Count;
    let event = |name: &str, unit| (profiles::event_of(name, unit, false).into_owned(), unit);
    all.iter().map(|(name, unit)| is_wanted(*unit).then(|| event(name, *unit))).collect()
}

fn add(
    profile: &mut Untimed,
    tables: &Tables<'_>,
    kinds: &[Option<(String, Unit)>],
    known: &mut FxHashMap<u64, Vec<FrameId>>,
    sample: &Sample,
) {
    let mut frames: Vec<FrameId> = Vec::new();
    for location in sample.locations.iter().rev() {
        let of = known.entry(*location).or_insert_with(|| frames_of(&mut profile.recording, tables, *location));
        frames.extend(of.iter().take(FRAMES_MAX.saturating_sub(frames.len())));
    }
    let stack = profile.recording.stacks.intern_from_root(frames);
    let tid = match sample.thread {
        Some(Thread::Named(place)) => profile.thread(&tables.text(place)),
        Some(Thread::Numbered(tid)) => tid,
        None => profile.thread("all threads"),
    };
    for (value, kind) in sample.values.iter().zip(kinds) {
        if let Some((event, unit)) = kind {
            profile.add(event, tid, stack, *value as f64, *unit);
        }
    }
}

/// The frames of a location, callers first.
fn frames_of(recording: &mut Recording, tables: &Tables<'_>, id: u64) -> Vec<FrameId> {
    let Some(location) = tables.location(id) else { return Vec::new() };
    let mapping = tables.mapping(location.mapping);
    if location.lines.is_empty() {
        let name = format!("{:#x}", location.address);
        return vec![profiles::intern_frame(recording, &name, &mapping, 0)];
    }
    let frames = location.lines.iter().rev().map(|line| {
        let (name, file) = tables.function(line.function);
        let module = if file.is_empty() { &mapping } else { &file };
        profiles::intern_frame(recording, &name, module, line.line)
    });
    frames.collect()
}
