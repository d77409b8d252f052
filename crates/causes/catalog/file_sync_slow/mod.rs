//! Threads wait until the kernel has written a file to the disk: `fsync` and similar calls.

mod through;

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_timeline::{Intervals, Wait};

use self::through::Through;
use crate::measure::waits_below::{self, WaitsBelow};
use crate::measure::{block_io, growth, recording_threshold, stacks};
use crate::period::Period;
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "file_sync_slow",
    readme: include_str!("README.md"),
    family: Family::Files,
    refines: &[],
    equals: &[],
    has_lab: true,
    collectors: &["jfr", "system_calls"],
    needs: &[&[
        Need::Event("jdk.FileForce"),
        Need::Spans(span::SYSTEM_CALL, "system_calls"),
        Need::Spans(span::FILE_FORCE, "system_calls"),
    ]],
    actions: &[
        "sync once for many requests (group commit), or after the answer where a loss is acceptable",
        "put files that are synced on a device of their own: a sync also waits for others' writes to the same file system",
    ],
    decide,
};

/// Times more of it, in number or in length, than before: less is what a change of load does to any disk.
const MIN_RATIO: f64 = 1.5;

/// What is known of such waits on one period.
#[derive(Default)]
struct Syncs {
    waits: Vec<Span>,
    seconds: f64,
    /// Whether the kernel reported any, and not only the JVM.
    are_calls: bool,
}

impl Syncs {
    fn of(comparison: &Comparison<'_>, period: &Period<'_>) -> Syncs {
        let through = Through::of(period);
        let recording = period.sources.recording;
        let is_sync = |wait: &Span| block_io::is_force(period.sources, wait) || through.has(recording, wait);
        let waits: Vec<Span> = block_io::victims(comparison, period).map(|(_, wait)| wait).filter(is_sync).collect();
        // The kernel sees all calls, the JVM some of the same: where calls were looked at they are enough.
        let is_call = |wait: &Span| period.sources.recording.text(wait.kind) == span::SYSTEM_CALL;
        let looked_at = period.sources.calls_looked_at();
        let waits = waits.into_iter().filter(|wait| is_call(wait) || !looked_at.contains(wait.time_ns));
        let waits: Vec<Span> = waits.collect();
        let are_calls = waits.iter().any(is_call);
        Syncs { waits, seconds: period.seconds(), are_calls }
    }

    /// Those of the baseline, as far as the same source recorded then; else those that the JVM reported.
    fn before(&self, comparison: &Comparison<'_>) -> Option<Syncs> {
        let of = |period: &Period<'_>| Syncs::of(comparison, period);
        let all = || comparison.baseline.as_ref().map(of);
        match self.are_calls {
            true => {
                let looked_at = comparison.baseline_looked_at().as_ref().map(of);
                looked_at.or_else(|| all().filter(|baseline| !baseline.waits.is_empty()))
            }
            false => all(),
        }
    }

    fn total_ns(&self) -> f64 {
        0.0 + self.waits.iter().map(|wait| wait.duration_ns.max(0) as f64).sum::<f64>()
    }

    fn mean_ns(&self) -> f64 {
        self.total_ns() / self.waits.len().max(1) as f64
    }

    fn per_second(&self) -> f64 {
        self.waits.len() as f64 / self.seconds
    }
}

fn decide(comparison: &Comparison<'_>) -> Finding {
    let slow = Syncs::of(comparison, &comparison.slow);
    let Some(longest) = slow.waits.iter().max_by_key(|wait| wait.duration_ns) else {
        return by_looks(comparison).unwrap_or_else(|| {
            recording_threshold::of_waits(comparison, &["jdk.FileForce"], "waits for files to be written through")
        });
    };
    let baseline = slow.before(comparison);
    let evidence = evidence(comparison, &slow, baseline.as_ref(), longest);
    let unknown = comparison.says_if_baseline_is_unknown(baseline.as_ref()).unwrap_or("");
    let text = says(comparison, &slow, baseline.as_ref(), longest) + unknown;
    let (more, longer) = grown(&slow, baseline.as_ref());
    if !more && !longer {
        return Finding::absent(format!("{text}: no more than in the baseline")).with_all(evidence);
    }
    // Without a baseline it is unknown whether this is more than usual; the device's requests then say more.
    let has_usual =
        baseline.as_ref().is_some_and(|baseline| !baseline.waits.is_empty() || !block_io::is_recorded(comparison));
    let support = if has_usual { Support::Observed } else { Support::Weak };
    let mut finding = Finding::new(support, text).with_all(evidence);
    finding.claims = block_io::claims_of(slow.waits.iter().map(own).chain(through::for_others(comparison)));
    if longer && has_usual && block_io::is_recorded(comparison) {
        finding.chain.push("block_device_slow");
    }
    finding
}

