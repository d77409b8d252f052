//! How slow it was and when; or that it was not.

use fathom_causes::explanation::{Evidence, Explanation, HeadlineKind, LineKind, SlowInterval};

use super::detail::Detail;
use crate::sheet::{Sheet, Styled, Tone, styled};
use crate::units;

pub(super) fn write(sheet: &mut Sheet, explanation: &Explanation, detail: &Detail<'_>) {
    let mut items = vec![styled(Tone::Bad, &headline(explanation))];
    items.extend(explanation.figures.iter().take(detail.figures).map(headline_figure));
    sheet.items(2, items, "   ");
    write_but(sheet, explanation);
    for interval in worst_first(explanation, detail.intervals).into_iter().take(detail.intervals) {
        write_interval(sheet, interval, detail);
    }
    if let Some(hidden) = explanation.slow.len().checked_sub(detail.intervals).filter(|hidden| *hidden > 0) {
        sheet.line(2, [styled(Tone::Faint, &format!("and {hidden} more"))]);
    }
    if let Some(rhythm) = &explanation.rhythm {
        sheet.paragraph(2, Tone::Strong, &rhythm.says);
    }
    if !explanation.baseline.says.is_empty() {
        sheet.paragraph(2, Tone::Faint, &format!("compared with {}", explanation.baseline.says));
    }
    let hidden = [
        write_kinds(sheet, &explanation.messages, detail.messages, message),
        write_kinds(sheet, &explanation.request_kinds, detail.messages, |kind| part(&kind.says, kind)),
        write_kinds(sheet, &explanation.statuses, detail.messages, |kind| {
            part(&format!("answered with status {}", kind.says), kind)
        }),
    ];
    if hidden.contains(&true) {
        sheet.line(2, [styled(Tone::Faint, "more kinds of messages or requests that differ: fathom logs")]);
    }
}

/// Writes the first of what differs; whether there is more.
fn write_kinds(sheet: &mut Sheet, kinds: &[LineKind], shown: usize, says: impl Fn(&LineKind) -> String) -> bool {
    kinds.iter().take(shown).for_each(|kind| sheet.paragraph(2, Tone::Plain, &says(kind)));
    kinds.len() > shown
}

/// What a program logs in slow time mostly followed from it.
fn message(kind: &LineKind) -> String {
    format!(
        "{} messages in the log, {}, {} otherwise (may be a by-product): {}",
        if kind.odds_ratio > 1.0 { "more" } else { "fewer" },
        units::amount(kind.slow_per_s, "1/s"),
        units::amount(kind.baseline_per_s, "1/s"),
        kind.says
    )
}

/// Requests that fail or take long are also sent again: which came first the mix does not say.
fn part(says: &str, kind: &LineKind) -> String {
    format!(
        "{} of requests in the slow time ({}), {} otherwise ({}; may be a by-product): {says}",
        units::amount(kind.slow_ratio, "ratio"),
        units::amount(kind.slow_per_s, "1/s"),
        units::amount(kind.baseline_ratio, "ratio"),
        units::amount(kind.baseline_per_s, "1/s"),
    )
}

/// For example `slow 30 s of 50 s`.
fn headline(explanation: &Explanation) -> String {
    let slow_ns = explanation.slow.iter().map(|slow| slow.to_ns.saturating_sub(slow.from_ns));
    let slow_ns = slow_ns.fold(0i64, i64::saturating_add);
    let whole_ns = explanation.recording.to_ns.saturating_sub(explanation.recording.from_ns);
    format!("slow {} of {}", units::duration(slow_ns), units::duration(whole_ns))
}

/// A measurement with what it was before: `p99 of requests 1.4 → 19.8 ms`.
fn headline_figure(figure: &Evidence) -> Styled {
    let value = match figure.baseline {
        Some(before) => units::change(before, figure.value, &figure.unit),
        None => units::amount(figure.value, &figure.unit),
    };
    styled(Tone::Plain, &format!("{} {value}", figure.says))
}

/// What is missing that could hide an answer stands right below the headline.
fn write_but(sheet: &mut Sheet, explanation: &Explanation) {
    for but in &explanation.headline.but {
        sheet.paragraph(2, Tone::Bad, but);
    }
}

/// The intervals that lasted longest first: of many few are shown.
fn worst_first(explanation: &Explanation, shown: usize) -> Vec<&SlowInterval> {
    let mut intervals: Vec<&SlowInterval> = explanation.slow.iter().collect();
    if intervals.len() > shown {
        intervals.sort_by_key(|interval| std::cmp::Reverse(interval.to_ns.saturating_sub(interval.from_ns)));
    }
    intervals
}

/// The cause of an interval where several intervals have different ones, and its longest single stall.
fn interval_says(interval: &SlowInterval) -> String {
    let mut says = interval.says.clone();
    if let Some(cause) = interval.causes.first() {
        says += &format!(" · {} {}", cause.id, units::amount(cause.share, "ratio"));
    }
    if !interval.worst.is_empty() {
        says += &format!(" · longest: {}", interval.worst);
    }
    says
}

fn write_interval(sheet: &mut Sheet, interval: &SlowInterval, detail: &Detail<'_>) {
    let from = units::time_of_day(interval.from_ns, detail.zone);
    let to = units::time_of_day(interval.to_ns, detail.zone);
    let when = if from == to { from } else { format!("{from}-{to}") };
    sheet.labelled(2, 2 + "HH:MM:SS-HH:MM:SS".len() + 2, styled(Tone::Strong, &when), &interval_says(interval));
}

pub(super) fn write_healthy(sheet: &mut Sheet, explanation: &Explanation, detail: &Detail<'_>) {
    let is_well = explanation.headline.kind == HeadlineKind::NothingSlow;
    sheet.paragraph(0, if is_well { Tone::Good } else { Tone::Strong }, &explanation.headline.says);
    write_but(sheet, explanation);
    let figures: Vec<(&str, String)> = explanation
        .figures
        .iter()
        .take(detail.looked_at)
        .map(|figure| (figure.says.as_str(), units::amount(figure.value, &figure.unit)))
        .collect();
    super::causes::write_figures(sheet, 2, &figures);
    for change in explanation.changed.iter().take(detail.changes) {
        let at = units::time_of_day(change.at_ns, detail.zone);
        let leaf =
            change.stack.split(';').find(|frame| !frame.is_empty()).map_or(String::new(), |leaf| format!(" in {leaf}"));
        let values = units::change(change.before, change.after, &change.unit);
        sheet.paragraph(2, Tone::Plain, &format!("changed at {at}: {}{leaf} {values}", change.says));
    }
}
