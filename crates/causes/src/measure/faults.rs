//! Page faults that took long: what was touched, from where, and which lost time they account for.
//!
//! The kind of a fault follows from two addresses: that of the instruction and that which it touched. The same disk and the
//! same lack of memory make all faults slow, but the remedies differ.

use std::collections::{HashMap, HashSet};

use fathom_evidence::Recording;
use fathom_evidence::detail::{PageFault, from_text};
use fathom_evidence::kinds::{span, subject};
use fathom_evidence::tables::Span;
use fathom_timeline::{Intervals, Segment, ThreadState, Wait};

use crate::cause::{Claim, Finding, ThreadTime};
use crate::comparison::Comparison;
use crate::format;
use crate::measure::{memory_pressure, stacks, stalled_threads};
use crate::period::Period;

/// Of the smallest page: a larger one is taken for several.
const PAGE_BYTES: u64 = 4096;

/// Waits in page faults are reported as one kind if it is this much of what was seen of them.
const NEARLY_ALL: f64 = 0.9;

/// Others like them that are a smaller part than this are not worth a sentence.
const TOLD_FROM: f64 = 0.05;

const WAITING: ThreadState = ThreadState::Blocked(Wait::PageFault);

/// What was touched, and by which code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The loader read the symbols of a library, to bind a function that is called for the first time.
    Binding,
    /// The page of the JVM's performance counters.
    PerfData,
    /// Memory that belongs to no file, whatever the kernel did about it.
    Anonymous,
    /// Memory that the kernel read back from the swap, or for which it swapped other memory. A page of a file that the program has changed for itself (relocated
    /// data of a library, the class archive) is swapped like any other.
    Swapped,
    /// Code or data of a library, an archive, another mapped file; also of a library that is being loaded.
    File,
    /// A page of a mapped file that is in memory, and that may not be written to while the kernel or the file
    /// system's journal writes it to disk.
    Written,
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

/// Functions of the kernel that read a page back from the swap, or write others there to make room for this one.
pub const SWAPPING: &[&str] = &["do_swap_page", "swap_writeout", "swap_writepage"];

/// Functions of the kernel that every page fault goes through: a stack with one of them has names.
const FAULTING: &[&str] = &["handle_mm_fault"];

/// Functions of the kernel that make a page of a file writable, after the names of their file systems.
const WRITING: &[&str] = &["do_page_mkwrite", "do_wp_page", "wp_page_shared"];

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

/// Who records them on a live machine.
pub const COLLECTOR: &str = "page_faults";

/// Whether page faults were recorded with their latency.
pub fn are_recorded(comparison: &Comparison<'_>) -> bool {
    comparison.recording().fact(subject::RECORDING, "page_fault_threshold_ns").is_some()
        && comparison.has_source(COLLECTOR)
        || comparison.sources().spans(span::PAGE_FAULT).len() > 0
}

/// The slow faults of one kind, at least one of them.
#[derive(Debug)]
pub struct Found {
    /// In order of time.
    pub faults: Vec<Fault>,
    kind: Kind,
}

/// The slow faults of a kind in the slow time; `None` when there was none.
pub fn find(comparison: &Comparison<'_>, kind: Kind) -> Option<Found> {
    let faults = of(&comparison.slow, kind);
    (!faults.is_empty()).then_some(Found { faults, kind })
}

fn of(period: &Period<'_>, kind: Kind) -> Vec<Fault> {
    let recording = period.sources.recording;
    let faults = period.spans(span::PAGE_FAULT).map(|span| Fault { span, detail: period.detail(&span) });
    faults.filter(|fault| kind_of(recording, fault) == kind).collect()
}

