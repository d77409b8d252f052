//! Waits that a thread cannot have had: within them it answered requests and made calls.
//!
//! A profiler notes when a lock is wanted and when it is acquired. A virtual thread that wants one leaves its carrier,
//! which goes on with others. So one long wait of the carrier was noted that did not happen (seen with JDK 25).

use std::collections::{HashMap, HashSet};

use fathom_evidence::detail::{Request, from_text};
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StrId};

use super::chosen::CLOCKS_DIFFER_NS;

/// Who measures at sockets knows the kernel's thread.
const AT_SOCKETS: &str = "requests";

const WAITS: [&str; 3] = [span::MONITOR_ENTER, span::MONITOR_WAIT, span::PARK];

/// One may be of a clock that is off.
const TIMES: usize = 2;

/// Leaves these out of the chosen rows.
pub(super) fn leave_out(recording: &Recording, rows: &mut HashMap<StrId, Vec<u32>>) {
    let kinds: Vec<StrId> = WAITS.iter().filter_map(|kind| recording.strings.find(kind)).collect();
    let chosen = kinds.iter().filter_map(|kind| rows.get(kind)).flatten();
    let waits = chosen.map(|row| recording.spans.row(*row as usize));
    let waiting: HashSet<i64> = waits.filter(|wait| inside(wait).is_some()).map(|wait| wait.tid).collect();
    if waiting.is_empty() {
        return;
    }
    let acted_ns = acted_ns(recording, &waiting);
    for kind in kinds {
        if let Some(rows) = rows.get_mut(&kind) {
            rows.retain(|row| !is_contradicted(&recording.spans.row(*row as usize), &acted_ns));
        }
    }
}

/// The time of a wait that lies within it whichever clock is off; none of a short one.
fn inside(wait: &Span) -> Option<(i64, i64)> {
    let from_ns = wait.time_ns.saturating_add(CLOCKS_DIFFER_NS);
    let to_ns = wait.end_ns().saturating_sub(CLOCKS_DIFFER_NS);
    (from_ns < to_ns).then_some((from_ns, to_ns))
}

/// When each of some threads answered a request or made a call.
fn acted_ns(recording: &Recording, threads: &HashSet<i64>) -> HashMap<i64, Vec<i64>> {
    let [request, call] = [span::REQUEST, span::CALL].map(|kind| recording.strings.find(kind));
    let source = recording.strings.find(AT_SOCKETS);
    let mut acted_ns: HashMap<i64, Vec<i64>> = HashMap::new();
    let is_meant = |row: &Span| row.tid > 0 && Some(row.source) == source && threads.contains(&row.tid);
    for row in recording.spans.rows().filter(is_meant) {
        let at_ns = match Some(row.kind) {
            kind if kind == request => answered_ns(recording, &row),
            kind if kind == call => row.time_ns,
            _ => continue,
        };
        acted_ns.entry(row.tid).or_default().push(at_ns);
    }
    acted_ns.values_mut().for_each(|times| times.sort_unstable());
    acted_ns
}

/// When the program had given the answer away.
fn answered_ns(recording: &Recording, row: &Span) -> i64 {
    let detail: Request = from_text(recording.text(row.detail));
    row.end_ns().saturating_sub(detail.unsent_ns.unwrap_or(0))
}

fn is_contradicted(wait: &Span, acted_ns: &HashMap<i64, Vec<i64>>) -> bool {
    let Some(((from_ns, to_ns), times)) = inside(wait).zip(acted_ns.get(&wait.tid)) else { return false };
    let before = |ns: i64| times.partition_point(|at_ns| *at_ns < ns);
    before(to_ns).saturating_sub(before(from_ns.saturating_add(1))) >= TIMES
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Recording;

    use super::*;

    #[test]
    fn a_thread_that_answers_and_calls_waits_for_no_lock_meanwhile() {
        const MS: i64 = 1_000_000;
        let mut recording = Recording::default();
        for at in 0..100 {
            recording.add_span(at * 20 * MS, 10 * MS, 1, span::REQUEST, ":8080", "", AT_SOCKETS);
            recording.add_span(at * 20 * MS, 5 * MS, 2, span::CALL, "db:5432", "", AT_SOCKETS);
        }
        let waits = [(1, 500, 1_000), (2, 500, 1_000), (3, 500, 1_000), (1, 500, 150), (1, 2_100, 900)];
        for (tid, at, length) in waits {
            recording.add_span(at * MS, length * MS, tid, span::MONITOR_ENTER, "java.io.PrintStream", "", "jfr");
        }
        let kind = recording.strings.find(span::MONITOR_ENTER).unwrap();
        let mut rows = HashMap::from([(kind, (200..205).collect::<Vec<u32>>())]);
        leave_out(&recording, &mut rows);
        assert_eq!(rows[&kind], [202, 203, 204], "another thread, a short one, one after the last request");
    }
}
