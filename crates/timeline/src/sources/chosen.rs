//! Chooses the source of each kind of spans and of each counter.
//!
//! Two sources may report the same pause, so at any time the spans of a kind come from one source. A source that ends in
//! the middle of the accounted time (a rotated log, a recorder that started late) says nothing of the rest: the next source
//! is used there.

use std::collections::HashMap;

use fathom_evidence::kinds::span;
use fathom_evidence::tables::{Counter, Span};
use fathom_evidence::{Recording, StrId};

use crate::intervals::Intervals;
use crate::traffic::users;

/// Sources that see the same from outside and know less of each: used where the JVM's own files cover much less.
const STAND_INS: [(&str, f64); 4] = [("jvm_probes", 0.8), ("hsperfdata", 0.6), ("jstat", 0.4), ("prometheus", 0.2)];

/// Which of two sources of a kind of spans is taken: the one that knows better, else one that has any in the accounted time,
/// else the one that covers more time, else the one that stands in for no other: of one event each it has the better one.
type Rank = (u8, bool, i64, bool, StrId);

/// The maximum difference between the clocks of two sources, in ns: a span this near to the time that a source covers may
/// be one that it has reported.
pub(super) const CLOCKS_DIFFER_NS: i64 = 100_000_000;

/// A span whose end was recorded may have begun long before the recording: so much of it was observed, in ns.
const SURELY_LOOKED_AT_NS: i64 = 1_000_000_000;

/// The spans of a kind that one source tells, in order of their beginning.
struct Told {
    rank: Rank,
    source: StrId,
    rows: Vec<u32>,
}

/// Rows of the spans of each kind, in order of their beginning.
pub(super) fn spans(recording: &Recording, accounted: (i64, i64)) -> HashMap<StrId, Vec<u32>> {
    let mut by_source: HashMap<(StrId, StrId), Vec<u32>> = HashMap::new();
    for (index, (kind, source)) in recording.spans.kind.iter().zip(&recording.spans.source).enumerate() {
        by_source.entry((*kind, *source)).or_default().push(index as u32);
    }
    let mut by_kind: HashMap<StrId, Vec<Told>> = HashMap::new();
    for ((kind, source), mut rows) in by_source {
        rows.sort_by_key(|row| recording.spans.time_ns[*row as usize]);
        let rank = rank(recording, (kind, source), &rows, accounted);
        by_kind.entry(kind).or_default().push(Told { rank, source, rows });
    }
    let looked = looked(recording, accounted);
    by_kind.into_iter().map(|(kind, told)| (kind, together(recording, kind, told, &looked, accounted))).collect()
}

fn rank(recording: &Recording, (kind, source): (StrId, StrId), rows: &[u32], accounted: (i64, i64)) -> Rank {
    let start = |row: Option<&u32>| row.map_or(0, |row| recording.spans.time_ns[*row as usize]);
    let extent = start(rows.last()).saturating_sub(start(rows.first()));
    let stands_in = STAND_INS.iter().find(|(name, _)| *name == recording.text(source));
    let extent = stands_in.map_or(extent, |(_, part)| (extent as f64 * part) as i64);
    let is_accounted = rows.iter().any(|row| touches(&recording.spans.row(*row as usize), accounted));
    (users::rank_of_source(recording, kind, source), is_accounted, extent, stands_in.is_none(), source)
}

fn touches(span: &Span, (from_ns, to_ns): (i64, i64)) -> bool {
    span.time_ns <= to_ns && span.end_ns() >= from_ns
}

/// The first and last time at which each source reported anything, within the accounted time.
fn looked(recording: &Recording, accounted: (i64, i64)) -> HashMap<StrId, (i64, i64)> {
    let seen = recording.spans.rows().filter(|span| touches(span, accounted)).map(|span| {
        let end_ns = span.end_ns();
        (span.source, span.time_ns.max(end_ns.saturating_sub(SURELY_LOOKED_AT_NS)), end_ns)
    });
    let is_accounted = |ns: &i64| (accounted.0..=accounted.1).contains(ns);
    let read = recording.counters.rows().filter(|row| is_accounted(&row.time_ns));
    let read = read.map(|row| (row.source, row.time_ns, row.time_ns));
    let mut looked: HashMap<StrId, (i64, i64)> = HashMap::new();
    for (source, from_ns, to_ns) in seen.chain(read) {
        let known = looked.entry(source).or_insert((from_ns, to_ns));
        *known = (known.0.min(from_ns), known.1.max(to_ns));
    }
    looked
}

