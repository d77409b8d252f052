//! Traces to sums and slow calls.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fathom_evidence::detail::{SystemCall, to_text};
use fathom_evidence::kinds::{counter, loss, span};
use fathom_evidence::tables::Counter;
use fathom_evidence::{Recording, StrId, system_calls};

use crate::lines::{self, Line};
use crate::strace::descriptors::Descriptors;
use crate::strace::parse::{self, Call, Says, Times};
use crate::strace::sums::{Rise, Sum, Sums};
use crate::{LoadError, SNIFF_BYTES, input};

/// The `source` column of everything that comes from a trace.
pub(super) const SOURCE: &str = "strace";

/// Calls that take this long are rows of their own, as for the collector of system calls, in ns.
const SLOW_NS: i64 = 5_000_000;

/// Calls that have begun and not ended are kept for so many threads: the kernel allows no more.
const THREADS_MAX: usize = 4_194_304;

/// The counters of [`Sum::numbers`].
const NAMES: [&str; 4] = [
    counter::SYSTEM_CALLS_COUNT,
    counter::SYSTEM_CALLS_FAILED_COUNT,
    counter::SYSTEM_CALLS_NS,
    counter::SYSTEM_CALLS_BYTES,
];

/// How many lines that were not understood are kept.
const SHOWN_LINES: i64 = 3;

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
        loader.rows_of_seconds(i64::MAX);
        if let Some(says) = cut {
            loader.recording.add_loss(SOURCE, loss::TRUNCATED, 0, &format!("{}: {says}", file.display()));
        }
        if let Some(says) = why_not_placed(loader.times).filter(|_| loader.calls == 0) {
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

/// A call that has begun on a thread.
struct Begun {
    start_ns: i64,
    name: String,
    descriptor: Option<i64>,
    target: Vec<u8>,
    path: Vec<u8>,
}

impl Begun {
    fn of(start_ns: i64, call: &Call<'_>) -> Begun {
        let (target, path) = (call.target.to_vec(), call.path.to_vec());
        Begun { start_ns, name: call.name.to_owned(), descriptor: call.descriptor, target, path }
    }
}

#[derive(Default)]
struct Loader {
    recording: Recording,
    sums: Sums,
    descriptors: Descriptors,
    begun: HashMap<i64, Begun>,
    /// The thread of lines that name none.
    thread: Option<i64>,
    /// What the first line's times are.
    times: Option<Times>,
    calls: u64,
    without_length: i64,
    without_thread: bool,
    not_understood: i64,
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
        self.rows_of_seconds(read.time.1);
        self.says(tid, read.time.1, read.says);
    }

    fn says(&mut self, tid: i64, time_ns: i64, says: Says<'_>) {
        match says {
            Says::Whole(call) => self.call(tid, time_ns, time_ns.saturating_add(call.duration_ns.unwrap_or(0)), call),
            Says::Begins(call) => {
                if self.begun.len() < THREADS_MAX {
                    self.begun.insert(tid, Begun::of(time_ns, &call));
                }
            }
            Says::Ends(end) => {
                let Some(begun) = self.begun.remove(&tid).filter(|begun| begun.name == end.name) else { return };
                let Begun { start_ns, descriptor, target, path, .. } = &begun;
                let took_ns = end.duration_ns.unwrap_or_else(|| time_ns.saturating_sub(*start_ns).max(0));
                let call = Call { descriptor: *descriptor, target, path, duration_ns: Some(took_ns), ..end };
                self.call(tid, *start_ns, time_ns.max(*start_ns), call);
            }
            Says::Note(_) => {}
        }
    }

    fn call(&mut self, tid: i64, start_ns: i64, end_ns: i64, call: Call<'_>) {
        let is_on_socket = self.descriptors.see(&call);
        self.calls += 1;
        self.without_length += i64::from(call.duration_ns.is_none());
        let bytes = call
            .result
            .filter(|result| system_calls::is(call.name, system_calls::TRANSFERS) && *result > 0)
            .unwrap_or(0);
        let failed = i64::from(call.result.is_some_and(|result| result < 0));
        let key = (tid, self.counted_name(&call, is_on_socket));
        self.sums.add(end_ns, key, Sum { count: 1, failed, ns: call.duration_ns.unwrap_or(0), bytes });
        if call.duration_ns.is_some_and(|ns| ns >= SLOW_NS) && !system_calls::is(call.name, system_calls::WAITS) {
            self.slow(tid, start_ns, &call, bytes);
        }
    }

    fn counted_name(&mut self, call: &Call<'_>, is_on_socket: bool) -> StrId {
        match is_on_socket && system_calls::is(call.name, system_calls::ON_ANYTHING) {
            true => self.recording.strings.intern(&format!("{} socket", call.name)),
            false => self.recording.strings.intern(call.name),
        }
    }

    fn slow(&mut self, tid: i64, time_ns: i64, call: &Call<'_>, bytes: i64) {
        let detail = SystemCall {
            result: call.result,
            descriptor: call.descriptor,
            path: self.descriptors.path(call),
            bytes: Some(bytes).filter(|bytes| *bytes > 0),
        };
        let duration_ns = call.duration_ns.unwrap_or(0);
        self.recording.add_span(time_ns, duration_ns, tid, span::SYSTEM_CALL, call.name, &to_text(&detail), SOURCE);
    }

    fn rows_of_seconds(&mut self, now_ns: i64) {
        let rises = if now_ns == i64::MAX { self.sums.end() } else { self.sums.over(now_ns) };
        rises.into_iter().for_each(|rise| self.rise(rise));
    }

    fn rise(&mut self, Rise { key: (tid, instance), which, before, after }: Rise) {
        let [name, source] = [NAMES[which], SOURCE].map(|text| self.recording.strings.intern(text));
        for (time_ns, value) in before.into_iter().chain([after]) {
            self.recording.counters.push(Counter { time_ns, name, instance, tid, value: value as f64, source });
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
            (loss::EVENTS_LOST, self.without_length, "calls have no length: record with -T as well"),
        ];
        for (kind, count, says) in losses.into_iter().filter(|(_, count, _)| *count > 0) {
            self.recording.add_loss(SOURCE, kind, count, &format!("strace: {count} {says}"));
        }
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
