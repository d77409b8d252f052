//! Memory of the process was swapped out and is read back when it is touched.

use fathom_evidence::kinds::counter;

use crate::measure::faults::{self, Kind};
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "swap_in",
    readme: include_str!("README.md"),
    family: Family::Pages,
    refines: &[
        Refined::Cause("file_pages_evicted"),
        Refined::Family(Family::Collections),
        Refined::Family(Family::Safepoint),
        Refined::Family(Family::Device),
    ],
    equals: &[],
    has_lab: true,
    collectors: &["page_faults", "memory"],
    needs: &[&[Need::PageFaults, Need::Counter(counter::VMSTAT_COUNT)]],
    actions: &[
        "more memory for the machine or container, or a smaller heap; vm.swappiness decides what is swapped first",
    ],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    let swapped_in = comparison.sources().counter(counter::VMSTAT_COUNT, "pswpin");
    let is_counted = swapped_in.0.len() >= 2;
    if is_counted && comparison.slow.rise(&swapped_in) <= 0.0 {
        return Finding::absent("nothing was swapped in in the slow time");
    }
    if !faults::are_recorded(comparison) {
        return Finding::needs_kernel("page faults with their duration and place, and swapping, were not recorded");
    }
    let pages = comparison.both_looked_at(|period| period.rise(&swapped_in) / period.seconds());
    let (support, found, text) = if let Some(found) = faults::find(comparison, Kind::Swapped) {
        (Support::Observed, found, "memory was read back from the swap")
    } else {
        match faults::find(comparison, Kind::Anonymous) {
            None if is_counted && may_be_of_a_file(comparison) => {
                return Finding::needs_kernel(
                    "pages were swapped in, and what the slow page faults waited for was not recorded",
                );
            }
            None => return Finding::absent("no slow page fault in memory that belongs to no file"),
            Some(found) if found.has_kernel_stacks(comparison) => {
                return Finding::absent(
                    "the slow page faults in memory that belongs to no file did not wait for the swap",
                );
            }
            Some(found) if found.in_files_read(comparison).is_none() => {
                return Finding::needs_kernel("what the slow page faults in memory waited for was not recorded");
            }
            Some(_) if !is_counted => return Finding::needs_kernel("whether pages were swapped in was not recorded"),
            Some(found) => {
                (Support::Consistent, found, "pages were swapped in on the machine, and memory was waited for")
            }
        }
    };
    let text = format!("{text} ({} pages per second): {}", format::number(pages.0), found.says(comparison));
    let finding = Finding::new(support, text)
        .drawn_by(&[&format!("{}|pswpin", counter::VMSTAT_COUNT)])
        .with(comparison.evidence("pages swapped in", pages, "1/s", "counters").of(&[counter::VMSTAT_COUNT]));
    found.explaining(finding, comparison)
}

/// Whether a fault in a file may have waited for the swap: pages that the program has changed for itself go there, which the kernel's stack
/// tells.
fn may_be_of_a_file(comparison: &Comparison<'_>) -> bool {
    faults::find(comparison, Kind::File).is_some_and(|found| !found.has_kernel_stacks(comparison))
}
