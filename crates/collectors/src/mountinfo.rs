//! Parses the text of `mountinfo`: what is mounted where.

use crate::procfs::{lines, utf8, words};

/// A mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `major:minor` of the file system's device.
    pub(crate) device: String,
    /// The folder of the file system that is mounted.
    pub(crate) root: String,
    /// Where.
    pub(crate) point: String,
    /// Options of the mount.
    pub(crate) options: String,
    /// Type of the file system.
    pub(crate) kind: String,
    /// Device or name it was mounted from.
    pub(crate) from: String,
    /// Options of the file system.
    pub(crate) super_options: String,
}

/// All mounts, in the order in which they were made. Lines of another form are left out.
pub(crate) fn mounts(text: &[u8]) -> Vec<Mount> {
    lines(text).filter_map(mount).collect()
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = words(line).map(utf8);
    let device = fields.nth(2)??.to_owned();
    let (root, point, options) = (unescape(fields.next()??), unescape(fields.next()??), fields.next()??.to_owned());
    // Any number of optional fields ends with a dash.
    fields.find(|field| *field == Some("-"))?;
    let (kind, from) = (fields.next()??.to_owned(), unescape(fields.next()??));
    let super_options = fields.next().flatten().unwrap_or_default().to_owned();
    Some(Mount { device, root, point, options, kind, from, super_options })
}

/// The mount that holds `path`: the longest one, and of those the last, which covers the others.
pub(crate) fn mount_of<'a>(mounts: &'a [Mount], path: &str) -> Option<&'a Mount> {
    let holds = |mount: &&Mount| {
        let rest = path.strip_prefix(mount.point.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    mounts.iter().filter(holds).max_by_key(|mount| mount.point.trim_end_matches('/').len())
}

/// Blanks and such are written as `\040`.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
        33 27 0:30 /a /tmp rw,nosuid master:11 propagate_from:2 - tmpfs tmpfs rw,size=1k\n\
        41 27 0:38 / /tmp/my\\040disk rw,noatime shared:4 - ext4 /dev/mapper/a\\040b rw,data=ordered\n\
        42 27 7:1 / /tmp rw - xfs /dev/loop1 rw\n41 31\n42 27 7:1 / /x rw - xfs\n";

    #[test]
    fn mounts_and_what_they_hold() {
        let all = mounts(TEXT.as_bytes());
        assert_eq!(all.len(), 4);
        assert_eq!(
            (all[1].device.as_str(), all[1].root.as_str(), all[1].super_options.as_str()),
            ("0:30", "/a", "rw,size=1k")
        );
        assert_eq!((all[2].from.as_str(), all[2].options.as_str()), ("/dev/mapper/a b", "rw,noatime"));
        for (path, device) in [
            ("/", "254:0"),
            ("/var/log", "254:0"),
            ("/tmp", "7:1"),
            ("/tmp/hsperfdata_root/1", "7:1"),
            ("/tmp/my disk/log", "0:38"),
            ("/tmpfile", "254:0"),
        ] {
            assert_eq!(mount_of(&all, path).map(|mount| mount.device.as_str()), Some(device), "{path}");
        }
        assert_eq!(mount_of(&all, "relative"), None);
    }

    #[test]
    fn escapes() {
        for (text, plain) in [
            ("a\\040b", "a b"),
            ("\\", "\\"),
            ("\\04", "\\04"),
            ("\\999", "\\999"),
            ("\\134\\011", "\\\t"),
            ("\\3\u{e9}x", "\\3\u{e9}x"),
        ] {
            assert_eq!(unescape(text), plain);
        }
    }

    #[test]
    fn no_bytes_are_too_strange() {
        proptest::proptest!(|(bytes: Vec<u8>, line in "[0-9:/. a-z\\\\-]*\n", path: String)| {
            for bytes in [&bytes, line.as_bytes()] {
                let _ = mount_of(&mounts(bytes), &path);
            }
            let _ = unescape(&path);
        });
    }
}
