//! The frames of one stack, the leaf first.

use serde::Serialize;

use super::Answer;
use crate::loaded::Loaded;
use crate::query::Query;
use crate::refused::Refused;
use fathom_evidence::StackId;

/// A stack that is deeper is cut at its root.
const FRAMES_MAX: usize = 4_096;

#[derive(Serialize)]
struct Stack<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    kind: &'a str,
    module: &'a str,
    line: u32,
}

/// Answers `stack`.
pub(super) fn answer(page: &Loaded, query: &Query) -> Result<Answer, Refused> {
    let stacks = &page.recording.stacks;
    let expected = "the number of a stack of this recording";
    query.required("id", expected)?;
    let id = query.count("id", 0, stacks.stack_count() - 1, expected)?;
    let text = |id| page.recording.text(id);
    let frames = stacks.leaf_to_root(StackId(id as u32)).take(FRAMES_MAX).map(|frame| Frame {
        name: text(frame.symbol),
        kind: text(frame.kind),
        module: text(frame.module),
        line: frame.line,
    });
    Ok(Answer::json(&Stack { frames: frames.collect() }))
}
