//! The folder of recordings: how large it is, and which recordings are deleted when it is full.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_collectors::recorder::{missing_bytes, size_bytes};
use serde_json::Value;

use crate::capture::EXTENSION;
use crate::log;
use crate::sidecars;

/// A recording in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    /// Its folder; names sort by time.
    folder: PathBuf,
    /// Its size, without the verdict beside it.
    bytes: u64,
    /// Cause and day, once there is a verdict.
    about: Option<(String, String)>,
    /// Only rows of the time before, kept in place of a recording.
    is_ring: bool,
}

/// All recordings, the oldest first.
fn list(folder: &Path) -> Vec<Kept> {
    let kept = recordings(folder).into_iter();
    let look = |folder: PathBuf| {
        let (about, is_ring) = about(&folder).unzip();
        Kept { bytes: size_bytes(&folder), about, is_ring: is_ring.unwrap_or(false), folder }
    };
    kept.map(look).collect()
}

/// Recordings without a verdict: the service was killed while they were made or explained.
pub(crate) fn left_behind(folder: &Path) -> Vec<PathBuf> {
    recordings(folder).into_iter().filter(|folder| !sidecars::path(folder, "json").exists()).collect()
}

/// Folders of recordings, the oldest first.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_one = |path: &PathBuf| path.extension().is_some_and(|ending| ending == EXTENSION) && path.is_dir();
    let mut recordings: Vec<PathBuf> = paths.filter(is_one).collect();
    recordings.sort_unstable();
    recordings
}

/// Cause and day, and whether it is rows of the time before only.
fn about(folder: &Path) -> Option<((String, String), bool)> {
    let verdict = fs::read_to_string(sidecars::path(folder, "json")).ok()?;
    let incident: Value = serde_json::from_str(&verdict).ok()?;
    let cause = incident["verdict"]["causes"][0]["id"].as_str().unwrap_or("none").to_owned();
    let day = folder.file_name()?.to_str()?.get(..8)?.to_owned();
    Some(((cause, day), incident["not_recorded"].is_string()))
}

