//! What a child process does between fork and exec: it enters the stage's control groups and mounts, and makes sure
//! that it does not outlive the runner.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// What a child process enters.
#[derive(Debug, Default, Clone)]
pub(crate) struct Entry {
    /// `cgroup.procs` of each control group.
    pub(crate) groups: Vec<PathBuf>,
    /// A folder, and the folder that it replaces for the child only (a private bind mount).
    pub(crate) bound: Option<(PathBuf, PathBuf)>,
}

impl Entry {
    /// The same without the mount.
    pub(crate) fn groups_only(&self) -> Entry {
        Entry { bound: None, ..self.clone() }
    }

    /// Makes `command` enter when it starts.
    pub(crate) fn prepare(&self, command: &mut Command) -> io::Result<()> {
        let groups: Vec<File> =
            self.groups.iter().map(|path| OpenOptions::new().write(true).open(path)).collect::<io::Result<_>>()?;
        let bound =
            self.bound.as_ref().map(|(from, to)| Ok::<_, io::Error>((c_path(from)?, c_path(to)?))).transpose()?;
        let enter = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            for mut group in &groups {
                group.write_all(b"0")?;
            }
            let Some((from, to)) = &bound else { return Ok(()) };
            // SAFETY: the child has one thread, which opens no file relative to what is unshared here.
            unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
            mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
            mount_bind(from.as_c_str(), to.as_c_str())?;
            Ok(())
        };
        // SAFETY: between fork and exec only system calls are made, with memory that was allocated before.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}
