//! Profiles that have no time of each sample, as two tables of frames.
//!
//! They say where time went and nothing about how long requests took: frames are compared by their share of all samples, so that a
//! longer profile, or one of a busier program, is not a difference by itself.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::kinds::{UNTIMED, span};
use fathom_evidence::tables::Sample;
use fathom_evidence::{Frame, Recording, StackId, Table};
use serde::Serialize;

use crate::appearance::Appearance;

/// Frames of a comparison that are kept, the most different first.
const FRAMES_MAX: usize = 1_000;

/// Frames of a profile that are kept apart; a program has some ten thousand functions.
const NAMES_MAX: usize = 100_000;

/// Differences of counts are within chance up to so many standard errors: 95 % of them.
const STANDARD_ERRORS: f64 = 1.96;

/// What of an event each frame has in a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    unit: &'static str,
    total: f64,
    length_ns: i64,
    /// By name: itself, and with what it called.
    frames: BTreeMap<String, [f64; 2]>,
}

/// By event.
pub type Profiles = BTreeMap<String, Profile>;

/// Whether a recording has nothing but profiles without times.
pub(crate) fn is_untimed(recording: &Recording) -> bool {
    let is_untimed = |row: Sample| recording.text(row.event).ends_with(UNTIMED);
    let is_profile = |kind| recording.text(kind) == span::PROFILE;
    !recording.samples.is_empty()
        && recording.counters.is_empty()
        && recording.samples.rows().all(is_untimed)
        && recording.spans.kind.iter().all(|kind| is_profile(*kind))
}

/// What a recording has of each event.
pub(crate) fn of(recording: &Recording) -> Profiles {
    let length_ns = recording.spans.duration_ns.iter().copied().max().unwrap_or(0);
    let mut profiles = Profiles::new();
    for ((event, stack), [ns, bytes, count]) in by_stack(recording) {
        let name = recording.text(event).trim_end_matches(UNTIMED).to_owned();
        let profile = profiles.entry(name).or_default();
        let (unit, weight) = match (ns > 0.0, bytes > 0.0) {
            (true, _) => ("ns", ns),
            (_, true) => ("bytes", bytes),
            _ => ("samples", count),
        };
        profile.unit = unit;
        profile.length_ns = length_ns;
        profile.add(recording, stack, weight);
    }
    profiles
}

/// Sums of time, bytes and samples of each event and stack.
fn by_stack(recording: &Recording) -> BTreeMap<(fathom_evidence::StrId, StackId), [f64; 3]> {
    let mut sums: BTreeMap<_, [f64; 3]> = BTreeMap::new();
    for row in recording.samples.rows() {
        let sum = sums.entry((row.event, row.stack_id)).or_default();
        let of_row = [row.weight_ns as f64, row.size_bytes as f64, 1.0];
        sum.iter_mut().zip(of_row).for_each(|(sum, value)| *sum += value);
    }
    sums
}

impl Profile {
    fn add(&mut self, recording: &Recording, stack: StackId, weight: f64) {
        self.total += weight;
        let mut seen = BTreeSet::new();
        for (nth, frame) in recording.stacks.leaf_to_root(stack).enumerate() {
            let name = name(recording, frame);
            if self.frames.len() >= NAMES_MAX && !self.frames.contains_key(&name) {
                continue;
            }
            let sums = self.frames.entry(name.clone()).or_default();
            sums[0] += if nth == 0 { weight } else { 0.0 };
            // A function that calls itself has the time once.
            sums[1] += if seen.insert(name) { weight } else { 0.0 };
        }
    }
}

/// A function as both sides call it. Addresses without a name are others in each run: they are those of their file.
fn name(recording: &Recording, frame: Frame) -> String {
    let (name, module) = (recording.text(frame.symbol), recording.text(frame.module));
    match name.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        true => format!("(no name in {})", if module.is_empty() { "unknown code" } else { module }),
        false => without_addresses(name),
    }
}

