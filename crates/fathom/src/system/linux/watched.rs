//! The folder of `fathom watch`.

use std::path::Path;

pub(crate) use fathom_watch::status::is_folder;
use serde_json::Value;

/// What the folder says of its service, for the page. `number` is that of a recording on the page, by its name.
pub(crate) fn status(folder: &Path, number: impl Fn(&str) -> Option<u32>) -> Option<Value> {
    let mut status = fathom_watch::status::status(folder);
    for incident in &mut status.incidents {
        incident.recording = number(&format!("{}.{}", incident.id, fathom_store::EXTENSION));
    }
    serde_json::to_value(status).ok()
}
