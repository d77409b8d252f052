//! The folder of `fathom watch`, or a copy of it, where this program lacks that command: the page shows the recordings, and
//! nothing of the service.

use std::path::Path;

use serde_json::Value;

pub(crate) fn is_folder(path: &Path) -> bool {
    ["first_start", "lock"].iter().all(|name| path.join(name).is_file())
}

pub(crate) fn status(_: &Path, _: impl Fn(&str) -> Option<u32>) -> Option<Value> {
    None
}
