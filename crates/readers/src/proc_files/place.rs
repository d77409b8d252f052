//! Which file a line is of, if it is stated: a heading of `head` or `tail`, or the name that `grep` puts before a line. Knows no evidence.

/// A file below `/proc` or a control group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) pid: Option<i64>,
    pub(super) tid: Option<i64>,
    /// The last part of its name.
    pub(super) file: String,
    pub(super) is_of_group: bool,
}

/// Longest path that is believed.
const PATH_MAX_BYTES: usize = 4_096;

impl Place {
    pub(super) fn of(path: &[u8]) -> Option<Place> {
        let path = std::str::from_utf8(path).ok().filter(|path| path.len() <= PATH_MAX_BYTES)?;
        if path.starts_with("/sys/fs/cgroup/") {
            let file = path.rsplit('/').next()?.to_owned();
            return Some(Place { file, is_of_group: true, ..Place::default() });
        }
        let parts: Vec<&str> = path.strip_prefix("/proc/")?.split('/').collect();
        let number = |at: usize| parts.get(at).and_then(|part| part.parse::<i64>().ok());
        let tid = if parts.get(1) == Some(&"task") { number(2) } else { None };
        Some(Place { pid: number(0), tid, file: (*parts.last()?).to_owned(), is_of_group: false })
    }
}

/// `==> /proc/meminfo <==`
pub(super) fn heading(line: &[u8]) -> Option<Place> {
    Place::of(line.strip_prefix(b"==> ")?.strip_suffix(b" <==")?)
}

/// `/proc/pressure/cpu:some avg10=…`: the place, and what stands behind it.
pub(super) fn prefix(line: &[u8]) -> Option<(Place, &[u8])> {
    line.starts_with(b"/").then_some(())?;
    let at = memchr::memchr(b':', line)?;
    Some((Place::of(&line[..at])?, &line[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_lines() {
        let place = |pid, tid, file: &str, is_of_group| Place { pid, tid, file: file.to_owned(), is_of_group };
        for (line, expected) in [
            ("==> /proc/meminfo <==", Some(place(None, None, "meminfo", false))),
            ("==> /proc/7/task/9/schedstat <==", Some(place(Some(7), Some(9), "schedstat", false))),
            ("==> /sys/fs/cgroup/a/cpu.pressure <==", Some(place(None, None, "cpu.pressure", true))),
            ("==> /etc/passwd <==", None),
            ("MemTotal: 1 kB", None),
        ] {
            assert_eq!(heading(line.as_bytes()), expected, "{line}");
        }
        let (found, rest) = prefix(b"/proc/7/status:VmRSS:\t 1 kB").unwrap();
        assert_eq!((found, rest), (place(Some(7), None, "status", false), &b"VmRSS:\t 1 kB"[..]));
        assert_eq!((prefix(b"/etc/x:1"), prefix(b"/proc/x")), (None, None));
    }
}