/// The spans of the best source, and those of the others for time that no better one covers. Requests come from one source:
/// those measured by clients and those measured at sockets are different ones.
fn together(
    recording: &Recording,
    kind: StrId,
    mut told: Vec<Told>,
    looked: &HashMap<StrId, (i64, i64)>,
    accounted: (i64, i64),
) -> Vec<u32> {
    told.sort_unstable_by_key(|told| std::cmp::Reverse(told.rank));
    told.truncate(if recording.text(kind) == span::REQUEST { 1 } else { told.len() });
    let mut rows = Vec::new();
    let mut covered = Vec::new();
    for told in told {
        let known = Intervals::union(covered.clone());
        let is_news = |row: &u32| {
            let span = recording.spans.row(*row as usize);
            touches(&span, accounted) && is_elsewhere(&span, &known)
        };
        let is_best = covered.is_empty();
        rows.extend(told.rows.into_iter().filter(|row| is_best || is_news(row)));
        covered.push(looked.get(&told.source).copied().unwrap_or(accounted));
    }
    rows.sort_by_key(|row| recording.spans.time_ns[*row as usize]);
    rows
}

/// Whether a span was not reported yet. A long one next to the reported time is one of its own.
fn is_elsewhere(span: &Span, told: &Intervals) -> bool {
    let (from_ns, to_ns) = (span.time_ns, span.end_ns());
    let is_near = told.touches(from_ns.saturating_sub(CLOCKS_DIFFER_NS), to_ns.saturating_add(CLOCKS_DIFFER_NS));
    !told.touches(from_ns, to_ns) && (!is_near || span.duration_ns > CLOCKS_DIFFER_NS)
}

/// Whether there are rows in the accounted time, whether they are of no capture of packets, how many there are in that time, how
/// many in all, and whose they are. A capture has a row each tenth of a second, but its filter may have left packets out, and it
/// may have ports of other processes.
type RankOfCounter = (bool, bool, usize, usize, StrId);

/// The name of a counter, and whether it counts datagrams.
type WhichCounter = (StrId, bool);

/// Rows of each counter with a number, of the source that has most of them in the accounted time. Those of another one are not
/// put beside them: what two sources count need not have begun at the same number. Datagrams are apart: one source counts them and
/// connections under one name, another only one of both.
pub(super) fn counters(recording: &Recording, (from_ns, to_ns): (i64, i64)) -> HashMap<StrId, Vec<u32>> {
    let capture = recording.strings.find(users::CAPTURE);
    let is_of_datagrams = |row: &Counter| recording.text(row.instance).starts_with("udp ");
    let mut by_source: HashMap<(WhichCounter, StrId), (usize, Vec<u32>)> = HashMap::new();
    for (index, row) in recording.counters.rows().enumerate().filter(|(_, row)| row.value.is_finite()) {
        let (accounted, rows) = by_source.entry(((row.name, is_of_datagrams(&row)), row.source)).or_default();
        *accounted += usize::from((from_ns..=to_ns).contains(&row.time_ns));
        rows.push(index as u32);
    }
    let mut chosen: HashMap<WhichCounter, (RankOfCounter, Vec<u32>)> = HashMap::new();
    for ((counter, source), (accounted, rows)) in by_source {
        let rank = (accounted > 0, Some(source) != capture, accounted, rows.len(), source);
        if chosen.get(&counter).is_none_or(|(best, _)| rank > *best) {
            chosen.insert(counter, (rank, rows));
        }
    }
    let mut by_name: HashMap<StrId, Vec<u32>> = HashMap::new();
    for ((name, _), (_, rows)) in chosen {
        by_name.entry(name).or_default().extend(rows);
    }
    by_name.values_mut().for_each(|rows| rows.sort_unstable());
    by_name
}

#[cfg(test)]
mod tests {
    use fathom_evidence::kinds::counter;

    use super::*;

    const S: i64 = 1_000_000_000;

    /// Pauses and counters of some sources: who, from which second to which, every how many seconds.
    fn recording(told: &[(&str, i64, i64, i64)]) -> Recording {
        let mut recording = Recording::default();
        for (source, from, to, step) in told {
            for at in (*from..*to).step_by(*step as usize) {
                recording.add_span(at * S, 5_000_000, 0, span::GC_PAUSE, "Pause Young", "", source);
                recording.add_counter(at * S, counter::HEAP_USED_BYTES, "before_gc", 1.0, source);
            }
        }
        recording
    }

    /// How many pauses of each source are taken.
    fn taken<const N: usize>(recording: &Recording, sources: [&str; N]) -> [usize; N] {
        let rows = spans(recording, (0, 60 * S)).remove(&recording.strings.find(span::GC_PAUSE).unwrap()).unwrap();
        assert!(rows.is_sorted_by_key(|row| recording.spans.time_ns[*row as usize]));
        let of = |row: &&u32| recording.text(recording.spans.source[**row as usize]);
        sources.map(|source| rows.iter().filter(|row| of(row) == source).count())
    }

