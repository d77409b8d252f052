//! Samples of perf to samples.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fathom_evidence::kinds::{event, loss};
use fathom_evidence::tables::Sample;
use fathom_evidence::{Frame as Row, FrameId, Recording, StackId, Table};
use rustc_hash::FxHashMap;

use crate::cycles::{self, Cycles};
use crate::lines::{self, Line};
use crate::perf_script::parse::{self, Frame, Heading};
use crate::perf_script::symbols::{is_of_a_jvm, layer_and_name};
use crate::time::TIMES_NS;
use crate::{LoadError, LoadOptions};

/// The `source` column of everything that comes from perf.
pub(super) const SOURCE: &str = "perf_script";

/// Events whose period is in ns.
const CLOCKS: &[&[u8]] = &[b"cpu-clock", b"task-clock"];

const FAULTS: &[&[u8]] = &[b"page-faults", b"faults", b"major-faults", b"minor-faults"];

/// Frames that are kept of a stack; perf takes 127 by default.
const FRAMES_MAX: usize = 2_048;

/// Lines of frames that are remembered: most have been there before.
const KNOWN_MAX: usize = 1 << 17;

const RECORD_WITH: &str = "perf record -k CLOCK_REALTIME -e cpu-clock -g -F 99 -p PID -- sleep 30; perf script -F comm,pid,tid,time,period,event,ip,sym,dso > samples.txt";

/// Of system calls the file itself is read, as text has no clock that they can be placed by.
const CALLS_WITH: &str = "perf record -k CLOCK_MONOTONIC -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -o calls.data -p PID -- sleep 10";

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut loader = Loader::default();
    for file in files {
        // Moved later by what the caller knows.
        loader.has_offset = options.clock_offset_ns(file).is_some();
        let cut = lines::read(file, &mut |line| loader.line(line))?;
        loader.end_of_sample();
        loader.check(file)?;
        if let Some(says) = cut {
            loader.recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
        }
    }
    Ok(loader.finish())
}

/// A sample whose frames are being read.
struct Open {
    row: Sample,
    pid: i64,
    /// The innermost first.
    frames: Vec<FrameId>,
}

/// What a line of a frame says.
#[derive(Clone, Copy)]
struct Known {
    id: FrameId,
    is_of_a_jvm: bool,
}

#[derive(Default)]
struct Loader {
    recording: Recording,
    open: Option<Open>,
    known: FxHashMap<Box<[u8]>, Known>,
    /// The process of each sample; 0 where it is not told.
    pids: Vec<i64>,
    /// Samples with a frame of a JVM, by process.
    of_jvms: HashMap<i64, usize>,
    cycles: Cycles,
    without_wall: u64,
    /// Whether the caller places times of perf's own clock.
    has_offset: bool,
    /// Whether system calls are among the events.
    has_calls: bool,
    /// Samples of events that mean nothing here.
    other_events: i64,
    not_understood: i64,
}

impl Loader {
    fn line(&mut self, line: Line<'_>) {
        let Line::Whole(text) = line else {
            self.not_understood += 1;
            return;
        };
        if let Some(known) = self.known.get(text).copied() {
            self.frame(known);
        } else if let Some(frame) = parse::frame(text) {
            self.new_frame(text, frame);
        } else if let Some(heading) = parse::heading(text) {
            self.end_of_sample();
            self.heading(&heading);
        } else if text.trim_ascii().is_empty() {
            self.end_of_sample();
        } else if !text.starts_with(b"#") {
            self.not_understood += 1;
        }
    }

    fn heading(&mut self, heading: &Heading<'_>) {
        self.has_calls |= [&b"raw_syscalls:"[..], b"syscalls:"].iter().any(|start| heading.event.starts_with(start));
        if heading.time_ns < TIMES_NS.start && !self.has_offset {
            self.without_wall += 1;
            return;
        }
        let Some((event, weight_ns)) = self.meaning(heading) else {
            self.other_events += 1;
            return;
        };
        if self.recording.threads.get(heading.tid).is_none() {
            self.recording.add_thread(heading.tid, &String::from_utf8_lossy(heading.name));
        }
        let event = self.recording.strings.intern(event);
        let row = Sample {
            time_ns: heading.time_ns,
            tid: heading.tid,
            cpu: heading.cpu.unwrap_or(-1),
            event,
            weight_ns,
            ..Sample::default()
        };
        self.open = Some(Open { row, pid: heading.pid.unwrap_or(0), frames: Vec::new() });
    }

