//! Waits of the application's threads, by the frame that shows what they waited for.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::StackId;
use fathom_evidence::detail::Wait as Detail;
use fathom_evidence::kinds::span;
use fathom_timeline::{Intervals, ThreadState, Wait, telling_frame};

use crate::cause::{Claim, Finding, Support};
use crate::comparison::Comparison;
use crate::explanation::Evidence;
use crate::format;
use crate::measure::growth;

/// Waits for another thread that works on the waiting one's behalf: it is unknown which call each of them is for.
const ON_ANOTHERS_BEHALF: [ThreadState; 2] = [ThreadState::Blocked(Wait::Task), ThreadState::Blocked(Wait::Unnamed)];

/// Waits for one thing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Waits {
    /// How many.
    pub count: usize,
    /// Their length in all, in ns.
    pub total_ns: i64,
    /// The longest of them, in ns.
    pub longest_ns: i64,
    /// Where the longest of them was.
    pub stack: StackId,
    /// How many of them only looks (thread dumps, samples) show, and how many of these found a thread in them.
    pub by_looks: (usize, usize),
}

/// What thread dumps and samples show of waits: not how many there were and how long each took.
pub fn found_by_looks(looks: usize) -> String {
    format!("a thread was found there {}", format::count(looks, "time"))
}

impl Waits {
    /// How many, and how long: `3 waits, mean 2 ms, longest 3 ms`; `usual` follows the mean.
    pub fn says(&self, usual: &str) -> String {
        if self.count > 0 && self.by_looks.0 == self.count {
            return found_by_looks(self.by_looks.1);
        }
        format!(
            "{}, mean {}{usual}, longest {}",
            format::count(self.count, "wait"),
            format::time(self.mean_ns()),
            format::time(self.longest_ns as f64)
        )
    }

    /// Their mean length, in ns.
    pub fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.count.max(1) as f64
    }
}

/// The answer if no wait of a kind was seen that only the collector of system calls records: each long one that has ended.
pub fn none_seen(comparison: &Comparison<'_>, not_recorded: &str, absent: &str) -> Finding {
    match comparison.sources().spans(span::SYSTEM_CALL).len() {
        0 => Finding::needs_kernel(not_recorded),
        _ => Finding::absent(absent),
    }
}

/// Waits of one kind that touch some time, by the frame that tells what was waited for. A wait that a stop cuts into two
/// segments is one wait.
fn by_frame(comparison: &Comparison<'_>, time: &Intervals, wait: Wait) -> BTreeMap<String, Waits> {
    by_frame_of(comparison, time, wait, |_| true)
}

/// The same of some threads.
fn by_frame_of(
    comparison: &Comparison<'_>,
    time: &Intervals,
    wait: Wait,
    is_one: impl Fn(i64) -> bool,
) -> BTreeMap<String, Waits> {
    let recording = comparison.recording();
    let within = |from_ns: i64, to_ns: i64| time.touches(from_ns, to_ns);
    let waits = comparison
        .analysis
        .account
        .waits(comparison.sources())
        .filter(|(tid, segment)| segment.state == ThreadState::Blocked(wait) && is_one(*tid));
    let rows: BTreeSet<u32> =
        waits.filter(|(_, s)| within(s.from_ns, s.to_ns)).filter_map(|(_, segment)| segment.row).collect();
    let mut found: BTreeMap<String, Waits> = BTreeMap::new();
    for span in rows.into_iter().map(|row| recording.spans.row(row as usize)) {
        let frame = telling_frame(recording, span.stack_id).unwrap_or("");
        let waits = found.entry(frame.to_owned()).or_default();
        waits.count += 1;
        if let Some(looks) = comparison.slow.detail::<Detail>(&span).looks {
            waits.by_looks = (waits.by_looks.0 + 1, waits.by_looks.1 + looks as usize);
        }
        waits.total_ns = waits.total_ns.saturating_add(span.duration_ns.max(0));
        if span.duration_ns >= waits.longest_ns {
            (waits.longest_ns, waits.stack) = (span.duration_ns, span.stack_id);
        }
    }
    found
}