/// Which recordings have to go so that no more than `max_bytes` are left: first what was kept in place of a recording. Of one cause and day the
/// first one is kept longest; else the oldest go first. One without a verdict is not finished and stays, and so does `newest`: its report is on the way.
fn too_many(kept: &[Kept], max_bytes: u64, newest: Option<&Path>) -> Vec<PathBuf> {
    let mut bytes: u64 = kept.iter().map(|one| one.bytes).sum();
    let mut seen: HashSet<&(String, String)> = HashSet::new();
    let (mut rings, mut firsts, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for one in kept.iter().filter(|one| newest != Some(one.folder.as_path())) {
        match &one.about {
            Some(_) if one.is_ring => rings.push(one),
            Some(about) if seen.insert(about) => firsts.push(one),
            Some(_) => others.push(one),
            None => {}
        }
    }
    let mut gone = Vec::new();
    for one in rings.into_iter().chain(others).chain(firsts) {
        if bytes <= max_bytes {
            break;
        }
        bytes = bytes.saturating_sub(one.bytes);
        gone.push(one.folder.clone());
    }
    gone
}

/// Removes what is too much, whatever that is but `newest`; what was removed is reported.
pub(crate) fn make_room(folder: &Path, max_bytes: u64, newest: &Path) {
    clear(&too_many(&list(folder), max_bytes, Some(newest)));
}

/// Whether the disk has room as it is: for rows of the time before no recording goes.
pub(crate) fn is_roomy(folder: &Path) -> bool {
    missing_bytes(folder) == 0
}

/// Whether the disk has room for a recording to begin, if need be once others have gone.
pub(crate) fn has_room(folder: &Path) -> bool {
    let missing = missing_bytes(folder);
    if missing > 0 {
        clear(&in_the_way(&list(folder), missing));
    }
    missing == 0 || missing_bytes(folder) == 0
}

/// Which recordings have to go for so many bytes; none where that would not be enough, as it is others who have filled the disk.
fn in_the_way(kept: &[Kept], missing: u64) -> Vec<PathBuf> {
    let bytes: u64 = kept.iter().map(|one| one.bytes).sum();
    let gone = too_many(kept, bytes.saturating_sub(missing), None);
    let freed: u64 = kept.iter().filter(|one| gone.contains(&one.folder)).map(|one| one.bytes).sum();
    if freed < missing { Vec::new() } else { gone }
}

fn clear(folders: &[PathBuf]) {
    for gone in folders {
        match remove(gone) {
            Ok(()) => log::says("recording_removed", &gone.display().to_string()),
            Err(error) => log::says("recording_not_removed", &format!("{}: {error}", gone.display())),
        }
    }
}

/// Removes a recording and what stands beside it.
fn remove(folder: &Path) -> std::io::Result<()> {
    fs::remove_dir_all(folder)?;
    ["json", "txt", sidecars::BEGUN].into_iter().try_for_each(|ending| sidecars::remove(folder, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, bytes: u64, cause: Option<&str>) -> Kept {
        let about = cause.map(|cause| (cause.to_owned(), name[..8].to_owned()));
        Kept { folder: PathBuf::from(name), bytes, about, is_ring: false }
    }

    #[test]
    fn what_was_kept_in_place_of_a_recording_goes_first() {
        let ring = Kept { is_ring: true, ..kept("20261103T0", 10, Some("locks")) };
        let all = [kept("20261101T0", 10, Some("gc")), kept("20261101T1", 10, Some("gc")), ring];
        assert_eq!(too_many(&all, 20, None), [PathBuf::from("20261103T0")]);
        assert!(!is_roomy(Path::new("/proc")));
    }

    #[test]
    fn of_one_cause_and_day_one_is_kept_longest() {
        let all = [
            kept("20261101T0", 10, Some("gc")),
            kept("20261101T1", 10, Some("gc")),
            kept("20261101T2", 10, Some("locks")),
            kept("20261102T0", 10, Some("gc")),
            kept("20261102T1", 10, None),
        ];
        for (max, expected) in [
            (50, vec![]),
            (49, vec!["20261101T1"]),
            (35, vec!["20261101T1", "20261101T0"]),
            (0, vec!["20261101T1", "20261101T0", "20261101T2", "20261102T0"]),
        ] {
            let gone: Vec<String> =
                too_many(&all, max, None).into_iter().map(|path| path.to_string_lossy().into_owned()).collect();
            assert_eq!(gone, expected, "{max}");
        }
        let newest = Path::new("20261102T0");
        assert!(!too_many(&all, 0, Some(newest)).contains(&newest.to_owned()), "whatever it takes");
    }

    #[test]
    fn recordings_go_for_a_new_one_only_where_that_helps() {
        let all = [kept("20261101T0", 10, Some("gc")), kept("20261101T1", 10, Some("gc")), kept("20261102T0", 9, None)];
        for (missing, expected) in [(1, 1), (10, 1), (11, 2), (20, 2), (21, 0)] {
            assert_eq!(in_the_way(&all, missing).len(), expected, "{missing}");
        }
        assert!(!has_room(Path::new("/proc")), "there is none at all");
    }

    #[test]
    fn a_folder_is_listed_and_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("20261101T0-x.fathom");
        fs::create_dir_all(recording.join("raw")).unwrap();
        fs::write(recording.join("raw/a"), [0; 100]).unwrap();
        assert_eq!(left_behind(folder.path()), [recording.as_path()]);
        fs::write(sidecars::path(&recording, "json"), r#"{"verdict": {"causes": [{"id": "gc"}]}}"#).unwrap();
        fs::write(folder.path().join("watch.log"), "x").unwrap();
        let listed = list(folder.path());
        assert_eq!(listed.len(), 1);
        assert!(left_behind(folder.path()).is_empty());
        assert_eq!((listed[0].bytes, listed[0].about.as_ref().map(|about| about.0.as_str())), (100, Some("gc")));
        make_room(folder.path(), 0, &recording);
        assert_eq!(list(folder.path()).len(), 1);
        make_room(folder.path(), 0, Path::new("a later one"));
        assert!(list(folder.path()).is_empty() && !sidecars::path(&recording, "json").exists());
    }
}
