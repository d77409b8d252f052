//! Recordings of `testdata` and of folders that are given: how tests read and explain them.

use std::path::{Path, PathBuf};

use fathom_causes::explanation::Explanation;
use fathom_causes::{ExplainOptions, explain};
use fathom_evidence::Recording;
use fathom_readers::{LoadError, LoadOptions, sniff};

/// Files of a lab's recording, and what to call them.
pub(crate) const LAB_FILES: &[(&str, &str)] =
    &[("jfr", "recording.jfr.gz"), ("gc_log", "gc.log.gz"), ("latency", "latency.csv.gz")];

/// Combinations of such files that people have; the last is all of them.
pub(crate) const MIXES: &[&[&str]] = &[
    &["jfr"],
    &["gc_log"],
    &["jfr", "gc_log"],
    &["jfr", "latency"],
    &["gc_log", "latency"],
    &["jfr", "gc_log", "latency"],
];

/// Where the recordings are.
pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// What is directly in a folder, sorted.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = found.collect();
    found.sort();
    found
}

/// The last part of a path.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a file, or the parts of a log in a folder.
pub(crate) fn load(path: &Path) -> Result<Recording, LoadError> {
    let files = if path.is_dir() { entries(path) } else { vec![path.to_owned()] };
    sniff(files.first().map_or(path, PathBuf::as_path))?.load(&files, &LoadOptions::default())
}

/// The recordings of labs: a folder each.
pub(crate) fn labs() -> impl Iterator<Item = PathBuf> {
    entries(&testdata().join("labs")).into_iter().filter(|path| path.is_dir())
}

/// What a lab's folder has, file by file.
pub(crate) fn lab_parts(folder: &Path) -> Vec<(&'static str, Recording)> {
    let part = |file: &str| load(&folder.join(file)).unwrap_or_else(|e| panic!("{}: {e}", folder.join(file).display()));
    LAB_FILES.iter().map(|(what, file)| (*what, part(file))).collect()
}

/// Those of a mix, as one recording.
pub(crate) fn together(parts: &[(&str, Recording)], mix: &[&str]) -> Recording {
    let mut recording = Recording::default();
    let of_mix = parts.iter().filter(|(what, _)| mix.contains(what));
    of_mix.for_each(|(_, part)| recording.absorb(part.clone()));
    recording
}

/// The answer with default options.
pub(crate) fn answer(recording: &Recording) -> Explanation {
    explain(recording, &ExplainOptions::default())
}
