//! Two sides of runs, compared: as text, and as Markdown for a pull request.
//!
//! Both are made of the same [`Section`]s, so they say the same.

mod profiles;
mod section;
mod sections;

use fathom_compare::{Comparison, VerdictKind};

use crate::TextOptions;
use crate::sheet::{Sheet, Tone};
pub(crate) use section::Section;

/// How many rows of a list are printed unless everything is asked for.
const ROWS: usize = 12;

/// For a terminal: facts first, then the verdict and what it was made of.
pub fn comparison(comparison: &Comparison, options: &TextOptions) -> String {
    let rows = if options.all { usize::MAX } else { ROWS };
    let mut sheet = Sheet::new(options.width);
    for section in sections::all(comparison, rows) {
        section.write(&mut sheet, tone(comparison.verdict.kind));
    }
    sheet.render(options.color)
}

/// For a pull request or a ticket: the verdict as its heading.
pub fn comparison_as_markdown(comparison: &Comparison) -> String {
    let sections = sections::all(comparison, ROWS);
    let verdict = Section::markdown_heading(&comparison.verdict.says);
    sections.iter().filter(|section| !section.is_verdict()).fold(verdict, |text, section| text + &section.markdown())
}

fn tone(kind: VerdictKind) -> Tone {
    match kind {
        VerdictKind::Better => Tone::Good,
        VerdictKind::Worse => Tone::Bad,
        VerdictKind::NoDifference => Tone::Strong,
        VerdictKind::NotComparable | VerdictKind::NoVerdict => Tone::Warn,
    }
}
