//! One thing that was read, with where it came from.

use std::path::PathBuf;

use fathom_evidence::{Recording, Table};

use super::grouping::Traits;

/// A recording, with where it came from.
#[derive(Clone)]
pub(crate) struct Source {
    /// One file, or the parts of a rotated one.
    pub(crate) paths: Vec<PathBuf>,
    /// Name of the format.
    pub(crate) format: &'static str,
    /// What is in it.
    pub(crate) recording: Recording,
}

impl Source {
    /// Rows of all tables.
    pub(crate) fn rows(&self) -> usize {
        let r = &self.recording;
        r.facts.len() + r.samples.len() + r.spans.len() + r.counters.len() + r.logs.len()
    }
}

/// What each source says of its JVM, and in which folder it is.
pub(super) fn traits(sources: &[Source]) -> Vec<Traits> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut number = |folder: PathBuf| {
        folders.iter().position(|known| *known == folder).unwrap_or_else(|| {
            folders.push(folder);
            folders.len() - 1
        })
    };
    let folder_of = |source: &Source| {
        let path = std::fs::canonicalize(&source.paths[0]).unwrap_or_else(|_| source.paths[0].clone());
        path.parent().map_or_else(PathBuf::new, PathBuf::from)
    };
    sources.iter().map(|source| Traits { folder: number(folder_of(source)), ..Traits::of(&source.recording) }).collect()
}
