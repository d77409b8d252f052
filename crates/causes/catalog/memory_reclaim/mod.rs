//! Threads that need memory have to reclaim it first: they search for pages to free, or are throttled at the container's limit.

use fathom_evidence::kinds::{counter, event, span};
use fathom_evidence::tables::Span;
use fathom_timeline::{RECLAIM, ThreadState, Wait, waits_for_memory};

use crate::limits::MIN_CPU_SHARE;
use crate::measure::faults::SWAPPING;
use crate::measure::{growth, memory_pressure, stacks, stalled_threads};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Period, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "memory_reclaim",
    readme: include_str!("README.md"),
    family: Family::Pages,
    refines: &[
        Refined::Family(Family::Collections),
        Refined::Family(Family::Safepoint),
        Refined::Family(Family::Load),
        Refined::Family(Family::Cpu),
    ],
    equals: &[(
        &["file_pages_evicted", "lazy_symbol_binding", "perf_data_writeback", "swap_in"],
        "a fault is of one kind, by its mapping and the kernel's frames",
    )],
    has_lab: true,
    collectors: &["memory", "cgroup", "page_faults", "scheduler", "async_profiler"],
    needs: &[
        &[Need::Counter(counter::VMSTAT_COUNT), Need::KernelFrames],
        &[
            Need::Counter(counter::CGROUP_MEMORY_STAT_COUNT),
            Need::Counter(counter::CGROUP_MEMORY_EVENTS_COUNT),
            Need::KernelFrames,
        ],
    ],
    actions: &[
        "more memory for the container (memory.high, memory.max), or less in it: a smaller heap, fewer files read and written through \
         the page cache",
        "on a machine that runs short as a whole: vm.min_free_kbytes and vm.watermark_scale_factor, so that kswapd begins earlier",
        "where memory is compacted for huge pages: transparent_hugepage/defrag = defer or never",
    ],
    decide,
};

/// Counters of the machine that rise when a thread makes room itself.
const OF_MACHINE: &[&str] =
    &["allocstall_normal", "allocstall_dma32", "allocstall_movable", "allocstall_device", "compact_stall"];

/// The same of the container: pages that its own threads looked at to make room.
const OF_CONTAINER: &[&str] = &["pgscan_direct"];

/// How often the container was at a limit: all that is counted of it where control groups are of version 1.
const AT_LIMIT: &[&str] = &["high", "max"];

fn decide(comparison: &Comparison<'_>) -> Finding {
    let is_counted = ["allocstall_normal", "compact_stall"]
        .iter()
        .any(|name| comparison.sources().counter(counter::VMSTAT_COUNT, name).0.len() >= 2);
    let waits = waits(&comparison.slow);
    let below = stacks::below(comparison, RECLAIM);
    if !is_counted && waits.is_empty() && below.share.0 <= 0.0 {
        return Finding::needs_kernel("how often threads had to make room in memory was not counted");
    }
    let often = comparison.both_looked_at(often);
    let evidence = evidence(comparison, &waits, &below, often);
    let ran = below.share.0 >= MIN_CPU_SHARE && growth::grew(below.share);
    if often.0 <= 0.0 && waits.is_empty() && !ran {
        return Finding::absent("no thread had to make room in memory in the slow time").with_all(evidence);
    }
    let text = says(&waits, &below, often);
    if !ran && waits.is_empty() {
        return seen_by_number(comparison, &text, often).with_all(evidence);
    }
    let mut finding = Finding::new(Support::Observed, text).with_all(evidence);
    let waiting = ThreadState::Blocked(Wait::PageFault);
    finding.claims = stalled_threads::claims(comparison, waits.iter(), waiting);
    finding.claims.extend(if ran { below.claims } else { Vec::new() });
    let first_ns = waits.first().map_or(comparison.slow_range().0, |wait| wait.time_ns);
    memory_pressure::tell(finding, comparison, first_ns).crowding(comparison)
}

