//! Which files the paths of a command line lead to, and what each of them is.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_readers::{LoadError, Reader};

/// The name of Fathom's own format among the formats.
pub(crate) const RECORDING: &str = "recording";

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// Files and folders that can be read, in the order in which they were named.
    pub(super) items: Vec<Item>,
    /// One line for each path that cannot be read.
    pub(super) refused: Vec<String>,
    seen: HashSet<PathBuf>,
}

/// Something that can be read.
pub(super) enum Item {
    /// A folder that Fathom wrote.
    Recording(PathBuf),
    /// A file that somebody else wrote.
    File(PathBuf, &'static dyn Reader),
}

/// Follows the paths. A folder stands for the recordings and recognisable files directly in it.
pub(super) fn find(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for path in paths {
        if fathom_store::is_recording(path) {
            found.add_recording(path);
        } else if path.is_dir() {
            found.add_folder(path);
        } else {
            found.add_file(path);
        }
    }
    found
}

impl Found {
    /// The same file twice would count twice.
    fn is_new(&mut self, path: &Path) -> bool {
        self.seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }

    fn add_recording(&mut self, path: &Path) {
        if self.is_new(path) {
            self.items.push(Item::Recording(path.to_owned()));
        }
    }

    fn add_file(&mut self, path: &Path) {
        if self.is_new(path) {
            match fathom_readers::sniff(path) {
                Ok(reader) => self.items.push(Item::File(path.to_owned(), reader)),
                Err(error) => self.refused.push(error.to_string()),
            }
        }
    }

    fn add_folder(&mut self, path: &Path) {
        let before = self.items.len();
        let mut skipped = Vec::new();
        match entries(path) {
            Ok(entries) => entries.iter().for_each(|entry| self.add_entry(entry, &mut skipped)),
            Err(error) => return self.refused.push(format!("{}: {error}", path.display())),
        }
        let nothing = if self.items.len() == before { "nothing in this folder can be read" } else { "" };
        let names = listed(&skipped);
        match (nothing, names.as_str()) {
            ("", "") => {}
            ("", names) => self.refused.push(format!("{}: not read: {names}", path.display())),
            (nothing, "") => self.refused.push(format!("{}: {nothing}", path.display())),
            (nothing, names) => self.refused.push(format!("{}: {nothing}: {names}", path.display())),
        }
    }

    fn add_entry(&mut self, entry: &Path, skipped: &mut Vec<String>) {
        if fathom_store::is_recording(entry) {
            return self.add_recording(entry);
        }
        if entry.is_dir() || !self.is_new(entry) {
            return;
        }
        match fathom_readers::sniff(entry) {
            Ok(reader) => self.items.push(Item::File(entry.to_owned(), reader)),
            Err(LoadError::UnknownFormat(_)) => skipped.push(format!("{} (unknown format)", super::file_name(entry))),
            Err(LoadError::Empty(_)) => skipped.push(format!("{} (empty)", super::file_name(entry))),
            Err(error) => self.refused.push(error.to_string()),
        }
    }
}

/// What is directly in a folder, by name, without hidden files.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.retain(|path| !super::file_name(path).starts_with('.'));
    paths.sort();
    Ok(paths)
}

/// The first names of a list and how many more there are.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
