//! Moves logs of another clock to where their collections are in a recording of the same JVM.
//!
//! A log may have no time at all, the time of a host whose clock is off, or that of an unknown zone. It shares the
//! collections with a recording of the JVM: their lengths and the distances between them. If enough of them fit at one
//! place and no other, that is the place, and what does not fit exactly is reported.

use fathom_evidence::kinds::{loss, subject};
use fathom_evidence::{Recording, Table};
use fathom_readers::{TIMES_NS, written_ns};

use super::collections::{AGREES, SEVERAL, SLACK_NS, collections, share_of_same};
use super::source::{Source, traits};

/// Collections of which the lengths are compared: the longest are the most telling ones.
const COMPARED_MAX: usize = 400;

/// Pauses of one collection are as long in a log as in a recording, but for this part and this much, in ns.
const SAME_LENGTH: f64 = 0.03;
const SAME_LENGTH_NS: f64 = 600_000.0;

/// A second place where more than this part of the collections fit makes the first a guess.
const AMBIGUOUS: f64 = 0.7;

/// Moves logs whose collections are not where those of the only recording of a JVM beside them are.
pub(super) fn by_collections(sources: &mut [Source]) {
    let traits = traits(sources);
    for index in 0..sources.len() {
        let is_log = !traits[index].is_identified() && !traits[index].only_requests;
        let known: Vec<usize> = (0..sources.len()).filter(|other| traits[*other].is_identified()).collect();
        let near = |other: &usize| traits[*other].folder == traits[index].folder;
        let beside: Vec<usize> = known.iter().copied().filter(near).collect();
        let candidates = if beside.is_empty() { known } else { beside };
        let with_collections: Vec<usize> =
            candidates.into_iter().filter(|other| traits[*other].collections_ns.len() >= SEVERAL).collect();
        let ([reference], true) = (&with_collections[..], is_log) else { continue };
        let reference_name = super::file_name(&sources[*reference].paths[0]);
        let reference = collections(&sources[*reference].recording);
        move_to(&mut sources[index], &reference, &reference_name);
    }
}

/// Moves what a source gave by what the caller says. That its clock had to be assumed is no loss any more.
pub(super) fn by_offset(source: &mut Source, offset_ns: i64) {
    let moved = Moved { steps: vec![(i64::MIN, offset_ns)], matched: 0, residual_ns: 0 };
    let recording = &mut source.recording;
    moved.apply(recording);
    let estimated = recording.strings.find(loss::CLOCK_ESTIMATED);
    let keep: Vec<bool> = recording.losses.kind.iter().map(|kind| Some(*kind) != estimated).collect();
    recording.losses.retain(&keep);
    let name = super::file_name(&source.paths[0]);
    let says = format!("{name} was moved by {:.3} s, as --clock-offset says", offset_ns as f64 / 1e9);
    recording.add_loss(source.format, loss::CLOCK_ESTIMATED, 0, &says);
}

/// Moves what a source gave whose clock counts from a start of its own to where it ends when its file was written.
pub(super) fn by_writing(source: &mut Source) {
    let path = &source.paths[0];
    let name = super::file_name(path);
    let (moved_ns, why) = match source.recording.time_range_ns() {
        Some((_, last_ns)) if last_ns < TIMES_NS.start => {
            let why = "its clock counts from a start of its own, and it is placed by when the file was written";
            (written_ns(path).saturating_sub(last_ns), why)
        }
        _ => (0, "the date that it gives cannot be relied on"),
    };
    Moved { steps: vec![(i64::MIN, moved_ns)], matched: 0, residual_ns: 0 }.apply(&mut source.recording);
    let says = format!(
        "{name}: {why}, so that distances are right and dates may not be. Beside other files give --clock-offset {name}=TIME"
    );
    source.recording.add_loss(source.format, loss::CLOCK_ESTIMATED, 0, &says);
}

fn move_to(log: &mut Source, reference: &[(i64, i64)], reference_name: &str) {
    let own = collections(&log.recording);
    let moved = match log.recording.fact(subject::GC, "times") {
        Some("none") => one_by_one(&own, reference),
        _ if starts_agree(&own, reference) => None,
        _ => offset(&own, reference),
    };
    let Some(moved) = moved else { return };
    let says = format!(
        "{} was moved by {:.3} s, to where {} of its collections are in {reference_name}; these are off by {:.1} ms then (median)",
        super::file_name(&log.paths[0]),
        moved.steps.first().map_or(0, |step| step.1) as f64 / 1e9,
        moved.matched,
        moved.residual_ns as f64 / 1e6
    );
    moved.apply(&mut log.recording);
    log.recording.add_loss(log.format, loss::CLOCK_ESTIMATED, 0, &says);
}

