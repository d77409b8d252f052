//! Sections of an error file. Knows no evidence.
//!
//! The JVM writes each section as far as it still can. Any section may be missing, or end with a note that it failed.

use crate::hs_err::parts;
use crate::hs_err::report::{Event, Heap, Report};
use crate::lines::{self, Line};

/// Rows kept of each list; HotSpot keeps some hundred events of each kind, and has that many threads and mappings.
const ROWS_MAX: usize = 100_000;

/// Bytes kept of a text.
const TEXT_MAX_BYTES: usize = 4_096;

/// Lines before the one that tells.
const LINES_TO_RECOGNISE: usize = 5;

const FATAL: &str = "A fatal error has been detected by the Java Runtime Environment";
/// What follows about a signal that came because a file that is mapped could not be read.
const MAPPED: &str = "Error accessing class data sharing archive";

const MEMORY: &str = "There is insufficient memory for the Java Runtime Environment";

/// Whether a file that begins with `head` is one.
pub(super) fn is_error_file(head: &[u8]) -> bool {
    let mut lines = lines::of_head(head).filter(|line| !line.is_empty()).take(LINES_TO_RECOGNISE);
    lines.any(|line| {
        let text = line.strip_prefix(b"# ").unwrap_or_default();
        text.starts_with(FATAL.as_bytes()) || text.starts_with(MEMORY.as_bytes())
    })
}

/// What a line belongs to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
enum Section {
    /// The summary, in lines that begin with `#`.
    #[default]
    Head,
    Frames,
    Threads,
    Heap,
    Heaps,
    /// Of this class.
    Events(String),
    Libraries,
    Flags,
    Environment,
    Meminfo,
    Other,
}

impl Section {
    /// The section that a heading begins.
    fn of(text: &str) -> Option<Section> {
        const HEADINGS: &[(&str, Section)] = &[
            ("Native frames:", Section::Frames),
            ("Java frames:", Section::Other),
            ("Java Threads:", Section::Threads),
            ("Other Threads:", Section::Threads),
            ("Heap:", Section::Heap),
            ("GC Heap History (", Section::Heaps),
            ("GC Heap Usage History (", Section::Heaps),
            ("Metaspace Usage History (", Section::Other),
            ("Dynamic libraries:", Section::Libraries),
            ("[Global flags]", Section::Flags),
            ("Environment Variables:", Section::Environment),
            ("/proc/meminfo:", Section::Meminfo),
            ("Signal Handlers:", Section::Other),
            ("-----", Section::Other),
        ];
        let known = HEADINGS.iter().find(|(heading, _)| text.starts_with(heading));
        known.map(|(_, section)| section.clone()).or_else(|| {
            let (name, count) = text.strip_suffix(" events):")?.rsplit_once(" (")?;
            let is_list = count.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < TEXT_MAX_BYTES;
            let name = name.trim_end_matches(" events").to_lowercase().replace(' ', "_");
            is_list.then_some(Section::Events(name))
        })
    }

    /// Whether an empty line ends it.
    fn ends_at_a_blank(&self) -> bool {
        *self != Section::Head
    }
}

/// Takes lines.
#[derive(Debug, Default)]
pub(super) struct Parser {
    report: Report,
    section: Section,
    /// Whether the line before was `# Problematic frame:`.
    is_frame_next: bool,
    /// The collection whose heap is being read.
    heap: Option<Heap>,
}

