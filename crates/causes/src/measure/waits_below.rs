//! Waits of the application's threads whose stacks show what they waited for: below the frames of a library.

use std::collections::{BTreeMap, HashMap};

use fathom_evidence::detail::{SystemCall, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId, looks_of};
use fathom_timeline::{Intervals, ThreadState, Wait};

use crate::cause::Claim;
use crate::comparison::Comparison;
use crate::measure::stacks;
use crate::period::Period;

/// Causes that may claim the same waits, and why these share them: what a cause is equal to that looks below frames.
pub const EQUALS: (&[&str], &str) = (
    &[
        "block_device_slow",
        "block_queue_wait",
        "carrier_threads_exhausted",
        "child_processes",
        "connect_slow",
        "delayed_acknowledgement",
        "file_locked",
        "file_pages_evicted",
        "file_sync_slow",
        "gc_log_blocked",
        "lazy_symbol_binding",
        "logging_blocked",
        "memory_reclaim",
        "perf_data_writeback",
        "retransmissions",
        "sleeping_handlers",
        "slow_downstream",
        "swap_in",
        "thread_pool_exhausted",
        "too_many_open_files",
    ],
    "one says below which code a thread waits, the other what for: to change either helps",
);

/// Spans in which a thread waits for another one.
const FOR_OTHERS: &[&str] = &[span::MONITOR_ENTER, span::MONITOR_WAIT, span::PARK];

/// The same as samples alone tell it, where the JVM was not asked for those.
const SAMPLED: &[&str] = &[span::SAMPLED_WAIT];

/// Spans in which a thread waits for what it reads or writes.
const FOR_DATA: &[&str] = &[
    span::FILE_READ,
    span::FILE_WRITE,
    span::FILE_FORCE,
    span::SOCKET_READ,
    span::SOCKET_WRITE,
    span::SYSTEM_CALL,
    span::PAGE_FAULT,
];

/// Waits below some frames on one period.
#[derive(Debug, Default)]
pub struct WaitsBelow {
    /// For other threads.
    pub for_others: Vec<Span>,
    /// For what is read or written.
    pub for_data: Vec<Span>,
    seconds: f64,
}

impl WaitsBelow {
    /// Those in the stacks that `select` chooses. Each stack is looked at once.
    pub fn of(period: &Period<'_>, select: impl Fn(&Recording, StackId) -> bool) -> WaitsBelow {
        let recording = period.sources.recording;
        let mut known: HashMap<StackId, bool> = HashMap::new();
        let mut is_ours = |wait: &Span| *known.entry(wait.stack_id).or_insert_with(|| select(recording, wait.stack_id));
        let mut of_kinds = |kinds: &[&str]| of_kinds(period, kinds, &mut is_ours);
        let (told, mut for_data) = (of_kinds(FOR_OTHERS), of_kinds(FOR_DATA));
        let (of_files, sampled): (Vec<Span>, _) =
            of_kinds(SAMPLED).into_iter().partition(|wait| is_at_a_file(recording, wait));
        let for_others = with_sampled(told, sampled);
        for_data = with_sampled(for_data, of_files);
        // The kernel sees all calls, the JVM some of the same: where calls were looked at they are enough.
        let is_of_the_kernel = |wait: &Span| matches!(recording.text(wait.kind), span::SYSTEM_CALL | span::PAGE_FAULT);
        if for_data.iter().any(|wait| recording.text(wait.kind) == span::SYSTEM_CALL) {
            let looked_at = period.sources.calls_looked_at();
            for_data.retain(|wait| is_of_the_kernel(wait) || !looked_at.contains(wait.time_ns));
        }
        WaitsBelow { for_others, for_data, seconds: period.seconds() }
    }

    /// Those in which only looks found threads, where nothing measures waits.
    pub fn looked_at(period: &Period<'_>, mut select: impl FnMut(&Span) -> bool) -> WaitsBelow {
        let recording = period.sources.recording;
        let for_others = of_kinds(period, SAMPLED, &mut |wait| is_look(recording, wait) && select(wait));
        WaitsBelow { for_others, for_data: Vec::new(), seconds: period.seconds() }
    }

    /// Those below a function whose name begins with one of `names`.
    pub fn of_names(period: &Period<'_>, names: &[&str]) -> WaitsBelow {
        WaitsBelow::of(period, |recording, stack| stacks::is_below(recording, stack, names))
    }

    /// Those of the sleeps, parks and monitor waits that `select` chooses; if the JVM reported none, those in thread samples.
    pub fn asleep(period: &Period<'_>, mut select: impl FnMut(&Span) -> bool) -> WaitsBelow {
        let told = of_kinds(period, &[span::SLEEP, span::PARK, span::MONITOR_WAIT], &mut select);
        let stood = &[span::SAMPLED_WAIT, span::BLOCKED];
        let for_others = match told.is_empty() {
            true => of_kinds(period, stood, &mut select),
            false => with_sampled(told, of_kinds(period, SAMPLED, &mut select)),
        };
        WaitsBelow { for_others, for_data: Vec::new(), seconds: period.seconds() }
    }

