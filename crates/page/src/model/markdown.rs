//! The explanation as text for a ticket.

use super::Answer;
use crate::loaded::Loaded;

/// Answers `markdown`.
pub(super) fn answer(page: &Loaded) -> Answer {
    Answer { content_type: "text/markdown; charset=utf-8", bytes: text(page).into_bytes() }
}

/// The text.
pub(crate) fn text(page: &Loaded) -> String {
    fathom_report::ticket(&page.explanation)
}
