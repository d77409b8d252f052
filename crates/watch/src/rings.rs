//! The time before on disk, so that it survives the service. The content of a JVM's ring is also written to a file each
//! second, and the next service takes it over up to the last second.
//!
//! Two files of each JVM take turns: when one spans as much time as the ring, the other is started again with what is known by
//! then. A kill leaves at most half a second of them, which is cut off. The files are best kept in memory (`RUNTIME_DIRECTORY`,
//! which systemd makes), because they are written all the time and are useless after a restart of the machine.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_evidence::Recording;

use crate::admission::JvmKey;
use crate::segment;

/// A file takes no more; a busy JVM has a fifth of it.
const FILE_MAX_BYTES: u64 = 16 << 20;

const ENDINGS: [&str; 2] = ["a", "b"];

/// Where rings are kept.
pub(crate) fn place(folder: &Path) -> PathBuf {
    let runtime = std::env::var("RUNTIME_DIRECTORY").ok();
    let runtime = runtime.as_deref().and_then(|folders| folders.split(':').next()).filter(|folder| !folder.is_empty());
    runtime.map_or(folder, Path::new).join("rings")
}

/// The files of one JVM. They go with this value, but not with a process that is killed.
#[derive(Debug)]
pub(crate) struct RingFile {
    paths: [PathBuf; 2],
    /// Which of them is written.
    current: usize,
    file: Option<File>,
    bytes: u64,
    began_ns: i64,
    keeps_ns: i64,
}

impl RingFile {
    /// For a JVM, and what a service before has left of it: rows with the time until which they are, in order.
    pub(crate) fn open(place: &Path, jvm: JvmKey, keeps: Duration) -> io::Result<(RingFile, Vec<(i64, Recording)>)> {
        DirBuilder::new().recursive(true).mode(0o700).create(place)?;
        let paths = paths(place, jvm);
        let left = left(&paths);
        // What is still of use is written again; the rest must not stand beside it.
        remove(&paths);
        let keeps_ns = i64::try_from(keeps.as_nanos()).unwrap_or(i64::MAX);
        Ok((RingFile { paths, current: 0, file: None, bytes: 0, began_ns: 0, keeps_ns }, left))
    }

    /// Adds what was found until `now_ns`, encoded. What is `known` by then begins another file.
    pub(crate) fn add(&mut self, now_ns: i64, rows: &[u8], known: impl FnOnce() -> Recording) -> io::Result<()> {
        if self.file.is_none() || !(0..=self.keeps_ns).contains(&(now_ns - self.began_ns)) {
            self.turn(now_ns)?;
            self.write(now_ns, &segment::encode(&known()))?;
        }
        self.write(now_ns, rows)
    }

    fn turn(&mut self, now_ns: i64) -> io::Result<()> {
        self.current ^= 1;
        let path = &self.paths[self.current];
        self.file = Some(OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?);
        (self.bytes, self.began_ns) = (0, now_ns);
        Ok(())
    }

    fn write(&mut self, now_ns: i64, rows: &[u8]) -> io::Result<()> {
        let Some(file) = self.file.as_mut().filter(|_| self.bytes + rows.len() as u64 <= FILE_MAX_BYTES) else {
            return Ok(());
        };
        let bytes = [&(rows.len() as u32).to_le_bytes()[..], &now_ns.to_le_bytes(), rows].concat();
        self.bytes += bytes.len() as u64;
        file.write_all(&bytes)
    }

    /// What is in the ring has gone elsewhere.
    pub(crate) fn clear(&mut self) {
        self.file = None;
        remove(&self.paths);
    }
}

impl Drop for RingFile {
    fn drop(&mut self) {
        self.clear();
    }
}

fn paths(place: &Path, (pid, start_ticks): JvmKey) -> [PathBuf; 2] {
    ENDINGS.map(|ending| place.join(format!("{pid}-{start_ticks}.{ending}")))
}

fn remove(paths: &[PathBuf; 2]) {
    for path in paths {
        // One of them may not have been begun.
        let _ = fs::remove_file(path);
    }
}

