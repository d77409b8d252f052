//! Page faults that took long: what was touched, from where, and which lost time they account for.
//!
//! What a fault is follows from two addresses: that of the instruction and that which it touched. The
//! same disk and the same shortage of memory make all of them slow; what to do about it differs.

use fathom_evidence::detail::{PageFault, from_text};
use fathom_evidence::kinds::{span, subject};
use fathom_evidence::tables::Span;
use fathom_timeline::{Cell, Wait};

use crate::case::{Case, Side};
use crate::cause::Finding;
use crate::measure::held_up;
use crate::say;

/// What was touched, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The loader read the symbols of a library, to bind a function that is called for the first time.
    Binding,
    /// The loader read a library that is being loaded, or a symbol that is being asked for by name.
    Loading,
    /// The page of the JVM's performance counters.
    PerfData,
    /// Memory that belongs to no file.
    Anonymous,
    /// Code or data of a library.
    Library,
    /// Another file that is mapped: an archive, a jar, data of the application.
    MappedFile,
}

/// One page fault.
#[derive(Debug, Clone)]
pub struct Fault {
    /// When, how long, who.
    pub span: Span,
    /// Where.
    pub detail: PageFault,
    /// What it is.
    pub kind: Kind,
}

/// Sections that the loader reads to find a symbol.
const SYMBOLS: &[&str] = &[
    ".gnu.hash",
    ".hash",
    ".dynsym",
    ".dynstr",
    ".gnu.version",
    ".gnu.version_r",
    ".gnu.version_d",
    ".rela.plt",
    ".rel.plt",
    ".plt",
    ".got.plt",
    ".got",
];

/// Functions of the loader that bind a function at its first call.
const BINDERS: &[&str] = &["_dl_runtime_resolve", "_dl_fixup"];

/// Functions of the loader that load a library or look a symbol up for the program.
const LOADERS: &[&str] = &[
    "_dl_open",
    "dl_open_worker",
    "_dl_relocate_object",
    "_dl_map_object",
    "_dl_sym",
    "dlsym",
    "dlopen",
    "_dl_init",
    "dl_main",
];

/// Whether page faults were recorded with their latency.
pub fn are_recorded(case: &Case<'_>) -> bool {
    case.recording().fact(subject::RECORDING, "page_fault_threshold_ns").is_some() && case.has_source("page_faults")
        || case.view().spans(span::PAGE_FAULT).len() > 0
}

/// The slow faults of one side that are of one of `kinds`, in order of time.
pub fn of<'s>(case: &'s Case<'_>, side: &'s Side<'_>, kinds: &'s [Kind]) -> impl Iterator<Item = Fault> + 's {
    let faults = side.spans(span::PAGE_FAULT).map(|span| {
        let detail: PageFault = from_text(side.view.recording.text(span.detail));
        Fault { span, kind: kind(case, &span, &detail), detail }
    });
    faults.filter(|fault| kinds.contains(&fault.kind))
}

fn kind(case: &Case<'_>, span: &Span, detail: &PageFault) -> Kind {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (path, instruction, section) = (text(&detail.path), text(&detail.instruction_path), text(&detail.section));
    let is_anonymous = path.is_empty() || path.starts_with('[') || path.starts_with("/memfd:") || path == "/dev/zero";
    if path.contains("/hsperfdata_") {
        Kind::PerfData
    } else if is_anonymous {
        Kind::Anonymous
    } else if is_loader(&instruction) && path != instruction {
        match is_binding(case, span, &section) {
            true => Kind::Binding,
            false => Kind::Loading,
        }
    } else if is_library(&path) {
        Kind::Library
    } else {
        Kind::MappedFile
    }
}

/// `ld-linux-x86-64.so.2`, `ld-2.31.so`, `ld64.so.2`, `ld.so`.
fn is_loader(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("ld-linux") || name.starts_with("ld64.so") || name.starts_with("ld.so") || {
        name.strip_prefix("ld-")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(".so"))
    }
}

fn is_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.contains(".so") || !name.contains('.')
}