/// A thread's own wait, and when it was.
fn own(wait: &Span) -> (Wait, i64, Intervals) {
    (Wait::File, wait.tid, Intervals::union(vec![(wait.time_ns, wait.end_ns())]))
}

/// The JDK's methods that write a file through.
const FORCES: &[&str] =
    &["java.io.FileDescriptor.sync", "sun.nio.ch.FileChannelImpl.force", "java.nio.MappedByteBuffer.force"];

/// The same where only looks at threads found them: neither how many nor how long.
fn by_looks(comparison: &Comparison<'_>) -> Option<Finding> {
    let recording = comparison.recording();
    let of =
        |period: &Period<'_>| WaitsBelow::looked_at(period, |wait| stacks::is_below(recording, wait.stack_id, FORCES));
    let (slow, baseline) = waits_below::both(comparison, of);
    let longest = slow.longest()?;
    let threads = (slow.threads(), baseline.as_ref().map(WaitsBelow::threads));
    let text = format!(
        "{} threads write files through on average{} (samples of the wall clock)",
        format::number(threads.0),
        format::baseline(threads.1, format::number)
    );
    let waiting = comparison.evidence("threads that write files through", threads, "threads", "samples");
    let waiting = Evidence { stack: comparison.stack_text(longest.stack_id, 12), ..waiting.of(&[span::SAMPLED_WAIT]) };
    if !growth::grew(threads) {
        return Some(Finding::absent(format!("{text}: no more than in the baseline")).with(waiting));
    }
    let claims = block_io::claims_of(slow.iter().map(own));
    Some(Finding { claims, ..Finding::new(Support::Consistent, text) }.with(waiting))
}

/// Whether there are more of them than before, and whether each takes longer.
fn grown(slow: &Syncs, baseline: Option<&Syncs>) -> (bool, bool) {
    match baseline {
        Some(baseline) if !baseline.waits.is_empty() => {
            (slow.per_second() >= MIN_RATIO * baseline.per_second(), slow.mean_ns() >= MIN_RATIO * baseline.mean_ns())
        }
        // There were none, or none that was long enough to be recorded.
        _ => (true, true),
    }
}

fn says(comparison: &Comparison<'_>, slow: &Syncs, baseline: Option<&Syncs>, longest: &Span) -> String {
    let baseline = baseline.filter(|baseline| !baseline.waits.is_empty());
    let before = |value: &dyn Fn(&Syncs) -> String| {
        baseline.map_or(String::new(), |baseline| format!(" (baseline {})", value(baseline)))
    };
    format!(
        "files were written through {} times per second{}, mean {}{}, longest {}{}",
        format::number(slow.per_second()),
        before(&|period| format::number(period.per_second())),
        format::time(slow.mean_ns()),
        before(&|period| format::time(period.mean_ns())),
        format::time(longest.duration_ns as f64),
        block_io::most_of_it(&comparison.slow, slow.waits.iter().map(|wait| (*wait, wait.duration_ns)))
    )
}

fn evidence(comparison: &Comparison<'_>, slow: &Syncs, baseline: Option<&Syncs>, longest: &Span) -> Vec<Evidence> {
    let kinds = &[span::FILE_FORCE, span::SYSTEM_CALL];
    let rate = (slow.per_second(), baseline.map(Syncs::per_second));
    let mean = (slow.mean_ns(), baseline.map(Syncs::mean_ns));
    let mean = comparison.evidence("mean time to write a file through", mean, "ns", "spans").of(kinds);
    vec![
        comparison.evidence("files written through", rate, "1/s", "spans").of(kinds),
        Evidence { stack: comparison.stack_text(longest.stack_id, 12), ..mean },
    ]
}