fn left(paths: &[PathBuf; 2]) -> Vec<(i64, Recording)> {
    let mut left: Vec<(i64, Recording)> = paths.iter().flat_map(|path| segments(path)).collect();
    left.sort_by_key(|(time_ns, _)| *time_ns);
    left
}

fn segments(path: &Path) -> Vec<(i64, Recording)> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(2 * FILE_MAX_BYTES).read_to_end(&mut bytes));
    let (mut rest, mut segments) = (bytes.as_slice(), Vec::new());
    while let Some((segment, after)) = read.is_ok().then(|| first(rest)).flatten() {
        segments.push(segment);
        rest = after;
    }
    segments
}

fn first(bytes: &[u8]) -> Option<((i64, Recording), &[u8])> {
    let (length, bytes) = bytes.split_first_chunk::<4>()?;
    let (time_ns, bytes) = bytes.split_first_chunk::<8>()?;
    let (rows, rest) = bytes.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some(((i64::from_le_bytes(*time_ns), segment::decode(rows)?), rest))
}

/// Takes away what was left of JVMs that `is_gone` says have ended: whose it was, and the rows.
pub(crate) fn take_left(place: &Path, is_gone: impl Fn(JvmKey) -> bool) -> Vec<(JvmKey, Vec<(i64, Recording)>)> {
    let names = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let keys: BTreeSet<JvmKey> = names.filter_map(|name| key(name.to_str()?)).filter(|key| is_gone(*key)).collect();
    let of_one = |key: JvmKey| {
        let paths = paths(place, key);
        let left = left(&paths);
        remove(&paths);
        (key, left)
    };
    keys.into_iter().map(of_one).collect()
}

fn key(name: &str) -> Option<JvmKey> {
    let (pid, start_ticks) = name.rsplit_once('.')?.0.split_once('-')?;
    Some((pid.parse().ok()?, start_ticks.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    fn segment(second: i64) -> Recording {
        let mut segment = Recording::default();
        segment.add_counter(second * SECOND_NS, "n", "", second as f64, "test");
        segment
    }

    /// A ring file whose service is killed after so many seconds.
    fn killed_after(place: &Path, seconds: i64) {
        let (mut file, left) = RingFile::open(place, (7, 9), Duration::from_secs(10)).unwrap();
        assert!(left.is_empty());
        for second in 0..seconds {
            let known = || {
                let mut known = Recording::default();
                known.add_fact("jvm", "known_at", &second.to_string(), "test");
                known
            };
            file.add(second * SECOND_NS, &segment::encode(&segment(second)), known).unwrap();
        }
        std::mem::forget(file);
    }

    fn seconds(left: &[(i64, Recording)]) -> Vec<i64> {
        let with_rows = left.iter().filter(|(_, segment)| segment.counters.time_ns.len() == 1);
        with_rows.map(|(time_ns, _)| time_ns / SECOND_NS).collect()
    }

    #[test]
    fn a_kill_leaves_the_last_seconds() {
        let folder = tempfile::tempdir().unwrap();
        killed_after(folder.path(), 37);
        let (file, left) = RingFile::open(folder.path(), (7, 9), Duration::from_secs(10)).unwrap();
        assert_eq!(seconds(&left), (22..37).collect::<Vec<i64>>());
        let known: Vec<&str> = left.iter().filter_map(|(_, segment)| segment.fact("jvm", "known_at")).collect();
        assert_eq!(known, ["22", "33"]);
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "in good order nothing is left");
    }

    #[test]
    fn half_a_second_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        killed_after(folder.path(), 5);
        let path = folder.path().join("7-9.b");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        assert_eq!(seconds(&left(&paths(folder.path(), (7, 9)))), [0, 1, 2, 3]);
    }

    #[test]
    fn what_was_left_of_a_jvm_that_has_ended_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        killed_after(folder.path(), 3);
        fs::write(folder.path().join("other"), "x").unwrap();
        assert!(take_left(folder.path(), |_| false).is_empty());
        let left = take_left(folder.path(), |_| true);
        assert_eq!((left.len(), left[0].0, seconds(&left[0].1)), (1, (7, 9), vec![0, 1, 2]));
        assert!(take_left(folder.path(), |_| true).is_empty());
    }
}
