//! What was ruled out, and what could not be decided.

use fathom_causes::explanation::{CauseVerdict, During, Evidence, Explanation, Missing, Verdict};

use super::detail::Detail;
use super::{HANG, with_verdict};
use crate::sheet::{Sheet, Styled, Tone, styled};
use crate::units;

/// Causes that are listed by name.
const SHOWN_NAMES: usize = 8;
/// A sentence up to this long goes into a list.
const REASON_MAX_CHARS: usize = 60;

/// Times of day within a longer time than this could be of any of its days.
const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

/// The command of causes that no recording shows.
const ASKED_APART: &str = "fathom routing ";

/// A share that is printed as one.
const PRINTED_SHARE: f64 = 0.005;

/// Whether a cause was at work and has no part in the lost time: one line is enough for all of these.
pub(super) fn explains_nothing(cause: &CauseVerdict) -> bool {
    cause.verdict == Verdict::Possible && cause.share < PRINTED_SHARE
}

/// Names them with the reason, which is the beginning of their sentence.
pub(super) fn write_without_a_part(sheet: &mut Sheet, explanation: &Explanation, detail: &Detail<'_>) {
    let causes = explanation.causes.iter().filter(|cause| !detail.all && explains_nothing(cause));
    let reason = |cause: &CauseVerdict| match cause.says.split_once(": ") {
        Some((reason, _)) if reason.chars().count() <= REASON_MAX_CHARS => format!("{} ({reason})", cause.id),
        _ => cause.id.clone(),
    };
    let items: Vec<String> = causes.map(reason).collect();
    if !items.is_empty() {
        sheet.blank();
        write_list(sheet, "possible", "", &items);
    }
}

pub(super) fn write_ruled_out(sheet: &mut Sheet, explanation: &Explanation, detail: &Detail<'_>) {
    let causes = with_verdict(explanation, Verdict::RuledOut);
    if causes.is_empty() {
        return;
    }
    sheet.blank();
    let when = when(explanation, &causes, detail);
    if detail.all {
        sheet.line(0, [styled(Tone::Strong, &format!("{:<HANG$}", "ruled out")), styled(Tone::Plain, &when)]);
        causes.iter().for_each(|cause| write_in_full(sheet, cause));
        return;
    }
    let measured = causes.iter().take(detail.measured_exclusions).map(|cause| with_measurement(cause));
    let names = causes.iter().skip(detail.measured_exclusions).map(|cause| cause.id.clone());
    let items: Vec<String> = measured.chain(names).collect();
    write_list(sheet, "ruled out", &when, &items);
}

/// For when it holds that causes are ruled out: what happened at other times was not asked.
fn when(explanation: &Explanation, causes: &[&CauseVerdict], detail: &Detail<'_>) -> String {
    let Some(During { from_ns, to_ns }) = causes.first().and_then(|cause| cause.during) else { return String::new() };
    let time = match to_ns.saturating_sub(from_ns) > DAY_NS {
        true => units::time_range(from_ns, to_ns, detail.zone),
        false => {
            let [from, to] = [from_ns, to_ns].map(|time_ns| units::time_of_day(time_ns, detail.zone));
            format!("{from}-{to}")
        }
    };
    match explanation.slow.len() {
        0 | 1 => format!("within the slow {time}:"),
        _ => format!("within the slow times of {time}:"),
    }
}

/// A cause and in a few words what excludes it: its sentence if that is short, else its first figure.
fn with_measurement(cause: &CauseVerdict) -> String {
    let short = (!cause.says.is_empty() && cause.says.chars().count() <= REASON_MAX_CHARS).then(|| cause.says.clone());
    match short.or_else(|| cause.evidence.first().map(short_figure)) {
        Some(reason) => format!("{} ({reason})", cause.id),
        None => cause.id.clone(),
    }
}

fn short_figure(figure: &Evidence) -> String {
    format!("{} {}", figure.says, units::amount(figure.value, &figure.unit))
}

fn write_in_full(sheet: &mut Sheet, cause: &CauseVerdict) {
    sheet.line(2, [styled(Tone::Plain, &cause.id)]);
    sheet.paragraph(6, Tone::Faint, &cause.says);
    cause.evidence.iter().for_each(|figure| sheet.paragraph(6, Tone::Faint, &short_figure(figure)));
}

