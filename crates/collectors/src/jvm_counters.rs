//! The counters' file of one JVM, opened once and read in place.
//!
//! It is read, not mapped: the file's owner could truncate it, and a mapping would then crash this process.

pub(crate) mod parse;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::hostile_files::{open_file, open_folder, tmp_of};
use crate::mapped::Mapped;
use crate::{Refusal, Target};
use parse::{Layout, Place, entries_of};

/// Largest file that is read; 32 KB unless the JVM was told otherwise.
const FILE_MAX_BYTES: u64 = 4 << 20;

/// The counters of a JVM.
#[derive(Debug)]
pub(crate) struct Counters {
    file: File,
    bytes: Vec<u8>,
    layout: Layout,
}

impl Counters {
    /// Finds and opens the file that the process itself has mapped.
    pub(crate) fn of(target: &Target, mapped: &Mapped) -> Result<Counters, Refusal> {
        let (folder, name) = mapped.counters.as_ref().ok_or_else(|| absent(mapped))?;
        let opened = tmp_of(target)
            .and_then(|tmp| open_folder(target, tmp, folder))
            .and_then(|folder| open_file(target, folder, name));
        let file = opened.map_err(|error| {
            Refusal::new(
                format!("cannot open /tmp/{folder}/{name} of the process: {error}"),
                "run as the JVM's user, or as root",
            )
        })?;
        let mut counters = Counters { file, bytes: Vec::new(), layout: Layout::default() };
        counters
            .read_all()
            .map_err(|error| Refusal::new(format!("cannot read /tmp/{folder}/{name} of the process: {error}"), ""))?;
        Ok(counters)
    }

    fn read_all(&mut self) -> io::Result<()> {
        let size_bytes = self.file.metadata()?.len().min(FILE_MAX_BYTES);
        self.bytes = vec![0; size_bytes as usize];
        self.fill()?;
        self.layout = Layout::parse(&self.bytes).map_err(io::Error::other)?;
        Ok(())
    }

    /// Reads the file again. Whether counters were added and all places are to be looked up anew.
    pub(crate) fn refresh(&mut self) -> io::Result<bool> {
        self.fill()?;
        if entries_of(&self.layout, &self.bytes) == Some(self.layout.entries) {
            return Ok(false);
        }
        self.layout = Layout::parse(&self.bytes).map_err(io::Error::other)?;
        Ok(true)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.file.read_exact_at(&mut self.bytes, 0)
    }

    /// The names and places.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The number at a place.
    pub(crate) fn number_at(&self, at: usize) -> Option<i64> {
        self.layout.number_at(&self.bytes, at)
    }

    /// A number by its name.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.layout.number(&self.bytes, name)
    }

    /// Where in the file a text is, from and to.
    pub(crate) fn place_of_text(&self, name: &str) -> Option<(usize, usize)> {
        match self.layout.place(name)? {
            Place::Text(from, to) => Some((from, to)),
            Place::Number { .. } => None,
        }
    }

    /// Where in the file a number is.
    pub(crate) fn place_of_number(&self, name: &str) -> Option<usize> {
        match self.layout.place(name)? {
            Place::Number { at, .. } => Some(at),
            Place::Text(..) => None,
        }
    }

    /// A text by its name.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.layout.text(&self.bytes, name)
    }
}

/// Whether the JVM may be attached to, as its counters tell; `None` when they cannot be read.
pub(crate) fn can_attach(target: &Target, mapped: &Mapped) -> Option<bool> {
    let counters = Counters::of(target, mapped).ok()?;
    // A row of 0 and 1, the first of which is attaching.
    Some(counters.text("sun.rt.jvmCapabilities")?.starts_with('1'))
}

fn absent(mapped: &Mapped) -> Refusal {
    match mapped.libjvm {
        Some(_) => Refusal::new(
            "the JVM shares no counters: it runs with -XX:+PerfDisableSharedMem or -XX:-UsePerfData, or could not make its file in /tmp (as a user without a name, it makes none)",
            "start the JVM without that flag",
        ),
        None => Refusal::new("the process is not a JVM: it has no libjvm.so mapped", ""),
    }
}
