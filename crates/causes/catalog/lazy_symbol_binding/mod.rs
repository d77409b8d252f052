//! A library function is called for the first time, and the dynamic loader waits for the pages that it reads to bind it.

use std::collections::BTreeMap;

use fathom_evidence::detail::PageFault;

use crate::measure::faults::{self, Fault, Kind};
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "lazy_symbol_binding",
    readme: include_str!("README.md"),
    family: Family::Pages,
    refines: &[
        Refined::Cause("file_pages_evicted"),
        Refined::Cause("swap_in"),
        Refined::Family(Family::Device),
        Refined::Family(Family::Safepoint),
    ],
    equals: &[(
        &["file_sync_slow", "perf_data_writeback", "swap_in"],
        "a thread is in one wait at a time, and each claims the stops in which it was in its own",
    )],
    has_lab: true,
    collectors: &["page_faults"],
    needs: &[&[Need::PageFaults]],
    actions: &["LD_BIND_NOW=1 in the environment of the service, or link its native libraries with -z now"],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !faults::are_recorded(comparison) {
        return Finding::needs_kernel("page faults with their duration and place were not recorded");
    }
    let Some(found) = faults::find(comparison, Kind::Binding) else {
        return Finding::absent("no slow page fault of the loader in the symbols of a library");
    };
    let is_seen = found.faults.iter().any(|fault| fault.shows_binding(comparison));
    let mut text = format!("the loader bound functions at their first call: {}", found.says(comparison));
    let calls = Calls::of(&found.faults);
    text += &calls.says();
    if let Some(caller) =
        found.faults.iter().find_map(|fault| caller(comparison, fault)).filter(|_| !calls.have_sites())
    {
        text += &format!("; called by {caller}");
    }
    if !is_seen {
        text += "; the stack has no names, so that a library that was being loaded cannot be excluded";
    }
    let support = if is_seen { Support::Observed } else { Support::Consistent };
    found.explaining(found.telling_shortage(Finding::new(support, text), comparison), comparison)
}

/// The calls that were bound, by function, call site and instruction, each with the time that was waited for it.
struct Calls<'a>(BTreeMap<(&'a str, &'a str, &'a str), f64>);

impl<'a> Calls<'a> {
    fn of(faults: &'a [Fault]) -> Calls<'a> {
        let mut calls = BTreeMap::new();
        for fault in faults {
            let PageFault { being_bound, call_site, call_instruction, .. } = &fault.detail;
            let Some(function) = being_bound.as_deref() else { continue };
            let [site, instruction] = [call_site, call_instruction].map(|text| text.as_deref().unwrap_or_default());
            *calls.entry((function, site, instruction)).or_default() += fault.length_ns();
        }
        Calls(calls)
    }

    fn have_sites(&self) -> bool {
        self.0.keys().any(|(_, site, _)| !site.is_empty())
    }

    /// Which one it was; of several, that which took longest.
    fn says(&self) -> String {
        let longest = self.0.iter().max_by(|one, other| one.1.total_cmp(other.1));
        let Some(((function, site, instruction), length_ns)) = longest else { return String::new() };
        let what = match self.0.len() {
            1 => "bound was".to_owned(),
            count => format!("{count} calls were bound, {} of it for", format::time(*length_ns)),
        };
        match site.is_empty() {
            true => format!("; {what} {function}"),
            false => format!("; {what} {function}, called at {site} by `{instruction}`"),
        }
    }
}

/// Who called the function that was bound: the first frame above the loader.
fn caller(comparison: &Comparison<'_>, fault: &Fault) -> Option<String> {
    let recording = comparison.recording();
    let mut frames = recording.stacks.leaf_to_root(fault.span.stack_id).map(|frame| recording.text(frame.symbol));
    frames.find(|frame| frame.starts_with("_dl_runtime_resolve"))?;
    frames.next().map(str::to_owned)
}