/// `A$$Lambda$2.run` of `A$$Lambda$2.0x00007f0bd8000c28.run`: where the JVM put a hidden class differs from run to run.
fn without_addresses(name: &str) -> String {
    let is_address = |part: &str| {
        part.strip_prefix("0x").is_some_and(|hex| hex.len() >= 8 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let mut kept = String::with_capacity(name.len());
    for part in name.split_inclusive(['.', '/', '+']) {
        match is_address(part.trim_end_matches(['.', '/', '+'])) {
            false => kept.push_str(part),
            // What stood before it ends as it did.
            true if part.ends_with(['.', '/', '+']) => {}
            true => drop(kept.pop()),
        }
    }
    kept
}

/// A frame on both sides, each as a part of all samples of the side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrameDifference {
    /// Its function.
    pub frame: String,
    /// Samples in it, in the first side and the second.
    pub self_a: f64,
    /// The same in the second.
    pub self_b: f64,
    /// Samples in it and in what it called.
    pub total_a: f64,
    /// The same in the second.
    pub total_b: f64,
    /// On which side it is.
    pub became: Appearance,
    /// Whether chance alone may have made the difference of its total; none where the samples were not counted.
    pub may_be_chance: Option<bool>,
}

/// What was sampled, on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileDifference {
    /// What was sampled.
    pub event: String,
    /// `ns`, `bytes` or `samples`.
    pub unit: String,
    /// All of it.
    pub total_a: f64,
    /// All of it in the second side.
    pub total_b: f64,
    /// How long the profiles are together; 0 where they do not say.
    pub length_a_ns: i64,
    /// The same of the second side.
    pub length_b_ns: i64,
    /// Frames whose parts differ, the most different first.
    pub frames: Vec<FrameDifference>,
    /// Frames that differ less and are not listed.
    pub left_out: usize,
}

/// The events that both sides have, each side's runs taken together.
pub(crate) fn compare([a, b]: [&Profiles; 2]) -> Vec<ProfileDifference> {
    let both = a.iter().filter_map(|(event, of_a)| Some((event, of_a, b.get(event)?)));
    both.filter(|(_, a, b)| a.unit == b.unit).map(|(event, a, b)| difference(event, a, b)).collect()
}

/// Events that one side alone has.
pub(crate) fn one_sided([a, b]: [&Profiles; 2]) -> Vec<String> {
    let of = |one: &Profiles, other: &Profiles| -> Vec<String> {
        one.keys().filter(|event| !other.contains_key(*event)).cloned().collect()
    };
    [of(a, b), of(b, a)].concat()
}

/// The runs of a side taken together.
pub(crate) fn sum<'a>(runs: impl Iterator<Item = &'a Profiles>) -> Profiles {
    let mut sums = Profiles::new();
    for (event, profile) in runs.flatten() {
        let sum = sums.entry(event.clone()).or_default();
        sum.unit = profile.unit;
        sum.total += profile.total;
        sum.length_ns = sum.length_ns.saturating_add(profile.length_ns);
        for (frame, [own, total]) in &profile.frames {
            let frame = sum.frames.entry(frame.clone()).or_default();
            frame[0] += own;
            frame[1] += total;
        }
    }
    sums
}

fn difference(event: &str, a: &Profile, b: &Profile) -> ProfileDifference {
    let names: BTreeSet<&String> = a.frames.keys().chain(b.frames.keys()).collect();
    let mut frames: Vec<FrameDifference> = names.into_iter().map(|name| frame(name, a, b)).collect();
    frames.retain(|one| one.self_a != one.self_b || one.total_a != one.total_b);
    frames.sort_by(|one, other| size(other).total_cmp(&size(one)).then_with(|| one.frame.cmp(&other.frame)));
    let left_out = frames.len().saturating_sub(FRAMES_MAX);
    frames.truncate(FRAMES_MAX);
    ProfileDifference {
        event: event.to_owned(),
        unit: a.unit.to_owned(),
        total_a: a.total,
        total_b: b.total,
        length_a_ns: a.length_ns,
        length_b_ns: b.length_ns,
        frames,
        left_out,
    }
}

/// How much a frame differs: its own part first of all, as its callers differ with it.
fn size(one: &FrameDifference) -> f64 {
    (one.self_b - one.self_a).abs() + 1e-3 * (one.total_b - one.total_a).abs()
}

fn frame(name: &str, a: &Profile, b: &Profile) -> FrameDifference {
    let part = |profile: &Profile| {
        let sums = profile.frames.get(name).copied().unwrap_or_default();
        sums.map(|sum| sum / profile.total.max(f64::MIN_POSITIVE))
    };
    let ([self_a, total_a], [self_b, total_b]) = (part(a), part(b));
    let became = match (total_a > 0.0, total_b > 0.0) {
        (false, _) => Appearance::Appeared,
        (_, false) => Appearance::Went,
        _ => Appearance::Both,
    };
    let may_be_chance = (a.unit == "samples").then(|| may_be_chance([total_a, total_b], [a.total, b.total]));
    FrameDifference { frame: name.to_owned(), self_a, self_b, total_a, total_b, became, may_be_chance }
}

