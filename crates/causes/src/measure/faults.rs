//! Page faults that took long: what was touched, from where, and which lost time they account for.
//!
//! What a fault is follows from two addresses: that of the instruction and that which it touched. The
//! same disk and the same shortage of memory make all of them slow; what to do about it differs.

use fathom_evidence::Recording;
use fathom_evidence::detail::PageFault;
use fathom_evidence::kinds::{span, subject};
use fathom_evidence::tables::Span;
use fathom_timeline::{Cell, Wait};

use crate::case::{Case, Side};
use crate::cause::Finding;
use crate::measure::{held_up, stacks};
use crate::say;

/// What was touched, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The loader read the symbols of a library, to bind a function that is called for the first time.
    Binding,
    /// The page of the JVM's performance counters.
    PerfData,
    /// Memory that belongs to no file.
    Anonymous,
    /// Code or data of a library, an archive, another mapped file; also of a library that is being loaded.
    File,
}

/// One page fault.
#[derive(Debug, Clone)]
pub struct Fault {
    /// When, how long, who.
    pub span: Span,
    /// Where.
    pub detail: PageFault,
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

/// The slow faults of one kind, at least one of them.
#[derive(Debug)]
pub struct Found {
    /// In order of time.
    pub faults: Vec<Fault>,
    kind: Kind,
}

/// The slow faults of a kind in the slow time; `None` when there was none.
pub fn find(case: &Case<'_>, kind: Kind) -> Option<Found> {
    let faults = of(&case.slow, kind);
    (!faults.is_empty()).then_some(Found { faults, kind })
}

fn of(side: &Side<'_>, kind: Kind) -> Vec<Fault> {
    let recording = side.view.recording;
    let faults = side.spans(span::PAGE_FAULT).map(|span| Fault { span, detail: side.detail(&span) });
    faults.filter(|fault| kind_of(recording, fault) == kind).collect()
}

fn kind_of(recording: &Recording, fault: &Fault) -> Kind {
    let PageFault { path, instruction_path, section, .. } = &fault.detail;
    let [path, instruction, section] = [path, instruction_path, section].map(|text| text.as_deref().unwrap_or(""));
    let is_anonymous = path.is_empty() || path.starts_with('[') || path.starts_with("/memfd:") || path == "/dev/zero";
    if path.contains("/hsperfdata_") {
        Kind::PerfData
    } else if is_anonymous {
        Kind::Anonymous
    } else if is_loader(instruction) && path != instruction && is_binding(recording, fault, section) {
        Kind::Binding
    } else {
        Kind::File
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

/// The stack says whether a call is bound, or a library loaded; where it has no names, the section does.
fn is_binding(recording: &Recording, fault: &Fault, section: &str) -> bool {
    let is_below = |names: &[&str]| stacks::is_below(recording, fault.span.stack_id, names);
    is_below(BINDERS) || (!is_below(LOADERS) && SYMBOLS.contains(&section))
}

impl Fault {
    /// Whether it is certain that a function was being bound: the loader's stack says so, or its
    /// registers told which one.
    pub fn shows_binding(&self, case: &Case<'_>) -> bool {
        self.detail.being_bound.is_some() || stacks::is_below(case.recording(), self.span.stack_id, BINDERS)
    }

    fn length_ns(&self) -> f64 {
        self.span.duration_ns.max(0) as f64
    }
}

impl Found {
    fn longest(&self) -> Option<&Fault> {
        self.faults.iter().max_by_key(|fault| fault.span.duration_ns)
    }

    /// `3 page faults, 352 ms in all, the longest 198 ms in .dynstr of librare.so on handler-2`.
    pub fn says(&self, case: &Case<'_>) -> String {
        let Some(longest) = self.longest() else { return "no such page fault".to_owned() };
        let thread = case.thread_name(longest.span.tid);
        format!(
            "{}, {} in all, the longest {} in {} on {}",
            say::count(self.faults.len(), "slow page fault"),
            say::time(total_ns(&self.faults)),
            say::time(longest.length_ns()),
            place(&longest.detail),
            if thread.is_empty() { "an unnamed thread" } else { thread }
        )
    }

    /// Adds the measurements to a finding, and the time that the faults account for.
    #[must_use]
    pub fn explaining(&self, finding: Finding, case: &Case<'_>) -> Finding {
        let quiet = case.quiet.as_ref().map(|side| (of(side, self.kind), side.seconds()));
        let per_second = |measure: &dyn Fn(&[Fault]) -> f64| {
            let before = quiet.as_ref().map(|(faults, seconds)| measure(faults) / seconds);
            (measure(&self.faults) / case.slow.seconds(), before)
        };
        let mut time = case.evidence("time in such page faults", per_second(&total_ns), "ns/s", "spans");
        time.stack = self.longest().map_or_else(String::new, |longest| case.stack_text(longest.span.stack_id, 16));
        let count = per_second(&|faults| faults.len() as f64);
        let mut finding = finding.with(time).with(case.evidence("such page faults", count, "count/s", "spans"));
        let spans = self.faults.iter().map(|fault| &fault.span);
        finding.claims.extend(held_up::claims(case, spans, Cell::Blocked(Wait::PageFault)));
        finding
    }
}

fn total_ns(faults: &[Fault]) -> f64 {
    // The sum of nothing is minus zero; added to zero it is plain zero.
    0.0 + faults.iter().map(Fault::length_ns).sum::<f64>()
}

/// What was touched, for people: `.dynstr of librare.so`.
fn place(detail: &PageFault) -> String {
    let path = detail.path.as_deref().unwrap_or("memory");
    let name = path.rsplit('/').next().unwrap_or(path);
    match detail.section.as_deref() {
        Some(section) if !section.is_empty() => format!("{section} of {name}"),
        _ => name.to_owned(),
    }
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
