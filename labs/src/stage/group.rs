//! A control group with a limit, of either version of the kernel's interface.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::undo;
use crate::error::LabError;

const ROOT: &str = "/sys/fs/cgroup";
const PERIOD_US: f64 = 100_000.0;

/// A limit of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// Bytes of memory, page cache included.
    Memory(u64),
    /// CPUs.
    Cpu(f64),
    /// No limit yet, for the block device with this major and minor number.
    Disk((u32, u32)),
}

impl Limit {
    fn controller(self, unified: bool) -> &'static str {
        match self {
            Limit::Disk(_) if unified => "io",
            Limit::Disk(_) => "blkio",
            Limit::Memory(_) => "memory",
            Limit::Cpu(_) => "cpu",
        }
    }

    /// Files of the group and the values to write.
    fn settings(self, unified: bool) -> Vec<(&'static str, String)> {
        match (self, unified) {
            (Limit::Disk(_), _) => Vec::new(),
            (Limit::Memory(bytes), true) => vec![("memory.max", bytes.to_string())],
            (Limit::Memory(bytes), false) => vec![("memory.limit_in_bytes", bytes.to_string())],
            (Limit::Cpu(cpus), true) => vec![("cpu.max", format!("{:.0} {PERIOD_US:.0}", cpus * PERIOD_US))],
            (Limit::Cpu(cpus), false) => vec![
                ("cpu.cfs_period_us", format!("{PERIOD_US:.0}")),
                ("cpu.cfs_quota_us", format!("{:.0}", cpus * PERIOD_US)),
            ],
        }
    }
}

/// A group; removed when dropped.
#[derive(Debug)]
pub(super) struct Group {
    limit: Limit,
    folder: PathBuf,
}

impl Group {
    pub(super) fn make(limit: Limit) -> Result<Group, LabError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let unified = Path::new(ROOT).join("cgroup.controllers").exists();
        let name = format!("fathom-lab-{}-{}", process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let folder = parent(limit, unified)?.join(name);
        fs::create_dir(&folder).map_err(LabError::io("cannot make the control group", &folder))?;
        let group = Group { limit, folder };
        for (file, value) in limit.settings(unified) {
            let path = group.folder.join(file);
            fs::write(&path, value).map_err(LabError::io("cannot set the limit", path))?;
        }
        Ok(group)
    }

    /// Limits memory to the current use without page cache plus `bytes`.
    pub(super) fn leave(&self, bytes: i64) -> io::Result<()> {
        let Limit::Memory(_) = self.limit else { return Ok(()) };
        let (used, limit) = if self.folder.join("memory.max").exists() {
            ("memory.current", "memory.max")
        } else {
            ("memory.usage_in_bytes", "memory.limit_in_bytes")
        };
        let used = fs::read_to_string(self.folder.join(used))?;
        let used: u64 = used.trim().parse().map_err(io::Error::other)?;
        let cached = page_cache(&fs::read_to_string(self.folder.join("memory.stat"))?);
        fs::write(self.folder.join(limit), used.saturating_sub(cached).saturating_add_signed(bytes).to_string())
    }

    /// Limits reads of the disk that the group is for.
    pub(super) fn limit_reads(&self, per_second: u64) -> io::Result<()> {
        let Limit::Disk((major, minor)) = self.limit else { return Ok(()) };
        let (unified, device) = (self.folder.join("io.max"), format!("{major}:{minor}"));
        match unified.exists() {
            true => fs::write(unified, format!("{device} riops={per_second}")),
            false => fs::write(self.folder.join("blkio.throttle.read_iops_device"), format!("{device} {per_second}")),
        }
    }

    pub(super) fn processes(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        undo(&format!("the control group {}", self.folder.display()), || fs::remove_dir(&self.folder));
    }
}

/// Bytes of the page cache, from `memory.stat` of either version.
fn page_cache(stat: &str) -> u64 {
    let fields: Vec<(&str, u64)> = stat
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, n)| Some((name, n.parse().ok()?)))
        .collect();
    let is_first_version = fields.iter().any(|(name, _)| *name == "total_inactive_file");
    let wanted =
        if is_first_version { ["total_inactive_file", "total_active_file"] } else { ["inactive_file", "active_file"] };
    fields.iter().filter(|(name, _)| wanted.contains(name)).map(|(_, bytes)| bytes).sum()
}

/// The folder for new groups with this limit.
fn parent(limit: Limit, unified: bool) -> Result<PathBuf, LabError> {
    let (root, controller) = (Path::new(ROOT), limit.controller(unified));
    if unified {
        let path = root.join("cgroup.subtree_control");
        let given = fs::read_to_string(&path).map_err(LabError::io("cannot read", &path))?;
        let is_given = given.split_whitespace().any(|name| name == controller);
        let says = || format!("groups get no {controller} controller: echo +{controller} > {}", path.display());
        return if is_given { Ok(root.to_owned()) } else { Err(LabError::Stage { says: says() }) };
    }
    let own = "/proc/self/cgroup";
    let groups = fs::read_to_string(own).map_err(LabError::io("cannot read", own))?;
    let path = path_of(&groups, controller);
    let says = || format!("there is no {controller} controller");
    let path = path.ok_or_else(|| LabError::Stage { says: says() })?;
    Ok(root.join(controller).join(path.trim_start_matches('/')))
}

/// This process's group of a controller: lines are `4:cpu,cpuacct:/path`.
fn path_of<'t>(groups: &'t str, controller: &str) -> Option<&'t str> {
    let fields = groups.lines().map(|line| line.splitn(3, ':').collect::<Vec<&str>>());
    let mut found = fields.filter(|fields| fields.len() == 3 && fields[1].split(',').any(|name| name == controller));
    found.next().map(|fields| fields[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_the_first_version() {
        let groups = "5:memory:/a/b:c\n4:cpu,cpuacct:/\n0::/x\n";
        for (controller, expected) in [("memory", Some("/a/b:c")), ("cpu", Some("/")), ("io", None)] {
            assert_eq!(path_of(groups, controller), expected);
        }
    }

    #[test]
    fn page_cache_of_both_versions() {
        for (stat, expected) in [
            ("inactive_file 5\nactive_file 6\nanon 7\ntotal_inactive_file 50\ntotal_active_file 60\n", 110),
            ("anon 7\nfile 12\ninactive_file 5\nactive_file 6\n", 11),
            ("inactive_file x\n\nactive_file", 0),
        ] {
            assert_eq!(page_cache(stat), expected, "{stat}");
        }
    }

    #[test]
    fn limits_are_written_for_both_versions() {
        for (limit, unified, expected) in [
            (Limit::Memory(1 << 20), true, "memory.max=1048576"),
            (Limit::Memory(1 << 20), false, "memory.limit_in_bytes=1048576"),
            (Limit::Cpu(0.25), true, "cpu.max=25000 100000"),
            (Limit::Cpu(1.5), false, "cpu.cfs_period_us=100000 cpu.cfs_quota_us=150000"),
        ] {
            let settings = limit.settings(unified);
            let settings: Vec<String> = settings.iter().map(|(file, value)| format!("{file}={value}")).collect();
            assert_eq!(settings.join(" "), expected);
        }
    }
}
