//! Where the target's control groups are in the file system.

use std::path::{Path, PathBuf};

use super::parse::{self, Hierarchy, Membership};
use crate::Target;
use crate::procfs::ProcFile;

/// Groups further up than this are not looked at.
const MAX_LEVELS: usize = 32;

/// A group of one hierarchy that holds the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// Its path below the mount, for an ancestor; empty for the target's own group.
    pub(crate) ancestor: String,
}

/// The groups of one controller: the target's own first, then its ancestors up to the root.
pub(crate) type Line = Vec<Group>;

/// All hierarchies as they can be seen from here.
#[derive(Debug, Default)]
pub(crate) struct Places {
    memberships: Vec<u8>,
    hierarchies: Vec<Hierarchy>,
}

impl Places {
    /// Looks at the target and at our own mounts.
    pub(crate) fn of(target: &Target) -> std::io::Result<Places> {
        let mut memberships = Vec::new();
        let mut mounts = Vec::new();
        let length = ProcFile::open(target.proc("cgroup"))?.read(&mut memberships)?.len();
        memberships.truncate(length);
        let hierarchies = parse::hierarchies(ProcFile::open("/proc/self/mountinfo")?.read(&mut mounts)?);
        Ok(Places { memberships, hierarchies })
    }

    /// The groups in the hierarchy of version 2.
    pub(crate) fn unified(&self) -> Line {
        self.line(|member| member.controllers.is_empty(), |hierarchy| hierarchy.controllers.is_none())
    }

    /// The groups of a controller of version 1.
    pub(crate) fn controller(&self, name: &str) -> Line {
        let has = |hierarchy: &Hierarchy| {
            hierarchy.controllers.as_ref().is_some_and(|list| list.iter().any(|other| other == name))
        };
        self.line(|member| member.controllers.contains(&name), has)
    }

    /// The target's own path in the hierarchy of version 2, or else of the memory controller.
    pub(crate) fn path(&self) -> Option<String> {
        let members = parse::memberships(&self.memberships);
        let unified = members.iter().find(|member| member.controllers.is_empty() && member.path != "/");
        let member = unified.or_else(|| members.iter().find(|member| member.controllers.contains(&"memory")));
        member.map(|member| member.path.to_owned())
    }

    /// Whether the target has moved since. One that has ended is in no group, which is no move.
    pub(crate) fn has_moved(&self, target: &Target, buffer: &mut Vec<u8>) -> bool {
        let now = ProcFile::open(target.proc("cgroup"));
        let differs = now.is_ok_and(|file| file.read(buffer).is_ok_and(|text| text != self.memberships));
        differs && target.is_alive()
    }

    fn line(&self, is_member: impl Fn(&Membership<'_>) -> bool, is_wanted: impl Fn(&Hierarchy) -> bool) -> Line {
        let members = parse::memberships(&self.memberships);
        let Some(member) = members.iter().find(|member| is_member(member)) else { return Line::new() };
        let seen = |hierarchy: &Hierarchy| {
            Some(groups(Path::new(&hierarchy.point), parse::below(&hierarchy.root, member.path)?))
        };
        self.hierarchies.iter().filter(|hierarchy| is_wanted(hierarchy)).find_map(seen).unwrap_or_default()
    }
}

/// The group at `path` below `point` and those above it.
fn groups(point: &Path, path: &str) -> Line {
    let path = Path::new(path);
    let ancestors = path.ancestors().take(MAX_LEVELS).enumerate();
    let group = |(level, above): (usize, &Path)| Group {
        folder: point.join(above),
        ancestor: if level == 0 { String::new() } else { format!("/{}", above.display()) },
    };
    ancestors.map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(memberships: &str, mounts: &str) -> Places {
        Places { memberships: memberships.into(), hierarchies: parse::hierarchies(mounts.as_bytes()) }
    }

    fn says(line: Line) -> Vec<String> {
        line.into_iter()
            .map(|group| format!("{} {}", group.folder.display(), group.ancestor).trim().to_owned())
            .collect()
    }

    #[test]
    fn a_group_and_those_above_it() {
        let unified = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let mixed = "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n34 31 0:32 /d/8 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let found = places("0::/kubepods/pod1/c\n", unified);
        let expected = [
            "/sys/fs/cgroup/kubepods/pod1/c",
            "/sys/fs/cgroup/kubepods/pod1 /kubepods/pod1",
            "/sys/fs/cgroup/kubepods /kubepods",
            "/sys/fs/cgroup/ /",
        ];
        assert_eq!(says(found.unified()), expected);
        assert_eq!(found.path().as_deref(), Some("/kubepods/pod1/c"));
        assert!(found.controller("cpu").is_empty());
        let found = places("4:memory:/d/8\n3:cpu:/\n0::/\n", mixed);
        assert_eq!(says(found.controller("cpu")), ["/sys/fs/cgroup/cpu/"]);
        assert_eq!(says(found.controller("memory")), ["/sys/fs/cgroup/memory/"]);
        assert_eq!(found.path().as_deref(), Some("/d/8"));
        assert!(found.unified().is_empty() && found.controller("io").is_empty());
        let found = places("0::/../sibling\n", unified);
        assert!(found.unified().is_empty(), "outside of what this namespace shows");
    }

    #[test]
    fn deep_paths_are_bounded() {
        let deep = format!("0::{}\n", "/a".repeat(5_000));
        assert_eq!(places(&deep, "41 31 0:38 / /c rw - cgroup2 cgroup2 rw\n").unified().len(), MAX_LEVELS);
    }
}
