//! Profiles of OpenTelemetry to samples.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{frame, loss};
use fathom_evidence::tables::Sample as Row;
use fathom_evidence::{FrameId, Recording, StackId, Table};
use rustc_hash::FxHashMap;

use crate::input::{Input, written_ns};
use crate::otlp::parse::{Dictionary, File, Location, Profile, Sample, Thread};
use crate::otlp::parse_json;
use crate::perf_script::symbols::is_of_a_jvm;
use crate::profiles::{self, FRAMES_MAX, Missing, Unit, Untimed};
use crate::timed::Timed;
use crate::{LoadError, LoadOptions, SNIFF_BYTES, load_each};

/// The `source` column of everything that comes from OpenTelemetry.
pub(super) const SOURCE: &str = "otlp";

const OF: &str = "profiles of OpenTelemetry: samples";

const NOTHING: &str = "profiles of OpenTelemetry without samples: nothing was sampled, or the file is cut";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    load_each(files, |file| load_file(file, options))
}

fn load_file(path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    let input = Input::open(path)?;
    if parse_json::is_profile(input.get(..SNIFF_BYTES).unwrap_or(&input)) {
        return load_json(&input, path, options);
    }
    let file = File::read(&input);
    let mut recording = samples(&file, path, options)?;
    let missing =
        Missing { cut: input.cut(), ends: file.is_damaged.then_some(file.read), too_many: file.dictionary.too_many };
    missing.tell(&mut recording, SOURCE, &path.display().to_string());
    Ok(recording)
}

/// Messages of JSON, each of which is a profile of its own: those that can be used.
fn load_json(input: &Input, path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    let messages = parse_json::messages(input);
    let (mut all, mut error, mut too_many) = (Recording::default(), None, 0);
    for message in &messages.all {
        let file = File::read(message);
        too_many += file.dictionary.too_many;
        match samples(&file, path, options) {
            Ok(recording) => all.absorb(recording),
            Err(says) => error = Some(says),
        }
    }
    if all.samples.is_empty() {
        let nothing = || LoadError::Unusable { path: path.to_owned(), says: NOTHING.to_owned() };
        return Err(error.unwrap_or_else(nothing));
    }
    let name = path.display().to_string();
    Missing { cut: input.cut(), ends: None, too_many }.tell(&mut all, SOURCE, &name);
    if let Some(says) = messages.damage.filter(|_| input.cut().is_none()) {
        all.add_loss(SOURCE, loss::DAMAGED, 0, &format!("{name}: ends early: {says}"));
    }
    Ok(all)
}

/// The samples that have a time; if none has, all of them where that is wanted.
fn samples(file: &File<'_>, path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut loader = Loader::new(&file.dictionary);
    for (pid, profile) in file.profiles() {
        loader.profile(pid, profile);
    }
    let (name, without) = (path.display().to_string(), loader.without_time);
    if loader.timed.is_empty() {
        return match without {
            0 => Err(LoadError::Unusable { path: path.to_owned(), says: NOTHING.to_owned() }),
            _ if options.takes_untimed => Ok(untimed(file, written_ns(path), &name)),
            _ => Err(profiles::refusal(path, OF)),
        };
    }
    let mut recording = loader.timed.finish(SOURCE, &name);
    if without > 0 {
        let says = format!("{name}: {without} samples without a time were left out");
        recording.add_loss(SOURCE, loss::NO_TIMES, without, &says);
    }
    Ok(recording)
}

/// The same of a file in which no sample has a time.
fn untimed(file: &File<'_>, written_ns: i64, name: &str) -> Recording {
    let begin = file.profiles().map(|(_, profile)| profile.time_ns()).filter(|ns| *ns > 0).min();
    let mut all = Untimed::new(SOURCE, begin.unwrap_or(written_ns));
    let mut stacks = Stacks::new(&file.dictionary);
    let mut duration_ns = 0;
    for (_, profile) in file.profiles() {
        let (event, unit, weight) = meaning(profile, &file.dictionary, false);
        duration_ns = duration_ns.max(profile.duration_ns());
        for sample in profile.samples() {
            let thread = sample.thread(&file.dictionary);
            let stack = stacks.stack(&mut all.recording, sample.stack()).0;
            let named = if thread.name.is_empty() { "all threads" } else { &thread.name };
            let tid = all.thread(named);
            all.add(&event, tid, stack, sample.values().sum::<i64>() as f64 * weight, unit);
        }
    }
    all.finish(name, if begin.is_some() { duration_ns.max(0) } else { 0 })
}

/// The event of a profile, the unit of its values, and by how much they are multiplied: counts of samples that are so far apart.
fn meaning(profile: Profile<'_>, dictionary: &Dictionary<'_>, has_times: bool) -> (String, Unit, f64) {
    let (name, unit) = profile.kind(dictionary);
    let ((by, by_unit), period) = profile.period(dictionary);
    let (unit, by_unit) = (Unit::of(&unit), Unit::of(&by_unit));
    let is_counted = unit == Unit::Count && matches!(&*name, "samples" | "sample" | "count" | "");
    if is_counted && by_unit != Unit::Count && period > 0 {
        return (profiles::event_of(&by, by_unit, has_times).into_owned(), by_unit, period as f64);
    }
    (profiles::event_of(&name, unit, has_times).into_owned(), unit, 1.0)
}

