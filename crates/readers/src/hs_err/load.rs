//! How a JVM died to evidence.

use std::path::{Path, PathBuf};

use fathom_evidence::detail::{Crash, to_text};
use fathom_evidence::kinds::{counter, frame, loss, span, subject};
use fathom_evidence::{Frame, Recording, StackId, mask};

use crate::hs_err::parse::Parser;
use crate::hs_err::report::Report;
use crate::{LoadError, LoadOptions, input, lines};

/// The `source` column of everything that comes from error files.
pub(super) const SOURCE: &str = "hs_err";

/// Names of zones that are UTC.
const UTC: &[&str] = &["UTC", "GMT", "Z"];

/// What happened longer before the end says nothing of it, in ns.
const BEFORE_NS: i64 = 600_000_000_000;

const SECOND_NS: i64 = 1_000_000_000;

/// Zones differ from UTC by a multiple of this.
const ZONE_STEP_NS: i64 = 900 * SECOND_NS;

/// None is further from UTC than this, in ns.
const ZONE_MAX_NS: i64 = 15 * 3_600 * SECOND_NS;

/// The stamp is in whole seconds, and another source reads the JVM's start up to seconds away, in ns.
const STAMP_TOLERANCE_NS: i64 = 5 * SECOND_NS;

pub(super) fn load(files: &[PathBuf], options: &LoadOptions) -> Result<Recording, LoadError> {
    let mut recording = Recording::default();
    for file in files {
        let mut parser = Parser::default();
        let cut = lines::read(file, &mut |line| parser.line(line))?;
        let report = parser.finish();
        let placed = place(file, &report, options);
        Loader { recording: &mut recording, report: &report, placed }.load();
        losses(&mut recording, file, &report, cut);
    }
    Ok(recording)
}

/// When the JVM died, and started.
struct Placed {
    died_at_ns: i64,
    started_at_ns: Option<i64>,
    /// What had to be assumed.
    assumed: Option<String>,
}

fn place(file: &Path, report: &Report, options: &LoadOptions) -> Placed {
    let fits = |died_at_ns: i64| {
        let off = report.stamp_ns.map(|stamp| stamp.saturating_sub(died_at_ns).saturating_add(STAMP_TOLERANCE_NS));
        off.is_none_or(|off| off.abs() <= ZONE_MAX_NS && off.rem_euclid(ZONE_STEP_NS) <= 2 * STAMP_TOLERANCE_NS)
    };
    let by_start = options.started_at_ns.zip(report.uptime_ns).map(|(start, uptime)| start.saturating_add(uptime));
    if let Some(died_at_ns) = by_start.filter(|died_at_ns| fits(*died_at_ns)) {
        return Placed { died_at_ns, started_at_ns: options.started_at_ns, assumed: None };
    }
    // In the middle of the second that it names.
    let died_at_ns = report.stamp_ns.map(|stamp_ns| stamp_ns.saturating_add(SECOND_NS / 2));
    let assumed = match (&report.zone, died_at_ns) {
        // A JVM may fail to write it.
        (_, None) => Some(
            "the error file does not say when the JVM died: the time at which the file was written was taken"
                .to_owned(),
        ),
        (Some(zone), _) if UTC.contains(&zone.as_str()) => None,
        (zone, _) => Some(local_time(zone.as_deref())),
    };
    let died_at_ns = died_at_ns.unwrap_or_else(|| input::written_ns(file));
    let started_at_ns = report.uptime_ns.map(|uptime_ns| died_at_ns.saturating_sub(uptime_ns));
    Placed { died_at_ns, started_at_ns, assumed }
}

fn local_time(zone: Option<&str>) -> String {
    format!(
        "the error file has local time of {}, which was taken as UTC; --started-at places it, or a Flight Recorder file of the JVM",
        zone.unwrap_or("a zone that it does not name")
    )
}

fn losses(recording: &mut Recording, file: &Path, report: &Report, cut: Option<String>) {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut add =
        |kind: &str, count: i64, says: String| recording.add_loss(SOURCE, kind, count, &format!("{name}: {says}"));
    if let Some(says) = cut.or_else(|| (!report.is_whole).then(|| "it does not end as such files do".to_owned())) {
        add(loss::TRUNCATED, 0, says);
    }
    if report.overlong > 0 {
        add(loss::NOT_UNDERSTOOD, report.overlong, format!("{} lines are too long", report.overlong));
    }
}

