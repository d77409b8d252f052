//! Collapsed stacks to samples without times.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{event, loss};
use fathom_evidence::{FrameId, Recording};
use rustc_hash::FxHashMap;

use crate::collapsed::parse;
use crate::input::written_ns;
use crate::lines::{self, Line};
use crate::profiles::{self, FRAMES_MAX, Unit, Untimed};
use crate::{LoadError, LoadOptions, load_each};

/// The `source` column of everything that comes from collapsed stacks.
pub(super) const SOURCE: &str = "collapsed";

/// Frames that are remembered by their text: most have been there before.
const KNOWN_MAX: usize = 1 << 17;

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    load_each(files, |file| load_file(file, options))
}

fn load_file(path: &Path, options: &LoadOptions) -> Result<Recording, LoadError> {
    if !options.takes_untimed {
        return Err(profiles::refusal(path, "collapsed stacks: counts"));
    }
    let mut loader = Loader {
        profile: Untimed::new(SOURCE, written_ns(path)),
        known: FxHashMap::default(),
        frames: Vec::new(),
        not_understood: 0,
    };
    let cut = lines::read(path, &mut |line| loader.line(line))?;
    if loader.profile.is_empty() {
        let says = "no collapsed stacks in it: lines such as main;a.B.c 12".to_owned();
        return Err(LoadError::Unusable { path: path.to_owned(), says });
    }
    Ok(loader.finish(&path.display().to_string(), cut))
}

struct Loader {
    profile: Untimed,
    known: FxHashMap<Box<[u8]>, FrameId>,
    /// Those of a line; kept for the next one.
    frames: Vec<FrameId>,
    not_understood: i64,
}

impl Loader {
    fn line(&mut self, line: Line<'_>) {
        let text = if let Line::Whole(text) = line { text } else { b"?" };
        match parse::stack(text) {
            Some((frames, count)) => self.stack(frames, count),
            None => self.not_understood += i64::from(!text.trim_ascii().is_empty()),
        }
    }

    fn stack(&mut self, text: &[u8], count: u64) {
        let mut tid = None;
        self.frames.clear();
        for (nth, frame) in text.split(|byte| *byte == b';').take(FRAMES_MAX).enumerate() {
            let known = self.known.get(frame).copied();
            if nth == 0 && known.is_none() {
                tid = self.thread(&String::from_utf8_lossy(frame));
            }
            if nth > 0 || tid.is_none() {
                let id = known.unwrap_or_else(|| self.frame(frame));
                self.frames.push(id);
            }
        }
        let tid = tid.unwrap_or_else(|| self.profile.thread("all threads"));
        let stack = self.profile.recording.stacks.intern_from_root(self.frames.iter().copied());
        self.profile.add(event::SAMPLED_UNTIMED, tid, stack, count as f64, Unit::Count);
    }

    fn thread(&mut self, frame: &str) -> Option<i64> {
        let (name, tid) = parse::thread(frame)?;
        if self.profile.recording.threads.get(tid).is_none() {
            self.profile.recording.add_thread(tid, name);
        }
        Some(tid)
    }

    fn frame(&mut self, text: &[u8]) -> FrameId {
        let id = profiles::intern_frame(&mut self.profile.recording, &String::from_utf8_lossy(text), "", 0);
        if self.known.len() < KNOWN_MAX {
            self.known.insert(text.into(), id);
        }
        id
    }

    fn finish(self, name: &str, cut: Option<String>) -> Recording {
        let mut recording = self.profile.finish(name, 0);
        let says = format!("{name}: has no time: placed at the time at which the file was written");
        recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, &says);
        if self.not_understood > 0 {
            let says = format!("{name}: {} lines are no collapsed stacks", self.not_understood);
            recording.add_loss(SOURCE, loss::NOT_UNDERSTOOD, self.not_understood, &says);
        }
        if let Some(says) = cut {
            recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{name}: {says}"));
        }
        recording
    }
}