struct Loader<'d> {
    dictionary: &'d Dictionary<'d>,
    timed: Timed,
    stacks: Stacks<'d>,
    /// Numbers of threads of which only the names are known.
    named: FxHashMap<(i64, String), i64>,
    without_time: i64,
}

impl<'d> Loader<'d> {
    fn new(dictionary: &'d Dictionary<'d>) -> Loader<'d> {
        let (timed, stacks) = (Timed::default(), Stacks::new(dictionary));
        Loader { dictionary, timed, stacks, named: FxHashMap::default(), without_time: 0 }
    }

    fn profile(&mut self, pid: i64, profile: Profile<'d>) {
        let (event, unit, weight) = meaning(profile, self.dictionary, true);
        for sample in profile.samples() {
            self.sample(pid, sample, &event, unit, weight);
        }
    }

    fn sample(&mut self, pid: i64, sample: Sample<'d>, event: &str, unit: Unit, weight: f64) {
        let mut times = sample.times_ns().peekable();
        if times.peek().is_none() {
            self.without_time += 1;
            return;
        }
        let thread = sample.thread(self.dictionary);
        let pid = thread.pid.unwrap_or(pid);
        let tid = self.tid(pid, &thread);
        let (stack_id, is_of_jvm) = self.stacks.stack(&mut self.timed.recording, sample.stack());
        let event = self.timed.recording.strings.intern(event);
        let cpu = thread.cpu.and_then(|cpu| i32::try_from(cpu).ok()).unwrap_or(-1);
        // Without values each time stands for one.
        let mut values = sample.values();
        for time_ns in times {
            let value = values.next().unwrap_or(1) as f64 * weight;
            let (weight_ns, size_bytes) = match unit {
                Unit::Time { ns } => ((value * ns as f64) as i64, 0),
                Unit::Size { bytes } => (0, (value * bytes as f64) as i64),
                Unit::Count => (0, 0),
            };
            let row = Row { time_ns, tid, cpu, event, weight_ns, size_bytes, stack_id, ..Row::default() };
            self.timed.push(pid, row, is_of_jvm);
        }
    }

    fn tid(&mut self, pid: i64, thread: &Thread<'_>) -> i64 {
        let next = profiles::FIRST_THREAD + self.named.len() as i64;
        let known = |named: &mut FxHashMap<_, i64>| *named.entry((pid, thread.name.to_string())).or_insert(next);
        let tid = thread.tid.unwrap_or_else(|| known(&mut self.named));
        if !thread.name.is_empty() {
            self.timed.name_thread(tid, &thread.name);
        }
        tid
    }
}

/// Stacks by their place in the dictionary, each with whether a JVM is in it.
struct Stacks<'d> {
    dictionary: &'d Dictionary<'d>,
    known: FxHashMap<usize, (StackId, bool)>,
    /// Frames of locations, callers first.
    locations: FxHashMap<usize, (Vec<FrameId>, bool)>,
}

impl<'d> Stacks<'d> {
    fn new(dictionary: &'d Dictionary<'d>) -> Stacks<'d> {
        Stacks { dictionary, known: FxHashMap::default(), locations: FxHashMap::default() }
    }

    fn stack(&mut self, recording: &mut Recording, place: usize) -> (StackId, bool) {
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        let places: Vec<usize> = self.dictionary.stack(place).collect();
        let (mut frames, mut is_of_jvm) = (Vec::new(), false);
        for location in places.into_iter().rev() {
            let of = || frames_of(recording, &self.dictionary.location(location));
            let (found, is_jvm) = self.locations.entry(location).or_insert_with(of);
            frames.extend(found.iter().take(FRAMES_MAX.saturating_sub(frames.len())));
            is_of_jvm |= *is_jvm;
        }
        let stack = (recording.stacks.intern_from_root(frames), is_of_jvm);
        self.known.insert(place, stack);
        stack
    }
}

fn frames_of(recording: &mut Recording, location: &Location<'_>) -> (Vec<FrameId>, bool) {
    let is_of_jvm = location.frame_type == "jvm" || is_of_a_jvm(&location.library);
    let layer = match (&*location.layer, &*location.frame_type) {
        ("", "kernel") => frame::KERNEL,
        ("", "native") if !is_of_jvm => frame::NATIVE,
        (layer, _) => layer,
    };
    let mut frame = |name: &str, file: &str, line| {
        let module = if location.library.is_empty() { file } else { &location.library };
        match layer {
            "" => profiles::intern_frame(recording, name, module, line),
            layer => profiles::frame_of(recording, name, module, line, layer),
        }
    };
    let frames = match location.lines.is_empty() {
        true => vec![frame(&format!("{:#x}", location.address), "", 0)],
        false => location.lines.iter().rev().map(|line| frame(&line.name, &line.file, line.line)).collect(),
    };
    (frames, is_of_jvm)
}
