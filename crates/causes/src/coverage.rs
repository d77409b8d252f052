//! Whether somebody looked: what was not seen is excluded only where all that would have shown it was recorded for the slow time, from
//! events as short as it would be on, in the kind of frames that it has, by a recorder that ran. Causes declare what that is; none can
//! exclude itself.

use fathom_evidence::kinds::{loss, span};
use fathom_timeline::BUCKET_NS;

use crate::cause::Cause;
use crate::comparison::Comparison;
use crate::explanation::Missing;
use crate::measure::{faults, recording_threshold, stacks, system_gc, unsent};
use crate::need::Need;

/// The part of the slow time that must have been looked at.
const LOOKED_AT: f64 = 0.9;

/// What is missing for a cause to be excluded; nothing where all was recorded.
pub(crate) fn missing(comparison: &Comparison<'_>, cause: &Cause) -> Option<Missing> {
    let unmet = |group: &&&[Need]| !group.iter().any(|need| is_met(*need, comparison));
    let of_need = || cause.needs.iter().find(unmet).and_then(|group| group.first()).map(missing_for);
    table_gone(comparison).or_else(|| unobserved(comparison)).or_else(of_need)
}

/// Where a part of the recording is gone nobody knows what was in it.
fn table_gone(comparison: &Comparison<'_>) -> Option<Missing> {
    let recording = comparison.recording();
    let gone = recording.losses.rows().find(|row| recording.text(row.kind) == loss::MISSING)?;
    Some(Missing::from_kernel(recording.text(gone.says)))
}

/// Where requests were slow when nothing else was observed.
fn unobserved(comparison: &Comparison<'_>) -> Option<Missing> {
    let (from_ns, to_ns) = comparison.sources().observed_ns;
    let seen_ns = comparison.slow.time.within_ns(from_ns, to_ns);
    let is_unseen = comparison.is_slow() && 2 * seen_ns < comparison.slow.time.total_ns();
    is_unseen.then(|| Missing::from_kernel("nothing but requests was recorded in the slow period"))
}

fn is_met(need: Need, comparison: &Comparison<'_>) -> bool {
    let has_spans = |kind: &str| comparison.sources().spans(kind).len() > 0;
    match need {
        Need::Collections => comparison.has_collections(),
        Need::Stops => {
            comparison.is_recorded("jdk.SafepointBegin")
                || [span::SAFEPOINT, span::TIME_TO_SAFEPOINT, span::VM_OPERATION].into_iter().any(has_spans)
        }
        Need::SystemGc => system_gc::are_recorded(comparison),
        Need::Event(event) => recording_threshold::has_short_ones(comparison, event),
        Need::Counter(name) => is_counted(comparison, name),
        Need::Spans(kind, collector) => has_spans(kind) || comparison.has_source(collector),
        Need::PageFaults => faults::are_recorded(comparison),
        Need::Fact(about, key) => comparison.recording().fact(about, key).is_some(),
        Need::Samples => comparison.is_sampled(),
        Need::JvmFrames => comparison.is_sampled() && stacks::has_native_frames(comparison),
        Need::Sockets => unsent::was_measured(comparison),
        Need::Requests => comparison.sources().traffic.requests().next().is_some(),
    }
}

fn missing_for(need: &Need) -> Missing {
    let of_kernel = |says: &str| Missing::from_kernel(says);
    let of_jvm = |says: &str, record_with: &str| Missing { says: says.to_owned(), record_with: record_with.to_owned() };
    const LOG: &str = "-Xlog:gc*,safepoint*:file=gc.log:time,uptime,level,tags";
    const JFR: &str = "jcmd PID JFR.start settings=profile duration=60s filename=app.jfr, then fathom explain app.jfr";
    match *need {
        Need::Collections => of_jvm("no collections were recorded", LOG),
        Need::Stops => of_jvm("stops were not recorded", LOG),
        Need::SystemGc => of_jvm("who asked for collections was not recorded (JDK 17 and later do)", JFR),
        Need::Event(event) => recording_threshold::missing(event, &format!("short waits ({event}) were not recorded")),
        Need::Counter(name) => of_kernel(&format!("{name} was not recorded all the time")),
        Need::Spans(kind, _) => of_kernel(&format!("{kind} was not recorded")),
        Need::PageFaults => of_kernel("page faults with their duration and place were not recorded"),
        Need::Fact(_, key) => of_kernel(&format!("{key} was not recorded")),
        Need::Samples => of_jvm("what threads ran was not sampled in that time", JFR),
        Need::JvmFrames => of_kernel("the JVM's own frames were not sampled"),
        Need::Sockets => of_kernel("how answers and questions left the machine was not recorded"),
        Need::Requests => of_jvm("how many requests came was not recorded", "fathom explain … --latency access.csv"),
    }
}

/// Whether a counter was read for nearly all of the slow time: a row is written when its number changes, and when a look ends.
fn is_counted(comparison: &Comparison<'_>, name: &str) -> bool {
    let times = || {
        let all = comparison.sources().counters(name).into_values().flat_map(|series| series.0);
        all.map(|(time_ns, _)| time_ns).collect::<Vec<i64>>()
    };
    let times = times();
    let Some((first, last)) = times.iter().min().zip(times.iter().max()) else { return false };
    let slow = &comparison.slow.time;
    let read_ns = slow.within_ns(first.saturating_sub(BUCKET_NS), last.saturating_add(BUCKET_NS));
    read_ns as f64 >= LOOKED_AT * slow.total_ns() as f64
}
