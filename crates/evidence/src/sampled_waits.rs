//! Waits that a profiler's wall-clock samples show: a thread that stood still has a stack there.
//!
//! async-profiler looks at threads at regular times. One that has not used a CPU since the last look is in the wait of the last
//! look, and its samples become one that stands for all of them. So a sample shows two things: for a wait that another source has
//! measured, in which it lies, the stack; and from its first to its last look that the thread waited at all. From outside whole
//! waits are sampled, with the stack at their end.
//!
//! Where no source has measured waits, each look represents half of the time to the looks before and after it. That gives the
//! right sum of waiting, but not the length of a single wait.

use std::collections::{BTreeMap, HashMap};

use crate::detail::{Wait, from_text, to_text};
use crate::dictionaries::{StackId, StrId};
use crate::kinds::{event, role, span, subject};
use crate::recording::Recording;
use crate::system_calls;
use crate::table::Table;
use crate::tables::{Sample, Span};

/// As async-profiler calls threads that were in a system call.
const SLEEPING: &str = "STATE_SLEEPING";

/// The source of such waits.
const SAMPLES: &str = "samples";

/// The source of waits that `fathom watch` found by looking at threads all the time: long ones only.
pub const STANDING: &str = "standing";

/// The sample itself interrupts the thread's call: what it goes on to wait for begins so soon after it, in ns.
const RESUMED_NS: i64 = 100_000;

/// The waits of one thread as its samples have them, ascending: from the first to the last look, and the stack.
type Waits = Vec<(i64, i64, StackId)>;

/// The setting of a recorder that measures parks whatever they are for. async-profiler has no such setting: it measures those for locks.
const MEASURES_PARKS: &str = "jdk.ThreadPark#threshold";

impl Recording {
    /// Gives waits that have no stack that of a sample within, and adds those that only samples show: for when everything
    /// that is known of a JVM is together. What an earlier call has added is made anew.
    pub fn name_waits_by_samples(&mut self) {
        forget(self);
        let look_ns = look_ns(self);
        let waits = sampled(self, look_ns);
        if waits.is_empty() {
            return;
        }
        give_stacks(self, &waits);
        match are_measured(self) {
            true => add_waits(self, &waits, None),
            false => add_waits(self, &represented(self, look_ns), Some(look_ns)),
        }
    }
}

/// Takes out the waits that only samples had shown before; those of thread dumps came with them.
fn forget(recording: &mut Recording) {
    let strings = &recording.strings;
    let Some((kind, source)) = strings.find(span::SAMPLED_WAIT).zip(strings.find(SAMPLES)) else { return };
    let rows = recording.spans.kind.iter().zip(&recording.spans.source);
    let keep: Vec<bool> = rows.map(|row| row != (&kind, &source)).collect();
    recording.spans.retain(&keep);
}

/// Samples of threads that stood still.
fn standing(recording: &Recording) -> impl Iterator<Item = Sample> + '_ {
    let word = |word: &str| recording.strings.find(word).unwrap_or(StrId(u32::MAX));
    let (wall, sleeping) = (word(event::WALL), word(SLEEPING));
    recording.samples.of_event(wall).filter(move |row| row.state == sleeping && row.weight_ns > 0)
}

/// The time from one look at a thread to the next.
fn look_ns(recording: &Recording) -> i64 {
    standing(recording).map(|row| row.weight_ns).min().unwrap_or(0)
}

/// The waits by thread.
fn sampled(recording: &Recording, look_ns: i64) -> HashMap<i64, Waits> {
    let mut waits: HashMap<i64, Waits> = HashMap::new();
    let wait = recording.strings.find(event::WAIT).unwrap_or(StrId(u32::MAX));
    for row in standing(recording).filter(|row| row.stack_id != StackId(0)) {
        let to_ns = row.time_ns.saturating_add(row.weight_ns.saturating_sub(look_ns));
        waits.entry(row.tid).or_default().push((row.time_ns, to_ns, row.stack_id));
    }
    for row in recording.samples.of_event(wait).filter(|row| row.stack_id != StackId(0)) {
        waits.entry(row.tid).or_default().push((row.time_ns, row.time_ns.saturating_add(row.weight_ns), row.stack_id));
    }
    waits.values_mut().for_each(|waits| waits.sort_unstable());
    waits
}

