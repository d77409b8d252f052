//! A service as it usually is: the rows of a quiet minute, kept aside. A problem that is noticed late began before the
//! time that the ring holds, so its recording does not show what changed; these rows are added to it.
//!
//! Two copies of each JVM take turns, so that one of them is from well before what is being noticed just now.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use fathom_evidence::kinds::recorded::USUAL;

use crate::admission::JvmKey;
use crate::kept;
use crate::log;
use crate::retention;
use crate::watched_jvm::WatchedJvm;

/// A JVM that has just started is not as it usually is.
const FIRST_AFTER_S: i64 = 180;

/// Writing a minute takes some ms of CPU time.
const EACH_S: i64 = 900;

/// For so long nothing was noticed before it, and as old it is when it is used: what comes slowly is noticed within some minutes.
const QUIET_S: i64 = 300;

const ENDINGS: [&str; 2] = ["a", "b"];

/// Of one JVM. Its files go with it, but not with a process that is killed.
#[derive(Debug)]
pub(crate) struct Usual {
    paths: [PathBuf; 2],
    jvm: JvmKey,
    written_s: [Option<i64>; 2],
    began_s: i64,
    noticed_s: Option<i64>,
}

impl Usual {
    /// Of a JVM that is watched since `now_s`.
    pub(crate) fn of(folder: &Path, jvm: JvmKey, now_s: i64) -> Usual {
        let paths = ENDINGS.map(|ending| place(folder).join(format!("{}-{}.{ending}", jvm.0, jvm.1)));
        paths.iter().for_each(|path| remove(path));
        Usual { paths, jvm, written_s: [None; 2], began_s: now_s, noticed_s: None }
    }

    /// Something was noticed.
    pub(crate) fn noticed(&mut self, now_s: i64) {
        self.noticed_s = Some(now_s);
    }

    /// Which one is to be written now, the older of the two, if one is.
    fn due(&self, now_s: i64) -> Option<usize> {
        let newest_s = self.written_s.into_iter().flatten().max();
        let is_time = match newest_s {
            None => now_s - self.began_s >= FIRST_AFTER_S,
            Some(newest_s) => now_s - newest_s >= EACH_S,
        };
        let is_quiet = self.noticed_s.is_none_or(|noticed_s| now_s - noticed_s >= QUIET_S);
        (is_time && is_quiet).then_some(usize::from(self.written_s[0] > self.written_s[1]))
    }

    /// The newest one that is old enough.
    fn aged(&self, now_s: i64) -> Option<usize> {
        let is_aged = |at: &usize| self.written_s[*at].is_some_and(|written_s| now_s - written_s >= QUIET_S);
        (0..ENDINGS.len()).filter(is_aged).max_by_key(|at| self.written_s[*at])
    }

    /// Keeps the rows of the last minute, if it is time for that.
    pub(crate) fn keep(&mut self, watched: &WatchedJvm, now_s: i64) {
        let Some(at) = self.due(now_s) else { return };
        self.written_s[at] = Some(now_s);
        if !retention::is_roomy(&watched.config().folder) {
            self.written_s[at] = None;
        } else if let Err(error) = self.write(watched, at) {
            log::says("usual_not_kept", &error);
        }
    }

    fn write(&self, watched: &WatchedJvm, at: usize) -> Result<(), String> {
        let now_ns = watched.order().clock.now_ns();
        let path = &self.paths[at];
        remove(path);
        let parent = path.parent().unwrap_or(path);
        DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(|error| error.to_string())?;
        let because = "a quiet minute was kept";
        // No part of it was observed closely.
        let looked_ns = (now_ns, now_ns);
        kept::write(path, self.jvm, looked_ns, watched.copy_kept(), because).map_err(|error| error.to_string())
    }

    /// Puts one into a recording of what was noticed at `noticed_s`, if there is one.
    pub(crate) fn give(&mut self, recording: &Path, noticed_s: i64) -> io::Result<()> {
        let Some(at) = self.aged(noticed_s) else { return Ok(()) };
        self.written_s[at] = None;
        fs::rename(&self.paths[at], recording.join(USUAL))
    }
}

impl Drop for Usual {
    fn drop(&mut self) {
        self.paths.iter().for_each(|path| remove(path));
    }
}

/// Where they are: not among the recordings.
fn place(folder: &Path) -> PathBuf {
    folder.join(format!(".{USUAL}"))
}

/// Removes what a service that was killed has left.
pub(crate) fn clear(folder: &Path) {
    remove(&place(folder));
}

fn remove(path: &Path) {
    // Mostly there is none.
    let _ = fs::remove_dir_all(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds in which one is kept, and for each of these seconds which one a recording would get, by when it was kept.
    fn course(noticed_s: &[i64], asked_s: &[i64]) -> (Vec<i64>, Vec<Option<i64>>) {
        let mut usual = Usual::of(Path::new("/nowhere"), (1, 2), 0);
        let (mut kept_s, mut given_s) = (Vec::new(), Vec::new());
        for now_s in 0..4000 {
            if noticed_s.contains(&now_s) {
                usual.noticed(now_s);
            }
            if let Some(at) = usual.due(now_s) {
                usual.written_s[at] = Some(now_s);
                kept_s.push(now_s);
            }
            if asked_s.contains(&now_s) {
                given_s.push(usual.aged(now_s).and_then(|at| usual.written_s[at]));
            }
        }
        (kept_s, given_s)
    }

    #[test]
    fn a_quiet_minute_is_kept_now_and_then_and_an_aged_one_is_used() {
        let asked_s = [100, 400, 480, 1100, 1400, 2000];
        let (kept_s, given_s) = course(&[], &asked_s);
        assert_eq!(kept_s, [180, 1080, 1980, 2880, 3780]);
        assert_eq!(given_s, [None, None, Some(180), Some(180), Some(1080), Some(1080)]);
    }

    #[test]
    fn what_is_not_quiet_is_not_as_usual() {
        assert_eq!(course(&[100, 1000, 1200], &[]).0[..2], [400, 1500]);
    }

    #[test]
    fn it_goes_into_the_recording_and_the_rest_goes_with_the_jvm() {
        let folder = tempfile::tempdir().unwrap();
        let mut usual = Usual::of(folder.path(), (1, 2), 0);
        for (at, written_s) in [(0, 180), (1, 1080)] {
            fs::create_dir_all(usual.paths[at].join("facts")).unwrap();
            usual.written_s[at] = Some(written_s);
        }
        let recording = folder.path().join("20261130T0.fathom");
        fs::create_dir(&recording).unwrap();
        usual.give(&recording, 1200).unwrap();
        assert!(recording.join(USUAL).join("facts").is_dir());
        assert_eq!((usual.paths[0].exists(), usual.paths[1].exists(), usual.aged(1200)), (false, true, None));
        let left = usual.paths[1].clone();
        drop(usual);
        assert!(!left.exists());
    }
}