/// Room was made, but neither a wait nor much of the CPU was seen in it.
fn seen_by_number(comparison: &Comparison<'_>, text: &str, often: (f64, Option<f64>)) -> Finding {
    match stacks::sees_the_kernel(comparison) {
        _ if !growth::grew(often) => Finding::absent(format!("{text}: no more than in the baseline, and no long wait")),
        true => Finding::absent(format!("{text}; it took next to nothing of the CPU, and no long wait")),
        false => Finding::needs_kernel(&format!("{text}; what that took was not recorded")),
    }
}

/// Waits of any thread in which the kernel made room for it, or held it up: of the collector's too. Where that goes to the swap
/// it is `swap_in`.
fn waits(period: &Period<'_>) -> Vec<Span> {
    let recording = period.sources.recording;
    let swaps = |wait: &Span| stacks::is_below(recording, wait.kernel_stack_id, SWAPPING);
    let is_ours = |wait: &Span| waits_for_memory(recording, wait.kernel_stack_id) && !swaps(wait);
    let mut waits: Vec<Span> =
        period.spans(span::PAGE_FAULT).chain(period.spans(span::BLOCKED)).filter(is_ours).collect();
    waits.sort_by_key(|wait| wait.time_ns);
    waits
}

/// How often per second room was made: of the container what its threads searched, of the machine how often one had to.
fn often(period: &Period<'_>) -> f64 {
    let rise = |name: &str, instance: &str| period.rise(&period.sources.counter(name, instance));
    let container = OF_CONTAINER.iter().map(|name| rise(counter::CGROUP_MEMORY_STAT_COUNT, name));
    let machine = OF_MACHINE.iter().map(|name| rise(counter::VMSTAT_COUNT, name));
    let at_limit = AT_LIMIT.iter().map(|name| rise(counter::CGROUP_MEMORY_EVENTS_COUNT, name));
    (0.0 + container.chain(machine).chain(at_limit).sum::<f64>()) / period.seconds()
}

fn says(waits: &[Span], below: &stacks::Below, often: (f64, Option<f64>)) -> String {
    let total: f64 = waits.iter().map(|wait| wait.duration_ns.max(0) as f64).sum();
    let longest = waits.iter().map(|wait| wait.duration_ns).max().unwrap_or(0);
    let waited = match waits.len() {
        0 => String::new(),
        count => format!(
            "; {} in it, {} in all, the longest {}",
            format::count(count, "long wait"),
            format::time(total),
            format::time(longest as f64)
        ),
    };
    // Control groups of version 1 count nothing of it.
    let counted = match often {
        (now, _) if now <= 0.0 => String::new(),
        (now, before) => {
            format!(", {} times or pages per second{}", format::number(now), format::baseline(before, format::number))
        }
    };
    let cpu = format::percent(below.share.0);
    format!("threads had to make room in memory themselves{counted}{waited}; {cpu} of the application's CPU")
}

fn evidence(
    comparison: &Comparison<'_>,
    waits: &[Span],
    below: &stacks::Below,
    often: (f64, Option<f64>),
) -> Vec<Evidence> {
    let often = comparison
        .evidence("room made in memory (pages searched, stalls, times held up)", often, "1/s", "counters")
        .of(&[counter::VMSTAT_COUNT, counter::CGROUP_MEMORY_STAT_COUNT, counter::CGROUP_MEMORY_EVENTS_COUNT]);
    let share = comparison.evidence("CPU below the kernel's search for room", below.share, "ratio", "samples");
    let share = Evidence { stack: comparison.stack_text(below.stack, 20), ..share.of(&[event::CPU]) };
    let total: f64 = 0.0 + waits.iter().map(|wait| wait.duration_ns.max(0) as f64).sum::<f64>();
    let waiting = (total / 1e9 / comparison.slow.seconds(), None);
    let longest = waits.iter().max_by_key(|wait| wait.duration_ns);
    let stack = longest.map_or_else(String::new, |wait| comparison.stack_text(wait.kernel_stack_id, 20));
    let waiting = comparison.evidence("threads waiting for room in memory", waiting, "threads", "spans");
    vec![often, share, Evidence { stack, ..waiting.of(&[span::PAGE_FAULT, span::BLOCKED]) }]
}
