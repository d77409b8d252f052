//! Files beside a recording: the verdict as JSON and text, and until it exists what is known of the recording.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::incident::AboutJvm;
use crate::triggers::{Severity, Trigger};

/// Ending of what is known of a recording before there is a verdict.
pub(crate) const BEGUN: &str = "begun";

/// What is known of a recording when it begins. After a kill it shows which JVM the recording is about and why it was made.
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
    /// What cannot be seen of the JVM all the time, with why.
    #[serde(default)]
    pub(crate) not_seen: Vec<String>,
    /// How bad it is, where that is worse than the reason: the JVM did not outlive it.
    #[serde(default)]
    pub(crate) severity: Option<Severity>,
    /// Where only the time before was kept: why it was not recorded.
    #[serde(default)]
    pub(crate) not_recorded: Option<String>,
    /// The recording of the event of the host that it belongs to, if it is another one.
    #[serde(default)]
    pub(crate) part_of: Option<String>,
    /// Whether a message said that there is no recording, and the verdict on what was kept is to follow.
    #[serde(default)]
    pub(crate) is_awaited: bool,
}

impl Begun {
    /// Of a reason.
    pub(crate) fn new(jvm: &AboutJvm, trigger: &Trigger, times_today: usize, before_ns: i64) -> Begun {
        let (jvm, trigger) = (jvm.clone(), trigger.clone());
        Begun {
            jvm,
            trigger,
            times_today,
            before_ns,
            not_seen: Vec::new(),
            severity: None,
            not_recorded: None,
            part_of: None,
            is_awaited: false,
        }
    }

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
        let begun = Begun::new(&jvm, &Trigger::by_hand(5), 3, 60);
        begun.write(&folder).unwrap();
        let read = Begun::read(&folder).unwrap();
        assert_eq!((read.jvm.pid, read.trigger, read.times_today, read.before_ns), (7, Trigger::by_hand(5), 3, 60));
        for _ in 0..2 {
            remove(&folder, BEGUN).unwrap();
        }
        assert!(Begun::read(&folder).is_none());
    }
}
