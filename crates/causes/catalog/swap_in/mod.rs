//! Memory of the process was swapped out and is read back when it is touched.

use fathom_evidence::kinds::counter;

use crate::measure::faults::{self, Kind};
use crate::{Case, Cause, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "swap_in",
    readme: include_str!("README.md"),
    rank: 5,
    has_lab: false,
    collectors: &["page_faults", "memory"],
    actions: &[
        "more memory for the machine or container, or a smaller heap; vm.swappiness decides what is swapped first",
    ],
    decide,
};

fn decide(case: &Case<'_>) -> Finding {
    let swapped_in = case.view().counter(counter::VMSTAT_COUNT, "pswpin");
    let is_counted = swapped_in.0.len() >= 2;
    if is_counted && case.slow.rise(&swapped_in) <= 0.0 {
        return Finding::absent("nothing was swapped in in the slow time");
    }
    if !faults::are_recorded(case) || !is_counted {
        return Finding::needs_kernel("page faults with their duration and place, and swapping, were not recorded");
    }
    let Some(found) = faults::find(case, Kind::Anonymous) else {
        return Finding::absent("no slow page fault in memory that belongs to no file");
    };
    let pages = case.both(|side| side.rise(&swapped_in) / side.seconds());
    let text = format!("{} pages per second were swapped in: {}", say::number(pages.0), found.says(case));
    let finding =
        Finding::new(Standing::Seen, text).with(case.evidence("pages swapped in", pages, "count/s", "counters"));
    found.explaining(finding, case)
}
