//! The longest single stall or wait of a slow interval, by name.

use fathom_evidence::detail::{PageFault, from_text};
use fathom_evidence::kinds::span;
use fathom_timeline::{Segment, SlowInterval, Stop, ThreadState, Wait, telling_frame};

use crate::comparison::Comparison;
use crate::format;

/// A stall shorter than this does not stand out, in ns.
const STANDS_OUT_NS: i64 = 50_000_000;

/// `281 ms at 06:20:43.600 on lbm-receiver: waiting for pages of memory, first call of rare_function_7 from Java_Mds+0x86`.
pub(crate) fn of(comparison: &Comparison<'_>, interval: &SlowInterval) -> String {
    let is_in = |from: i64, to: i64| from < interval.to_ns && to > interval.from_ns;
    let stops = comparison.slow_stops().filter(|stop| is_in(stop.from_ns, stop.to_ns));
    let stop = stops.max_by_key(|stop| stop.duration_ns());
    let waits = comparison.slow_waits_in(interval.from_ns, interval.to_ns).filter(|(_, segment)| is_told(segment));
    let wait = waits.max_by_key(|(_, segment)| segment.length_ns());
    let stopped_ns = stop.map_or(0, |stop| stop.duration_ns());
    match wait.filter(|(_, segment)| segment.length_ns() > stopped_ns) {
        Some((tid, segment)) => of_wait(comparison, tid, segment),
        None => stop.map_or_else(String::new, |stop| {
            told(comparison, stop.from_ns, stop.duration_ns(), "", &of_stop(stop.stop))
        }),
    }
}

/// A wait that looks like idleness, or for a result that may take any time, is no stall.
fn is_told(segment: &Segment) -> bool {
    !matches!(segment.state, ThreadState::Blocked(Wait::Unnamed | Wait::Task))
}

fn of_stop(stop: Stop) -> String {
    ThreadState::Stopped(stop).to_string()
}

fn of_wait(comparison: &Comparison<'_>, tid: i64, segment: &Segment) -> String {
    let what = words(comparison, segment);
    told(comparison, segment.from_ns, segment.length_ns(), comparison.thread_name(tid), &what)
}

/// What a wait was for, and in what: `waiting for pages of memory, first call of f from g+0x86`.
pub(crate) fn words(comparison: &Comparison<'_>, segment: &Segment) -> String {
    let recording = comparison.recording();
    let mut what = segment.state.to_string();
    let Some(row) = segment.row else { return what };
    let wait = recording.spans.row(row as usize);
    let name = recording.text(wait.name);
    if recording.text(wait.kind) == span::PAGE_FAULT {
        what += &binding(&from_text(recording.text(wait.detail)));
    }
    let frame = telling_frame(recording, wait.stack_id).filter(|_| recording.text(wait.kind) != span::PAGE_FAULT);
    match frame {
        Some(frame) => what += &format!(" in {frame}"),
        None if !name.is_empty() => what += &format!(" ({name})"),
        None => {}
    }
    what
}

fn binding(fault: &PageFault) -> String {
    let Some(function) = &fault.being_bound else { return String::new() };
    let from = fault.call_site.as_ref().map_or(String::new(), |site| format!(" from {site}"));
    format!(", first call of {function}{from}")
}

fn told(comparison: &Comparison<'_>, from_ns: i64, length_ns: i64, thread: &str, what: &str) -> String {
    if length_ns < STANDS_OUT_NS {
        return String::new();
    }
    let at_s = from_ns.saturating_sub(comparison.sources().grid.start_ns) as f64 / 1e9;
    let on = if thread.is_empty() { String::new() } else { format!(" on {thread}") };
    format!("{} at second {at_s:.1}{on}: {what}", format::time(length_ns as f64))
}
