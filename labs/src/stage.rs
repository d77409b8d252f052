//! What is prepared before a run and undone after it: a slow disk, limits. Undone when dropped, in every case.

mod disk;
mod group;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::declaration;
use crate::entry::Entry;
use crate::error::LabError;
use crate::needs;
use crate::places::Places;
use disk::Disk;
use group::Group;

/// How long undoing may wait for processes that are ending.
const PATIENCE: Duration = Duration::from_secs(10);

/// A prepared stage.
pub(crate) struct Stage {
    disk: Option<Disk>,
    groups: Vec<Group>,
    memory_left_mb: BTreeMap<String, i64>,
    disk_reads_per_s: BTreeMap<String, u64>,
    bound: Option<(PathBuf, PathBuf)>,
}

impl declaration::Stage {
    pub(crate) fn needs_root(&self) -> bool {
        self.slow_disk.is_some() || self.memory_limit_mb.is_some() || self.cpu_limit.is_some()
    }
}

impl Stage {
    pub(crate) fn prepare(wanted: &declaration::Stage, places: &Places, stop: &AtomicBool) -> Result<Stage, LabError> {
        let memory_left_mb = wanted.memory_left_mb.clone();
        let disk_reads_per_s = wanted.disk_reads_per_s.clone();
        let mut stage = Stage { disk: None, groups: Vec::new(), memory_left_mb, disk_reads_per_s, bound: None };
        let memory = wanted.memory_limit_mb.map(|mb| group::Limit::Memory(mb << 20));
        let cpu = wanted.cpu_limit.map(group::Limit::Cpu);
        for limit in memory.into_iter().chain(cpu) {
            stage.groups.push(Group::make(limit)?);
        }
        if let Some(disk) = &wanted.slow_disk {
            let disk = Disk::make(disk, wanted.perf_data_on_disk, places, stop)?;
            if !wanted.disk_reads_per_s.is_empty() {
                stage.groups.push(Group::make(group::Limit::Disk(disk.number()?))?);
            }
            stage.disk = Some(disk);
        }
        if wanted.perf_data_on_disk {
            let (from, to) = (places.disk().join(disk::PERF_DATA), PathBuf::from(disk::PERF_DATA_OF_ROOT));
            fs::create_dir_all(&to).map_err(LabError::io("cannot make the folder", &to))?;
            stage.bound = Some((from, to));
        }
        Ok(stage)
    }

    /// What the program enters when it starts.
    pub(crate) fn entry(&self) -> Entry {
        Entry { groups: self.groups.iter().map(Group::processes).collect(), bound: self.bound.clone() }
    }

    pub(crate) fn phase_begins(&self, phase: &str) -> std::io::Result<()> {
        if let Some(mb) = self.memory_left_mb.get(phase) {
            self.groups.iter().try_for_each(|group| group.leave(mb << 20))?;
        }
        if let Some(reads) = self.disk_reads_per_s.get(phase) {
            self.groups.iter().try_for_each(|group| group.limit_reads(*reads))?;
        }
        self.disk.as_ref().map_or(Ok(()), |disk| disk.phase_begins(phase))
    }
}

/// Runs a tool to its end and returns its output.
fn tool(name: &str, arguments: &[&std::ffi::OsStr]) -> Result<String, LabError> {
    let path = needs::program(name).unwrap_or_else(|| name.into());
    let output = Command::new(&path).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(LabError::io("cannot start", &path))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("it printed no reason");
    Err(LabError::Stage { says: format!("{name} ended with {}: {last}", output.status) })
}

/// Retries while the processes that prevent undoing are ending. What cannot be undone is printed, because `drop` cannot
/// return an error.
fn undo<E: std::fmt::Display>(what: &str, mut attempt: impl FnMut() -> Result<(), E>) {
    let until = Instant::now() + PATIENCE;
    while let Err(error) = attempt() {
        if Instant::now() > until {
            eprintln!("fathom: could not undo {what}: {error}");
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests;
