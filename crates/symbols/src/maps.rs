//! The address space of a process, from the text of `/proc/PID/maps`.
//!
//! The text is hostile: the process chooses its paths, and under a race two halves of it may disagree. Invalid lines
//! are counted and left out; ranges never overlap.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Names a file of this machine as `maps` does: device and inode.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// Major number of the device.
    pub major: u32,
    /// Minor number of the device.
    pub minor: u32,
    /// Inode; 0 for memory without a file.
    pub inode: u64,
}

/// What a mapping holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MappingKind {
    /// A file that still has its name.
    File,
    /// A file whose name is gone (replaced by an upgrade, or a temporary one).
    DeletedFile,
    /// Memory without file and name.
    Anonymous,
    /// Memory that the process named (`[anon:...]`), or shared memory without a name.
    NamedAnonymous,
    /// The heap that `brk` grows.
    Heap,
    /// The stack of the main thread.
    Stack,
    /// The kernel's library that is mapped into each process.
    Vdso,
    /// Other special mappings: `[vvar]`, `[vsyscall]`, `[uprobes]`.
    Special,
}

/// One line of `maps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Addresses.
    pub addresses: Range<u64>,
    /// Where in the file it begins.
    pub file_offset: u64,
    /// The file; inode 0 when there is none.
    pub file: FileId,
    /// Whether code in it can run.
    pub is_executable: bool,
    /// Whether it can be written.
    pub is_writable: bool,
    /// What it holds.
    pub kind: MappingKind,
    /// Path or name as the process sees it, without ` (deleted)`; empty when there is none.
    pub path: Arc<str>,
}

impl Mapping {
    /// Whether a file is behind it.
    pub fn has_file(&self) -> bool {
        matches!(self.kind, MappingKind::File | MappingKind::DeletedFile)
    }

    /// The offset in the file of `address`, which lies in this mapping.
    pub fn offset_of(&self, address: u64) -> u64 {
        (address - self.addresses.start).wrapping_add(self.file_offset)
    }

    /// The last part of the path.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// The mappings of a process, in the order of their addresses.
#[derive(Debug, Default, Clone)]
pub struct Mappings {
    mappings: Vec<Mapping>,
    /// Lines that were no mapping or overlapped another.
    pub bad_lines: usize,
}

impl Mappings {
    /// Reads the text of `/proc/PID/maps`.
    pub fn parse(text: &[u8]) -> Mappings {
        let mut read = Mappings::default();
        let mut paths = Paths::default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match parse_line(line, &mut paths) {
                Some(mapping) => read.mappings.push(mapping),
                None => read.bad_lines += 1,
            }
        }
        read.mappings.sort_by_key(|mapping| mapping.addresses.start);
        let mut end = 0;
        let before = read.mappings.len();
        read.mappings.retain(|mapping| {
            let is_free = mapping.addresses.start >= end;
            end = end.max(if is_free { mapping.addresses.end } else { end });
            is_free
        });
        read.bad_lines += before - read.mappings.len();
        read
    }

    /// The mapping that holds `address`.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|mapping| mapping.addresses.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        mapping.addresses.contains(&address).then_some(mapping)
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Mapping> {
        self.mappings.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.mappings.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }
}

/// Each path once: a JVM has hundreds of mappings of a few dozen files.
#[derive(Default)]
struct Paths(FxHashMap<Vec<u8>, Arc<str>>);

impl Paths {
    fn intern(&mut self, path: &[u8]) -> Arc<str> {
        if let Some(known) = self.0.get(path) {
            return Arc::clone(known);
        }
        let text: Arc<str> = String::from_utf8_lossy(path).replace("\\012", "\n").into();
        self.0.insert(path.to_vec(), Arc::clone(&text));
        text
    }
}

/// `START-END PERMS OFFSET MAJOR:MINOR INODE   PATH`
fn parse_line(line: &[u8], paths: &mut Paths) -> Option<Mapping> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let (start, end) = pair(fields.next()?, b'-')?;
    let perms = fields.next().filter(|perms| perms.len() == 4)?;
    let file_offset = hex(fields.next()?)?;
    let (major, minor) = pair(fields.next()?, b':')?;
    let inode = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    let is_deleted = path.ends_with(DELETED) && inode != 0;
    let name = if is_deleted { &path[..path.len() - DELETED.len()] } else { path };
    (start < end).then(|| Mapping {
        addresses: start..end,
        file_offset,
        file: FileId { major: major as u32, minor: minor as u32, inode },
        is_executable: perms[2] == b'x',
        is_writable: perms[1] == b'w',
        kind: kind_of(name, inode, is_deleted),
        path: paths.intern(name),
    })
}

const DELETED: &[u8] = b" (deleted)";

fn kind_of(name: &[u8], inode: u64, is_deleted: bool) -> MappingKind {
    match name {
        b"" => MappingKind::Anonymous,
        // Only memory without an inode can be one of the kernel's names; a file may be called anything.
        b"[heap]" if inode == 0 => MappingKind::Heap,
        b"[stack]" if inode == 0 => MappingKind::Stack,
        b"[vdso]" if inode == 0 => MappingKind::Vdso,
        _ if inode == 0 && (name.starts_with(b"[anon") || name.starts_with(b"/")) => MappingKind::NamedAnonymous,
        _ if inode == 0 => MappingKind::Special,
        // Shared memory without a name: the files of memfd_create, of mmap(MAP_SHARED) and of System V.
        _ if [&b"/dev/zero"[..], b"/SYSV"].iter().any(|prefix| name.starts_with(prefix)) => MappingKind::NamedAnonymous,
        _ if is_deleted => MappingKind::DeletedFile,
        _ => MappingKind::File,
    }
}

