//! Which files the paths of a command line lead to, and what each of them is.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fathom_readers::{LoadError, Reader};

use super::archive::{self, Budget, Unpacked};
use super::place::Place;

/// The name of Fathom's own format among the formats.
pub(crate) const RECORDING: &str = "recording";

/// The name of the format of latencies.
const LATENCY: &str = "latency";

/// How deep folders may lie in each other.
const FOLDERS_DEEP: usize = 16;

/// Files that are looked at in folders: each is opened, and a whole disk is hardly ever meant.
const FILES_MAX: usize = 10_000;

/// How deep archives may lie in each other.
const ARCHIVES_DEEP: usize = 4;

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// Files and folders that can be read, in the order in which they were named.
    pub(super) items: Vec<Item>,
    /// One line for each path that cannot be read.
    pub(super) refused: Vec<String>,
    /// Those of them without which an answer may be wrong: what is there and would have been read.
    pub(super) unread: Vec<String>,
    /// Where archives were unpacked, for as long as their files are wanted.
    pub(super) unpacked: Vec<Unpacked>,
    seen: HashSet<PathBuf>,
    budget: Budget,
    /// Files that were looked at in the folder or archive that was named, and in those in it.
    looked_at: usize,
}

/// Something that can be read.
pub(super) enum Item {
    /// A folder that Fathom wrote.
    Recording(PathBuf),
    /// A file that another program wrote.
    File(PathBuf, &'static dyn Reader),
}

/// A walk through a folder and the folders in it.
struct Walk<'w> {
    root: &'w Path,
    /// The archive that was unpacked there; none of a folder as it is.
    archive: Option<&'w Place>,
    /// The name of each thing that is not read, and why.
    skipped: Vec<String>,
}

impl<'w> Walk<'w> {
    fn new(root: &'w Path, archive: Option<&'w Place>) -> Walk<'w> {
        Walk { root, archive, skipped: Vec::new() }
    }

    /// Where an entry is, as the user knows it.
    fn place(&self, entry: &Path) -> Place {
        let folder = entry.parent().unwrap_or(self.root);
        self.archive.map_or_else(|| Place::of(folder).entry(entry), |archive| archive.entry(entry))
    }

    fn skip(&mut self, entry: &Path, why: &str) {
        let name = entry.strip_prefix(self.root).unwrap_or(entry);
        self.skipped.push(format!("{} ({why})", name.display()));
    }

    /// What is directly in a folder, without what is hidden. In an archive a hidden file is one like any other.
    fn entries(&self, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
        let mut entries = entries(folder)?;
        entries.retain(|entry| self.archive.is_some() || !super::file_name(entry).starts_with('.'));
        Ok(entries)
    }
}

/// Stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Follows the paths. A folder and an archive stand for the recordings and recognisable files in it, in its folders and in
/// its archives.
pub(super) fn find(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for path in paths {
        found.looked_at = 0;
        if is_standard_input(path) {
            found.add_standard_input(Found::add_file);
        } else if fathom_store::is_recording(path) {
            found.add_recording(path);
        } else if path.is_dir() {
            found.add_folder(path);
        } else {
            found.add_file(path);
        }
    }
    found
}

