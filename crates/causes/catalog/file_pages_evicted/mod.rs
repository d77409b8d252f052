//! Pages of libraries or mapped files had been thrown out of memory and are read from disk again.

use fathom_evidence::kinds::counter;

use crate::measure::faults::{self, Kind};
use crate::{Case, Cause, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "file_pages_evicted",
    readme: include_str!("README.md"),
    rank: 6,
    has_lab: false,
    collectors: &["page_faults", "memory"],
    actions: &[
        "memory for the page cache: a smaller heap, memory.low for the container, less reading of other files; or lock the pages (mlockall, vmtouch -l)",
    ],
    decide,
};

fn decide(case: &Case<'_>) -> Finding {
    if !faults::are_recorded(case) {
        return Finding::needs_kernel("page faults with their duration and place were not recorded");
    }
    let Some(found) = faults::find(case, Kind::File) else {
        return Finding::absent("no slow page fault in a library or mapped file");
    };
    let refaults = case.view().counter(counter::VMSTAT_COUNT, "workingset_refault_file");
    let again = case.both(|side| side.rise(&refaults) / side.seconds());
    let sum = found.says(case);
    let (standing, text) = match (refaults.0.len() >= 2, again.0 > 0.0) {
        (true, true) => (
            Standing::Seen,
            format!("{sum}; {} pages per second were read again after they had been thrown out", say::number(again.0)),
        ),
        (true, false) => (
            Standing::Faint,
            format!("{sum}; the kernel threw nothing out that was needed again: they were touched for the first time"),
        ),
        (false, _) => (Standing::Indicated, format!("{sum}; whether they had been in memory before was not recorded")),
    };
    let finding = Finding::new(standing, text).with(case.evidence("pages read again", again, "count/s", "counters"));
    found.explaining(finding, case)
}
