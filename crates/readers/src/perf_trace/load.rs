//! Traces to sums and slow calls.

use std::path::{Path, PathBuf};

use fathom_evidence::kinds::loss;
use fathom_evidence::{Recording, StackId};

use crate::calls::Calls;
use crate::lines::{self, Line as TextLine};
use crate::perf_trace::parse::{self, Line, Says};
use crate::{LoadError, LoadOptions};

/// The `source` column of everything that comes from a trace.
pub(super) const SOURCE: &str = "perf_trace";

const NO_STACKS: [StackId; 2] = [StackId(0); 2];

const NOT_PLACED: &str = "text of perf trace, whose times nothing relates to another clock: --clock-offset FILE=TIME places it; or record with: perf trace record -k CLOCK_MONOTONIC -o trace.data -p PID -- sleep 10";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut recording = Recording::default();
    for file in files {
        // Its rows are moved later by what the caller knows.
        if options.clock_offset_ns(file).is_none() {
            return Err(LoadError::Unusable { path: file.clone(), says: NOT_PLACED.to_owned() });
        }
        recording.absorb(load_file(file)?);
    }
    Ok(recording)
}

fn load_file(file: &Path) -> Result<Recording, LoadError> {
    let mut loader = Loader { recording: Recording::default(), calls: Calls::of(SOURCE), not_understood: 0 };
    let cut = lines::read(file, &mut |line| loader.line(line))?;
    let without_length = loader.calls.without_length;
    let mut recording = loader.recording;
    loader.calls.finish(&mut recording);
    if let Some(says) = cut {
        recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
    }
    for (kind, count, says) in [
        (loss::NOT_UNDERSTOOD, loader.not_understood, "lines hold no system call"),
        (loss::EVENTS_LOST, without_length, "calls have no length"),
    ] {
        if count > 0 {
            recording.add_loss(SOURCE, kind, count, &format!("perf trace: {count} {says}"));
        }
    }
    Ok(recording)
}

struct Loader {
    recording: Recording,
    calls: Calls,
    not_understood: i64,
}

impl Loader {
    fn line(&mut self, line: TextLine<'_>) {
        let (text, read) = match line {
            TextLine::Whole(text) => (text, parse::line(text)),
            TextLine::Overlong(text) => (text, None),
        };
        match read {
            // What began before the trace is not known.
            Some(Line { time_ns: None, .. }) => {}
            Some(Line { time_ns: Some(time_ns), tid, says, call }) => self.call(tid, time_ns, says, call),
            None => self.not_understood += i64::from(!text.trim_ascii().is_empty()),
        }
    }

    fn call(&mut self, tid: i64, time_ns: i64, says: Says, call: crate::calls::Call<'_>) {
        let (calls, recording) = (&mut self.calls, &mut self.recording);
        // Lines stand in the order in which calls end.
        let end_ns = time_ns.saturating_add(call.duration_ns.unwrap_or(0));
        calls.rows_until(recording, end_ns);
        match says {
            Says::Whole => calls.whole(recording, tid, (time_ns, end_ns), call, NO_STACKS),
            Says::Begins => calls.begins(tid, time_ns, &call, NO_STACKS),
            Says::Ends => calls.ends(recording, tid, end_ns, call),
        }
    }
}
