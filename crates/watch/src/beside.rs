//! What stands beside a recording: the verdict as JSON and text, and until then what is known of it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::incident::AboutJvm;
use crate::triggers::Trigger;

/// Ending of what is known of a recording before there is a verdict.
pub(crate) const BEGUN: &str = "begun";

/// What is known of a recording when it begins. Who finds it after a kill can tell whom it is about, and why it was made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Begun {
    /// The JVM.
    pub(crate) jvm: AboutJvm,
    /// Why it was made.
    pub(crate) trigger: Trigger,
    /// How often that was today.
    pub(crate) times_today: usize,
    /// How much of the time before is in it, in ns.
    pub(crate) before_ns: i64,
}

impl Begun {
    pub(crate) fn write(&self, folder: &Path) -> std::io::Result<()> {
        write(&path(folder, BEGUN), &serde_json::to_string_pretty(self)?)
    }

    /// Nothing of a recording that was saved from a ring, or by a service that wrote no such file.
    pub(crate) fn read(folder: &Path) -> Option<Begun> {
        serde_json::from_str(&fs::read_to_string(path(folder, BEGUN)).ok()?).ok()
    }
}

/// The file with this ending.
pub(crate) fn path(folder: &Path, ending: &str) -> PathBuf {
    folder.with_extension(ending)
}

/// Whole or not at all, and for its owner only.
pub(crate) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&unfinished, path)
}

/// Removes it, if it is there.
pub(crate) fn remove(folder: &Path, ending: &str) -> std::io::Result<()> {
    match fs::remove_file(path(folder, ending)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_known_when_it_began_is_read_back() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("20261126T0.fathom");
        assert!(Begun::read(&folder).is_none());
        let jvm = AboutJvm { pid: 7, main: "Shop".to_owned(), ..AboutJvm::default() };
        let begun = Begun { jvm, trigger: Trigger::by_hand(5), times_today: 3, before_ns: 60 };
        begun.write(&folder).unwrap();
        let read = Begun::read(&folder).unwrap();
        assert_eq!((read.jvm.pid, read.trigger, read.times_today, read.before_ns), (7, Trigger::by_hand(5), 3, 60));
        for _ in 0..2 {
            remove(&folder, BEGUN).unwrap();
        }
        assert!(Begun::read(&folder).is_none());
    }
}