fn starts_agree(own: &[(i64, i64)], reference: &[(i64, i64)]) -> bool {
    let starts = |list: &[(i64, i64)]| list.iter().map(|pause| pause.0).collect::<Vec<_>>();
    share_of_same(&starts(own), &starts(reference)).is_none_or(|share| share >= AGREES) && overlap(own, reference)
}

fn overlap(own: &[(i64, i64)], reference: &[(i64, i64)]) -> bool {
    let ends = |list: &[(i64, i64)]| Some((list.first()?.0, list.last()?.0));
    ends(own).zip(ends(reference)).is_none_or(|((from, to), (begin, end))| from <= end && begin <= to)
}

/// Where times go.
#[derive(Debug, PartialEq)]
struct Moved {
    /// From an instant on, times go up by so much, in ns.
    steps: Vec<(i64, i64)>,
    matched: usize,
    residual_ns: i64,
}

impl Moved {
    fn of(&self, time_ns: i64) -> i64 {
        let next = self.steps.partition_point(|(from, _)| *from <= time_ns);
        let step = self.steps.get(next.saturating_sub(1)).map_or(0, |step| step.1);
        time_ns.saturating_add(step)
    }

    fn apply(&self, recording: &mut Recording) {
        let started_at_ns = recording.fact(subject::JVM, "started_at_ns").and_then(|text| text.parse::<i64>().ok());
        let columns = [
            &mut recording.samples.time_ns,
            &mut recording.spans.time_ns,
            &mut recording.counters.time_ns,
            &mut recording.clocks.time_ns,
        ];
        columns.into_iter().flatten().for_each(|time| *time = self.of(*time));
        // A line of a log without a time stays without one.
        recording.logs.time_ns.iter_mut().filter(|time| **time != 0).for_each(|time| *time = self.of(*time));
        // Nor does a loss of the whole recording.
        let losses = [&mut recording.losses.from_ns, &mut recording.losses.to_ns];
        losses.into_iter().flatten().filter(|time| **time != 0).for_each(|time| *time = self.of(*time));
        if let Some(started) = started_at_ns {
            recording.add_fact(subject::JVM, "started_at_ns", &self.of(started).to_string(), "gc_log");
        }
        let times = recording.strings.find("times");
        let keep: Vec<bool> = recording.facts.key.iter().map(|key| Some(*key) != times).collect();
        recording.facts.retain(&keep);
    }
}

/// By how much all times of a log are off: where most of its pauses are as long as those of the recording.
fn offset(own: &[(i64, i64)], reference: &[(i64, i64)]) -> Option<Moved> {
    let mut offsets: Vec<i64> = Vec::new();
    let (longest, theirs) = (longest(own), longest(reference));
    for pause in &longest {
        let alike = theirs.iter().filter(|other| is_as_long(pause.1, other.1));
        offsets.extend(alike.map(|other| other.0.saturating_sub(pause.0)));
    }
    offsets.sort_unstable();
    let (count, offset_ns) = densest(&offsets, None)?;
    let (second, _) = densest(&offsets, Some(offset_ns)).unwrap_or_default();
    let moved: Vec<(i64, i64)> = own.iter().map(|pause| (pause.0.saturating_add(offset_ns), pause.1)).collect();
    let is_there = starts_agree(&moved, reference) && (second as f64) < AMBIGUOUS * count as f64;
    let residual_ns =
        median(offsets.iter().map(|other| other.abs_diff(offset_ns) as i64).filter(|off| *off <= SLACK_NS));
    (is_there && count >= SEVERAL).then_some(Moved { steps: vec![(i64::MIN, offset_ns)], matched: count, residual_ns })
}

fn longest(pauses: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut longest = pauses.to_vec();
    longest.sort_unstable_by_key(|pause| std::cmp::Reverse(pause.1));
    longest.truncate(COMPARED_MAX);
    longest
}

fn is_as_long(own_ns: i64, other_ns: i64) -> bool {
    own_ns.abs_diff(other_ns) as f64 <= SAME_LENGTH_NS.max(SAME_LENGTH * own_ns as f64)
}

/// The middle of the offsets that lie closest together, and how many they are; without those near `other`.
fn densest(offsets: &[i64], other: Option<i64>) -> Option<(usize, i64)> {
    let is_other = |offset: i64| other.is_some_and(|other| offset.abs_diff(other) <= 3 * SLACK_NS.unsigned_abs());
    let mut best: Option<(usize, i64)> = None;
    let mut end = 0;
    for (index, first) in offsets.iter().enumerate() {
        end = end.max(index);
        while end < offsets.len() && offsets[end] <= first.saturating_add(SLACK_NS) {
            end += 1;
        }
        let middle = offsets[index + (end - index) / 2];
        if !is_other(middle) && best.is_none_or(|(count, _)| end - index > count) {
            best = Some((end - index, middle));
        }
    }
    best
}

