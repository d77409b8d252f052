//! Pages of libraries or mapped files had been evicted from memory and are read from disk again.

mod by_reads;

use fathom_evidence::kinds::counter;
use fathom_timeline::Series;

use crate::measure::faults::{self, Found, Kind};
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "file_pages_evicted",
    readme: include_str!("README.md"),
    family: Family::Pages,
    refines: &[
        Refined::Family(Family::Collections),
        Refined::Family(Family::Safepoint),
        Refined::Family(Family::Device),
    ],
    equals: &[(
        &["file_sync_slow", "perf_data_writeback", "swap_in"],
        "a thread is in one wait at a time, and each claims the stops in which it was in its own",
    )],
    has_lab: true,
    collectors: &["page_faults", "memory", "scheduler", "system_calls"],
    needs: &[&[Need::PageFaults]],
    actions: &[
        "memory for the page cache: a smaller heap, memory.low for the container, less reading of other files; or lock the pages (mlockall, vmtouch -l)",
    ],
    decide,
};

/// As many times more pages than in the baseline are read again when memory is short; every machine reads some again.
const MIN_REREAD_RATIO: f64 = 2.0;

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !faults::are_recorded(comparison) {
        return Finding::needs_kernel("page faults with their duration and place were not recorded");
    }
    let refaults = refaults(comparison);
    let again = comparison.both_looked_at(|period| period.rise(&refaults) / period.seconds());
    let evidence = comparison
        .evidence("pages read again", again, "1/s", "counters")
        .of(&[counter::VMSTAT_COUNT, counter::CGROUP_MEMORY_STAT_COUNT]);
    let Some(found) = faults::find(comparison, Kind::File) else {
        let by_reads = by_reads::find(comparison, again).map(|finding| finding.with(evidence));
        return by_reads.unwrap_or_else(|| no_fault(comparison, &refaults));
    };
    let Some(found) = found.in_files_read(comparison) else {
        return Finding::needs_kernel(
            "whether the slow page faults in mapped files waited for pages to be read or to be written was not recorded",
        );
    };
    let found = match found.in_files_thrown_out(comparison) {
        Ok(thrown_out) => {
            let text = format!("{}; the same pages were waited for more than once", thrown_out.says(comparison));
            let finding = thrown_out.telling_shortage(Finding::new(Support::Observed, text).with(evidence), comparison);
            return thrown_out.explaining(finding, comparison);
        }
        Err(found) => found,
    };
    let (support, text) = if refaults.0.len() < 2 {
        (Support::Consistent, "whether they had been in memory before was not recorded".to_owned())
    } else if go_together(comparison, &found, &refaults) {
        let text =
            format!("{} pages per second were read again at that time, of whatever file", format::number(again.0));
        (Support::Consistent, text)
    } else {
        let text = "the kernel threw nothing out that was needed again just then: they were touched for the first time";
        (Support::Weak, text.to_owned())
    };
    let finding = Finding::new(support, format!("{}; {text}", found.says(comparison))).with(evidence);
    // Pages that are touched for the first time are read whether or not memory is short.
    let finding = if support == Support::Weak { finding } else { found.telling_shortage(finding, comparison) };
    found.explaining(finding, comparison)
}

/// Reads are no faults: where requests were late and it was not counted how long reads took, they may have waited in them.
fn no_fault(comparison: &Comparison<'_>, refaults: &Series) -> Finding {
    match by_reads::are_recorded(comparison, refaults) || comparison.analysis.account.lateness.is_none() {
        true => {
            Finding::absent("no slow page fault in a library or mapped file, and no reads of pages that had been there")
        }
        false => Finding::needs_kernel("short waits for files, and whether pages were read again, were not recorded"),
    }
}

/// Pages of files that were read again after they had been thrown out: of the container where that is counted, else of
/// the whole machine.
fn refaults(comparison: &Comparison<'_>) -> Series {
    const NAME: &str = "workingset_refault_file";
    let container = comparison.sources().counter(counter::CGROUP_MEMORY_STAT_COUNT, NAME);
    if container.0.len() >= 2 { container } else { comparison.sources().counter(counter::VMSTAT_COUNT, NAME) }
}

/// Whether pages were read again when the faults were, at least one for each, and more than in the baseline.
fn go_together(comparison: &Comparison<'_>, found: &Found, refaults: &Series) -> bool {
    let during: f64 = found.around().iter().map(|(from, to)| refaults.rise_within(from, to)).sum();
    let (slow, baseline) = comparison.both_looked_at(|period| period.rise(refaults) / period.seconds());
    during >= found.faults.len() as f64 && baseline.is_none_or(|baseline| slow >= MIN_REREAD_RATIO * baseline)
}
