//! Parses texts about control groups, of both versions.

use crate::mountinfo::{Mount, mounts};
use crate::procfs::{lines, number, utf8, words};

/// A line of `/proc/PID/cgroup`: where the process stands in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Membership<'a> {
    /// Controllers of version 1; empty for version 2.
    pub(crate) controllers: Vec<&'a str>,
    pub(crate) path: &'a str,
}

/// Reads `/proc/PID/cgroup`.
pub(crate) fn memberships(text: &[u8]) -> Vec<Membership<'_>> {
    let membership = |line| {
        let mut parts = utf8(line)?.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        number(id.as_bytes())?;
        let controllers = controllers.split(',').filter(|name| !name.is_empty()).collect();
        path.starts_with('/').then_some(Membership { controllers, path })
    };
    lines(text).filter_map(membership).collect()
}

/// A mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    /// `None`: version 2. Else the controllers of version 1.
    pub(crate) controllers: Option<Vec<String>>,
    /// The group that is the mount's root; not `/` inside of some containers.
    pub(crate) root: String,
    /// Where it is mounted.
    pub(crate) point: String,
}

/// The hierarchies of control groups among the mounts.
pub(crate) fn hierarchies(mountinfo: &[u8]) -> Vec<Hierarchy> {
    let hierarchy = |mount: Mount| {
        let controllers = match mount.kind.as_str() {
            "cgroup2" => None,
            "cgroup" => Some(mount.super_options.split(',').map(str::to_owned).collect()),
            _ => return None,
        };
        Some(Hierarchy { controllers, root: mount.root, point: mount.point })
    };
    mounts(mountinfo).into_iter().filter_map(hierarchy).collect()
}

/// The path of a group below a mount's root; `None` when it cannot be seen through this mount.
pub(crate) fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    let is_inside = rest.is_empty() || rest.starts_with('/');
    (is_inside && !rest.split('/').any(|part| part == "..")).then_some(rest.trim_matches('/'))
}

/// CPU time per period, in µs; no quota means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuMax {
    pub(crate) quota_us: Option<u64>,
    pub(crate) period_us: u64,
}

impl CpuMax {
    /// Reads `cpu.max`, or quota and period of version 1 with a blank between.
    pub(crate) fn read(text: &str) -> Option<CpuMax> {
        let mut fields = text.split_whitespace();
        let quota = fields.next()?;
        let period_us = number(fields.next()?.as_bytes()).filter(|us| *us > 0)?;
        let quota_us = match quota {
            "max" | "-1" => None,
            quota => Some(number(quota.as_bytes())?),
        };
        Some(CpuMax { quota_us, period_us })
    }

    /// How many CPUs that is.
    pub(crate) fn cpus(&self) -> Option<f64> {
        Some(self.quota_us? as f64 / self.period_us as f64)
    }
}

/// A limit in bytes or pieces; `None` when there is none. Version 1 writes a huge number for that.
pub(crate) fn limit(text: &str) -> Option<u64> {
    number(text.trim().as_bytes()).filter(|limit| *limit < 1 << 62)
}

/// What a device did for the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Io<'a> {
    /// `major:minor`.
    pub(crate) device: &'a str,
    /// `read`, `write` or `discard`.
    pub(crate) operation: &'static str,
    pub(crate) is_bytes: bool,
    pub(crate) value: u64,
}

/// Reads `io.stat` of version 2.
pub(crate) fn io_stat(text: &[u8]) -> impl Iterator<Item = Io<'_>> {
    lines(text).flat_map(|line| {
        let mut fields = words(line);
        let device = fields.next().and_then(utf8).unwrap_or_default();
        fields.filter_map(move |field| {
            let (key, value) = utf8(field)?.split_once('=')?;
            let (operation, is_bytes) = match key {
                "rbytes" => ("read", true),
                "wbytes" => ("write", true),
                "dbytes" => ("discard", true),
                "rios" => ("read", false),
                "wios" => ("write", false),
                "dios" => ("discard", false),
                _ => return None,
            };
            Some(Io { device, operation, is_bytes, value: number(value.as_bytes())? })
        })
    })
}

/// Reads `blkio.throttle.io_service_bytes` or `io_serviced` of version 1.
pub(crate) fn blkio(text: &[u8], is_bytes: bool) -> impl Iterator<Item = Io<'_>> {
    lines(text).filter_map(move |line| {
        let mut fields = words(line);
        let device = utf8(fields.next()?)?;
        let operation = match fields.next()? {
            b"Read" => "read",
            b"Write" => "write",
            b"Discard" => "discard",
            _ => return None,
        };
        Some(Io { device, operation, is_bytes, value: number(fields.next()?)? })
    })
}

/// What a device may do for the group per second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IoLimit<'a> {
    /// `major:minor`.
    pub(crate) device: &'a str,
    /// `read bytes`, `write requests` and so on.
    pub(crate) what: &'static str,
    pub(crate) per_second: u64,
}

/// Reads `io.max` of version 2; a field that says `max` is no limit.
pub(crate) fn io_max(text: &[u8]) -> impl Iterator<Item = IoLimit<'_>> {
    lines(text).flat_map(|line| {
        let mut fields = words(line);
        let device = fields.next().and_then(utf8).unwrap_or_default();
        fields.filter_map(move |field| {
            let (key, value) = utf8(field)?.split_once('=')?;
            let what = match key {
                "rbps" => "read bytes",
                "wbps" => "write bytes",
                "riops" => "read requests",
                "wiops" => "write requests",
                _ => return None,
            };
            Some(IoLimit { device, what, per_second: number(value.as_bytes())? })
        })
    })
}