/// Whether two parts of counts differ by no more than their sampling error.
fn may_be_chance([a, b]: [f64; 2], [of_a, of_b]: [f64; 2]) -> bool {
    let all = (a * of_a + b * of_b) / (of_a + of_b);
    let error = (all * (1.0 - all) * (1.0 / of_a + 1.0 / of_b)).max(0.0).sqrt();
    (b - a).abs() <= STANDARD_ERRORS * error
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile of stacks with callers first, each with how often it was seen.
    fn run(stacks: &[(&str, usize)]) -> Profiles {
        let mut recording = Recording::default();
        let event = recording.strings.intern("sampled_untimed");
        for (stack, count) in stacks {
            let frames: Vec<_> = stack
                .split(';')
                .map(|name| {
                    let symbol = recording.strings.intern(name);
                    recording.stacks.intern_frame(Frame { symbol, ..Frame::default() })
                })
                .collect();
            let stack_id = recording.stacks.intern_from_root(frames);
            (0..*count).for_each(|_| recording.samples.push(Sample { event, stack_id, ..Sample::default() }));
        }
        assert!(is_untimed(&recording));
        of(&recording)
    }

    #[test]
    fn parts_of_frames_on_both_sides() {
        let a = run(&[("main;work;sort", 60), ("main;work;work", 20), ("main;old", 20)]);
        let b = run(&[("main;work;sort", 120), ("main;work", 40), ("main;new", 240)]);
        let found = compare([&a, &b]);
        assert_eq!((found[0].event.as_str(), found[0].total_a, found[0].total_b), ("sampled", 100.0, 400.0));
        let of = |name: &str| found[0].frames.iter().find(|one| one.frame == name);
        let parts = |name: &str| of(name).map(|one| (one.self_a, one.self_b, one.total_a, one.total_b, one.became));
        assert_eq!(parts("sort"), Some((0.6, 0.3, 0.6, 0.3, Appearance::Both)));
        // What it calls itself is counted once.
        assert_eq!(parts("work"), Some((0.2, 0.1, 0.8, 0.4, Appearance::Both)));
        assert_eq!(parts("old"), Some((0.2, 0.0, 0.2, 0.0, Appearance::Went)));
        assert_eq!(parts("new"), Some((0.0, 0.6, 0.0, 0.6, Appearance::Appeared)));
        assert_eq!((parts("main"), found[0].frames[0].frame.as_str()), (None, "new"));
        assert!(found[0].frames.iter().all(|one| one.may_be_chance == Some(false)));
    }

    #[test]
    fn few_samples_differ_by_chance() {
        let found = compare([&run(&[("a", 5), ("b", 6)]), &run(&[("a", 7), ("b", 4)])]);
        assert!(found[0].frames.iter().all(|one| one.may_be_chance == Some(true)));
        assert!(compare([&run(&[("a", 5)]), &Profiles::new()]).is_empty());
        assert!(compare([&run(&[("a", 5)]), &run(&[("a", 9)])])[0].frames.is_empty());
    }

    #[test]
    fn hidden_classes_have_one_name() {
        for (name, expected) in [
            ("Busy$$Lambda$2.0x00007f0bd8000c28.run", "Busy$$Lambda$2.run"),
            ("java.lang.invoke.LambdaForm$MH/0x00007f118c002c00.invoke", "java.lang.invoke.LambdaForm$MH/invoke"),
            ("A$$Lambda/0x00007f118c002c00", "A$$Lambda"),
            ("a.0x1.b", "a.0x1.b"),
            ("f(a.b, c/d)", "f(a.b, c/d)"),
            ("", ""),
        ] {
            assert_eq!(without_addresses(name), expected);
        }
    }

    #[test]
    fn addresses_are_those_of_their_file() {
        let found = compare([&run(&[("0x7f01", 5), ("a", 5)]), &run(&[("0x7f99", 9), ("a", 1)])]);
        assert_eq!(found[0].frames[1].frame, "a");
        assert_eq!(found[0].frames[0].frame, "(no name in unknown code)");
    }
}
