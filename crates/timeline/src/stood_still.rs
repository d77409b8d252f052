//! When the whole machine was suspended: its hypervisor moved or copied it, or gave all of its CPUs to others at once.
//!
//! A thread of the recorder that only sleeps notices when no CPU handled its timer interrupt. That may be true of one CPU
//! while others go on. So a stall counts only if nothing else was recorded during it, and so much is recorded at other
//! times that this cannot be chance.

use fathom_evidence::StrId;
use fathom_evidence::kinds::{span, stall};
use fathom_evidence::tables::Span;

use crate::intervals::Intervals;
use crate::sources::Sources;
use crate::traffic::users;

/// Shorter ones are not felt.
const MIN_STALL_NS: i64 = 20_000_000;

/// What belongs to the beginning or the end of a stall may lie so far within it.
const EDGE_NS: i64 = 2_000_000;

/// As many events as these must be missing in it: that none comes by chance where five are usual has less than one chance in a hundred.
const MISSING: f64 = 5.0;

/// What is usual is seen so long before and after it.
const AROUND_NS: i64 = 3_000_000_000;

/// Events of these kinds are no sign that a CPU went on: Fathom makes them itself, or another machine does.
const NO_SIGN: &[&str] = &[span::HOST_STALL, span::OWN_ACTION, span::NOT_RECORDED, span::PROCESS_STOPPED];

/// When it stood still.
#[derive(Debug, Clone, Default)]
pub struct StoodStill {
    /// As far as that is certain.
    pub surely: Intervals,
    /// When it may have been only one CPU: too little happens there to tell.
    pub perhaps: Intervals,
}

impl StoodStill {
    pub(crate) fn of(sources: &Sources<'_>) -> StoodStill {
        let is_one = |late: &Span| {
            late.duration_ns >= MIN_STALL_NS && ["", stall::STOOD_STILL].contains(&sources.recording.text(late.name))
        };
        let stalls: Vec<Span> = sources.spans(span::HOST_STALL).filter(is_one).collect();
        if stalls.is_empty() {
            return StoodStill::default();
        }
        let events = Events::of(sources);
        let when = |is: Option<bool>| {
            // One of unknown kind may be that of one CPU.
            let of = |late: &Span| if late.name == StrId(0) { None } else { events.stood_still(late) };
            let such = stalls.iter().filter(|late| of(late) == is);
            Intervals::union(such.map(|late| (late.time_ns, late.end_ns())).collect())
        };
        StoodStill { surely: when(Some(true)), perhaps: when(None) }
    }
}

/// Instants at which something happened, in order.
struct Events(Vec<i64>);

impl Events {
    fn of(sources: &Sources<'_>) -> Events {
        let recording = sources.recording;
        let mut at_ns = recording.samples.time_ns.clone();
        for span in recording.spans.rows().filter(|span| is_sign(sources, span)) {
            at_ns.extend([span.time_ns, span.end_ns()]);
        }
        at_ns.sort_unstable();
        Events(at_ns)
    }

    /// Whether the machine stood still while a thread was woken late; `None` if unknown.
    fn stood_still(&self, late: &Span) -> Option<bool> {
        let (from_ns, to_ns) = (late.time_ns.saturating_add(EDGE_NS), late.end_ns().saturating_sub(EDGE_NS));
        if self.count(from_ns, to_ns) > 0 {
            return Some(false);
        }
        let around = self.count(from_ns.saturating_sub(AROUND_NS), to_ns.saturating_add(AROUND_NS));
        let expected = around as f64 / (2 * AROUND_NS) as f64 * to_ns.saturating_sub(from_ns) as f64;
        (expected >= MISSING).then_some(true)
    }

    fn count(&self, from_ns: i64, to_ns: i64) -> usize {
        let before = |ns: i64| self.0.partition_point(|at| *at < ns);
        before(to_ns.saturating_add(1)).saturating_sub(before(from_ns))
    }
}

fn is_sign(sources: &Sources<'_>, span: &Span) -> bool {
    let (kind, source) = (sources.recording.text(span.kind), sources.recording.text(span.source));
    !NO_SIGN.contains(&kind) && (kind != span::REQUEST || users::measures(source))
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;

    use super::*;

    const MS: i64 = 1_000_000;

    /// A thread that waits now and then; and a timer that is 100 ms late in the seconds 3 and 4, while on another CPU the
    /// thread goes on in the first of them.
    fn recording(per_second: i64) -> Recording {
        let mut recording = Recording::default();
        for at_ms in (0..10_000).step_by((1_000 / per_second) as usize) {
            if !(4_000..=4_100).contains(&at_ms) {
                recording.add_span(at_ms * MS, MS / 2, 7, span::BLOCKED, "futex", "", "scheduler");
            }
        }
        for at_ms in [3_000, 4_000] {
            recording.add_span(at_ms * MS, 100 * MS, 0, span::HOST_STALL, stall::STOOD_STILL, "", "heartbeat");
        }
        recording.add_span(4_050 * MS, 60 * MS, 0, span::REQUEST, "", "", "latency");
        recording.add_span(8_002 * MS, 50 * MS, 0, span::HOST_STALL, stall::NO_CPU, "", "heartbeat");
        recording
    }

    #[test]
    fn a_machine_stands_still_when_nothing_happens_on_it() {
        let still = vec![(4_000 * MS, 4_100 * MS)];
        for (per_second, surely, perhaps) in [(200, still.clone(), vec![]), (20, vec![], still)] {
            let recording = recording(per_second);
            let sources = Sources::new(&recording).unwrap();
            let found = StoodStill::of(&sources);
            let of = |found: &Intervals| found.iter().collect::<Vec<_>>();
            assert_eq!((of(&found.surely), of(&found.perhaps)), (surely, perhaps), "{per_second} waits a second");
        }
    }
}