/// The stack says whether a call is bound, or a library loaded; where it has no names, the section does.
fn is_binding(case: &Case<'_>, span: &Span, section: &str) -> bool {
    let recording = case.recording();
    let frames: Vec<&str> =
        recording.stacks.leaf_to_root(span.stack_id).map(|frame| recording.text(frame.symbol)).collect();
    let calls = |names: &[&str]| frames.iter().any(|frame| names.iter().any(|name| frame.starts_with(name)));
    calls(BINDERS) || (!calls(LOADERS) && SYMBOLS.contains(&section))
}

/// Whether it is certain that a function was being bound: the loader's stack says so, or its registers
/// told which one.
pub fn shows_binding(case: &Case<'_>, fault: &Fault) -> bool {
    if fault.detail.being_bound.is_some() {
        return true;
    }
    let recording = case.recording();
    let mut frames = recording.stacks.leaf_to_root(fault.span.stack_id).map(|frame| recording.text(frame.symbol));
    frames.any(|frame| BINDERS.iter().any(|name| frame.starts_with(name)))
}

/// What some faults sum up to.
#[derive(Debug, Default, Clone)]
pub struct Sum {
    /// How many.
    pub count: usize,
    /// Their time, in ns.
    pub total_ns: f64,
    /// The longest of them.
    pub longest: Option<Fault>,
}

/// Sums faults up.
pub fn sum(faults: impl Iterator<Item = Fault>) -> Sum {
    faults.fold(Sum::default(), |mut sum, fault| {
        sum.count += 1;
        sum.total_ns += fault.span.duration_ns.max(0) as f64;
        if sum.longest.as_ref().is_none_or(|longest| longest.span.duration_ns < fault.span.duration_ns) {
            sum.longest = Some(fault);
        }
        sum
    })
}

impl Sum {
    /// `3 page faults, 352 ms in all, the longest 198 ms in .dynstr of librare.so on handler-2`.
    pub fn says(&self, case: &Case<'_>) -> String {
        let Some(longest) = &self.longest else { return "no such page fault".to_owned() };
        let thread = case.thread_name(longest.span.tid);
        format!(
            "{}, {} in all, the longest {} in {} on {}",
            say::count(self.count, "slow page fault"),
            say::time(self.total_ns),
            say::time(longest.span.duration_ns as f64),
            place(&longest.detail),
            if thread.is_empty() { "an unnamed thread" } else { thread }
        )
    }
}

/// What was touched, for people: `.dynstr of librare.so`.
pub fn place(detail: &PageFault) -> String {
    let path = detail.path.as_deref().unwrap_or("memory");
    let name = path.rsplit('/').next().unwrap_or(path);
    match detail.section.as_deref() {
        Some(section) if !section.is_empty() => format!("{section} of {name}"),
        _ => name.to_owned(),
    }
}

/// The finding's measurements and the time that the faults account for.
#[must_use]
pub fn claiming(finding: Finding, case: &Case<'_>, faults: &[Fault], kinds: &[Kind]) -> Finding {
    let (slow, quiet) = case.both(|side| {
        of(case, side, kinds).map(|fault| fault.span.duration_ns.max(0) as f64).sum::<f64>() / side.seconds()
    });
    let mut per_second = case.evidence("time in such page faults", (slow, quiet), "ns/s", "spans");
    if let Some(longest) = faults.iter().max_by_key(|fault| fault.span.duration_ns) {
        per_second.stack = case.stack_text(longest.span.stack_id, 16);
    }
    let count = case.both(|side| of(case, side, kinds).count() as f64 / side.seconds());
    let mut finding = finding.with(per_second).with(case.evidence("such page faults", count, "count/s", "spans"));
    let spans = faults.iter().map(|fault| &fault.span);
    finding.claims.extend(held_up::claims(case, spans, Cell::Blocked(Wait::PageFault)));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_of_all_libcs_and_releases() {
        for (path, expected) in [
            ("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", true),
            ("/lib/ld-linux-aarch64.so.1", true),
            ("/lib/x86_64-linux-gnu/ld-2.31.so", true),
            ("/lib64/ld64.so.2", true),
            ("/usr/lib/libldap.so", false),
            ("/opt/ld-tools/libx.so", false),
            ("/opt/ld-service.so", false),
            ("", false),
        ] {
            assert_eq!(is_loader(path), expected, "{path}");
        }
    }
}