    /// What an event is here, and the time that a sample of it stands for: of cycles that is found out at the end.
    fn meaning(&mut self, heading: &Heading<'_>) -> Option<(&'static str, i64)> {
        if CLOCKS.contains(&heading.event) {
            return Some((event::CPU, heading.period.unwrap_or(0)));
        }
        if cycles::are(heading.event) {
            self.cycles.see(heading.tid, heading.time_ns);
            return Some((event::CPU, 0));
        }
        FAULTS.contains(&heading.event).then_some((event::PAGE_FAULT, 0))
    }

    /// Takes a frame whose line was not there before, if a sample is there that it is of.
    fn new_frame(&mut self, line: &[u8], frame: Frame<'_>) {
        if self.open.is_none() {
            return;
        }
        let [symbol, file] = [frame.symbol, frame.file].map(String::from_utf8_lossy);
        let (kind, name) = layer_and_name(&symbol, &file);
        let module = file.rsplit('/').next().unwrap_or(&file);
        let strings = &mut self.recording.strings;
        let [symbol, module, kind] = [&name, module, kind].map(|text| strings.intern(text));
        let id = self.recording.stacks.intern_frame(Row { symbol, module, kind, line: 0 });
        let known = Known { id, is_of_a_jvm: is_of_a_jvm(&file) };
        if self.known.len() < KNOWN_MAX {
            self.known.insert(line.into(), known);
        }
        self.frame(known);
    }

    fn frame(&mut self, known: Known) {
        let Some(open) = self.open.as_mut().filter(|open| open.frames.len() < FRAMES_MAX) else { return };
        open.frames.push(known.id);
        if known.is_of_a_jvm {
            *self.of_jvms.entry(open.pid).or_default() += 1;
        }
    }

    fn end_of_sample(&mut self) {
        let Some(open) = self.open.take() else { return };
        let stack_id: StackId = self.recording.stacks.intern_from_root(open.frames.into_iter().rev());
        self.recording.samples.push(Sample { stack_id, ..open.row });
        self.pids.push(open.pid);
    }

    fn check(&self, file: &Path) -> Result<(), LoadError> {
        let with = if self.has_calls { CALLS_WITH } else { RECORD_WITH };
        let says = match (self.recording.samples.is_empty(), self.without_wall) {
            (false, _) => return Ok(()),
            (true, 0) => format!("perf script without samples of a CPU or of page faults; record with: {with}"),
            (true, _) => format!(
                "perf script with times of perf's own clock, which nothing relates to another one; record with: {with}"
            ),
        };
        Err(LoadError::Unusable { path: file.to_owned(), says })
    }

    fn finish(mut self) -> Recording {
        self.keep_one_process();
        std::mem::take(&mut self.cycles).weigh(&mut self.recording, SOURCE);
        let losses = [
            (loss::NOT_UNDERSTOOD, self.not_understood, "lines are of no sample"),
            (
                loss::NOT_UNDERSTOOD,
                self.other_events,
                "samples are of events that are not read (only of the CPU and of page faults are)",
            ),
        ];
        for (kind, count, says) in losses.into_iter().filter(|(_, count, _)| *count > 0) {
            self.recording.add_loss(SOURCE, kind, count, &format!("perf script: {count} {says}"));
        }
        self.recording
    }

    /// Of a whole machine's samples those of the JVM stay.
    fn keep_one_process(&mut self) {
        let mut counts: HashMap<i64, usize> = HashMap::new();
        self.pids.iter().for_each(|pid| *counts.entry(*pid).or_default() += 1);
        let most = |counts: &HashMap<i64, usize>| {
            counts.iter().max_by_key(|(pid, count)| (**count, -**pid)).map(|(pid, _)| *pid)
        };
        let Some(chosen) = most(&self.of_jvms).or_else(|| most(&counts)).filter(|_| counts.len() > 1) else { return };
        let keep: Vec<bool> = self.pids.iter().map(|pid| *pid == chosen).collect();
        let gone = keep.iter().filter(|keep| !**keep).count();
        self.recording.samples.retain(&keep);
        let says = format!("perf script: {gone} samples of other processes than {chosen} were left out");
        self.recording.add_loss(SOURCE, loss::REFUSED, gone as i64, &says);
    }
}
