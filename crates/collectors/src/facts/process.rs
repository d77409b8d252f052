//! Facts about the target as the kernel sees it: limits, affinity, a few variables of its
//! environment, and the libraries that it has loaded: which builds they are, and whether they bind their calls lazily.

use std::collections::BTreeMap;

use fathom_evidence::kinds::subject;
use fathom_symbols::elf::{Binding, summary_of};
use fathom_symbols::maps::Mappings;

use super::parse;
use super::sheet::Sheet;
use crate::Target;
use crate::procfs::text_of;
use crate::symbols::{Bytes, open_mapped};

/// More libraries than this are not opened.
const MAX_LIBRARIES: usize = 2_000;

/// Digits of a build id that are kept. Two builds have the same ones by chance once in 2^64, and texts of 20 and more such
/// letters are masked as secrets.
const ID_DIGITS: usize = 16;

/// Lines of `status` and the keys of the facts made of them.
const STATUS: &[(&str, &str)] = &[
    ("Cpus_allowed_list:", "cpus_allowed"),
    ("Mems_allowed_list:", "memory_nodes_allowed"),
    ("Seccomp:", "seccomp"),
    ("NoNewPrivs:", "no_new_privileges"),
    ("THP_enabled:", "transparent_hugepages_allowed"),
];

/// Writes them.
pub(super) fn note(target: &Target, sheet: &mut Sheet<'_>) {
    note_settings(target, sheet);
    note_libraries(target, sheet);
}

/// All but the libraries, of which each has to be opened.
pub(super) fn note_settings(target: &Target, sheet: &mut Sheet<'_>) {
    let status = text_of(target.proc("status")).unwrap_or_default();
    for (line, key) in STATUS {
        let value = status.lines().find_map(|text| text.strip_prefix(line));
        sheet.add_some(subject::PROCESS, key, value.map(|value| value.trim().to_owned()));
    }
    for (key, file) in [("oom_score_adj", "oom_score_adj"), ("timer_slack_ns", "timerslack_ns")] {
        sheet.add_some(subject::PROCESS, key, text_of(target.proc(file)));
    }
    for (name, value) in parse::limits(&text_of(target.proc("limits")).unwrap_or_default()) {
        sheet.add(subject::PROCESS, &format!("limit.{name}"), &value);
    }
    let mut buffer = Vec::new();
    for (name, value) in parse::variables(sheet.read(target.proc("environ"), &mut buffer)) {
        sheet.add(subject::ENVIRONMENT, name, value);
    }
}

fn note_libraries(target: &Target, sheet: &mut Sheet<'_>) {
    let mut buffer = Vec::new();
    let mappings = Mappings::parse(sheet.read(target.proc("maps"), &mut buffer));
    let code = mappings.iter().filter(|mapping| mapping.is_executable && mapping.has_file());
    let by_path: BTreeMap<&str, _> = code.map(|mapping| (&*mapping.path, mapping)).collect();
    for (path, mapping) in by_path.into_iter().take(MAX_LIBRARIES) {
        let Some(file) = open_mapped(target, mapping) else { continue };
        let Ok(summary) = summary_of(&Bytes(file)) else { continue };
        let binding = match summary.binding {
            Binding::Lazy => "lazy",
            Binding::Now => "now",
            Binding::None => "none",
        };
        sheet.add(subject::LIBRARY_BINDING, path, binding);
        sheet.add(subject::LIBRARY_BUILD, path, &build(&summary.build_id));
    }
}

/// A build id as a fact.
fn build(id: &[u8]) -> String {
    let digits: String = id.iter().take(ID_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() { "none".to_owned() } else { digits }
}