/// Whether the kernel or the JVM itself measured what threads waited for.
fn are_measured(recording: &Recording) -> bool {
    let is_there = |kind: &str| recording.strings.find(kind).is_some_and(|kind| recording.spans.kind.contains(&kind));
    let is_sampled_from_outside =
        recording.strings.find(event::WAIT).is_some_and(|wait| recording.samples.of_event(wait).next().is_some());
    is_sampled_from_outside
        || [span::BLOCKED, span::MONITOR_WAIT].into_iter().any(is_there)
        || recording.fact(subject::SETTING, MEASURES_PARKS).is_some()
}

/// What the looks at each thread represent, but for those in a wait that the profiler has measured.
fn represented(recording: &Recording, look_ns: i64) -> HashMap<i64, Waits> {
    let measured = locks(recording);
    let is_measured = |tid: i64, at_ns: i64| {
        let before = measured.get(&tid).and_then(|locks| locks.range(..=at_ns).next_back());
        before.is_some_and(|(_, to_ns)| at_ns <= *to_ns)
    };
    let of_thread = |(tid, looks): (i64, Vec<Look>)| {
        let news = around(&looks, look_ns).into_iter().filter(|(look, _)| {
            look.waits_at.is_some() && (look.from_ns < look.to_ns || !is_measured(tid, look.from_ns))
        });
        (tid, news.map(|(look, (from_ns, to_ns))| (from_ns, to_ns, look.waits_at.unwrap_or_default())).collect())
    };
    looks(recording, look_ns).into_iter().map(of_thread).collect()
}

/// A look at a thread, or several that found it in the same wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    from_ns: i64,
    to_ns: i64,
    /// The stack, if the thread stood still and it is known.
    waits_at: Option<StackId>,
}

/// All looks at each thread, ascending.
fn looks(recording: &Recording, look_ns: i64) -> HashMap<i64, Vec<Look>> {
    let word = |word: &str| recording.strings.find(word).unwrap_or(StrId(u32::MAX));
    let sleeping = word(SLEEPING);
    let mut looks: HashMap<i64, Vec<Look>> = HashMap::new();
    for row in recording.samples.of_event(word(event::WALL)) {
        let to_ns = row.time_ns.saturating_add(row.weight_ns.saturating_sub(look_ns).max(0));
        let stands = row.state == sleeping || is_in_sync(recording, row.stack_id);
        let waits_at = (stands && row.stack_id != StackId(0)).then_some(row.stack_id);
        looks.entry(row.tid).or_default().push(Look { from_ns: row.time_ns, to_ns, waits_at });
    }
    looks.values_mut().for_each(|looks| looks.sort_unstable());
    looks
}

/// Whether a thread writes a file through. The kernel does not let signals end that, and async-profiler takes such threads for running ones.
fn is_in_sync(recording: &Recording, stack: StackId) -> bool {
    let leaf = recording.stacks.leaf_to_root(stack).next().map_or("", |frame| recording.text(frame.symbol));
    system_calls::is(leaf.trim_start_matches("__GI_").trim_start_matches('_'), system_calls::SYNCS)
}

/// Each look with the time that it represents: half of that to the looks before and after it. Where these are far away, not more than the
/// time between two looks: the thread was not looked at in between.
fn around(looks: &[Look], look_ns: i64) -> Vec<(Look, (i64, i64))> {
    let half = |gap_ns: i64| (gap_ns.max(0) / 2).min(look_ns);
    let gap = |before: Option<&Look>, after: Option<&Look>| match (before, after) {
        (Some(before), Some(after)) => half(after.from_ns.saturating_sub(before.to_ns)),
        _ => half(look_ns),
    };
    let of = |(index, look): (usize, &Look)| {
        let before_ns = gap(index.checked_sub(1).and_then(|before| looks.get(before)), Some(look));
        let after_ns = gap(Some(look), looks.get(index + 1));
        (*look, (look.from_ns.saturating_sub(before_ns), look.to_ns.saturating_add(after_ns)))
    };
    looks.iter().enumerate().map(of).collect()
}

