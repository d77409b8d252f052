//! The text about a recording that its writer has not finished.

use std::fs;
use std::path::Path;

use fathom_evidence::Recording;
use fathom_evidence::kinds::{loss, recorded, subject};

use crate::State;

/// Adds what is missing because the recording was not finished, and how it can still be had.
pub(crate) fn tell(folder: &Path, state: State, is_being_finished: bool, recording: &mut Recording) {
    let has_ended = recording.fact(subject::RECORDING, recorded::ENDED_BECAUSE).is_some();
    let says = match state {
        State::Finished => return,
        // All that was observed is here; it only has to be put together.
        _ if has_ended => return,
        State::Running => "this recording goes on: what follows is not in it yet".to_owned(),
        State::CutOff if is_being_finished => "the recorder was killed: what it had not written is missing".to_owned(),
        State::CutOff => {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            format!("the recorder was killed: what it had not written is missing; fathom import {name} finishes it")
        }
    };
    recording.add_loss("recording", loss::CUT_OFF, 0, &says);
    for says in outstanding(folder, recording) {
        recording.add_loss("recording", loss::CUT_OFF, 0, &says);
    }
}

/// What collectors would have fetched at the end and have not.
fn outstanding(folder: &Path, recording: &Recording) -> Vec<String> {
    let is_there = |file: &str| fs::metadata(folder.join("raw").join(file)).is_ok_and(|data| data.len() > 0);
    let says = |(file, says): (&str, &str)| (!is_there(file)).then(|| says.to_owned());
    let facts = recording.facts.rows().filter(|fact| recording.text(fact.subject) == subject::RECORDING);
    let facts = facts.filter_map(|fact| {
        Some((recording.text(fact.key).strip_prefix(recorded::OUTSTANDING)?, recording.text(fact.value)))
    });
    facts.filter_map(says).collect()
}