/// The pauses of a log without times, each to the one of the recording that it is: one row of lengths slides along the
/// other until they are alike.
fn one_by_one(own: &[(i64, i64)], reference: &[(i64, i64)]) -> Option<Moved> {
    const PAUSES_MAX: usize = 4_000;
    let (own, reference) = (&own[..own.len().min(PAUSES_MAX)], &reference[..reference.len().min(PAUSES_MAX)]);
    let shifts = 1 - own.len() as i64..reference.len() as i64;
    let pairs = |shift: i64| {
        own.iter().enumerate().filter_map(move |(index, pause)| {
            let other = reference.get(usize::try_from(index as i64 + shift).ok()?)?;
            Some((*pause, *other))
        })
    };
    let alike = |shift: i64| pairs(shift).filter(|(pause, other)| is_as_long(pause.1, other.1)).count();
    let best = shifts.clone().max_by_key(|shift| alike(*shift))?;
    let matched = alike(best);
    let second = shifts.filter(|shift| *shift != best).map(alike).max().unwrap_or(0);
    let is_clear = (second as f64) < AMBIGUOUS * matched as f64
        && matched >= SEVERAL
        && matched as f64 >= 0.8 * pairs(best).count() as f64;
    let steps = pairs(best).map(|(pause, other)| (pause.0, other.0.saturating_sub(pause.0))).collect();
    let residual_ns = median(pairs(best).map(|(pause, other)| pause.1.abs_diff(other.1) as i64));
    is_clear.then_some(Moved { steps, matched, residual_ns })
}

fn median(values: impl Iterator<Item = i64>) -> i64 {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_moved_by_what_the_caller_says() {
        let mut recording = Recording::default();
        recording.add_counter(5_000_000_000, "tasks_count", "runnable", 1.0, "vmstat");
        recording.add_loss("vmstat", loss::CLOCK_ESTIMATED, 0, "local time");
        let mut source = Source { paths: vec!["vmstat.txt".into()], format: "vmstat", recording };
        by_offset(&mut source, -2_000_000_000);
        assert_eq!(source.recording.counters.time_ns, [3_000_000_000]);
        let says: Vec<&str> = source.recording.losses.rows().map(|row| source.recording.text(row.says)).collect();
        assert_eq!(says, ["vmstat.txt was moved by -2.000 s, as --clock-offset says"]);
    }

    /// Pauses at irregular instants and of irregular lengths, in ms.
    fn pauses(from_ms: i64, count: i64) -> Vec<(i64, i64)> {
        let chance =
            |index: i64| (index + 1).wrapping_mul(6_364_136_223_846_793_005).rotate_right(40).rem_euclid(9_973);
        let at = |index: i64| from_ms + index * 900 + chance(index) % 500;
        (0..count).map(|index| (at(index) * 1_000_000, (50 + chance(index * 7) % 400) * 100_000)).collect()
    }

    #[test]
    fn a_clock_that_is_off_is_found() {
        let reference = pauses(0, 50);
        let log: Vec<_> = pauses(3_600_000, 50)[10..40].iter().map(|(at, ns)| (at + 1_000_000, ns + 100_000)).collect();
        let moved = offset(&log, &reference).unwrap();
        assert_eq!((moved.of(log[0].0), moved.of(log[29].0)), (reference[10].0, reference[39].0));
        assert!(moved.matched >= 30 && moved.residual_ns < 2_000_000, "{moved:?}");
        // Pauses that are all alike and equally far apart fit anywhere.
        let regular: Vec<_> = (0..50).map(|index| (index * 1_000_000_000, 8_000_000)).collect();
        let later: Vec<_> = regular.iter().map(|(at, ns)| (at + 3_600_000_000_000, *ns)).collect();
        assert_eq!(offset(&later, &regular), None);
        assert_eq!(offset(&[], &reference), None);
    }

    #[test]
    fn pauses_without_times_find_their_own() {
        let reference = pauses(0, 50);
        let log: Vec<_> =
            reference[5..30].iter().enumerate().map(|(index, pause)| (index as i64 * 2_000_000_000, pause.1)).collect();
        let moved = one_by_one(&log, &reference).unwrap();
        assert_eq!((moved.of(log[0].0), moved.of(log[24].0)), (reference[5].0, reference[29].0));
        assert_eq!(one_by_one(&log, &pauses(0, 50)[..2]), None);
    }
}