/// Reads one of `blkio.throttle.*_device` of version 1.
pub(crate) fn throttle<'a>(text: &'a [u8], what: &'static str) -> impl Iterator<Item = IoLimit<'a>> {
    lines(text).filter_map(move |line| {
        let mut fields = words(line);
        Some(IoLimit { device: utf8(fields.next()?)?, what, per_second: number(fields.next()?)? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memberships_of_both_versions() {
        let text = b"9:name=systemd:/\n4:memory:/docker/8f\n1:cpu,cpuacct:/docker/8f\n0::/init.scope\nx::/a\n5:pids\n6:io:relative\n";
        let found = memberships(text);
        assert_eq!(found.len(), 4);
        assert_eq!(found[2], Membership { controllers: vec!["cpu", "cpuacct"], path: "/docker/8f" });
        assert_eq!(found[3], Membership { controllers: vec![], path: "/init.scope" });
        let odd = memberships(b"0::/a:b c (deleted)\n");
        assert_eq!(odd[0].path, "/a:b c (deleted)");
    }

    #[test]
    fn hierarchies_of_both_versions() {
        let text = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
            33 31 0:30 /docker/8f /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 - cgroup cgroup rw,cpu,cpuacct\n\
            41 31 0:38 / /sys/fs/my\\040cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n41 31\n";
        let found = hierarchies(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].root, "/docker/8f");
        assert_eq!(found[0].controllers.as_deref(), Some(["rw".to_owned(), "cpu".into(), "cpuacct".into()].as_slice()));
        assert_eq!((found[1].controllers.as_ref(), found[1].point.as_str()), (None, "/sys/fs/my cgroup"));
    }

    #[test]
    fn groups_below_a_mount() {
        for (root, path, expected) in [
            ("/", "/", Some("")),
            ("/", "/a/b", Some("a/b")),
            ("/docker/8f", "/docker/8f", Some("")),
            ("/docker/8f", "/docker/8f/x", Some("x")),
            ("/docker/8f", "/docker/8fx", None),
            ("/docker/8f", "/", None),
            ("/", "/../other", None),
            ("/", "/a/../../etc", None),
        ] {
            assert_eq!(below(root, path), expected, "{path} below {root}");
        }
    }

    #[test]
    fn limits() {
        for (text, expected) in [
            ("max 100000", Some((None, 100_000))),
            ("150000 100000\n", Some((Some(150_000), 100_000))),
            ("-1 100000", Some((None, 100_000))),
            ("50000 0", None),
            ("50000", None),
            ("x 100000", None),
            ("", None),
        ] {
            let found = CpuMax::read(text).map(|max| (max.quota_us, max.period_us));
            assert_eq!(found, expected, "{text:?}");
        }
        assert_eq!(CpuMax::read("150000 100000").and_then(|max| max.cpus()), Some(1.5));
        for (text, expected) in
            [("max\n", None), ("41943040\n", Some(41943040)), ("9223372036854771712", None), ("", None)]
        {
            assert_eq!(limit(text), expected, "{text:?}");
        }
    }

    #[test]
    fn devices_of_both_versions() {
        let says = |io: Io<'_>| format!("{} {} {} {}", io.device, io.operation, io.is_bytes, io.value);
        let text = b"254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6 cost.usage=9\n7:1 \nx\n";
        let found: Vec<String> = io_stat(text).map(says).collect();
        assert_eq!(
            found,
            [
                "254:0 read true 1",
                "254:0 write true 2",
                "254:0 read false 3",
                "254:0 write false 4",
                "254:0 discard true 5",
                "254:0 discard false 6"
            ]
        );
        let text = b"254:0 Read 7\n254:0 Write 8\n254:0 Sync 9\n254:0 Total 15\nTotal 15\n";
        let found: Vec<String> = blkio(text, false).map(says).collect();
        assert_eq!(found, ["254:0 read false 7", "254:0 write false 8"]);
    }

    #[test]
    fn limits_of_devices_of_both_versions() {
        let says = |limit: IoLimit<'_>| format!("{} {} {}", limit.device, limit.what, limit.per_second);
        let text = b"7:1 rbps=max wbps=5 riops=24 wiops=max\n254:0 rbps=1\nx\n";
        let found: Vec<String> = io_max(text).map(says).collect();
        assert_eq!(found, ["7:1 write bytes 5", "7:1 read requests 24", "254:0 read bytes 1"]);
        let found: Vec<String> = throttle(b"7:1 24\n7:2\n7:3 x\n", "read requests").map(says).collect();
        assert_eq!(found, ["7:1 read requests 24"]);
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>, text: String, line in "[0-9:/. a-z\\\\-]*\n")| {
            for bytes in [&bytes, text.as_bytes(), line.as_bytes()] {
                let _ = (memberships(bytes), hierarchies(bytes), io_stat(bytes).count(), blkio(bytes, true).count());
                let _ = (io_max(bytes).count(), throttle(bytes, "").count());
            }
            let _ = (below(&text, &line), CpuMax::read(&text), limit(&line));
        });
    }
}