struct Loader<'a> {
    recording: &'a mut Recording,
    report: &'a Report,
    placed: Placed,
}

impl Loader<'_> {
    fn load(mut self) {
        self.clock();
        self.crash();
        self.jvm();
        self.surroundings();
        self.counters();
        self.events();
    }

    fn clock(&mut self) {
        if let Some(says) = &self.placed.assumed {
            self.recording.add_loss(SOURCE, loss::CLOCK_ESTIMATED, 0, says);
        }
    }

    fn crash(&mut self) {
        let stack_id = self.stack();
        for thread in &self.report.threads {
            thread.tid.into_iter().for_each(|tid| self.recording.add_thread(tid, &thread.name));
        }
        let report = self.report;
        let thread = report.thread.as_ref();
        let tid = report.dead_tid();
        if let Some(thread) = thread.filter(|_| tid > 0) {
            self.recording.add_thread(tid, &thread.name);
        }
        let is_memory = report.is_memory;
        let detail = to_text(&Crash {
            thread: thread.map(|thread| thread.name.clone()),
            state: thread.and_then(|thread| thread.state.clone()),
            frame: report.frame.clone(),
            uptime_ns: report.uptime_ns,
            mappings: Some(report.mappings).filter(|count| is_memory && *count > 0),
            mappings_max: report.mappings_max.filter(|_| is_memory),
            available_bytes: self.meminfo("MemAvailable").filter(|_| is_memory),
        });
        let cause = report.cause();
        self.recording.add_span(self.placed.died_at_ns, 0, tid, span::CRASH, &cause, &detail, SOURCE);
        if let Some(last) = self.recording.spans.stack_id.last_mut() {
            *last = stack_id;
        }
    }

    fn meminfo(&self, name: &str) -> Option<u64> {
        self.report.meminfo.iter().find(|(known, _)| known == name).map(|(_, bytes)| *bytes)
    }

    fn stack(&mut self) -> StackId {
        let recording = &mut *self.recording;
        let frames: Vec<_> =
            self.report.frames.iter().rev().map(|(kind, text)| intern(recording, *kind, text)).collect();
        recording.stacks.intern_from_root(frames)
    }

    fn jvm(&mut self) {
        let report = self.report;
        let mut add = |key: &str, value: Option<String>| {
            value.iter().for_each(|value| self.recording.add_fact(subject::JVM, key, value, SOURCE));
        };
        add("died_of", Some(report.cause()));
        add("pid", report.pid.map(|pid| pid.to_string()));
        // A start in a zone that was assumed would make another JVM of it.
        add(
            "started_at_ns",
            self.placed.started_at_ns.filter(|_| self.placed.assumed.is_none()).map(|ns| ns.to_string()),
        );
        let vm = report.vm.as_deref().and_then(|vm| vm.split_once(" ("));
        add("name", vm.map(|(name, _)| name.to_owned()));
        add("version", report.vm.clone());
        add("runtime", report.jre.clone());
        add("arguments", report.arguments.as_deref().map(|line| mask::options(line).into_owned()));
        add("java_arguments", report.command.clone());
        for flag in &report.flags {
            self.recording.add_fact(subject::FLAG, &flag.name, &flag.value, SOURCE);
            self.recording.add_fact(subject::FLAG_ORIGIN, &flag.name, &flag.origin, SOURCE);
        }
    }

    fn surroundings(&mut self) {
        let report = self.report;
        let mut add = |about: &str, key: &str, value: &str| self.recording.add_fact(about, key, value, SOURCE);
        report.host.iter().for_each(|host| add(subject::HOST, "as_the_jvm_died", host));
        report.mappings_max.iter().for_each(|max| add(subject::HOST, "vm.max_map_count", &max.to_string()));
        report.limits.iter().for_each(|(name, value)| add(subject::PROCESS, &format!("limit.{name}"), value));
        if report.mappings > 0 {
            add(subject::PROCESS, "mappings", &report.mappings.to_string());
        }
        report.libraries.iter().for_each(|path| add(subject::LIBRARY, path, "mapped"));
        for (name, value) in &report.environment {
            add(subject::ENVIRONMENT, name, &mask::value(name, value));
        }
    }

    fn counters(&mut self) {
        let (report, at_ns) = (self.report, self.placed.died_at_ns);
        let mut add = |time_ns, name: &str, instance: &str, value: u64| {
            self.recording.add_counter(time_ns, name, instance, value as f64, SOURCE);
        };
        for segment in &report.segments {
            add(at_ns, counter::CODE_CACHE_USED_BYTES, &segment.name, segment.used_bytes);
            add(at_ns, counter::CODE_CACHE_RESERVED_BYTES, &segment.name, segment.size_bytes);
        }
        report.meminfo.iter().for_each(|(name, bytes)| add(at_ns, counter::MEMINFO_BYTES, name, *bytes));
        for heap in &report.heaps {
            let instance = if heap.is_before { "before_gc" } else { "after_gc" };
            let time_ns = self.placed.started_at_ns.unwrap_or(at_ns).saturating_add(heap.uptime_ns);
            if report.is_of_the_end(heap.uptime_ns) {
                add(time_ns, counter::HEAP_USED_BYTES, instance, heap.used_bytes);
            }
        }
    }

    fn events(&mut self) {
        let (report, at_ns) = (self.report, self.placed.died_at_ns);
        for line in &report.heap_lines {
            self.recording.add_log(at_ns, SOURCE, "", "heap", line);
        }
        let start_ns = self.placed.started_at_ns.unwrap_or(at_ns);
        for event in report.events.iter().filter(|event| report.is_of_the_end(event.uptime_ns)) {
            self.recording.add_log(start_ns.saturating_add(event.uptime_ns), SOURCE, "", &event.class, &event.text);
        }
    }
}

