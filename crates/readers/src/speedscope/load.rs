//! Weights of speedscope to samples without times.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{UNTIMED, event, loss};
use fathom_evidence::{FrameId, Recording};

use crate::input::{Input, written_ns};
use crate::profiles::{self, FRAMES_MAX, Unit, Untimed};
use crate::speedscope::parse::{self, File, Profile};
use crate::{LoadError, LoadOptions, load_each};

/// The `source` column of everything that comes from speedscope.
pub(super) const SOURCE: &str = "speedscope";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    load_each(files, |file| load_file(file, options))
}

fn load_file(path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    if !options.takes_untimed {
        return Err(profiles::refusal(path, "speedscope: weights"));
    }
    let unusable = |says: String| LoadError::Unusable { path: path.to_owned(), says };
    let input = Input::open(path)?;
    let file = parse::file(&input).map_err(|error| {
        unusable(format!("a profile of speedscope that is cut or damaged ({error}): export it again"))
    })?;
    let mut untimed = Untimed::new(SOURCE, written_ns(path));
    let frames = frames(&mut untimed.recording, &file);
    untimed.too_many = file.profiles.left_out;
    for profile in &file.profiles.entries {
        add(&mut untimed, &file, &frames, profile);
    }
    if untimed.is_empty() {
        return Err(unusable("a profile of speedscope without samples".to_owned()));
    }
    let name = path.display().to_string();
    let mut recording = untimed.finish(&name, 0);
    let says = format!("{name}: has no time: placed at the time at which the file was written");
    recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, &says);
    if let Some(says) = input.cut() {
        recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{name}: {says}"));
    }
    Ok(recording)
}

fn frames(recording: &mut Recording, file: &File) -> Vec<FrameId> {
    let line = |line: Option<f64>| line.map_or(0, |line| line as u32);
    let of = |frame: &parse::Frame| {
        profiles::intern_frame(recording, &frame.name, &frame.file.text, line(frame.line.number))
    };
    file.shared.frames.entries.iter().map(of).collect()
}

fn add(untimed: &mut Untimed, file: &File, frames: &[FrameId], profile: &Profile) {
    let unit = Unit::of(&profile.unit.text);
    let of = Of { frames, event: &event(&file.name.text, unit), tid: untimed.thread(&profile.name.text), unit };
    untimed.too_many += profile.samples.left_out + profile.events.left_out;
    for row in 0..profile.samples.len() {
        let stack = profile.samples.list(row).iter().filter_map(|place| of.frame(f64::from(*place)));
        of.add(untimed, stack, profile.weights.number(row).unwrap_or(1.0));
    }
    of.between(untimed, profile);
}

/// What the samples of a profile have in common.
struct Of<'f> {
    frames: &'f [FrameId],
    event: &'f str,
    tid: i64,
    unit: Unit,
}

impl Of<'_> {
    fn frame(&self, place: f64) -> Option<FrameId> {
        self.frames.get(place as usize).copied()
    }

    fn add(&self, untimed: &mut Untimed, stack: impl Iterator<Item = FrameId>, value: f64) {
        let stack = untimed.recording.stacks.intern_from_root(stack.take(FRAMES_MAX));
        untimed.add(self.event, self.tid, stack, value, self.unit);
    }

    /// What lies between two ends or beginnings of functions is of those that are open.
    fn between(&self, untimed: &mut Untimed, profile: &Profile) {
        let mut open: Vec<FrameId> = Vec::new();
        let mut before = None;
        for one in &profile.events.entries {
            let (Some(at), Some(place)) = (one.at.number, one.frame.number) else { continue };
            if let Some(before) = before.filter(|_| !open.is_empty()) {
                self.add(untimed, open.iter().copied(), at - before);
            }
            match (one.kind.text.as_str(), self.frame(place)) {
                ("O", Some(id)) => open.push(id),
                ("C", _) => drop(open.pop()),
                _ => {}
            }
            before = Some(at);
        }
    }
}

/// The file's name is that of an event if `fathom export` wrote it, else any text.
fn event(name: &str, unit: Unit) -> Cow<'static, str> {
    let name = name.strip_suffix(UNTIMED).unwrap_or(name);
    let is_known = event::ALL.iter().any(|word| word.word == name);
    profiles::event_of(if is_known { name } else { "" }, unit, false)
}