fn pair(text: &[u8], between: u8) -> Option<(u64, u64)> {
    let at = memchr::memchr(between, text)?;
    Some((hex(&text[..at])?, hex(&text[at + 1..])?))
}

/// A number of up to 16 hexadecimal digits, without `0x`.
pub(crate) fn hex(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0_u64, |number, digit| Some(number << 4 | u64::from((*digit as char).to_digit(16)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use MappingKind::{Anonymous, DeletedFile, File, Heap, NamedAnonymous, Special, Stack, Vdso};

    #[test]
    fn lines_are_told_apart() {
        let lines: &[(&str, MappingKind, &str)] = &[
            ("1000-2000 r-xp 00001000 fe:00 315192                     /usr/bin/java", File, "/usr/bin/java"),
            ("1000-2000 r-xp 00000000 fe:00 3 /a b  c", File, "/a b  c"),
            ("1000-2000 r-xp 00000000 fe:00 3 /tmp/x\\012y", File, "/tmp/x\ny"),
            ("1000-2000 r-xp 00000000 fe:00 3   /usr/lib/libjvm.so (deleted)", DeletedFile, "/usr/lib/libjvm.so"),
            ("1000-2000 r-xp 00000000 fe:00 3   [heap]", File, "[heap]"),
            ("1000-2000 rw-p 00000000 00:00 0 ", Anonymous, ""),
            ("1000-2000 rw-p 00000000 00:00 0", Anonymous, ""),
            ("1000-2000 rw-p 00000000 00:00 0   [heap]", Heap, "[heap]"),
            ("1000-2000 rw-p 00000000 00:00 0   [stack]", Stack, "[stack]"),
            ("1000-2000 r-xp 00000000 00:00 0   [vdso]", Vdso, "[vdso]"),
            ("1000-2000 --xp 00000000 00:00 0   [vsyscall]", Special, "[vsyscall]"),
            ("1000-2000 rw-p 00000000 00:00 0   [anon:java heap]", NamedAnonymous, "[anon:java heap]"),
            ("1000-2000 rw-s 00000000 00:01 1035   /dev/zero (deleted)", NamedAnonymous, "/dev/zero"),
            ("1000-2000 rwxs 00000000 00:01 1035   /memfd:java_code (deleted)", DeletedFile, "/memfd:java_code"),
        ];
        for (line, kind, path) in lines {
            let maps = Mappings::parse(line.as_bytes());
            assert_eq!((maps.len(), maps.bad_lines), (1, 0), "{line}");
            let mapping = maps.find(0x1fff).unwrap();
            assert_eq!((mapping.kind, &*mapping.path), (*kind, *path), "{line}");
        }
    }

    #[test]
    fn nonsense_is_counted() {
        let lines = [
            "x",
            "1000 r-xp 0 0:0 0",
            "2000-1000 r-xp 0 0:0 0",
            "1000-1000 r-xp 0 0:0 0",
            "1000-2000 r-x 0 0:0 0",
            "1000-2000 r-xp 0 00 0",
            "1000-2000 r-xp 0 0:0 -3",
            "1000-11112222333344445555 r-xp 0 0:0 0",
            "+1000-2000 r-xp 0 0:0 0",
        ];
        for line in lines {
            let maps = Mappings::parse(line.as_bytes());
            assert_eq!((maps.len(), maps.bad_lines), (0, 1), "{line}");
        }
    }

    #[test]
    fn mappings_never_overlap() {
        let maps = Mappings::parse(b"3000-4000 r-xp 0 0:0 0\n1000-2000 r-xp 0 0:0 0\n1800-3000 r-xp 0 0:0 0\n");
        assert_eq!(maps.iter().map(|mapping| mapping.addresses.start).collect::<Vec<_>>(), [0x1000, 0x3000]);
        assert_eq!(maps.bad_lines, 1);
        for (address, found) in [(0xfff, false), (0x1000, true), (0x2000, false), (0x3fff, true), (0x4000, false)] {
            assert_eq!(maps.find(address).is_some(), found, "{address:x}");
        }
    }

    #[test]
    fn this_process_is_read() {
        let maps = Mappings::parse(&std::fs::read("/proc/self/maps").unwrap());
        assert_eq!(maps.bad_lines, 0);
        let here = maps.find(this_process_is_read as *const () as u64).unwrap();
        assert!(here.is_executable && here.has_file() && here.file.inode != 0, "{here:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text: Vec<u8>, address: u64) {
            Mappings::parse(&text).find(address);
        }

        #[test]
        fn lines_of_any_numbers_are_read(start: u64, end: u64, offset: u64, address: u64) {
            let line = format!("{start:x}-{end:x} r-xp {offset:x} 0:0 7 /x");
            if let Some(mapping) = Mappings::parse(line.as_bytes()).find(address) {
                mapping.offset_of(address);
            }
        }
    }
}