/// The first items of a list beside its label and what is said of all of them, and how many there are besides.
fn write_list(sheet: &mut Sheet, label: &str, of_all: &str, items: &[String]) {
    let hidden = items.len().saturating_sub(SHOWN_NAMES);
    let shown = items.iter().take(SHOWN_NAMES).map(|item| styled(Tone::Plain, item));
    let more = (hidden > 0).then(|| styled(Tone::Faint, &format!("{hidden} more")));
    let items: Vec<Styled> = shown.chain(more).collect();
    let mut labels = vec![styled(Tone::Strong, &format!("{label:<HANG$}"))];
    if !of_all.is_empty() {
        // The space is left out where a line ends behind it.
        labels.extend([styled(Tone::Faint, of_all), styled(Tone::Plain, " ")]);
    }
    sheet.items_after(labels, HANG, items, " · ");
}

/// Causes that lack the same recording, together with the command that makes it.
struct Gap<'a> {
    record_with: &'a str,
    says: &'a str,
    same: bool,
    ids: Vec<&'a str>,
}

pub(super) fn write_cannot_tell(sheet: &mut Sheet, explanation: &Explanation, detail: &Detail<'_>) {
    let causes = with_verdict(explanation, Verdict::NotEnough);
    if detail.all && !causes.is_empty() {
        sheet.blank();
        sheet.line(0, [styled(Tone::Strong, "cannot tell")]);
        causes.iter().for_each(|cause| write_missing(sheet, cause));
        return;
    }
    let Some((first, others)) = most_useful(gaps(&causes)) else { return };
    sheet.blank();
    let text = sheet.with_command(HANG, &gap_text(&first), first.record_with);
    sheet.labelled(0, HANG, styled(Tone::Strong, "cannot tell"), &text);
    if others > 0 {
        let more = format!("{} something else: --all", format_lacks(others));
        sheet.labelled(0, HANG, styled(Tone::Strong, ""), &more);
    }
}

fn format_lacks(causes: usize) -> String {
    if causes == 1 { "1 more lacks".to_owned() } else { format!("{causes} more lack") }
}

/// The gap whose command answers most, and for how many causes another one is needed. What only a question of its own answers
/// (where keys go) is said where that is asked.
fn most_useful(gaps: Vec<Gap<'_>>) -> Option<(Gap<'_>, usize)> {
    let mut wanted: Vec<Gap> = gaps.into_iter().filter(|gap| !gap.record_with.starts_with(ASKED_APART)).collect();
    // The first of those with most causes.
    wanted.sort_by_key(|gap| std::cmp::Reverse(gap.ids.len()));
    let others = wanted.iter().skip(1).map(|gap| gap.ids.len()).sum();
    (!wanted.is_empty()).then(|| (wanted.swap_remove(0), others))
}

/// Groups by the command that fills the gap, in the order of the causes.
fn gaps<'a>(causes: &[&'a CauseVerdict]) -> Vec<Gap<'a>> {
    let mut gaps: Vec<Gap> = Vec::new();
    for cause in causes {
        let (says, record_with) = match cause.missing.first() {
            Some(Missing { says, record_with }) => (says.as_str(), record_with.as_str()),
            None => (cause.says.as_str(), ""),
        };
        match gaps.iter_mut().find(|gap| gap.record_with == record_with) {
            Some(gap) => {
                gap.ids.push(&cause.id);
                gap.same &= gap.says == says;
            }
            None => gaps.push(Gap { record_with, says, same: true, ids: vec![&cause.id] }),
        }
    }
    gaps
}

/// For example `lazy_symbol_binding, swap_in and 7 more: needs kernel events`.
fn gap_text(gap: &Gap) -> String {
    let shown = if gap.ids.len() > SHOWN_NAMES { SHOWN_NAMES / 2 } else { gap.ids.len() };
    let mut text = gap.ids[..shown].join(", ");
    if shown < gap.ids.len() {
        text.push_str(&format!(" and {} more", gap.ids.len() - shown));
    }
    if gap.same && !gap.says.is_empty() {
        text.push_str(&format!(": {}", gap.says));
    }
    text
}

fn write_missing(sheet: &mut Sheet, cause: &CauseVerdict) {
    sheet.line(2, [styled(Tone::Plain, &cause.id)]);
    if cause.missing.is_empty() {
        sheet.paragraph(6, Tone::Faint, &cause.says);
    }
    for Missing { says, record_with } in &cause.missing {
        let text = sheet.with_command(6, says, record_with);
        sheet.paragraph(6, Tone::Faint, &text);
    }
}
