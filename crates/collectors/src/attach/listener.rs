//! Makes a JVM listen on its attach socket: a trigger file, and SIGQUIT.
//!
//! SIGQUIT ends any program that does not catch it, and makes a JVM that finds no file (or must not attach, or listens
//! already) print all its stacks. So nothing is signalled before it is certain that this very process is a JVM, that it
//! catches the signal, and that it will find the file; and never twice: a stopped JVM may still have to handle the
//! first signal, and counts those that follow.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::unix::net::UnixStream;

use super::{AttachError, is_younger, socket};
use crate::Target;
use crate::hostile_files::{belongs_to, create_file, remove_file, stat, working_folder_of};
use crate::mapped::Mapped;
use crate::procfs;

/// SIGQUIT in the masks of procfs.
const SIGQUIT_BIT: u64 = 1 << 2;
/// First wait for the socket; doubled up to the longest. It comes within 2-30 ms on an idle machine.
const FIRST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// Who was signalled by this program and does not listen yet. One recording of a JVM may follow another, and their files may
/// be tidied up meanwhile; the signal is still before the JVM.
static SIGNALLED: Mutex<BTreeSet<Signalled>> = Mutex::new(BTreeSet::new());

/// A process by its number and its start.
type Signalled = (u32, u64);

fn signalled() -> MutexGuard<'static, BTreeSet<Signalled>> {
    SIGNALLED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the JVM listen and gives the first connection.
pub(super) fn start(target: &Target, tmp: &OwnedFd, until: Instant) -> Result<UnixStream, AttachError> {
    let process = may_be_signalled(target)?;
    let trigger = Trigger::set(target, tmp)?;
    if trigger.is_new {
        // A file without a signal would make others wait for a signal that was never sent.
        signal_once(target, &process).inspect_err(|_| trigger.remove())?;
    }
    let mut wait = FIRST_WAIT;
    while Instant::now() < until {
        thread::sleep(wait);
        wait = LONGEST_WAIT.min(wait * 2);
        if let Some(stream) = socket::open(target, tmp, until)? {
            trigger.remove();
            return Ok(stream);
        }
        if !target.is_alive() {
            return Err(AttachError::Ended(target.pid));
        }
    }
    // The file stays: a JVM that wakes up late must find it, or else it prints all its stacks.
    Err(AttachError::TimedOut("begin to listen"))
}

/// Takes note that the JVM listens: who needs it to do so again, because `/tmp` was tidied up, has to signal it again.
pub(super) fn has_begun(target: &Target, tmp: &OwnedFd) {
    if !signalled().remove(&(target.pid, target.start_ticks)) {
        return;
    }
    // A try that had timed out left its file in one of the two.
    for folder in [tmp.try_clone(), working_folder_of(target)].into_iter().flatten() {
        let _ = remove_file(target, &folder, &trigger_name(target));
    }
}

/// Whether the JVM could be made to listen now, without doing so.
pub(super) fn could_start(target: &Target) -> Result<(), AttachError> {
    may_be_signalled(target).map(|_| ())
}

/// The process, pinned, so that a later one with its number cannot be meant; only if the signal
/// does no harm.
fn may_be_signalled(target: &Target) -> Result<OwnedFd, AttachError> {
    let ended = || AttachError::Ended(target.pid);
    let pid = Pid::from_raw(target.pid as i32).ok_or_else(ended)?;
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| match error {
        Errno::SRCH => ended(),
        _ => AttachError::io("open the process", error.into()),
    })?;
    if !target.is_alive() {
        return Err(ended());
    }
    let mapped = Mapped::of(target).map_err(|error| AttachError::io("read the process's mappings", error))?;
    if mapped.libjvm.is_none() {
        return Err(AttachError::NotAJvm(target.pid));
    }
    if is_forbidden(target, &mapped) {
        return Err(AttachError::Disabled(target.pid));
    }
    if !catches_quit(target) {
        return Err(AttachError::SignalNotCaught(target.pid));
    }
    Ok(process)
}

/// `-XX:+DisableAttachMechanism`, from wherever it was set: the counters tell; without them the
/// command line has to do.
fn is_forbidden(target: &Target, mapped: &Mapped) -> bool {
    let counted = crate::jvm_counters::can_attach(target, mapped);
    counted.map_or_else(|| command_line_forbids(&procfs::read(target.proc("cmdline")).unwrap_or_default()), |can| !can)
}