    #[test]
    fn a_source_that_ends_within_silences_no_other() {
        const BOTH: [&str; 2] = ["gc_log", "jfr"];
        for (told, expected) in [
            // Both cover all the time: the longer log is taken, alone.
            (&[("gc_log", -7_200, 61, 2), ("jfr", 0, 61, 2)][..], [3_631, 0]),
            // It ends in second 20, before the recording, or around it.
            (&[("gc_log", -7_200, 20, 2), ("jfr", 0, 60, 2)], [3_610, 20]),
            (&[("gc_log", -7_200, -600, 2), ("jfr", 0, 60, 2)], [0, 30]),
            (&[("gc_log", -7_200, -600, 2), ("jfr", 0, 60, 2), ("gc_log", 600, 700, 2)], [0, 30]),
            // The recorder came late, or went early.
            (&[("gc_log", 0, 30, 2), ("jfr", 20, 60, 2)], [10, 20]),
            (&[("gc_log", 20, 60, 2), ("jfr", 0, 30, 2)], [20, 10]),
        ] {
            assert_eq!(taken(&recording(told), BOTH), expected, "{told:?}");
        }
    }

    #[test]
    fn what_stands_in_is_taken_where_nobody_else_tells() {
        let told = [("gc_log", 0, 20, 2), ("jfr", 38, 60, 2), ("jvm_probes", 18, 38, 2)];
        assert_eq!(taken(&recording(&told), ["gc_log", "jfr", "jvm_probes"]), [10, 11, 9]);
    }

    #[test]
    fn one_event_by_two_clocks_is_taken_once() {
        let mut recording = recording(&[("jfr", 0, 41, 2)]);
        let mut add = |ms: i64, length_ms: i64| {
            recording.add_span(ms * 1_000_000, length_ms * 1_000_000, 0, span::GC_PAUSE, "Pause", "", "gc_log");
        };
        // The last one again, one that overlaps it, and a long one that does not.
        [(40_030, 5), (40_001, 450), (40_020, 450), (43_000, 5)].into_iter().for_each(|(at, length)| add(at, length));
        assert_eq!(taken(&recording, ["jfr", "gc_log"]), [21, 2]);
    }

    #[test]
    fn counters_are_of_who_has_most_in_the_accounted_time() {
        let recording = recording(&[("gc_log", -7_200, 20, 2), ("jfr", 0, 60, 2)]);
        let rows = counters(&recording, (0, 60 * S)).into_values().next().unwrap();
        assert!(rows.iter().all(|row| recording.text(recording.counters.source[*row as usize]) == "jfr"));
    }

    #[test]
    fn a_capture_counts_what_sockets_do_not() {
        let mut recording = Recording::default();
        for at in 0..600 {
            for port in [":8080", ":9090", "udp 8125"] {
                recording.add_counter(at * S / 10, counter::DATA_ARRIVALS_COUNT, port, at as f64, users::CAPTURE);
            }
            recording.add_span(at * S / 10, 5, 0, span::REQUEST, ":8080", "", users::CAPTURE);
        }
        let counted = |recording: &Recording| {
            let rows = counters(recording, (0, 60 * S)).into_values().next().unwrap();
            [":8080", ":9090", "udp 8125"].map(|port| {
                let of_port = |row: &&u32| recording.text(recording.counters.instance[**row as usize]) == port;
                rows.iter().filter(of_port).count()
            })
        };
        let requests = |recording: &Recording| spans(recording, (0, 60 * S)).into_values().next().unwrap().len();
        assert_eq!((counted(&recording), requests(&recording)), ([600; 3], 600));
        for at in 10..50 {
            recording.add_counter(at * S, counter::DATA_ARRIVALS_COUNT, ":8080", at as f64, users::AT_SOCKETS);
            recording.add_span(at * S, 5, 0, span::REQUEST, ":8080", "", users::AT_SOCKETS);
        }
        assert_eq!((counted(&recording), requests(&recording)), ([40, 0, 600], 40));
        // Who counts datagrams at the sockets knows nothing of connections.
        (0..30).for_each(|at| {
            recording.add_counter(at * S, counter::DATA_ARRIVALS_COUNT, "udp 8125", at as f64, "datagrams")
        });
        assert_eq!(counted(&recording), [40, 0, 30]);
        // Sockets that were measured at another time say nothing of this one.
        let rows = counters(&recording, (51 * S, 60 * S)).into_values().next().unwrap();
        assert_eq!(rows.len(), 3 * 600);
    }
}
