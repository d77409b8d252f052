//! The mappings that identify a JVM: libjvm, and the file of its counters.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::hostile_files::Root;
use crate::{Target, procfs};

/// Longest list of mappings that is read: over a million of them.
const MAPS_MAX_BYTES: u64 = 128 << 20;

/// The mappings of interest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// Path of libjvm as the process sees it.
    pub(crate) libjvm: Option<String>,
    /// Path of a libasyncProfiler that is loaded.
    pub(crate) async_profiler: Option<String>,
    /// Folder (`hsperfdata_USER`) and name of the counters' file, which is in `/tmp`.
    pub(crate) counters: Option<(String, String)>,
}

impl Mapped {
    /// Reads the mappings of a process.
    pub(crate) fn of(target: &Target) -> io::Result<Mapped> {
        let mut mapped = Mapped::read(BufReader::new(procfs::file(target.proc("maps"))?.take(MAPS_MAX_BYTES)))?;
        let root = Root::of(target);
        for path in mapped.libjvm.iter_mut().chain(&mut mapped.async_profiler) {
            *path = root.inside(path).to_owned();
        }
        Ok(mapped)
    }

    fn read(maps: impl BufRead) -> io::Result<Mapped> {
        let mut mapped = Mapped::default();
        for line in maps.split(b'\n') {
            let line = line?;
            let Some(path) = path_of(&line) else { continue };
            let file = path.strip_suffix(" (deleted)").unwrap_or(path);
            if mapped.libjvm.is_none() && file.ends_with("/libjvm.so") {
                mapped.libjvm = Some(path.to_owned());
            }
            if mapped.async_profiler.is_none() && file.ends_with("/libasyncProfiler.so") {
                mapped.async_profiler = Some(file.to_owned());
            }
            mapped.counters = mapped.counters.or_else(|| counters_of(path));
        }
        Ok(mapped)
    }
}

/// The file of a mapping: what begins with the first slash.
fn path_of(line: &[u8]) -> Option<&str> {
    let start = line.iter().position(|byte| *byte == b'/')?;
    std::str::from_utf8(&line[start..]).ok()
}

/// `/tmp/hsperfdata_USER/PID`, whatever the folders before it are called from here.
fn counters_of(path: &str) -> Option<(String, String)> {
    let path = Path::new(path);
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?.file_name()?.to_str()?;
    let is_counters =
        folder.starts_with("hsperfdata_") && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    is_counters.then(|| (folder.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings() {
        let libjvm = "7f0-7f1 r-xp 00001000 fe:00 123   /usr/lib/jvm/17/lib/server/libjvm.so\n";
        let counters = "7f2-7f3 rw-s 00000000 fe:00 124   /tmp/hsperfdata_app user/17\n";
        let pair = Some(("hsperfdata_app user".to_owned(), "17".to_owned()));
        for (maps, has_libjvm, expected) in [
            (String::new(), false, None),
            (libjvm.to_owned(), true, None),
            (format!("{counters}{libjvm}"), true, pair.clone()),
            (format!("{libjvm}{counters}{libjvm}"), true, pair),
            ("7f0-7f1 r-xp 0 fe:00 123 /usr/lib/libjvm.so (deleted)\n".to_owned(), true, None),
            ("7f0-7f1 r-xp 0 fe:00 123 /usr/lib/notlibjvm.so\n7f0-7f1 rw-p 0 00:00 0 [heap]\n".to_owned(), false, None),
            ("7f0-7f1 rw-s 0 fe:00 1 /tmp/hsperfdata_x/1x\n/tmp/hsperfdata_/\n/\n".to_owned(), false, None),
        ] {
            let mapped = Mapped::read(maps.as_bytes()).unwrap();
            assert_eq!((mapped.libjvm.is_some(), mapped.counters), (has_libjvm, expected), "{maps}");
        }
        assert_eq!(Mapped::read(&b"\xff\xfe/\xff\n\n\n"[..]).unwrap(), Mapped::default());
    }
}