impl Parser {
    pub(super) fn line(&mut self, line: Line<'_>) {
        let Line::Whole(bytes) = line else {
            self.report.overlong += 1;
            return;
        };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(lines::MAX_LINE_BYTES)]);
        let text = text.trim_end();
        if text.starts_with('#') {
            self.head(text.trim_start_matches('#').trim());
        } else if text == "END." {
            self.report.is_whole = true;
        } else if let Some(section) = Section::of(text) {
            self.end_of_heap();
            self.section = section;
        } else if text.is_empty() && self.section.ends_at_a_blank() {
            self.end_of_heap();
            self.section = Section::Other;
        } else if text.starts_with(MAPPED) {
            self.report.signal_note = Some(kept(text.trim_end_matches('.')));
        } else if !self.named(text) {
            self.in_section(text);
        }
    }

    pub(super) fn finish(mut self) -> Report {
        self.end_of_heap();
        self.report
    }

    fn head(&mut self, text: &str) {
        let report = &mut self.report;
        if std::mem::take(&mut self.is_frame_next) {
            report.frame = Some(kept(&parts::place(text)));
        } else if text.starts_with(MEMORY) {
            report.is_memory = true;
        } else if text == "Problematic frame:" {
            self.is_frame_next = true;
        } else if let Some(jre) = text.strip_prefix("JRE version: ") {
            report.jre = Some(kept(jre));
        } else if let Some(vm) = text.strip_prefix("Java VM: ") {
            report.vm = Some(kept(vm));
        } else if let Some((what, pid, tid)) = parts::what(text).filter(|_| report.what.is_none()) {
            (report.what, report.pid, report.tid) = (Some(kept(&what)), pid, tid);
        } else if is_reason(report, text) && report.reasons.len() < ROWS_MAX {
            report.reasons.push(kept(text));
        }
    }

    /// A line that says what it is, wherever it stands.
    fn named(&mut self, text: &str) -> bool {
        let report = &mut self.report;
        let Some((name, rest)) = text.split_once(':') else { return false };
        let rest = rest.trim();
        match name {
            // Up to JDK 8 in lines of their own.
            "Time" | "time" => time(report, rest),
            "timezone" => report.zone = Some(kept(rest)),
            "elapsed time" => report.uptime_ns = parts::uptime(rest),
            "Host" => report.host = Some(kept(rest)),
            "siginfo" => report.signal = Some(kept(rest)),
            "jvm_args" => report.arguments = Some(rest.to_owned()),
            "java_command" => report.command = Some(rest.to_owned()),
            "rlimit (soft/hard)" | "rlimit" => report.limits = parts::limits(rest),
            "Current thread is native thread" => {}
            _ if name.starts_with("Current thread (") => report.thread = parts::thread(rest),
            _ if name.starts_with("/proc/sys/vm/max_map_count") => report.mappings_max = rest.parse().ok(),
            _ if name.starts_with("CodeHeap '") || name == "CodeCache" => {
                push(&mut report.segments, parts::segment(text))
            }
            _ => return false,
        }
        true
    }

    fn in_section(&mut self, text: &str) {
        let report = &mut self.report;
        match &self.section {
            Section::Frames => push(&mut report.frames, parts::frame(text).map(|(kind, frame)| (kind, kept(&frame)))),
            Section::Threads => push(&mut report.threads, parts::thread(text)),
            Section::Heap => {
                report.heap_used_bytes = sum(report.heap_used_bytes, parts::used_bytes(text));
                push(&mut report.heap_lines, Some(kept(text)));
            }
            Section::Heaps => self.in_heaps(text),
            Section::Events(class) => push(&mut report.events, event(class, text)),
            Section::Libraries => {
                report.mappings += u64::from(text.as_bytes().iter().take(8).all(u8::is_ascii_hexdigit));
                if report.libraries.len() < ROWS_MAX {
                    report.libraries.extend(parts::mapped_path(text).map(kept));
                }
            }
            Section::Flags => push(&mut report.flags, parts::flag(text)),
            Section::Environment => {
                push(&mut report.environment, text.split_once('=').map(|(name, value)| (kept(name), value.to_owned())));
            }
            Section::Meminfo => {
                push(&mut report.meminfo, parts::meminfo(text).map(|(name, bytes)| (kept(name), bytes)));
            }
            Section::Head | Section::Other => {}
        }
    }

    fn in_heaps(&mut self, text: &str) {
        if let Some(event) = event("", text) {
            self.end_of_heap();
            let is_before = event.text.to_lowercase().contains("before");
            self.heap = Some(Heap { uptime_ns: event.uptime_ns, is_before, used_bytes: 0 });
        } else if let Some(heap) = &mut self.heap {
            heap.used_bytes = sum(Some(heap.used_bytes), parts::used_bytes(text)).unwrap_or(0);
        }
    }

    fn end_of_heap(&mut self) {
        let heap = self.heap.take().filter(|heap| heap.used_bytes > 0);
        push(&mut self.report.heaps, heap);
    }
}

/// Whether a line of the head says why, and is neither advice nor about the file itself.
fn is_reason(report: &Report, text: &str) -> bool {
    let says_why = ["fatal error:", "Error:", "assert(", "guarantee(", "Native memory allocation"];
    let follows = report.what.as_deref().is_some_and(|what| what.starts_with("Internal")) && report.jre.is_none();
    says_why.iter().any(|start| text.starts_with(start)) || follows && !text.is_empty()
}

fn time(report: &mut Report, text: &str) {
    let Some((stamp_ns, zone, uptime_ns)) = parts::time(text) else { return };
    report.stamp_ns = Some(stamp_ns);
    report.zone = zone.map(|zone| kept(&zone)).or(report.zone.take());
    report.uptime_ns = uptime_ns.or(report.uptime_ns);
}

/// `Event: 2.643 Executing VM operation: GenCollectForAllocation`.
fn event(class: &str, text: &str) -> Option<Event> {
    let (uptime, text) = text.strip_prefix("Event: ")?.split_once(' ')?;
    Some(Event { uptime_ns: parts::uptime(uptime)?, class: class.to_owned(), text: kept(text.trim()) })
}

fn sum(before: Option<u64>, more: Option<u64>) -> Option<u64> {
    match (before, more) {
        (Some(before), Some(more)) => Some(before.saturating_add(more)),
        (before, more) => before.or(more),
    }
}

fn push<T>(rows: &mut Vec<T>, row: Option<T>) {
    rows.extend(row.filter(|_| rows.len() < ROWS_MAX));
}

/// As much of a text as is kept.
fn kept(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_MAX_BYTES)].to_owned()
}