impl Report {
    /// Whether something was so late that it may have to do with the end.
    fn is_of_the_end(&self, at_ns: i64) -> bool {
        self.uptime_ns.is_some_and(|uptime_ns| (0..=BEFORE_NS).contains(&uptime_ns.saturating_sub(at_ns)))
    }
}

/// `[libjvm.so+0xed2f94]  Unsafe_PutLong+0x124`, `95 c2 a.B.c()J (64 bytes) @ 0x00 [0x00+0x10]`, `a.B.c()V+28 java.base@17.0.15`.
fn intern(recording: &mut Recording, kind: char, text: &str) -> fathom_evidence::FrameId {
    let (layer, symbol, module) = match kind {
        'j' => (frame::INTERPRETED, text.split(' ').next().unwrap_or(text), ""),
        'J' => of_compiled(text),
        'v' => (frame::VM, text, "libjvm.so"),
        _ => of_library(if kind == 'V' { frame::VM } else { frame::NATIVE }, text),
    };
    // Parameters and offsets are not in the names of other sources.
    let is_java = matches!(kind, 'j' | 'J' | 'A');
    let symbol = if is_java { symbol.split('(').next().unwrap_or(symbol) } else { symbol };
    let [symbol, module, kind] = [symbol, module, layer].map(|text| recording.strings.intern(text));
    recording.stacks.intern_frame(Frame { symbol, module, kind, line: 0 })
}

fn of_compiled(text: &str) -> (&'static str, &str, &'static str) {
    let layer = match text.split(' ').find(|word| matches!(*word, "c1" | "c2")) {
        Some("c1") => frame::C1,
        _ => frame::COMPILED,
    };
    (layer, text.split(' ').find(|word| word.contains('(') && word.contains('.')).unwrap_or(text), "")
}

fn of_library<'a>(layer: &'static str, text: &'a str) -> (&'static str, &'a str, &'a str) {
    let Some((file, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) else {
        return (layer, text, "");
    };
    let file = file.split('+').next().unwrap_or(file);
    let symbol = rest.trim().split("+0x").next().unwrap_or_default();
    (layer, if symbol.is_empty() { file } else { symbol }, file)
}
