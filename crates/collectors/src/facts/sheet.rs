//! Where facts go.

use std::path::Path;

use fathom_evidence::Recording;

use super::SOURCE;
use crate::procfs::ProcFile;

/// Longer values are cut: no setting is.
const LONGEST_VALUE_BYTES: usize = 2_000;

/// Facts of this collector.
pub(super) struct Sheet<'a>(pub(super) &'a mut Recording);

impl Sheet<'_> {
    /// Writes a fact. Control characters, which a file name may hold, become question marks, and
    /// tabs blanks.
    pub(super) fn add(&mut self, subject: &str, key: &str, value: &str) {
        let plain = |text: &str| {
            let cut = text.floor_char_boundary(LONGEST_VALUE_BYTES.min(text.len()));
            text[..cut].replace('\t', " ").replace(|letter: char| letter.is_control(), "?")
        };
        self.0.add_fact(subject, &plain(key), &plain(value), SOURCE);
    }

    /// Writes a fact that is known and not empty.
    pub(super) fn add_some(&mut self, subject: &str, key: &str, value: Option<String>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.add(subject, key, &value);
        }
    }

    /// The text of a file; empty when it cannot be read.
    pub(super) fn read<'b>(&self, path: impl AsRef<Path>, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        ProcFile::open(path).and_then(|file| file.read(buffer)).unwrap_or_default()
    }
}
