//! Pages that calls read again: no thread faults, and each read waits for the disk, but too briefly to be recorded as a call.

use fathom_evidence::kinds::{counter, event};
use fathom_timeline::{Series, ThreadState, Wait};

use super::MIN_REREAD_RATIO;
use crate::cause::Claim;
use crate::measure::syscalls::ByThread;
use crate::measure::{memory_pressure, stacks};
use crate::{Comparison, Finding, Support, format};

const WAITING: ThreadState = ThreadState::Blocked(Wait::FileBriefly);

/// Functions of the kernel that find a page for a read, and have it read where it is not there.
const FIND_PAGE: &[&str] = &[
    "filemap_get_pages",
    "generic_file_buffered_read",
    "page_cache_ra_",
    "page_cache_sync_ra",
    "page_cache_async_ra",
    "page_cache_sync_readahead",
    "page_cache_async_readahead",
];

/// What such reads cost; none where threads do not wait for files more than before, or nothing was read again meanwhile. `again`: pages
/// read again per second.
pub(super) fn find(comparison: &Comparison<'_>, again: (f64, Option<f64>)) -> Option<Finding> {
    let grown_ns = comparison.grown_ns(WAITING);
    if grown_ns < comparison.material_ns() || !is_read_again(comparison, again) {
        return None;
    }
    let waiting = comparison.state_evidence("threads in short waits for files", "threads", |state| state == WAITING);
    let text = format!(
        "{} threads wait for files on average{}, each wait too short to be recorded by itself; {} pages per second were read again \
         after they had been thrown out{}",
        format::number(waiting.value),
        format::baseline(waiting.baseline, format::number),
        format::number(again.0),
        format::baseline(again.1, format::number)
    );
    let below = stacks::below(comparison, FIND_PAGE);
    let searching = comparison.evidence("CPU below the kernel's search for pages", below.share, "ratio", "samples");
    let mut finding = Finding::new(Support::Consistent, text).with(waiting).with(searching.of(&[event::CPU]));
    finding.claims.push(Claim::part(WAITING, grown_ns));
    finding.claims.extend(below.claims);
    Some(memory_pressure::tell(finding, comparison, comparison.slow_range().0))
}

/// Whether such reads would have been seen.
pub(super) fn are_recorded(comparison: &Comparison<'_>, refaults: &Series) -> bool {
    let are_counted =
        [counter::BLOCKED_NS, counter::SYSTEM_CALLS_NS].iter().all(|name| comparison.sources().has_counter(name));
    are_counted && refaults.0.len() >= 2
}

/// Whether threads waited more often than before, and more pages were read again, at least one for each wait that there is more of: of a
/// file that is read for the first time nothing had been there, and of a slower disk each wait is longer.
fn is_read_again(comparison: &Comparison<'_>, (again, before): (f64, Option<f64>)) -> bool {
    let (waits, waits_before) = comparison.both_looked_at(|period| {
        ByThread::of(period, counter::BLOCKED_COUNT, &["uninterruptible"]).rise(period, |_| true) / period.seconds()
    });
    before.zip(waits_before).is_some_and(|(before, waits_before)| {
        let grew = |now: f64, before: f64| now > 0.0 && now >= MIN_REREAD_RATIO * before;
        grew(again, before) && grew(waits, waits_before) && again - before >= waits - waits_before
    })
}