/// Waits for locks that the profiler has measured: from when to when, by thread.
fn locks(recording: &Recording) -> HashMap<i64, BTreeMap<i64, i64>> {
    let kinds = [span::PARK, span::MONITOR_ENTER].map(|kind| recording.strings.find(kind));
    let mut locks: HashMap<i64, BTreeMap<i64, i64>> = HashMap::new();
    for row in recording.spans.rows().filter(|row| kinds.contains(&Some(row.kind))) {
        locks.entry(row.tid).or_default().insert(row.time_ns, row.end_ns());
    }
    locks
}

/// Gives the kernel's waits the stack of the sample that shares most time with them.
fn give_stacks(recording: &mut Recording, waits: &HashMap<i64, Waits>) {
    let kinds = [span::BLOCKED, span::SYSTEM_CALL].map(|kind| recording.strings.find(kind));
    let spans = &mut recording.spans;
    for row in 0..spans.stack_id.len() {
        let one = spans.row(row);
        if one.stack_id == StackId(0)
            && kinds.contains(&Some(one.kind))
            && let Some(stack) = waits.get(&one.tid).and_then(|waits| within(waits, &one))
        {
            spans.stack_id[row] = stack;
        }
    }
}

fn within(waits: &Waits, one: &Span) -> Option<StackId> {
    let begins_ns = one.time_ns.saturating_sub(RESUMED_NS);
    let first = waits.partition_point(|(_, to_ns, _)| *to_ns < begins_ns);
    let near = waits[first..].iter().take_while(|(from_ns, ..)| *from_ns <= one.end_ns());
    // Of several that share as much the first: a single look shares none.
    let shared_ns = |(from_ns, to_ns, _): &&(i64, i64, StackId)| {
        (*to_ns).min(one.end_ns()).saturating_sub((*from_ns).max(one.time_ns))
    };
    near.reduce(|best, other| if shared_ns(&other) > shared_ns(&best) { other } else { best })
        .map(|(_, _, stack)| *stack)
}

/// Adds the waits of the program's threads that lasted for some time; `look_ns` where their lengths say no more than how many looks
/// found the thread in them.
fn add_waits(recording: &mut Recording, waits: &HashMap<i64, Waits>, look_ns: Option<i64>) {
    let mut tids: Vec<i64> = waits.keys().copied().filter(|tid| is_of_the_program(recording, *tid)).collect();
    tids.sort_unstable();
    let (kind, source) = (recording.strings.intern(span::SAMPLED_WAIT), recording.strings.intern(SAMPLES));
    // Of the details of millions of rows few differ.
    let mut details: HashMap<u32, StrId> = HashMap::new();
    for tid in tids {
        for (time_ns, to_ns, stack_id) in waits[&tid].iter().copied().filter(|(from_ns, to_ns, _)| from_ns < to_ns) {
            let duration_ns = to_ns.saturating_sub(time_ns);
            let detail = look_ns.map_or(StrId(0), |look_ns| {
                let looks = (duration_ns / look_ns.max(1)).clamp(1, i64::from(u32::MAX)) as u32;
                let strings = &mut recording.strings;
                let text = || to_text(&Wait { looks: Some(looks), ..Wait::default() });
                *details.entry(looks).or_insert_with(|| strings.intern(&text()))
            });
            recording.spans.push(Span { time_ns, duration_ns, tid, kind, detail, stack_id, source, ..Span::default() });
        }
    }
}

/// How many looks found a thread in a wait, where these looks stand for waits that nothing measured.
pub fn looks_of(recording: &Recording, wait: &Span) -> Option<u32> {
    let is_by_samples = recording.text(wait.kind) == span::SAMPLED_WAIT && recording.text(wait.source) == SAMPLES;
    is_by_samples.then(|| from_text::<Wait>(recording.text(wait.detail)).looks).flatten()
}