/// A finding for waits of a kind: how many threads wait on average, where most, and for how long, claimed if more than
/// before. None without waits. They are for `many` things, each for `one`; `more` ends the text; `rows` are kinds of spans.
pub fn finding(
    comparison: &Comparison<'_>,
    wait: Wait,
    (many, one): (&str, &str),
    more: &str,
    rows: &[&'static str],
) -> Option<Finding> {
    let is_ours = |state| state == ThreadState::Blocked(wait);
    let by_frame = by_frame(comparison, &comparison.slow.time, wait).into_iter();
    // If the kernel saw some waits without stacks, those with a stack show where they are.
    let (frame, waits) = by_frame.max_by_key(|(frame, waits)| (!frame.is_empty(), waits.total_ns))?;
    let waiting = comparison.state_evidence(&format!("threads waiting for {many}"), "threads", is_ours);
    let before = format::baseline(waiting.baseline, format::number);
    let place = if frame.is_empty() { String::new() } else { format!("most in {frame}: ") };
    let text = format!(
        "{} threads wait for {many} on average{before}; {place}{}{more}",
        format::number(waiting.value),
        waits.says("")
    );
    if !growth::grew((waiting.value, waiting.baseline)) {
        return Some(Finding::absent(format!("{text}: no more than in the baseline")).with(waiting));
    }
    let says = format!("longest wait for {one}");
    let longest = comparison.evidence(&says, (waits.longest_ns as f64, None), "ns", "spans");
    let longest = Evidence { stack: comparison.wait_text(waits.stack, 12), ..longest.of(rows) };
    Some(Finding::new(Support::Observed, text).with(waiting).with(longest).claiming(comparison, is_ours))
}

/// For how long each thread of the application waited for one thing in some time, in ns.
pub fn by_thread(comparison: &Comparison<'_>, state: ThreadState, time: &Intervals) -> BTreeMap<i64, f64> {
    let mut sums = BTreeMap::new();
    let waits = comparison.analysis.account.waits(comparison.sources());
    for (tid, segment) in waits.filter(|(_, segment)| segment.state == state) {
        *sums.entry(tid).or_default() += segment.within_ns(time) as f64;
    }
    sums
}

/// Those of the slow time that took longest in all, with the frame that tells what was waited for.
pub fn most(comparison: &Comparison<'_>, wait: Wait) -> Option<(String, Waits)> {
    most_of(comparison, wait, |_| true)
}

/// The same of some threads.
pub fn most_of(comparison: &Comparison<'_>, wait: Wait, is_one: impl Fn(i64) -> bool) -> Option<(String, Waits)> {
    by_frame_of(comparison, &comparison.slow.time, wait, is_one)
        .into_iter()
        .max_by_key(|(frame, waits)| (waits.total_ns, frame.clone()))
}

/// The mean length of such waits in the baseline, in ns: 0 where all were too short to be recorded, none where there is no
/// baseline in this recording.
pub fn mean_before_ns(comparison: &Comparison<'_>, wait: Wait, frame: &str) -> Option<f64> {
    let baseline = comparison.baseline_here()?;
    Some(by_frame(comparison, &baseline.time, wait).get(frame).map_or(0.0, Waits::mean_ns))
}

/// Claims for calls where a library waits for some on threads of its own: the part of their additional time, in ns, that
/// threads did not wait at sockets themselves.
pub fn for_calls_of_others(comparison: &Comparison<'_>, longer_ns: f64) -> Vec<Claim> {
    let elsewhere_ns = longer_ns - comparison.grown_ns(ThreadState::Blocked(Wait::Socket));
    Claim::parts_in_order(comparison, &ON_ANOTHERS_BEHALF, elsewhere_ns)
}

/// Claims for calls that were made within requests: as much as such calls lasted longer, in ns, from unknown time. It is
/// known only that requests were late then.
pub fn for_calls_in_requests(comparison: &Comparison<'_>, longer_ns: f64) -> Vec<Claim> {
    Claim::parts_in_order(comparison, &[ThreadState::Unknown], longer_ns)
}
