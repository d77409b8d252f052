//! Profiles of Firefox Profiler to samples.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{event, frame, loss};
use fathom_evidence::tables::Sample;
use fathom_evidence::{FrameId, Recording, StackId};
use rustc_hash::FxHashMap;

use crate::firefox::parse::{self, Meta, Profile, Tables, Thread};
use crate::input::Input;
use crate::perf_script::symbols::{is_of_a_jvm, layer_and_name};
use crate::profiles::{self, FRAMES_MAX};
use crate::timed::Timed;
use crate::{LoadError, LoadOptions, load_each};

/// The `source` column of everything that comes from Firefox Profiler.
pub(super) const SOURCE: &str = "firefox";

/// How samply marks what it converted of perf.data.
const OF_PERF: &str = "(perf version";

/// Categories that are layers: those of `fathom export`, and samply's.
const CATEGORIES: &[(&str, &str)] = &[
    ("Java, interpreted", frame::INTERPRETED),
    ("Java, C1", frame::C1),
    ("Java, compiled", frame::COMPILED),
    ("Java, inlined", frame::INLINED),
    ("JVM", frame::VM),
    ("native", frame::NATIVE),
    ("kernel", frame::KERNEL),
    ("Kernel", frame::KERNEL),
    ("class", frame::CLASS),
];

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    load_each(files, |file| load_file(file, options))
}

fn load_file(path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    let unusable = |says: String| LoadError::Unusable { path: path.to_owned(), says };
    let input = Input::open(path)?;
    let profile = parse::profile(&input).map_err(|error| {
        unusable(format!("a profile of Firefox Profiler that is cut or damaged ({error}): save it again"))
    })?;
    let start_ns = start_ns(&profile.meta, options.clock_offset_ns(path).is_some()).map_err(unusable)?;
    let mut loader = Loader { start_ns, too_many: profile.threads.left_out, ..Loader::default() };
    for thread in &profile.threads.entries {
        loader.thread(&profile, thread);
    }
    if loader.timed.is_empty() {
        let says = if loader.off_cpu > 0 { "no thread in it used a CPU" } else { "no samples in it" };
        return Err(LoadError::Unusable {
            path: path.to_owned(),
            says: format!("a profile of Firefox Profiler: {says}"),
        });
    }
    Ok(loader.finish(&path.display().to_string(), input.cut()))
}

/// When the profile begins, if that can be relied on.
fn start_ns(meta: &Meta, has_offset: bool) -> Result<i64, String> {
    const WITH: &str = "add what is missing: --clock-offset FILE=TIME";
    let start_ns = meta.start_time.number.map_or(0, |ms| (ms * 1e6) as i64);
    match () {
        () if has_offset => Ok(start_ns),
        () if start_ns <= 0 => Err(format!("a profile of Firefox Profiler that does not say when it began; {WITH}")),
        () if meta.product.text.contains(OF_PERF) => Err(format!(
            "samply converted it from perf.data and took the time at which that was written for its beginning: give the perf.data itself, or {WITH}"
        )),
        () => Ok(start_ns),
    }
}

#[derive(Default)]
struct Loader {
    timed: Timed,
    start_ns: i64,
    off_cpu: i64,
    too_many: i64,
    without_cpu: i64,
    without_time: i64,
    nameless: i64,
}

/// A stack, and whether a JVM is in it.
type Known = (StackId, bool);

/// What samples of a thread stand for.
#[derive(Clone, Copy)]
enum Weights {
    /// Time on the CPU since the sample before, one of which is so many ns.
    Cpu(f64),
    /// Intervals of time, in ns.
    Intervals(f64),
    Bytes,
}

impl Loader {
    fn thread(&mut self, profile: &Profile, thread: &Thread) {
        let samples = &thread.samples;
        self.too_many += samples.stack.left_out;
        let (tables, weights) = (profile.tables(thread), weights(&profile.meta, thread));
        let number = |of: &crate::json_columns::Scalar| {
            let text = of.text.split('.').next().and_then(|text| text.parse().ok());
            of.number.map(|number| number as i64).or(text)
        };
        let pid = number(&thread.pid).unwrap_or(0);
        let tid = number(&thread.tid).unwrap_or(self.timed.recording.threads.len() as i64 + 1);
        let mut known: FxHashMap<usize, Known> = FxHashMap::default();
        let mut frames: FxHashMap<usize, (FrameId, bool)> = FxHashMap::default();
        for (row, at_ms) in samples.times_ms().into_iter().enumerate() {
            let Some(stack) = samples.stack.index(row) else { continue };
            let Some(sample) = self.sample(thread, row, at_ms, weights) else { continue };
            let (stack_id, is_of_jvm) =
                *known.entry(stack).or_insert_with(|| self.stack(&profile.meta, tables, stack, &mut frames));
            self.timed.push(pid, Sample { tid, stack_id, ..sample }, is_of_jvm);
        }
        if !known.is_empty() {
            self.timed.name_thread(tid, &thread.name);
        }
    }

