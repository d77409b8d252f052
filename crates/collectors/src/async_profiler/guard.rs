//! Stops the profiler of a recorder that was killed, and takes over its samples. The guard is a process of its own, which
//! waits at the end of a pipe. While the recorder lives the other end is open; when it ends in order it says so first.
//!
//! If the guard is killed as well, the profiler stops by its own time-out.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fathom_evidence::kinds::recorded;

use super::{Profiler, SAMPLES_FILE, segment};
use crate::attach::{Attach, PATIENCE, PrivateFolder};
use crate::raw::{self, Raw};
use crate::{Order, Target};

/// What the recorder says when it has ended the profiler itself.
const ENDED: &[u8] = b"ended";
/// More segments than this are not looked through.
const MOST_SEGMENTS: usize = 100_000;

/// The guard as its recorder has it.
pub(super) struct Guard(Child);

impl Guard {
    /// Starts one, where this program can; a recording does not depend on it.
    pub(super) fn start(order: &Order, target: &Target, library: &str, folder: &PrivateFolder) -> Option<Guard> {
        let mut command = Command::new(order.guard.as_ref()?);
        command.arg("guard-profiler").args([target.pid.to_string(), target.start_ticks.to_string()]);
        command.args([library, folder.name()]).arg(order.raw().folder());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Ctrl-C is for the recorder alone.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().ok().map(Guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            // If the guard was killed, it has ended already.
            let _ = pipe.write_all(ENDED);
        }
        let _ = self.0.wait();
    }
}

/// What a guard has to know.
#[derive(Debug)]
pub struct Guarded {
    /// The JVM.
    pub pid: u32,
    /// When that began, which tells it from another with its number.
    pub start_ticks: u64,
    /// The profiler's library, as the JVM names it.
    pub library: String,
    /// The recorder's folder in the JVM's `/tmp`.
    pub folder: String,
    /// Where the recording has such files.
    pub raw: PathBuf,
}

impl Guarded {
    /// Waits until the recorder has ended, and does what it had to leave if it was killed.
    pub fn wait(&self, mut pipe: impl Read) -> io::Result<()> {
        let mut said = Vec::new();
        pipe.read_to_end(&mut said)?;
        if said == ENDED {
            return Ok(());
        }
        let target = Target::of(self.pid).map_err(io::Error::other)?;
        if target.start_ticks != self.start_ticks {
            return Ok(());
        }
        let folder = PrivateFolder::adopt(&target, &self.folder)?;
        let attach = Attach::to(&target, PATIENCE).map_err(io::Error::other)?;
        let samples = folder.inner_path(SAMPLES_FILE);
        let profiler = Profiler { attach, library: self.library.clone(), locks: "", samples };
        profiler.stop().map_err(|refusal| io::Error::other(refusal.why))?;
        let name = self.next_segment();
        // A reader of the recording meanwhile finds the whole file, or the copy.
        let raw = Raw::left(&self.raw);
        let partly = format!(".{name}");
        folder.take(SAMPLES_FILE, &raw, &partly)?;
        raw::name(&raw.file(&partly), &raw.file(&name))?;
        // All that the copy has is in the file now.
        raw::remove(&raw.file(&recorded::followed(&name)));
        Ok(())
    }

    /// The name of the file that was being written.
    fn next_segment(&self) -> String {
        let is_there = |number: &usize| Path::new(&self.raw).join(segment(*number)).exists();
        segment((0..MOST_SEGMENTS).find(|number| !is_there(number)).unwrap_or(MOST_SEGMENTS))
    }
}
