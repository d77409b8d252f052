//! JVMs that ended while the service was down because it was killed: the content of their rings becomes a recording.
//! Both may have ended for the same reason, and nothing else has recorded it.

use std::path::{Path, PathBuf};

use fathom_collectors::Target;
use fathom_evidence::Recording;
use fathom_store::FolderError;
use jiff::Timestamp;

use crate::admission::JvmKey;
use crate::capture::EXTENSION;
use crate::{kept, log, rings};

/// Saves what there is, as recordings without a verdict.
pub(crate) fn save(folder: &Path) {
    let is_gone = |(pid, start_ticks)| Target::of(pid).map_or(true, |target| target.start_ticks != start_ticks);
    let left = rings::take_left(&rings::place(folder), is_gone);
    for (key, segments) in left.into_iter().filter(|(_, segments)| !segments.is_empty()) {
        if let Err(error) = write(&path(folder, key, &segments), key, segments) {
            log::says("not_recovered", &error.to_string());
        }
    }
}

fn path(folder: &Path, key: JvmKey, segments: &[(i64, Recording)]) -> PathBuf {
    let until_ns = segments.last().map_or(0, |(until_ns, _)| *until_ns);
    let time = Timestamp::from_nanosecond(i128::from(until_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    folder.join(format!("{}-{}-lost.{EXTENSION}", time.strftime("%Y%m%dT%H%M%SZ"), key.0))
}

fn write(path: &Path, key: JvmKey, segments: Vec<(i64, Recording)>) -> Result<(), FolderError> {
    let mut all = Recording::default();
    let times =
        (segments.first().map_or(0, |(time_ns, _)| *time_ns), segments.last().map_or(0, |(time_ns, _)| *time_ns));
    segments.into_iter().for_each(|(_, segment)| all.absorb(segment));
    kept::write(path, key, times, all, "the service was killed, and the process has ended since")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fathom_evidence::Table;

    use super::*;
    use crate::rings::RingFile;
    use crate::{retention, segment};

    #[test]
    fn the_last_seconds_of_a_jvm_that_has_ended_become_a_recording() {
        let folder = tempfile::tempdir().unwrap();
        let own = Target::of(std::process::id()).unwrap();
        for key in [(own.pid, own.start_ticks), (own.pid, own.start_ticks + 1)] {
            let (mut file, _) = RingFile::open(&rings::place(folder.path()), key, Duration::from_secs(60)).unwrap();
            let mut segment = Recording::default();
            segment.add_span(1_000_000_000, 5, 7, "request", ":80", "", "requests");
            file.add(2_000_000_000, &segment::encode(&segment), Recording::default).unwrap();
            std::mem::forget(file);
        }
        save(folder.path());
        let saved = retention::left_behind(folder.path());
        let [path] = &saved[..] else { panic!("{saved:?}") };
        let recording = fathom_store::open(path).unwrap();
        assert_eq!((recording.spans.len(), recording.fact("jvm", "pid")), (1, Some(own.pid.to_string().as_str())));
        std::fs::remove_dir_all(path).unwrap();
        save(folder.path());
        assert!(retention::left_behind(folder.path()).is_empty(), "once");
    }
}