/// The same for files of which it is known that they hold latencies: what no reader recognises is read as lines, and with
/// a pattern for lines nothing has to be recognised.
pub(super) fn find_latencies(paths: &[PathBuf], has_pattern: bool) -> Found {
    let mut found = Found::default();
    for path in paths {
        found.looked_at = 0;
        let add = |found: &mut Found, path: &Path| found.add_latencies(path, has_pattern);
        match (is_standard_input(path), path.is_dir()) {
            (true, _) => found.add_standard_input(add),
            (false, true) => found.add_folder(path),
            (false, false) => add(&mut found, path),
        }
    }
    found
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

impl Found {
    /// The same file twice would count twice.
    fn is_new(&mut self, path: &Path) -> bool {
        self.seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }

    fn leave_out(&mut self, says: String) {
        self.unread.push(says.clone());
        self.refused.push(says);
    }

    /// What no reader takes. Sockets and devices are not evidence.
    fn refuse(&mut self, path: &Path, error: &LoadError) {
        match error {
            LoadError::Io { source, .. } if source.kind() != ErrorKind::InvalidInput => {
                self.leave_out(error.to_string());
            }
            _ => self.refused.push(recording_of(path).unwrap_or_else(|| error.to_string())),
        }
    }

    fn add_recording(&mut self, path: &Path) {
        if self.is_new(path) {
            self.items.push(Item::Recording(path.to_owned()));
        }
    }

    fn add_file(&mut self, path: &Path) {
        if !self.is_new(path) {
            return;
        }
        if self.add_archive(path, &Place::of(path)) {
            return;
        }
        match fathom_readers::sniff(path) {
            Ok(reader) => self.items.push(Item::File(path.to_owned(), reader)),
            Err(error) => self.refuse(path, &error),
        }
    }

    fn add_latencies(&mut self, path: &Path, has_pattern: bool) {
        if !self.is_new(path) {
            return;
        }
        let recognised = fathom_readers::sniff(path).ok().filter(|_| !has_pattern);
        match recognised.or_else(|| fathom_readers::reader(LATENCY)) {
            Some(reader) => self.items.push(Item::File(path.to_owned(), reader)),
            None => self.refused.push(format!("{}: no latencies can be read", path.display())),
        }
    }

    fn add_standard_input(&mut self, add: impl FnOnce(&mut Found, &Path)) {
        match archive::standard_input() {
            Ok((unpacked, path)) => {
                self.unpacked.push(unpacked);
                add(self, &path);
            }
            Err(error) => self.leave_out(format!("standard input: {error}")),
        }
    }

    /// Adds what is in the archive `path`; false if it is none.
    fn add_archive(&mut self, path: &Path, place: &Place) -> bool {
        let is_too_deep = place.archives_deep >= ARCHIVES_DEEP && archive::is_archive(path);
        let unpacked = match is_too_deep {
            true => Err(std::io::Error::other(format!("more than {ARCHIVES_DEEP} archives in each other"))),
            false => archive::unpack(path, place, &mut self.budget),
        };
        let unpacked = match unpacked {
            Ok(None) => return false,
            Ok(Some(unpacked)) => unpacked,
            Err(error) => {
                self.leave_out(format!("{}: {error}", place.name));
                return true;
            }
        };
        let before = self.items.len();
        let (within, folder) = (place.inside(unpacked.path()), unpacked.path().to_owned());
        self.unpacked.push(unpacked);
        let mut walk = Walk::new(&folder, Some(&within));
        self.add_all(&folder, &mut walk, FOLDERS_DEEP);
        self.tell_skipped(&place.name, "archive", before, &walk.skipped);
        true
    }

    /// Everything in a folder and the folders in it.
    fn add_all(&mut self, folder: &Path, walk: &mut Walk<'_>, deep: usize) {
        let entries = match walk.entries(folder) {
            Ok(entries) => entries,
            Err(error) => return self.leave_out(format!("{}: {error}", walk.place(folder).name)),
        };
        for entry in entries {
            if self.looked_at > FILES_MAX {
                return;
            }
            if !entry.is_dir() || fathom_store::is_recording(&entry) {
                self.add_entry(&entry, walk);
            } else if let Some(why) = why_not_entered(&entry, deep) {
                walk.skip(&entry, why);
            } else {
                self.add_all(&entry, walk, deep - 1);
            }
        }
    }

    fn add_folder(&mut self, path: &Path) {
        let before = self.items.len();
        if let Some(says) = crate::finish::nothing_written(path) {
            return self.refused.push(format!("{}: {says}", path.display()));
        }
        match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {
                self.refused.push(format!(
                    "{}: there is nothing in this folder: name one with recordings, logs or archives",
                    path.display()
                ));
                return;
            }
            Ok(false) => {}
            Err(error) => return self.leave_out(format!("{}: {error}", path.display())),
        }
        let mut walk = Walk::new(path, None);
        self.add_all(path, &mut walk, FOLDERS_DEEP);
        self.tell_skipped(&path.display().to_string(), "folder", before, &walk.skipped);
    }

    /// Says what of a folder or archive could not be read; `before` it there were so many items.
    fn tell_skipped(&mut self, path: &str, kind: &str, before: usize, skipped: &[String]) {
        let is_nothing = self.items.len() == before;
        let nothing = if is_nothing { format!("nothing in this {kind} can be read") } else { String::new() };
        let names = listed(skipped);
        match (nothing.as_str(), names.as_str()) {
            ("", "") => {}
            ("", names) => self.refused.push(format!("{path}: not read: {names}")),
            (nothing, "") => self.refused.push(format!("{path}: {nothing}")),
            (nothing, names) => self.refused.push(format!("{path}: {nothing}: {names}")),
        }
    }

    fn add_entry(&mut self, entry: &Path, walk: &mut Walk<'_>) {
        // Nothing is looked at after the first that is one too many, and one line says so.
        self.looked_at += 1;
        if self.looked_at > FILES_MAX {
            return self.leave_out(format!(
                "{}: it and what follows is left out, more than {FILES_MAX} files: name the folder that matters",
                walk.place(entry).name
            ));
        }
        if fathom_store::is_recording(entry) {
            return self.add_recording(entry);
        }
        // A log may follow the header of an archive: what is one is opened before any reader sees it.
        if !self.is_new(entry) || self.add_archive(entry, &walk.place(entry)) {
            return;
        }
        match fathom_readers::sniff(entry) {
            Ok(reader) => self.items.push(Item::File(entry.to_owned(), reader)),
            Err(LoadError::UnknownFormat(_)) => walk.skip(entry, "unknown format"),
            Err(LoadError::Empty(_)) => walk.skip(entry, "empty"),
            Err(error) => self.refuse(entry, &error),
        }
    }
}

/// Why a folder in a folder is left out; links could lead round in a circle.
fn why_not_entered(folder: &Path, deep: usize) -> Option<&'static str> {
    match () {
        () if folder.is_symlink() => Some("a link to a folder"),
        () if deep == 0 => Some("too many folders in each other"),
        () => crate::finish::nothing_written(folder),
    }
}

/// What to say of a file that is a part of a recording.
fn recording_of(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| fathom_store::is_recording(folder))?;
    Some(format!("{}: a part of a recording: name its folder, {}", path.display(), folder.display()))
}

/// What is directly in a folder, by name.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The names of a list; of a very long one the first, and how many more there are.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 50;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
