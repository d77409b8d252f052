//! The process that is observed.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::{Clock, procfs};

/// Why a process cannot be observed at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// There is no such process.
    #[error("no process {0}: it has ended, or the number is of another pid namespace (fathom ps lists JVMs)")]
    NoProcess(u32),
    /// It is there but cannot be looked at.
    #[error("process {pid}: {source}")]
    Io {
        /// The process.
        pid: u32,
        /// The system's answer.
        source: io::Error,
    },
}

/// A process, as this machine's outermost visible namespace numbers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Process id here.
    pub pid: u32,
    /// Process id as the process itself sees it (in a container: another one).
    pub inner_pid: u32,
    /// Effective user.
    pub uid: u32,
    /// Effective group.
    pub gid: u32,
    /// Start of the process in clock ticks since boot: tells a process from a later one with its number.
    pub start_ticks: u64,
}

impl Target {
    /// Looks at a process.
    pub fn of(pid: u32) -> Result<Target, TargetError> {
        let read = |name: &str| {
            procfs::read_text(format!("/proc/{pid}/{name}")).map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => TargetError::NoProcess(pid),
                _ => TargetError::Io { pid, source },
            })
        };
        let status = read("status")?;
        let stat = read("stat")?;
        let nth = |key: &str, index: usize| numbers(&status, key).nth(index).unwrap_or_default() as u32;
        Ok(Target {
            pid,
            inner_pid: numbers(&status, "NSpid:").last().map_or(pid, |inner| inner as u32),
            uid: nth("Uid:", 1),
            gid: nth("Gid:", 1),
            start_ticks: start_ticks(&stat).unwrap_or_default(),
        })
    }

    /// Whether the same process is still there.
    pub fn is_alive(&self) -> bool {
        match procfs::read_text(self.proc("stat")) {
            Ok(stat) => start_ticks(&stat) == Some(self.start_ticks) && !is_zombie(&stat),
            // When no more files may be opened it cannot be looked at. To ask whether it is there opens none.
            Err(error) if is_out_of_files(&error) => self.is_there(),
            Err(_) => false,
        }
    }

    fn is_there(&self) -> bool {
        let asked = Pid::from_raw(self.pid as i32).map(test_kill_process);
        matches!(asked, Some(Ok(()) | Err(Errno::PERM)))
    }

    /// For how long it has been there.
    pub(crate) fn age_ns(&self) -> i64 {
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        let began_ns = i128::from(self.start_ticks) * 1_000_000_000 / i128::from(per_second);
        let began_ns = i64::try_from(began_ns).unwrap_or(i64::MAX);
        Clock::since_boot_ns().saturating_sub(began_ns).max(0)
    }

    /// A file of the process's folder in procfs.
    pub fn proc(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.pid))
    }

    /// Its threads; none when it has ended.
    pub fn thread_ids(&self) -> HashSet<u32> {
        procfs::names(self.proc("task")).filter_map(|name| name.parse().ok()).collect()
    }

    /// Those of `tids` that are no threads of it any more.
    pub(crate) fn ended_among(&self, tids: impl Iterator<Item = u32>) -> HashSet<u32> {
        let listed = self.thread_ids();
        self.ended_of_unlisted(tids.filter(|tid| !listed.contains(tid)))
    }

    /// Those that have ended of threads that a list lacked: the kernel's list skips one that lives when the thread before it ends
    /// just then.
    pub(crate) fn ended_of_unlisted(&self, tids: impl Iterator<Item = u32>) -> HashSet<u32> {
        let mut tids: HashSet<u32> = tids.collect();
        tids.retain(|tid| !self.proc(&format!("task/{tid}")).exists());
        tids
    }
}

fn is_out_of_files(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// The numbers of the line of `status` that begins with `key`.
fn numbers<'a>(status: &'a str, key: &str) -> impl Iterator<Item = u64> + 'a {
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.split_whitespace().filter_map(|number| number.parse().ok())
}

/// Fields of `stat` behind the name, which may itself hold blanks and parentheses.
fn after_name(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace()
}

fn start_ticks(stat: &str) -> Option<u64> {
    after_name(stat).nth(19)?.parse().ok()
}

fn is_zombie(stat: &str) -> bool {
    matches!(after_name(stat).next(), Some("Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_and_alive() {
        let target = Target::of(std::process::id()).unwrap();
        assert!(target.is_alive());
        assert!(target.start_ticks > 0);
        let earlier = Target { start_ticks: target.start_ticks - 1, ..target };
        assert!(!earlier.is_alive(), "another process that had this number");
    }

    #[test]
    fn who_is_not_listed_has_ended_only_if_it_is_gone() {
        let target = Target::of(std::process::id()).unwrap();
        let ended = target.ended_of_unlisted([target.pid, u32::MAX, u32::MAX].into_iter());
        assert_eq!(ended, HashSet::from([u32::MAX]), "as if a list had lacked both");
        assert_eq!(target.ended_among([target.pid, u32::MAX].into_iter()), ended);
    }

    #[test]
    fn names_with_parentheses_do_not_shift_the_fields() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 77 20";
        for name in ["java", "a) S (b", "((", "x y z"] {
            assert_eq!(start_ticks(&format!("12 ({name}) {rest}")), Some(77), "{name}");
        }
        assert_eq!(start_ticks(""), None);
    }
}
