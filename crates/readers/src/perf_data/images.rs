//! Finds the files that were mapped, if they are unchanged. Knows no evidence.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use fathom_symbols::elf::{Image, ReadAt, summary_of};
use fathom_symbols::jit::JitMap;
use fathom_symbols::kernel::KernelSymbols;

use crate::input::open_regular;
use crate::perf_data::notes::{Known, Mapped};

/// A perf map of a large application has some 10 MB, the kernel's functions as many, in bytes.
const TEXT_MAX_BYTES: u64 = 256 << 20;

/// Whether files of this machine are looked at. What a fuzz run does must follow from its input alone, on any machine; and to read
/// the kernel's functions and a JVM's for each input would be nearly all of its time.
const LOOKS_AT_MACHINE: bool = !cfg!(fuzzing);

/// A file, read where it is asked.
struct OnDisk(File);

impl ReadAt for OnDisk {
    fn read_at(&self, offset: u64, size_bytes: usize) -> Option<Cow<'_, [u8]>> {
        let length = self.0.metadata().ok()?.len();
        (offset.checked_add(size_bytes as u64)? <= length).then_some(())?;
        let mut bytes = vec![0; size_bytes];
        let mut file = &self.0;
        file.seek(SeekFrom::Start(offset)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes.into())
    }
}

/// The program or library of a mapping, if it is the one that perf saw: it lies beside the recording, or where it was mapped from.
pub(super) fn image(folder: &Path, mapped: &Mapped, build_id: Option<&[u8]>) -> Option<Image> {
    let path = Path::new(std::str::from_utf8(&mapped.path).ok()?);
    path.is_absolute().then_some(())?;
    let beside = folder.join(path.file_name()?);
    let candidates = [Some(beside.as_path()), LOOKS_AT_MACHINE.then_some(path)];
    candidates.into_iter().flatten().find_map(|path| same_image(path, mapped, build_id))
}

fn same_image(path: &Path, mapped: &Mapped, build_id: Option<&[u8]>) -> Option<Image> {
    let file = open_regular(path).ok()?;
    let of = file.metadata().ok()?;
    let file = OnDisk(file);
    // Its names are read only if they are wanted: a JVM's library has some hundred thousand.
    let own_id = summary_of(&file).ok()?.build_id;
    let is_same = match (&mapped.file, build_id) {
        (Known::BuildId(id), _) => is_same_id(id, &own_id),
        (_, Some(id)) => is_same_id(id, &own_id),
        (Known::Inode { major, minor, inode }, None) => is_inode(&of, (*major, *minor, *inode)),
        (Known::Nothing, None) => false,
    };
    is_same.then_some(())?;
    let mut image = Image::read(&file).ok()?;
    let id: String = image.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some((first, rest)) = id.split_at_checked(2).filter(|_| !image.has_full_symbols()) {
        let debug = open_regular(Path::new(&format!("/usr/lib/debug/.build-id/{first}/{rest}.debug")));
        // Without it the names that the library exports stay.
        let _ = debug.map(|file| image.add_debug_file(&OnDisk(file)));
    }
    Some(image)
}

#[cfg(target_os = "linux")]
fn is_inode(of: &Metadata, (major, minor, inode): (u32, u32, u64)) -> bool {
    use std::os::unix::fs::MetadataExt;

    (libc::major(of.dev()), libc::minor(of.dev()), of.ino()) == (major, minor, inode)
}

/// perf records on Linux only.
#[cfg(not(target_os = "linux"))]
fn is_inode(_: &Metadata, _: (u32, u32, u64)) -> bool {
    false
}

/// Ids are padded with zeros.
fn is_same_id(noted: &[u8], own: &[u8]) -> bool {
    !own.is_empty() && noted.starts_with(own) && noted[own.len()..].iter().all(|byte| *byte == 0)
}

/// The names of Java's code, from the map beside the recording.
pub(super) fn jit(folder: &Path, pid: i32) -> Option<JitMap> {
    let text = text(&folder.join(format!("perf-{pid}.map"))).ok()?;
    Some(JitMap::parse(&text)).filter(|map| !map.is_empty())
}

/// The functions of the kernel that was recorded: from `kallsyms` beside the recording, or of the kernel that runs. Either must have
/// its code where perf saw it, which differs from one start of a kernel to the next.
pub(super) fn kernel(folder: &Path, seen_start: Option<u64>) -> Option<KernelSymbols> {
    let seen_start = seen_start?;
    let candidates = [Some(folder.join("kallsyms")), LOOKS_AT_MACHINE.then(|| PathBuf::from("/proc/kallsyms"))];
    candidates.iter().flatten().find_map(|path| {
        let head = BufReader::new(open_regular(path).ok()?.take(TEXT_MAX_BYTES));
        starts_at(head, seen_start).then(|| KernelSymbols::parse(&text(path).ok()?).ok()).flatten()
    })
}

/// Whether the kernel's code begins there. Its beginning stands near that of the text, and more is not read: there are hundred
/// thousands of lines.
fn starts_at(kallsyms: impl BufRead, seen_start: u64) -> bool {
    /// `_text` and `_stext`.
    const NAMES: usize = 2;
    let start = |line: Vec<u8>| -> Option<u64> {
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split_whitespace();
        let address = words.next()?;
        matches!(words.nth(1)?, "_text" | "_stext").then(|| u64::from_str_radix(address, 16).ok())?
    };
    kallsyms.split(b'\n').map_while(Result::ok).filter_map(start).take(NAMES).any(|start| start == seen_start)
}

fn text(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(TEXT_MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_build_and_the_same_kernel_count() {
        assert!(is_same_id(&[1, 2, 0], &[1, 2]) && !is_same_id(&[1, 2, 3], &[1, 2]) && !is_same_id(&[0], &[]));
        let text = &b"ffffffff81000000 T _stext\nffffffff81000040 T _text\nffffffff81000040 T startup_64\n"[..];
        assert!([0xffff_ffff_8100_0000, 0xffff_ffff_8100_0040].iter().all(|start| starts_at(text, *start)));
        assert!(!starts_at(text, 0xffff_ffff_8200_0000));
        assert!(!starts_at(&b"0000000000000000 T _text\n"[..], 0xffff_ffff_8100_0000));
    }
}
