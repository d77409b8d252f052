//! How slow it was and when; or that it was not.

use fathom_causes::explanation::{Evidence, Explanation, SlowInterval};

use crate::sheet::{Piece, Sheet, Tone, piece};
use crate::{TextOptions, units};

/// Intervals and figures that are told without being asked.
const SHOWN_INTERVALS: usize = 3;
const SHOWN_FIGURES: usize = 4;

/// Figures of a healthy recording: what was looked at is the whole answer.
const SHOWN_LOOKED_AT: usize = 8;

pub(super) fn write(sheet: &mut Sheet, explanation: &Explanation, options: &TextOptions) {
    let mut items = vec![piece(Tone::Bad, &headline(explanation))];
    let shown = if options.all { usize::MAX } else { SHOWN_FIGURES };
    items.extend(explanation.figures.iter().take(shown).map(headline_figure));
    sheet.items(2, items, "   ");
    let shown = if options.all { usize::MAX } else { SHOWN_INTERVALS };
    for interval in explanation.slow.iter().take(shown) {
        write_interval(sheet, interval, options);
    }
    if let Some(hidden) = explanation.slow.len().checked_sub(shown).filter(|hidden| *hidden > 0) {
        sheet.line(2, [piece(Tone::Faint, &format!("and {hidden} more"))]);
    }
    if !explanation.baseline.says.is_empty() {
        sheet.paragraph(2, Tone::Faint, &format!("compared with {}", explanation.baseline.says));
    }
}

/// For example `slow 30 s of 50 s`.
fn headline(explanation: &Explanation) -> String {
    let slow_ns = explanation.slow.iter().map(|slow| slow.to_ns.saturating_sub(slow.from_ns));
    let slow_ns = slow_ns.fold(0i64, i64::saturating_add);
    let whole_ns = explanation.recording.to_ns.saturating_sub(explanation.recording.from_ns);
    format!("slow {} of {}", units::duration(slow_ns), units::duration(whole_ns))
}

/// A measurement with what it was before: `p99 of requests 1.4 → 19.8 ms`.
fn headline_figure(figure: &Evidence) -> Piece {
    let value = match figure.baseline {
        Some(before) => units::change(before, figure.value, &figure.unit),
        None => units::amount(figure.value, &figure.unit),
    };
    piece(Tone::Plain, &format!("{} {value}", figure.says))
}

fn write_interval(sheet: &mut Sheet, interval: &SlowInterval, options: &TextOptions) {
    let from = units::time_of_day(interval.from_ns, &options.zone);
    let to = units::time_of_day(interval.to_ns, &options.zone);
    let when = if from == to { from } else { format!("{from}-{to}") };
    sheet.labelled(2, 2 + "HH:MM:SS-HH:MM:SS".len() + 2, piece(Tone::Strong, &when), &interval.says);
}

pub(super) fn write_healthy(sheet: &mut Sheet, explanation: &Explanation, options: &TextOptions) {
    sheet.line(0, [piece(Tone::Good, "nothing was slow")]);
    let shown = if options.all { usize::MAX } else { SHOWN_LOOKED_AT };
    let figures: Vec<(&str, String)> = explanation
        .figures
        .iter()
        .take(shown)
        .map(|figure| (figure.says.as_str(), units::amount(figure.value, &figure.unit)))
        .collect();
    super::causes::write_figures(sheet, 2, &figures);
}