/// The last setting counts.
fn command_line_forbids(line: &[u8]) -> bool {
    let mut settings = line.split(|byte| *byte == 0).filter_map(|argument| match argument {
        b"-XX:+DisableAttachMechanism" => Some(true),
        b"-XX:-DisableAttachMechanism" => Some(false),
        _ => None,
    });
    settings.next_back().unwrap_or(false)
}

fn catches_quit(target: &Target) -> bool {
    let status = procfs::read_text(target.proc("status")).unwrap_or_default();
    mask_has_quit(&status)
}

fn mask_has_quit(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & SIGQUIT_BIT != 0)
}

/// Sends the signal unless this program has sent it before and the JVM has not come to it yet.
fn signal_once(target: &Target, process: &OwnedFd) -> Result<(), AttachError> {
    let mut signalled = signalled();
    let this = (target.pid, target.start_ticks);
    if !signalled.contains(&this) {
        send_quit(target, process)?;
        signalled.insert(this);
    }
    Ok(())
}

/// Asks again just before: the answer may have changed since.
fn send_quit(target: &Target, process: &OwnedFd) -> Result<(), AttachError> {
    if !catches_quit(target) {
        return Err(AttachError::SignalNotCaught(target.pid));
    }
    pidfd_send_signal(process, Signal::QUIT).map_err(|error| match error {
        Errno::SRCH => AttachError::Ended(target.pid),
        _ => AttachError::io("signal the process", error.into()),
    })
}

fn trigger_name(target: &Target) -> String {
    format!(".attach_pid{}", target.inner_pid)
}

/// The file that tells the JVM that SIGQUIT means: listen.
struct Trigger<'a> {
    target: &'a Target,
    folder: OwnedFd,
    name: String,
    /// Whether no other process has sent the signal yet.
    is_new: bool,
}

impl<'a> Trigger<'a> {
    /// In `/tmp`, or where the process works if nothing can be written there: the JVM looks in both.
    fn set(target: &'a Target, tmp: &OwnedFd) -> Result<Trigger<'a>, AttachError> {
        let failed = |error| AttachError::io("make the file that starts the listener", error);
        let folder = tmp.try_clone().map_err(failed)?;
        let mut trigger = Trigger { target, folder, name: trigger_name(target), is_new: true };
        if let Err(error) = trigger.make() {
            trigger.folder = working_folder_of(target).map_err(failed)?;
            trigger.make().map_err(|_| failed(error))?;
        }
        Ok(trigger)
    }

    fn make(&mut self) -> io::Result<()> {
        match create_file(self.target, &self.folder, &self.name) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.take_over(),
            Err(error) => Err(error),
        }
    }

    /// Another client is at it, or gave up, or was killed: its file serves if the JVM will believe it. However old it is, its
    /// signal may still be before a JVM that does not run; only what was meant for a process before this one is left over.
    fn take_over(&mut self) -> io::Result<()> {
        let there = stat(self.target, &self.folder, &self.name)?.ok_or(io::ErrorKind::NotFound)?;
        belongs_to(self.target, &there, &self.name)?;
        self.is_new = !is_younger(self.target, &there);
        Ok(())
    }

    fn remove(&self) {
        // One that cannot be removed is an empty file that means nothing to a JVM that listens.
        let _ = remove_file(self.target, &self.folder, &self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        for (status, caught) in [
            ("SigCgt:\t2000000181005ccf\n", true),
            ("SigBlk:\t0000000000000004\nSigCgt:\t0000000000000000\n", false),
            ("SigCgt:\t0000000000000004", true),
            ("SigCgt:\tfathom", false),
            ("", false),
        ] {
            assert_eq!(mask_has_quit(status), caught, "{status}");
        }
    }

    #[test]
    fn command_lines() {
        for (line, forbids) in [
            (&b"java\0-XX:+DisableAttachMechanism\0Main\0"[..], true),
            (b"java\0-XX:+DisableAttachMechanism\0-XX:-DisableAttachMechanism\0Main\0", false),
            (b"java\0Main\0", false),
            (b"", false),
        ] {
            assert_eq!(command_line_forbids(line), forbids, "{line:?}");
        }
    }

    #[test]
    fn a_process_that_is_no_jvm_is_never_signalled() {
        // It would end at once: a shell command does not catch SIGQUIT.
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let target = Target::of(child.id()).unwrap();
        let tmp = crate::hostile_files::tmp_of(&target).unwrap();
        let started = start(&target, &tmp, Instant::now() + Duration::from_secs(5));
        assert!(matches!(started, Err(AttachError::NotAJvm(_))), "{started:?}");
        assert!(child.try_wait().unwrap().is_none(), "it still runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