fn is_of_the_program(recording: &Recording, tid: i64) -> bool {
    let role = recording.threads.get(tid).map(|thread| recording.text(thread.role));
    role.is_some_and(|role| matches!(role, role::JAVA | role::HANDLER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionaries::Frame;

    const LOOK_NS: i64 = 100_000_000;

    /// Samples of the wall clock of thread 7: when, for how many looks, and in which wait.
    fn recording(samples: &[(i64, i64, &str)]) -> Recording {
        let mut recording = Recording::default();
        recording.add_thread(7, "http-nio-8080-exec-1");
        let (event, state) = (recording.strings.intern(event::WALL), recording.strings.intern(SLEEPING));
        for (time_ms, looks, symbol) in samples {
            let frame = Frame { symbol: recording.strings.intern(symbol), ..Frame::default() };
            let frame = recording.stacks.intern_frame(frame);
            let stack_id = recording.stacks.intern(StackId(0), frame);
            let (time_ns, weight_ns) = (time_ms * 1_000_000, looks * LOOK_NS);
            recording.samples.push(Sample { time_ns, tid: 7, event, weight_ns, state, stack_id, ..Sample::default() });
        }
        recording
    }

    fn waits(recording: &Recording, kind: &str) -> Vec<(i64, i64, String)> {
        let kind: StrId = recording.strings.find(kind).unwrap_or(StrId(u32::MAX));
        let of_kind = recording.spans.rows().filter(|row| row.kind == kind);
        let symbol = |stack| recording.stacks.leaf_to_root(stack).map(|frame| recording.text(frame.symbol)).collect();
        of_kind.map(|row| (row.time_ns / 1_000_000, row.duration_ns / 1_000_000, symbol(row.stack_id))).collect()
    }

    #[test]
    fn a_wait_has_the_stack_of_a_sample_in_it() {
        let mut recording = recording(&[(100, 1, "borrow"), (1_000, 5, "take")]);
        // Around the first sample; right after it, which interrupted it; long after it; within the looks of the second; none near.
        for (from_us, length_ms) in [(90_000, 30), (100_050, 40), (101_000, 5), (1_300_000, 10), (1_900_000, 10)] {
            recording.add_span(from_us * 1_000, length_ms * 1_000_000, 7, span::BLOCKED, "futex", "", "scheduler");
        }
        recording.add_span(95_000_000, 10_000_000, 8, span::BLOCKED, "futex", "", "scheduler");
        recording.name_waits_by_samples();
        let stacks: Vec<String> = waits(&recording, span::BLOCKED).into_iter().map(|wait| wait.2).collect();
        assert_eq!(stacks, ["borrow", "borrow", "", "take", "", ""]);
    }

    #[test]
    fn a_wait_that_was_sampled_from_outside_is_as_long_as_it_was() {
        let mut recording = recording(&[]);
        recording.add_span(100_000_000, 30_000_000, 7, span::BLOCKED, "futex", "", "scheduler");
        let frame = Frame { symbol: recording.strings.intern("lock"), ..Frame::default() };
        let frame = recording.stacks.intern_frame(frame);
        let stack_id = recording.stacks.intern(StackId(0), frame);
        let event = recording.strings.intern(event::WAIT);
        let (time_ns, weight_ns) = (99_990_000, 30_020_000);
        recording.samples.push(Sample { time_ns, tid: 7, event, weight_ns, stack_id, ..Sample::default() });
        recording.name_waits_by_samples();
        assert_eq!(waits(&recording, span::BLOCKED), [(100, 30, "lock".to_owned())]);
        assert_eq!(waits(&recording, span::SAMPLED_WAIT), [(99, 30, "lock".to_owned())]);
    }

    #[test]
    fn a_wait_has_not_the_stack_of_the_one_that_ended_just_before_it() {
        let mut recording = recording(&[]);
        let event = recording.strings.intern(event::WAIT);
        for (symbol, time_ns, weight_ns) in [("take", 0, 99_990_000), ("lock", 100_000_000, 900_000_000)] {
            let frame = Frame { symbol: recording.strings.intern(symbol), ..Frame::default() };
            let frame = recording.stacks.intern_frame(frame);
            let stack_id = recording.stacks.intern(StackId(0), frame);
            recording.samples.push(Sample { time_ns, tid: 7, event, weight_ns, stack_id, ..Sample::default() });
        }
        recording.add_span(100_000_000, 900_000_000, 7, span::BLOCKED, "futex", "", "scheduler");
        recording.name_waits_by_samples();
        assert_eq!(waits(&recording, span::BLOCKED), [(100, 900, "lock".to_owned())]);
    }

    /// The JVM's recorder measures waits.
    fn measured(mut recording: Recording) -> Recording {
        recording.add_fact(subject::SETTING, MEASURES_PARKS, "20 ms", "jfr");
        recording
    }

    #[test]
    fn what_a_sample_stands_for_was_a_wait_from_its_first_to_its_last_look() {
        let mut recording = measured(recording(&[(100, 1, "borrow"), (1_000, 5, "take")]));
        for _ in 0..2 {
            recording.name_waits_by_samples();
            assert_eq!(waits(&recording, span::SAMPLED_WAIT), [(1_000, 400, "take".to_owned())], "once");
        }
        // Another file of the same JVM.
        let strings = &mut recording.strings;
        let (event, state) = (strings.intern(event::WALL), strings.intern(SLEEPING));
        let stack_id = recording.samples.row(0).stack_id;
        let (time_ns, weight_ns) = (5_000_000_000, 3 * LOOK_NS);
        recording.samples.push(Sample { time_ns, tid: 7, event, weight_ns, state, stack_id, ..Sample::default() });
        recording.name_waits_by_samples();
        let both = [(1_000, 400, "take".to_owned()), (5_000, 200, "borrow".to_owned())];
        assert_eq!(waits(&recording, span::SAMPLED_WAIT), both);
        let mut other = Recording::default();
        other.name_waits_by_samples();
        assert!(other.spans.is_empty());
    }

    #[test]
    fn looks_represent_the_time_around_them_where_waits_are_not_measured() {
        for (samples, expected) in [
            (&[(100, 1, "borrow")][..], &[(50, 100, "borrow")][..]),
            // Looks follow each other a little sooner or later than they should.
            (&[(100, 1, "borrow"), (190, 1, "take")], &[(50, 95, "borrow"), (145, 95, "take")]),
            (&[(100, 1, "borrow"), (220, 5, "take")], &[(50, 110, "borrow"), (160, 510, "take")]),
            // In between the thread was not looked at.
            (&[(100, 1, "borrow"), (900, 1, "take")], &[(50, 150, "borrow"), (800, 150, "take")]),
        ] {
            let mut recording = recording(samples);
            recording.name_waits_by_samples();
            let expected: Vec<_> =
                expected.iter().map(|(from, length, at)| (*from, *length, (*at).to_owned())).collect();
            assert_eq!(waits(&recording, span::SAMPLED_WAIT), expected, "{samples:?}");
        }
    }

    #[test]
    fn a_look_at_a_wait_that_the_profiler_has_measured_represents_no_other_one() {
        let mut recording = recording(&[(100, 1, "lock"), (200, 1, "take"), (300, 3, "lock")]);
        recording.add_span(95_000_000, 10_000_000, 7, span::PARK, "", "", "jfr");
        recording.name_waits_by_samples();
        let expected = [(150, 100, "take".to_owned()), (250, 300, "lock".to_owned())];
        assert_eq!(waits(&recording, span::SAMPLED_WAIT), expected);
        let looks = recording.spans.rows().filter_map(|row| looks_of(&recording, &row));
        assert_eq!(looks.collect::<Vec<u32>>(), [1, 3]);
    }
}
