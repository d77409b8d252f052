//! Any text as a request of the page (`flame?from=0&to=5`): it is answered or refused, and nothing panics.

use std::sync::LazyLock;

use fathom_page::model::{Alone, answer};
use fathom_page::{About, Loaded, Query};

/// Limit of an answer about a recording of some ten rows, in bytes.
const ANSWER_MAX: usize = 64 << 20;

static PAGE: LazyLock<Loaded> = LazyLock::new(|| Loaded::new(fathom_fuzz::some_recording(), About::default()));

pub(crate) fn run(bytes: &[u8]) {
    fathom_fuzz::work_alone();
    let text = fathom_fuzz::text(bytes);
    let (question, query) = text.split_once('?').unwrap_or((text, ""));
    if let Ok(answer) = answer(&PAGE, question, &Query::parse(query), &Alone) {
        assert!(answer.bytes.len() <= ANSWER_MAX, "{} bytes", answer.bytes.len());
    }
}