    /// What a row says but for its thread and stack.
    fn sample(&mut self, thread: &Thread, row: usize, at_ms: f64, weights: Weights) -> Option<Sample> {
        if !at_ms.is_finite() {
            self.without_time += 1;
            return None;
        }
        let weight = thread.samples.weight.number(row).unwrap_or(1.0).max(0.0);
        let (word, weight_ns, size_bytes) = match weights {
            Weights::Cpu(ns) => match thread.samples.thread_cpu_delta.number(row).filter(|delta| *delta > 0.0) {
                Some(delta) => (event::CPU, (delta * ns) as i64, 0),
                None => {
                    self.off_cpu += 1;
                    return None;
                }
            },
            Weights::Intervals(ns) => (event::SAMPLED, (weight * ns) as i64, 0),
            Weights::Bytes => (event::SAMPLED, 0, weight as i64),
        };
        self.without_cpu += i64::from(word == event::SAMPLED);
        let time_ns = self.start_ns.saturating_add((at_ms * 1e6) as i64);
        let event = self.timed.recording.strings.intern(word);
        Some(Sample { time_ns, cpu: -1, event, weight_ns, size_bytes, ..Sample::default() })
    }

    fn stack(
        &mut self,
        meta: &Meta,
        tables: Tables<'_>,
        stack: usize,
        known: &mut FxHashMap<usize, (FrameId, bool)>,
    ) -> Known {
        let (mut frames, mut at, mut is_of_jvm) = (Vec::new(), Some(stack), false);
        while let Some(place) = at.filter(|_| frames.len() < FRAMES_MAX) {
            let Some(frame) = tables.stacks.frame.index(place) else { break };
            let (id, is_jvm) = *known.entry(frame).or_insert_with(|| self.frame(meta, tables, frame));
            frames.push(id);
            is_of_jvm |= is_jvm;
            // Callers stand before those that they call.
            at = tables.stacks.prefix.index(place).filter(|caller| *caller < place);
        }
        (self.timed.recording.stacks.intern_from_root(frames.into_iter().rev()), is_of_jvm)
    }

    fn frame(&mut self, meta: &Meta, tables: Tables<'_>, frame: usize) -> (FrameId, bool) {
        let (name, library) = tables.function(frame);
        self.nameless += i64::from(name.starts_with("0x"));
        let category = tables.frames.category.index(frame).and_then(|place| meta.categories.entries.get(place));
        let of_category = category.and_then(|known| CATEGORIES.iter().find(|(name, _)| *name == known.name));
        let line = tables.frames.line.index(frame).and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        let id = match (of_category, library) {
            (Some((_, layer)), _) => profiles::frame_of(&mut self.timed.recording, name, library, line, layer),
            (None, "") => profiles::intern_frame(&mut self.timed.recording, name, "", line),
            (None, library) => {
                let (layer, name) = layer_and_name(name, library);
                profiles::frame_of(&mut self.timed.recording, &name, library, line, layer)
            }
        };
        (id, is_of_a_jvm(library))
    }

    fn finish(self, name: &str, cut: Option<&str>) -> Recording {
        let mut recording = self.timed.finish(SOURCE, name);
        let losses = [
            (
                loss::NAMES_MISSING,
                self.nameless,
                "functions have no names: save the profile from the viewer when it shows them",
            ),
            (loss::REFUSED, self.off_cpu, "samples of threads that used no CPU were left out"),
            (loss::LIMIT, self.too_many, "threads and samples were left out, as there are too many"),
            (loss::NOT_UNDERSTOOD, self.without_time, "samples have no time"),
            (loss::UNIT_ASSUMED, self.without_cpu, "samples do not say whether the thread ran: no cause uses them"),
        ];
        for (kind, count, says) in losses.into_iter().filter(|(_, count, _)| *count > 0) {
            recording.add_loss(SOURCE, kind, count, &format!("{name}: {count} {says}"));
        }
        if let Some(says) = cut {
            recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{name}: {says}"));
        }
        recording
    }
}

/// CPU time where the profile has any; else what its weights are.
fn weights(meta: &Meta, thread: &Thread) -> Weights {
    let samples = &thread.samples;
    let has_cpu = (0..samples.thread_cpu_delta.len()).any(|row| samples.thread_cpu_delta.number(row) > Some(0.0));
    let unit_ns = match meta.sample_units.thread_cpu_delta.as_str() {
        "ns" => Some(1.0),
        "µs" | "us" | "μs" => Some(1e3),
        "ms" => Some(1e6),
        _ => None,
    };
    match (unit_ns.filter(|_| has_cpu), samples.weight_type.text.as_str()) {
        (Some(ns), _) => Weights::Cpu(ns),
        (None, "bytes") => Weights::Bytes,
        (None, "tracing-ms") => Weights::Intervals(1e6),
        (None, _) => Weights::Intervals(meta.interval.number.unwrap_or(0.0).max(0.0) * 1e6),
    }
}
