//! Memory of the process was swapped out and is read back when it is touched.

use fathom_evidence::kinds::counter;

use crate::measure::faults::{self, Kind};
use crate::{Case, Cause, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "swap_in",
    readme: include_str!("README.md"),
    refines: &[
        "file_pages_evicted",
        "allocation_pressure",
        "full_gc_old_generation_full",
        "explicit_gc",
        "code_cache_churn",
        "long_time_to_safepoint",
        "block_device_slow",
        "block_queue_wait",
    ],
    has_lab: true,
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
    if !faults::are_recorded(case) {
        return Finding::needs_kernel("page faults with their duration and place, and swapping, were not recorded");
    }
    let pages = case.both(|side| side.rise(&swapped_in) / side.seconds());
    let (standing, found, text) = if let Some(found) = faults::find(case, Kind::Swapped) {
        (Standing::Seen, found, "memory was read back from the swap")
    } else {
        match faults::find(case, Kind::Anonymous) {
            None => return Finding::absent("no slow page fault in memory that belongs to no file"),
            Some(found) if found.has_kernel_stacks(case) => {
                return Finding::absent(
                    "the slow page faults in memory that belongs to no file did not wait for the swap",
                );
            }
            Some(found) if found.in_files_read(case).is_none() => {
                return Finding::needs_kernel("what the slow page faults in memory waited for was not recorded");
            }
            Some(_) if !is_counted => return Finding::needs_kernel("whether pages were swapped in was not recorded"),
            Some(found) => {
                (Standing::Indicated, found, "pages were swapped in on the machine, and memory was waited for")
            }
        }
    };
    let text = format!("{text} ({} pages per second): {}", say::number(pages.0), found.says(case));
    let finding = Finding::new(standing, text)
        .with(case.evidence("pages swapped in", pages, "1/s", "counters").of(&[counter::VMSTAT_COUNT]));
    found.explaining(finding, case)
}
