//! The JSON of speedscope. Knows no evidence.

use serde::Deserialize;

use crate::json_columns::{Column, First, Lists, Scalar};
use crate::profiles::ENTRIES_MAX;

/// Threads that are read: an empty one takes two bytes of a file.
const PROFILES_MAX: usize = 1 << 16;

/// Whether a file that begins with `head` is a profile of speedscope.
pub(super) fn is_profile(head: &[u8]) -> bool {
    let has = |mark: &[u8]| memchr::memmem::find(head, mark).is_some();
    head.trim_ascii_start().starts_with(b"{") && has(b"speedscope.app/file-format-schema")
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct File {
    pub(super) name: Scalar,
    pub(super) shared: Shared,
    pub(super) profiles: First<Profile, PROFILES_MAX>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Shared {
    pub(super) frames: First<Frame, ENTRIES_MAX>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Frame {
    pub(super) name: String,
    pub(super) file: Scalar,
    pub(super) line: Scalar,
}

/// A thread: samples with weights, or when each function began and ended.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Profile {
    pub(super) name: Scalar,
    pub(super) unit: Scalar,
    pub(super) samples: Lists,
    pub(super) weights: Column,
    pub(super) events: First<Event, ENTRIES_MAX>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    /// `O` or `C`.
    #[serde(rename = "type")]
    pub(super) kind: Scalar,
    pub(super) frame: Scalar,
    pub(super) at: Scalar,
}

/// Reads a profile; what follows it does not matter. The error is one line.
pub(super) fn file(json: &[u8]) -> Result<File, String> {
    let mut from = serde_json::Deserializer::from_slice(json);
    File::deserialize(&mut from).map_err(|error| error.to_string())
}
