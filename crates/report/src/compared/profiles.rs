//! Two profiles without times: the frames that differ.

use fathom_compare::{Appearance, Comparison, FrameDifference, ProfileDifference};

use super::section::Section;
use crate::units::amount;

/// Differences below this part of all samples are not printed: a tenth of a percent, the last digit of the table.
const PART_MIN: f64 = 0.000_5;

/// Two tables for each event: frames by their own part, and those that differ by what they call.
pub(super) fn sections(comparison: &Comparison, rows: usize) -> Vec<Section> {
    let mut sections: Vec<Section> = comparison.profiles.iter().flat_map(|one| of_event(one, rows)).collect();
    if comparison.profiles.is_empty() {
        sections.push(Section::new("Frames").note("the sides have no event in common"));
    }
    if !comparison.profiles_one_sided.is_empty() {
        let says = format!("sampled on one side only: {}", comparison.profiles_one_sided.join(", "));
        sections.push(Section::new("Not compared").note(says));
    }
    sections
}

fn of_event(profile: &ProfileDifference, rows: usize) -> [Section; 2] {
    let own = profile.frames.iter().filter(|one| (one.self_b - one.self_a).abs() >= PART_MIN).collect();
    let own = table("Frames by what was sampled in them", own, |one| [one.self_a, one.self_b], profile, rows)
        .note(sums(profile));
    let mut callers: Vec<&FrameDifference> =
        profile.frames.iter().filter(|one| (one.total_b - one.total_a).abs() >= PART_MIN).collect();
    callers.sort_by(|one, other| (other.total_b - other.total_a).abs().total_cmp(&(one.total_b - one.total_a).abs()));
    let callers = table("Frames with all that they call", callers, |one| [one.total_a, one.total_b], profile, rows);
    let callers = match profile.unit.as_str() {
        "samples" => callers.note("~ may be chance: the difference is within the error of so few samples (95 %)"),
        _ => callers.note("how many samples these are is not known: small differences may be chance"),
    };
    [own, callers]
}

fn table(
    heading: &'static str,
    frames: Vec<&FrameDifference>,
    parts: fn(&FrameDifference) -> [f64; 2],
    profile: &ProfileDifference,
    rows: usize,
) -> Section {
    let row = |one: &&FrameDifference| {
        let [a, b] = parts(one);
        let became = match one.became {
            Appearance::Appeared => "appeared",
            Appearance::Went => "went",
            Appearance::Both => "",
        };
        let chance = if one.may_be_chance == Some(true) { "~" } else { "" };
        let change = format!("{:+.1} points", (b - a) * 100.0);
        vec![
            one.frame.clone(),
            amount(a, "ratio"),
            amount(b, "ratio"),
            change,
            format!("{became} {chance}").trim().to_owned(),
        ]
    };
    Section::new(heading).table(&[&profile.event, "A", "B", "", ""], frames.iter().map(row).collect(), rows)
}

fn sums(profile: &ProfileDifference) -> String {
    let unit = if profile.unit == "samples" { "count" } else { &profile.unit };
    let side = |name: &str, total: f64, length_ns: i64| {
        let length = if length_ns > 0 { format!(" in {}", amount(length_ns as f64, "ns")) } else { String::new() };
        format!("{name}: {}{length}", amount(total, unit))
    };
    let (a, b) = (side("A", profile.total_a, profile.length_a_ns), side("B", profile.total_b, profile.length_b_ns));
    format!("{a}; {b}, as parts of which the frames stand here")
}