fn kind_of(recording: &Recording, fault: &Fault) -> Kind {
    let PageFault { path, instruction_path, section, .. } = &fault.detail;
    let [path, instruction, section] = [path, instruction_path, section].map(|text| text.as_deref().unwrap_or(""));
    let is_anonymous = path.is_empty() || path.starts_with('[') || path.starts_with("/memfd:") || path == "/dev/zero";
    let waits_in = |names| stacks::is_below(recording, fault.span.kernel_stack_id, names);
    if path.contains("/hsperfdata_") {
        Kind::PerfData
    } else if waits_in(SWAPPING) {
        Kind::Swapped
    } else if is_anonymous {
        Kind::Anonymous
    } else if waits_in(WRITING) {
        Kind::Written
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
    /// Whether it is certain that a function was being bound: the loader's stack says so, or its registers showed which
    /// one.
    pub fn shows_binding(&self, comparison: &Comparison<'_>) -> bool {
        self.detail.being_bound.is_some() || stacks::is_below(comparison.recording(), self.span.stack_id, BINDERS)
    }

    /// Whether it is known that it waited for a page to be read: it was major, or the kernel's stack of the wait has
    /// names and those are no others'. A page may also be there and not writable for the moment.
    fn has_read(&self, recording: &Recording) -> bool {
        self.detail.major != Some(false) || stacks::is_below(recording, self.span.kernel_stack_id, FAULTING)
    }

    /// How long it took, in ns.
    pub fn length_ns(&self) -> f64 {
        self.span.duration_ns.max(0) as f64
    }
}

impl Found {
    /// Those in files (or memory) that had something read, as far as is known; `None` when that is known of none. One of
    /// them may wait for what another one reads, and is no major one then.
    pub fn in_files_read(&self, comparison: &Comparison<'_>) -> Option<Found> {
        let known = self.faults.iter().filter(|fault| fault.has_read(comparison.recording()));
        let read: HashSet<&Option<String>> = known.map(|fault| &fault.detail.path).collect();
        let faults = self.faults.iter().filter(|fault| read.contains(&fault.detail.path));
        let found = Found { faults: faults.cloned().collect(), kind: self.kind };
        (!found.faults.is_empty()).then_some(found)
    }

    /// Those in files with a page that was waited for again after it had been there: it was evicted meanwhile. Two threads
    /// that wait for the same read are no proof.
    pub fn in_files_thrown_out(self, comparison: &Comparison<'_>) -> Result<Found, Found> {
        let recording = comparison.recording();
        let mut there_from_ns: HashMap<(String, u64), i64> = HashMap::new();
        let mut thrown_out: HashSet<String> = HashSet::new();
        for span in comparison.sources().spans(span::PAGE_FAULT) {
            let fault = Fault { span, detail: from_text(recording.text(span.detail)) };
            let (Some(path), Some(address)) = (&fault.detail.path, fault.detail.address) else { continue };
            if kind_of(recording, &fault) != self.kind || !fault.has_read(recording) {
                continue;
            }
            let end_ns = span.end_ns();
            let before = there_from_ns.insert((path.clone(), address / PAGE_BYTES), end_ns);
            if before.is_some_and(|there_from_ns| there_from_ns <= span.time_ns) {
                thrown_out.insert(path.clone());
            }
        }
        let is_of_those = |fault: &Fault| fault.detail.path.as_ref().is_some_and(|path| thrown_out.contains(path));
        let faults: Vec<Fault> = self.faults.iter().filter(|fault| is_of_those(fault)).cloned().collect();
        if faults.is_empty() { Err(self) } else { Ok(Found { faults, kind: self.kind }) }
    }

    /// Whether it is known what the kernel did for most of the time: the stacks of the waits have names.
    pub fn has_kernel_stacks(&self, comparison: &Comparison<'_>) -> bool {
        let has_stack = |fault: &&Fault| stacks::is_below(comparison.recording(), fault.span.kernel_stack_id, FAULTING);
        let known: f64 = self.faults.iter().filter(has_stack).map(Fault::length_ns).sum();
        known > total_ns(&self.faults) / 2.0
    }

    /// When they were, with a second before and after, in which a counter shows what went with them.
    pub fn around(&self) -> Intervals {
        const AROUND_NS: i64 = 1_000_000_000;
        let around = |fault: &Fault| {
            let Span { time_ns, duration_ns, .. } = fault.span;
            let end_ns = time_ns.saturating_add(duration_ns.max(0));
            (time_ns.saturating_sub(AROUND_NS), end_ns.saturating_add(AROUND_NS))
        };
        Intervals::union(self.faults.iter().map(around).collect())
    }

    /// Adds to a finding how long memory had been short at the first of them.
    #[must_use]
    pub fn telling_shortage(&self, finding: Finding, comparison: &Comparison<'_>) -> Finding {
        match self.faults.first() {
            Some(first) => memory_pressure::tell(finding, comparison, first.span.time_ns),
            None => finding,
        }
    }

    fn longest(&self) -> Option<&Fault> {
        self.faults.iter().max_by_key(|fault| fault.span.duration_ns)
    }

    /// `3 page faults, 352 ms in all, the longest 198 ms in .dynstr of librare.so on handler-2`.
    pub fn says(&self, comparison: &Comparison<'_>) -> String {
        let Some(longest) = self.longest() else { return "no such page fault".to_owned() };
        let thread = comparison.thread_name(longest.span.tid);
        format!(
            "{}, {} in all, the longest {} in {} on {}",
            format::count(self.faults.len(), "slow page fault"),
            format::time(total_ns(&self.faults)),
            format::time(longest.length_ns()),
            place(&longest.detail),
            if thread.is_empty() { "an unnamed thread" } else { thread }
        )
    }

    /// Adds the measurements to a finding, and the time that the faults account for.
    #[must_use]
    pub fn explaining(&self, finding: Finding, comparison: &Comparison<'_>) -> Finding {
        let baseline = comparison.baseline_looked_at().map(|period| (of(&period, self.kind), period.seconds()));
        let per_second = |measure: &dyn Fn(&[Fault]) -> f64| {
            let before = baseline.as_ref().map(|(faults, seconds)| measure(faults) / seconds);
            (measure(&self.faults) / comparison.slow.seconds(), before)
        };
        let mut time = comparison
            .evidence("time in such page faults", per_second(&total_ns), "ns/s", "spans")
            .of(&[span::PAGE_FAULT]);
        time.stack =
            self.longest().map_or_else(String::new, |longest| comparison.stack_text(longest.span.stack_id, 16));
        let count = per_second(&|faults| faults.len() as f64);
        let mut finding = finding
            .with(time)
            .with(comparison.evidence("such page faults", count, "1/s", "spans").of(&[span::PAGE_FAULT]))
            .drawn_by(&[span::PAGE_FAULT])
            .with_stacks_of(&format!("spans/{}", span::PAGE_FAULT));
        let spans = self.faults.iter().map(|fault| &fault.span);
        finding.claims.extend(stalled_threads::claims(comparison, spans, WAITING));
        if let Some(others) = self.others_alike(comparison) {
            let ns = others.values().map(Intervals::total_ns).sum::<i64>();
            let waits = format!(
                "; threads waited in page faults for {} more that were not seen one by one",
                format::time(ns as f64)
            );
            finding.says += &waits;
            finding.claims.push(Claim::during(WAITING, others));
        }
        finding
    }

    /// Waits in page faults with only the waiting recorded (a signal interrupts a fault, and the page is touched later). If
    /// nearly all seen faults are of this kind, and they are most of the waiting, the others are taken to be as well.
    fn others_alike(&self, comparison: &Comparison<'_>) -> Option<ThreadTime> {
        let all: Vec<Span> = comparison.slow.spans(span::PAGE_FAULT).collect();
        let seen_ns: f64 = all.iter().map(|span| span.duration_ns.max(0) as f64).sum();
        let seen = Intervals::by_key(all.iter().map(|span| (span.tid, span.time_ns, span.end_ns())));
        let own_ns = total_ns(&self.faults);
        if own_ns < NEARLY_ALL * seen_ns {
            return None;
        }
        let of_thread = |(tid, segments): (i64, &[Segment])| {
            let waits = segments.iter().filter(|segment| segment.state == WAITING);
            let waits = Intervals::union(waits.map(|segment| (segment.from_ns, segment.to_ns)).collect());
            let others = seen.get(&tid).map_or(waits.clone(), |seen| waits.subtract(seen));
            (tid, others.intersect(&comparison.slow.time))
        };
        let all = comparison.analysis.account.partition.recorded().map(of_thread);
        let others: ThreadTime = all.filter(|(_, times)| !times.is_empty()).collect();
        let others_ns = others.values().map(Intervals::total_ns).sum::<i64>() as f64;
        (others_ns > TOLD_FROM * own_ns && others_ns < own_ns).then_some(others)
    }
}

fn total_ns(faults: &[Fault]) -> f64 {
    // The sum of nothing is minus zero; added to zero it is plain zero.
    0.0 + faults.iter().map(Fault::length_ns).sum::<f64>()
}

/// What was touched, for people: `.dynstr of librare.so`.
fn place(detail: &PageFault) -> String {
    let path = detail.path.as_deref().unwrap_or("memory");
    // The file of the performance counters is named by a number; its folder tells more.
    let parts = if path.contains("/hsperfdata_") { 2 } else { 1 };
    let from = path.rmatch_indices('/').nth(parts - 1).map_or(0, |(slash, _)| slash + 1);
    let name = &path[from..];
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