    /// Waits that only the kernel or samples tell.
    pub fn standing(period: &Period<'_>, mut select: impl FnMut(&Span) -> bool) -> WaitsBelow {
        let of_kernel = of_kinds(period, &[span::BLOCKED], &mut select);
        let for_others = with_sampled(of_kernel, of_kinds(period, SAMPLED, &mut select));
        WaitsBelow { for_others, for_data: Vec::new(), seconds: period.seconds() }
    }

    /// These and others of the same period.
    #[must_use]
    pub fn with(mut self, others: WaitsBelow) -> WaitsBelow {
        self.for_others.extend(others.for_others);
        self.for_data.extend(others.for_data);
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.for_others.is_empty() && self.for_data.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Span> {
        self.for_others.iter().chain(&self.for_data)
    }

    /// How many threads are in one of them, on average.
    pub fn threads(&self) -> f64 {
        0.0 + self.iter().map(|wait| wait.duration_ns.max(0) as f64).sum::<f64>() / 1e9 / self.seconds
    }

    /// The longest.
    pub fn longest(&self) -> Option<&Span> {
        self.iter().max_by_key(|wait| wait.duration_ns)
    }

    /// Of what was read or written, the name (a path, a peer) that was waited for most; empty for a pipe.
    pub fn most(&self, recording: &Recording) -> Option<String> {
        let mut names: BTreeMap<String, i64> = BTreeMap::new();
        for wait in &self.for_data {
            let sum = names.entry(name_of_data(recording, wait)).or_default();
            *sum = sum.saturating_add(wait.duration_ns);
        }
        names.into_iter().max_by_key(|(_, ns)| *ns).map(|(name, _)| name)
    }

    /// When something was being read or written.
    pub fn data_time(&self) -> Intervals {
        Intervals::union(self.for_data.iter().map(|wait| (wait.time_ns, wait.end_ns())).collect())
    }

    /// The time of the threads that waited.
    pub fn claims(&self) -> Vec<Claim> {
        let time = Intervals::by_key(self.iter().map(|wait| (wait.tid, wait.time_ns, wait.end_ns())));
        Wait::ALL
            .iter()
            .filter(|wait| wait.row().is_below_other_code)
            .map(|wait| Claim::during(ThreadState::Blocked(*wait), time.clone()))
            .collect()
    }
}

/// Whether a wait is what looks represent, of which neither number nor length is known.
pub fn is_look(recording: &Recording, wait: &Span) -> bool {
    looks_of(recording, wait).is_some()
}

/// Whether looks found a thread writing to a file, or reading from it.
pub fn is_at_a_file(recording: &Recording, wait: &Span) -> bool {
    is_look(recording, wait) && fathom_timeline::is_at_a_file(recording, wait.stack_id)
}

/// What a wait read or wrote: of a system call the name is that of the call.
fn name_of_data(recording: &Recording, wait: &Span) -> String {
    if recording.text(wait.kind) == span::SAMPLED_WAIT {
        return "a file or a pipe".to_owned();
    }
    if recording.text(wait.kind) != span::SYSTEM_CALL {
        return recording.text(wait.name).to_owned();
    }
    let call: SystemCall = from_text(recording.text(wait.detail));
    call.path.filter(|path| !path.starts_with("pipe:")).unwrap_or_default()
}

/// Those of some kinds, of the application's threads, that `select` chooses.
fn of_kinds(period: &Period<'_>, kinds: &[&str], select: &mut impl FnMut(&Span) -> bool) -> Vec<Span> {
    let all = kinds.iter().flat_map(|kind| period.spans(kind));
    all.filter(|wait| period.sources.is_application(wait.tid)).filter(|wait| select(wait)).collect()
}

/// Waits that a source recorded, and those of samples at other times of a thread: in the same time samples have the same waits.
fn with_sampled(told: Vec<Span>, mut sampled: Vec<Span>) -> Vec<Span> {
    let times = Intervals::by_key(told.iter().map(|wait| (wait.tid, wait.time_ns, wait.end_ns())));
    sampled.retain(|wait| times.get(&wait.tid).is_none_or(|times| !times.touches(wait.time_ns, wait.end_ns())));
    told.into_iter().chain(sampled).collect()
}

/// Such waits in the slow time, and in the baseline.
pub fn both(
    comparison: &Comparison<'_>,
    measure: impl Fn(&Period<'_>) -> WaitsBelow,
) -> (WaitsBelow, Option<WaitsBelow>) {
    (measure(&comparison.slow), comparison.baseline_of_waits().as_ref().map(measure))
}
