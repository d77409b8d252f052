//! Traces to sums and slow calls.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::loss;
use fathom_evidence::{Recording, StackId};

use crate::calls::Calls;
use crate::lines::{self, Line};
use crate::strace::parse::{self, Says, Times};
use crate::{LoadError, SNIFF_BYTES, input};

/// The `source` column of everything that comes from a trace.
pub(super) const SOURCE: &str = "strace";

/// How many lines that were not understood are kept.
const SHOWN_LINES: i64 = 3;

/// A trace has none, unless it is asked for them in another format.
const NO_STACKS: [StackId; 2] = [StackId(0); 2];

/// How to record what can be read.
const RECORD_WITH: &str = "strace -f -ttt -T -yy -o trace.txt -p PID";

/// `-ff` writes a file for each thread, which ends with its number: they are one trace.
pub(super) fn group(files: Vec<PathBuf>) -> Vec<Vec<PathBuf>> {
    let mut groups: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
    for file in files {
        let stem = if thread_of(&file).is_some() { file.with_extension("") } else { file.clone() };
        match groups.iter_mut().find(|(known, _)| *known == stem) {
            Some((_, group)) => group.push(file),
            None => groups.push((stem, vec![file])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The thread that the name of a file ends with.
fn thread_of(file: &Path) -> Option<i64> {
    let extension = file.extension()?.to_str()?;
    extension.bytes().all(|byte| byte.is_ascii_digit()).then(|| extension.parse().ok())?
}

pub(super) fn load(files: &[PathBuf]) -> Result<Recording, LoadError> {
    let mut loader = Loader::default();
    for file in files {
        let unusable = |says: &str| LoadError::Unusable {
            path: file.clone(),
            says: format!("{says}; record with: {RECORD_WITH}"),
        };
        if parse::is_summary(&input::head(file, SNIFF_BYTES)?) {
            return Err(unusable("a summary of strace -c: it does not say when its calls were"));
        }
        loader.thread = thread_of(file);
        let cut = lines::read(file, &mut |line| loader.line(line))?;
        loader.calls.rows_of_rest(&mut loader.recording);
        if let Some(says) = cut {
            loader.recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
        }
        if let Some(says) = why_not_placed(loader.times).filter(|_| loader.calls.count == 0) {
            return Err(unusable(says));
        }
    }
    Ok(loader.finish())
}

fn why_not_placed(times: Option<Times>) -> Option<&'static str> {
    match times? {
        Times::Epoch => None,
        Times::OfDay => Some("a trace of strace with times of day and no date (-t, -tt)"),
        Times::Relative => Some("a trace of strace with times since the line before (-r)"),
        Times::None => Some("a trace of strace without times"),
    }
}

struct Loader {
    recording: Recording,
    calls: Calls,
    /// The thread of lines that name none.
    thread: Option<i64>,
    /// What the first line's times are.
    times: Option<Times>,
    without_thread: bool,
    not_understood: i64,
}

impl Default for Loader {
    fn default() -> Loader {
        let (recording, calls) = (Recording::default(), Calls::of(SOURCE));
        Loader { recording, calls, thread: None, times: None, without_thread: false, not_understood: 0 }
    }
}

impl Loader {
    fn line(&mut self, line: Line<'_>) {
        let (text, read) = match line {
            Line::Whole(text) => (text, parse::line(text)),
            Line::Overlong(text) => (text, None),
        };
        let Some(read) = read else { return self.miss(text) };
        self.times.get_or_insert(read.time.0);
        if read.time.0 != Times::Epoch {
            return if matches!(read.says, Says::Note(_)) {
            } else {
                self.miss(text)
            };
        }
        let tid = read.tid.or(self.thread).unwrap_or_else(|| {
            self.without_thread = true;
            0
        });
        self.calls.rows_until(&mut self.recording, read.time.1);
        self.says(tid, read.time.1, read.says);
    }

    fn says(&mut self, tid: i64, time_ns: i64, says: Says<'_>) {
        let (calls, recording) = (&mut self.calls, &mut self.recording);
        match says {
            Says::Whole(call) => {
                let end_ns = time_ns.saturating_add(call.duration_ns.unwrap_or(0));
                calls.whole(recording, tid, (time_ns, end_ns), call, NO_STACKS);
            }
            Says::Begins(call) => calls.begins(tid, time_ns, &call, NO_STACKS),
            Says::Ends(end) => calls.ends(recording, tid, time_ns, end),
            Says::Note(_) => {}
        }
    }

    fn miss(&mut self, text: &[u8]) {
        if text.trim_ascii().is_empty() {
            return;
        }
        if self.not_understood < SHOWN_LINES {
            self.recording.add_log(0, SOURCE, "", "not_understood", &lines::shown(text));
        }
        self.not_understood += 1;
    }

    fn finish(mut self) -> Recording {
        let losses = [
            (
                loss::NOT_UNDERSTOOD,
                self.not_understood,
                "lines hold no system call; the first are kept in the table logs",
            ),
            (loss::EVENTS_LOST, self.calls.without_length, "calls have no length: record with -T as well"),
        ];
        for (kind, count, says) in losses.into_iter().filter(|(_, count, _)| *count > 0) {
            self.recording.add_loss(SOURCE, kind, count, &format!("strace: {count} {says}"));
        }
        self.calls.finish(&mut self.recording);
        if self.without_thread {
            self.recording.add_loss(
                SOURCE,
                loss::REFUSED,
                0,
                &format!("strace: its lines do not say which thread made a call; record with: {RECORD_WITH}"),
            );
        }
        self.recording
    }
}
