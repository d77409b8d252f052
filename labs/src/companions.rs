//! The processes that run beside a lab's program.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::declaration::{Companion, Executable};
use crate::entry::Entry;
use crate::jdk::Jdk;
use crate::places::Places;
use crate::process::Kept;

/// Flags for a small JVM: only its effect on others matters.
const JVM: &[&str] = &["-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+PerfDisableSharedMem"];

/// Where and how companions are started.
pub(crate) struct Companions<'a> {
    declared: &'a [Companion],
    places: &'a Places,
    classes: &'a Path,
    java: PathBuf,
    entry: Entry,
    /// For their error output.
    folder: &'a Path,
    running: Vec<(&'a Companion, Kept)>,
}

impl<'a> Companions<'a> {
    pub(crate) fn new(
        declared: &'a [Companion],
        places: &'a Places,
        classes: &'a Path,
        jdk: &Jdk,
        entry: &Entry,
        folder: &'a Path,
    ) -> Companions<'a> {
        let entry = entry.groups_only();
        Companions { declared, places, classes, java: jdk.java(), entry, folder, running: Vec::new() }
    }

    /// Starts those that run all the time.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        self.start(|companion| companion.phases.is_empty())
    }

    /// Stops those that do not belong to the phase and starts those that do.
    pub(crate) fn phase_begins(&mut self, phase: &str) -> io::Result<()> {
        self.running
            .retain(|(companion, _)| companion.phases.is_empty() || companion.phases.iter().any(|p| p == phase));
        self.start(|companion| companion.phases.iter().any(|p| p == phase))
    }

    /// A run in which one of them ended too early is not valid.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        for (companion, process) in &mut self.running {
            if let Some(status) = process.ended()? {
                return Err(io::Error::other(format!("{} ended early with {status}", companion.name)));
            }
        }
        Ok(())
    }

    fn start(&mut self, is_wanted: impl Fn(&Companion) -> bool) -> io::Result<()> {
        for companion in self.declared.iter().filter(|companion| is_wanted(companion)) {
            if !self.running.iter().any(|(running, _)| running.name == companion.name) {
                self.running.push((companion, self.started(companion)?));
            }
        }
        Ok(())
    }

    fn started(&self, companion: &Companion) -> io::Result<Kept> {
        let mut command = match &companion.program {
            Executable::Native(name) => Command::new(self.places.native().join(name)),
            Executable::Java(class) => {
                let mut command = Command::new(&self.java);
                command.args(JVM).arg(class);
                command
            }
        };
        let log = File::create(self.folder.join(format!("{}.log", companion.name)))?;
        command.args(companion.args.iter().map(|argument| self.places.fill(argument)));
        command.env_clear().env("CLASSPATH", self.classes).current_dir(self.folder);
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let entry = if companion.in_group { self.entry.clone() } else { Entry::default() };
        entry.prepare(&mut command)?;
        command.spawn().map(Kept::new)
    }
}
