//! A library function is called for the first time, and the loader waits for the pages that it reads to bind it.

use crate::measure::faults::{self, Fault, Kind};
use crate::{Case, Cause, Finding, Standing};

pub(crate) static CAUSE: Cause = Cause {
    id: "lazy_symbol_binding",
    readme: include_str!("README.md"),
    rank: 3,
    has_lab: true,
    collectors: &["page_faults"],
    actions: &["LD_BIND_NOW=1 in the environment of the service, or link its native libraries with -z now"],
    decide,
};

fn decide(case: &Case<'_>) -> Finding {
    if !faults::are_recorded(case) {
        return Finding::needs_kernel("page faults with their duration and place were not recorded");
    }
    let Some(found) = faults::find(case, Kind::Binding) else {
        return Finding::absent("no slow page fault of the loader in the symbols of a library");
    };
    let is_seen = found.faults.iter().any(|fault| fault.shows_binding(case));
    let mut text = format!("the loader bound functions at their first call: {}", found.says(case));
    if let Some(function) = found.faults.iter().find_map(|fault| fault.detail.being_bound.as_deref()) {
        text += &format!("; bound was {function}");
    }
    if let Some(caller) = found.faults.iter().find_map(|fault| caller(case, fault)) {
        text += &format!("; called by {caller}");
    }
    if !is_seen {
        text += "; the stack has no names, so that a library that was being loaded cannot be excluded";
    }
    let standing = if is_seen { Standing::Seen } else { Standing::Indicated };
    found.explaining(Finding::new(standing, text), case)
}

/// Who called the function that was bound: the first frame above the loader.
fn caller(case: &Case<'_>, fault: &Fault) -> Option<String> {
    let recording = case.recording();
    let mut frames = recording.stacks.leaf_to_root(fault.span.stack_id).map(|frame| recording.text(frame.symbol));
    frames.find(|frame| frame.starts_with("_dl_runtime_resolve"))?;
    frames.next().map(str::to_owned)
}
