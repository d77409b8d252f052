//! An explanation as a person reads it: what was slow, why, how sure, what to do, what is unknown.

mod beside;
mod causes;
mod detail;
mod header;
mod lists;
mod losses;
mod requests;
mod slow;
mod source;

pub use beside::{Variant, beside};
pub(crate) use causes::verdict_word;
pub(crate) use header::{machine, sources};
pub(crate) use source::spelled;

use detail::{Detail, SCREEN_LINES};
use fathom_causes::explanation::{CauseVerdict, Explanation, Verdict};

use crate::TextOptions;
use crate::sheet::{Sheet, Tone, styled};

/// Where the text of a labelled paragraph begins.
const HANG: usize = 13;

/// The whole answer: all of it, or what fits on a screen.
pub fn explanation(explanation: &Explanation, options: &TextOptions) -> String {
    let mut shown = Sheet::new(options.width);
    for detail in Detail::levels(options) {
        shown = sheet(explanation, &detail, options.width);
        if shown.height() <= SCREEN_LINES {
            break;
        }
    }
    shown.render(options.color)
}

fn sheet(explanation: &Explanation, detail: &Detail<'_>, width: usize) -> Sheet {
    let mut sheet = Sheet::new(width);
    header::write(&mut sheet, explanation, detail);
    if explanation.slow.is_empty() {
        slow::write_healthy(&mut sheet, explanation, detail);
        requests::write(&mut sheet, explanation, detail);
    } else {
        slow::write(&mut sheet, explanation, detail);
        requests::write(&mut sheet, explanation, detail);
        causes::write(&mut sheet, explanation, detail);
        lists::write_without_a_part(&mut sheet, explanation, detail);
        lists::write_ruled_out(&mut sheet, explanation, detail);
    }
    lists::write_cannot_tell(&mut sheet, explanation, detail);
    losses::write(&mut sheet, explanation, detail);
    sheet
}

/// The list of the catalogue: ids with their one-line titles.
pub fn causes<'a>(causes: impl IntoIterator<Item = (&'a str, &'a str)>, options: &TextOptions) -> String {
    let causes: Vec<(&str, &str)> = causes.into_iter().collect();
    let hang = causes.iter().map(|(id, _)| id.len()).max().unwrap_or(0) + 2;
    let mut sheet = Sheet::new(options.width);
    for (id, title) in causes {
        sheet.labelled(0, hang, styled(Tone::Strong, id), title);
    }
    sheet.render(options.color)
}

fn with_verdict(explanation: &Explanation, verdict: Verdict) -> Vec<&CauseVerdict> {
    explanation.causes.iter().filter(|cause| cause.verdict == verdict).collect()
}
