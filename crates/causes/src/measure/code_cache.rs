//! The code cache: how full, how much code was made, how much was thrown away.

use std::collections::HashMap;

use fathom_evidence::StrId;
use fathom_evidence::detail::{CodeCache as Detail, Compilation, from_text};
use fathom_evidence::kinds::{counter, event, span};
use fathom_timeline::{BUCKET_NS, Intervals, Layer, Origin, Series, ThreadState};

use crate::comparison::Comparison;
use crate::explanation::Evidence;
use crate::period::Period;

/// Compilations per second below which the compiler is as good as off while code runs interpreted.
const OFF_PER_SECOND: f64 = 0.5;

/// A compiler that waits until code was thrown away compiles nothing for some seconds, and goes on; so long after a failed allocation
/// it is known that it does not, in ns.
const TELLING_NS: i64 = 5_000_000_000;

/// What is known of the code cache in the slow time. Quantities that were not recorded are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeCache {
    /// Size limit, in bytes.
    pub reserved_bytes: Option<f64>,
    /// Highest occupancy of the fullest segment, as a share of its size.
    pub fullest: Option<f64>,
    /// Lowest and highest occupancy in the slow time, in bytes.
    pub swing_bytes: Option<(f64, f64)>,
    /// Code freed up to the end of the slow time as seen by falling occupancy, in bytes.
    pub freed_bytes: f64,
    /// Code made since the JVM started, as a multiple of the size limit.
    pub turnover: Option<f64>,
    /// Code made in the recording up to the end of the slow time, as a multiple of the size limit.
    pub made: Option<f64>,
    /// Methods that the sweeper removed up to the end of the slow time.
    pub swept_methods: u64,
    /// Collections that were started to free code, per second: slow, baseline.
    pub collections_per_second: (f64, Option<f64>),
    /// How many there were up to the end of the slow time.
    pub collections: usize,
    /// Compilations per second: slow, baseline.
    pub compilations_per_second: Option<(f64, Option<f64>)>,
    /// How often the method that was compiled most was compiled at one level, with its name.
    pub most_compiled: Option<(String, usize)>,
    /// Allocations in it that failed: those of the recording up to the end of the slow time, else
    /// those since the JVM started.
    pub failures: usize,
    /// Compilations per second after the last of those until the end of the slow time.
    pub compilations_after_full_per_second: Option<f64>,
    /// Whether it is known which code the application ran.
    pub is_sampled: bool,
    /// Share of interpreted code in what the application's threads ran: slow, baseline.
    pub interpreted: (f64, Option<f64>),
}

impl CodeCache {
    /// Measures it.
    pub fn of(comparison: &Comparison<'_>) -> CodeCache {
        let so_far = so_far(comparison);
        let reserved_bytes = comparison.sources().code_cache_reserved_bytes();
        let produced = comparison.sources().counter(counter::COMPILE_CODE_BYTES, "");
        let used = comparison.sources().counter_sum(counter::CODE_CACHE_USED_BYTES);
        let compiled = comparison.sources().counter(counter::COMPILE_COUNT, "");
        let multiple = |bytes: f64| reserved_bytes.map(|reserved| bytes / reserved);
        let known = |series: &Series| series.0.len() > 1;
        let per_second =
            |period: &Period<'_>| period.rise(&period.sources.counter(counter::COMPILE_COUNT, "")) / period.seconds();
        CodeCache {
            reserved_bytes,
            fullest: fullest(comparison, &used, reserved_bytes),
            swing_bytes: swing(comparison, &used),
            freed_bytes: freed(&so_far, &used),
            turnover: comparison.slow.max(&produced).or(produced.last()).and_then(multiple),
            made: known(&produced).then(|| so_far.rise(&produced)).and_then(multiple),
            swept_methods: swept(&so_far),
            collections_per_second: comparison.both(|period| collections(period) as f64 / period.seconds()),
            collections: collections(&so_far),
            compilations_per_second: known(&compiled).then(|| comparison.both(per_second)),
            most_compiled: most_compiled(comparison),
            failures: failures(comparison),
            compilations_after_full_per_second: compilations_after_full(comparison, &compiled),
            is_sampled: comparison.is_sampled(),
            interpreted: interpreted(comparison),
        }
    }

    /// How much of the application's code ran interpreted, as evidence.
    pub fn interpreted_evidence(&self, comparison: &Comparison<'_>) -> Evidence {
        let says = "interpreted share of the application's code";
        comparison.evidence(says, self.interpreted, "ratio", "samples").of(&[event::CPU, event::EXECUTION])
    }

    /// How much was compiled, as evidence, if that was counted.
    pub fn compilations_evidence(&self, comparison: &Comparison<'_>) -> Option<Evidence> {
        let rate = self.compilations_per_second?;
        Some(comparison.evidence("compilations", rate, "1/s", "counters").of(&[counter::COMPILE_COUNT]))
    }

    /// Whether the compiler was switched off for lack of space and stayed off; unknown without events.
    pub fn compiler_is_off(&self) -> Option<bool> {
        self.compilations_after_full_per_second.map(|rate| rate < OFF_PER_SECOND)
    }

    /// Whether anything tells how full the cache is or how much code is made.
    pub fn is_known(&self) -> bool {
        self.turnover.is_some() || self.fullest.is_some() || self.collections > 0 || self.failures > 0
    }
}

/// Too small a cache is a state, not an event: its signs count from the beginning of the
/// recording, whichever seconds of it were slow.
fn so_far<'a>(comparison: &Comparison<'a>) -> Period<'a> {
    let (_, end) = comparison.slow_range();
    Period::new(comparison.sources(), Intervals::union(vec![(comparison.sources().grid.start_ns, end)]))
}

/// Segments fill up one by one, so the fullest counts.
fn fullest(comparison: &Comparison<'_>, used: &Series, reserved_bytes: Option<f64>) -> Option<f64> {
    let limits = comparison.sources().counters(counter::CODE_CACHE_RESERVED_BYTES);
    let segments = comparison.sources().counters(counter::CODE_CACHE_USED_BYTES);
    let of_segment = segments.iter().filter_map(|(key, series)| {
        let limit = limits.get(key).and_then(Series::last).filter(|limit| *limit > 0.0)?;
        Some(comparison.slow.max(series)? / limit)
    });
    let whole = reserved_bytes.and_then(|reserved| Some(comparison.slow.max(used)? / reserved));
    of_segment.chain(whole).max_by(f64::total_cmp)
}

fn swing(comparison: &Comparison<'_>, used: &Series) -> Option<(f64, f64)> {
    let within = used.0.iter().filter(|(time, _)| comparison.slow.time.contains(*time)).map(|(_, bytes)| *bytes);
    let lowest = within.clone().min_by(f64::total_cmp)?;
    Some((lowest, within.max_by(f64::total_cmp)?))
}

fn freed(period: &Period<'_>, used: &Series) -> f64 {
    let steps = used.0.windows(2).filter(|pair| period.time.contains(pair[1].0));
    steps.map(|pair| (pair[0].1 - pair[1].1).max(0.0)).sum()
}

fn swept(period: &Period<'_>) -> u64 {
    let sweeps = period.spans(span::CODE_CACHE_SWEEP);
    sweeps.map(|sweep| period.detail::<Detail>(&sweep).flushed.unwrap_or(0)).fold(0, u64::saturating_add)
}

/// Collections for the code cache: each has one or more pauses or a span of its own.
fn collections(period: &Period<'_>) -> usize {
    let mut ids: Vec<u64> = Vec::new();
    let mut without_id = 0;
    for gc in period.spans(span::GC_PAUSE).chain(period.spans(span::GC)) {
        let detail: fathom_evidence::detail::Gc = period.detail(&gc);
        if detail.cause.as_deref().map(Origin::of_cause) != Some(Origin::CodeCache) {
            continue;
        }
        match detail.gc_id {
            Some(id) => ids.push(id),
            None => without_id += 1,
        }
    }
    ids.sort_unstable();
    ids.dedup();
    ids.len() + without_id
}

/// The most compilations of one method at one level, loops apart. The JVM makes a few anyway. Those of an
/// unknown method are no repetitions.
fn most_compiled(comparison: &Comparison<'_>) -> Option<(String, usize)> {
    let mut counts: HashMap<(u32, Option<u32>, Option<bool>), usize> = HashMap::new();
    let named = comparison.sources().spans(span::COMPILATION).filter(|compilation| compilation.name != StrId(0));
    for compilation in named {
        let detail: Compilation = from_text(comparison.recording().text(compilation.detail));
        *counts.entry((compilation.name.0, detail.level, detail.osr)).or_default() += 1;
    }
    let ((name, _, _), count) = counts.into_iter().max_by_key(|(key, count)| (*count, *key))?;
    Some((comparison.recording().text(StrId(name)).to_owned(), count))
}

/// When allocations in the code cache failed. A log tells it once, as the compiler being switched off.
fn full_events(comparison: &Comparison<'_>) -> Vec<i64> {
    let (_, end) = comparison.slow_range();
    let times = |kind| -> Vec<i64> {
        let events = comparison.sources().spans(kind).map(|event| event.time_ns);
        events.filter(|time| *time <= end).collect()
    };
    let failed = times(span::CODE_CACHE_FULL);
    if failed.is_empty() { times(span::COMPILER_DISABLED) } else { failed }
}

/// The events of the recording. If there are none: the JVM's count since its start, which also includes the time before the
/// recording.
fn failures(comparison: &Comparison<'_>) -> usize {
    let counted = || {
        comparison.slow.max(&comparison.sources().counter_sum(counter::CODE_CACHE_FULL_COUNT)).unwrap_or(0.0) as usize
    };
    let events = full_events(comparison).len();
    if events > 0 { events } else { counted() }
}

fn compilations_after_full(comparison: &Comparison<'_>, compiled: &Series) -> Option<f64> {
    let (_, end) = comparison.slow_range();
    // The counter is read once a second: the step that contains the event belongs to before it.
    let events = full_events(comparison);
    let after = |event: Option<&i64>| event.map(|at| at.saturating_add(BUCKET_NS));
    // Where the last comes too near the end to tell, what was compiled since the first says whether it was the end of compiling.
    let tells = |last: &i64| last.saturating_add(TELLING_NS) <= end;
    let since = after(events.iter().max()).filter(tells).or(after(events.iter().min()));
    let from = since.or_else(|| (failures(comparison) > 0).then_some(comparison.sources().grid.start_ns))?;
    (compiled.0.len() > 1 && end > from).then(|| compiled.rise_within(from, end) / ((end - from) as f64 / 1e9))
}

fn interpreted(comparison: &Comparison<'_>) -> (f64, Option<f64>) {
    let (slow, baseline) = comparison.excess().sums(|state| state == ThreadState::Running(Layer::Interpreted));
    let (all_slow, all_baseline) = comparison.excess().sums(|state| matches!(state, ThreadState::Running(_)));
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    (share(slow, all_slow), comparison.baseline.as_ref().map(|_| share(baseline, all_baseline)))
}
