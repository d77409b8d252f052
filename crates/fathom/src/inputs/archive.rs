//! Archives and standard input: their content, as files in a temporary folder ([`unpacked`]).
//!
//! Names in an archive are not trusted: only their plain parts are used, so that nothing is written outside of the
//! folder, and how much is unpacked is bounded. What is lost on the way is kept with the folder.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use fathom_readers::archive::{Lost, Member, each_member, packing};

use super::place::Place;
use crate::system::unpacked::{self, Folder};

/// What archives unpack to at most, those in them included, in bytes.
const UNPACKED_MAX_BYTES: u64 = 8 << 30;

/// Files that are taken out of archives at most.
const FILES_MAX: usize = 4_096;

/// What must stay free on the disk, in bytes, as in a recording: other programs write there too.
const KEEP_FREE_BYTES: u64 = 64 << 20;

/// Copied from one look at the disk to the next, in bytes.
const STEP_BYTES: u64 = 16 << 20;

/// A folder with the content of an archive, for as long as it is read.
pub(crate) type Unpacked = Arc<Content>;

/// What was in an archive.
#[derive(Debug)]
pub(crate) struct Content {
    folder: Folder,
    name: String,
    lost: Lost,
}

impl Content {
    /// Where its files are.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What of the archive could not be read, with its name before it.
    pub(crate) fn lost(&self) -> Vec<String> {
        self.lost.lines().into_iter().map(|says| format!("{}: {says}", self.name)).collect()
    }
}

/// What may still be unpacked.
#[derive(Debug)]
pub(super) struct Budget {
    files: usize,
    bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { files: FILES_MAX, bytes: UNPACKED_MAX_BYTES }
    }
}

/// Unpacks the archive `path`, below the folder of the one that it was in; `None` when it is none.
pub(super) fn unpack(path: &Path, place: &Place, budget: &mut Budget) -> io::Result<Option<Unpacked>> {
    let Some(packing) = packing(path)? else { return Ok(None) };
    let folder = Folder::within(place.folder.as_deref())?;
    let mut unpacking = Unpacking { folder, budget, members: 0, left_out: None };
    let read = each_member(path, packing, &mut |member, content| unpacking.add(member, content));
    let mut lost = match (read, &unpacking.left_out) {
        (Ok(lost), _) => lost,
        (Err(_), Some(_)) => Lost::default(),
        (Err(error), None) => return Err(error),
    };
    unpacking.left_out.into_iter().for_each(|says| lost.of_archive(says));
    Ok(Some(Arc::new(Content { folder: unpacking.folder, name: place.name.clone(), lost })))
}

/// Whether `path` is an archive that can be unpacked.
pub(super) fn is_archive(path: &Path) -> bool {
    packing(path).is_ok_and(|packing| packing.is_some())
}

/// What comes on standard input, as a file.
pub(super) fn standard_input() -> io::Result<(Unpacked, PathBuf)> {
    const NAME: &str = "standard_input";
    let budget = &mut Budget::default();
    let mut unpacking = Unpacking { folder: Folder::within(None)?, budget, members: 0, left_out: None };
    let member = Member { name: NAME.to_owned(), changed: SystemTime::now() };
    unpacking.add(&member, &mut io::stdin().lock()).map_err(|error| unpacking.why(error))?;
    let path = unpacking.folder.path().join(NAME);
    let content = Content { folder: unpacking.folder, name: NAME.to_owned(), lost: Lost::default() };
    Ok((Arc::new(content), path))
}

/// Files that are inside of this program, by name.
pub(crate) fn own(files: &[(&str, &[u8])]) -> io::Result<Unpacked> {
    let folder = Folder::within(None)?;
    files.iter().try_for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes))?;
    Ok(Arc::new(Content { folder, name: "fathom".to_owned(), lost: Lost::default() }))
}

/// Where a file goes below a folder: the plain parts of its name.
fn plain(name: &str) -> Option<PathBuf> {
    let parts = Path::new(name).components();
    let plain: PathBuf = parts.filter(|part| matches!(part, Component::Normal(_))).collect();
    plain.file_name().is_some().then_some(plain)
}

/// Files that are being unpacked.
struct Unpacking<'b> {
    folder: Folder,
    budget: &'b mut Budget,
    members: usize,
    /// Why nothing more is unpacked.
    left_out: Option<String>,
}

impl Unpacking<'_> {
    fn add(&mut self, member: &Member, content: &mut dyn Read) -> io::Result<()> {
        self.members += 1;
        let Some(files) = self.budget.files.checked_sub(1) else {
            return Err(self.leave_out(member, format!("more than {FILES_MAX} files")));
        };
        self.budget.files = files;
        let (path, mut file) = self.create(&member.name)?;
        let copied = copy(content, &mut file, self.budget.bytes)?;
        self.budget.bytes -= copied;
        if self.budget.bytes == 0 {
            return Err(self.leave_out(member, format!("more than {} GB unpacked", UNPACKED_MAX_BYTES >> 30)));
        }
        // Logs without a wall clock are placed by it.
        file.set_modified(member.changed)?;
        self.remove_if_repeated(&member.name, &path);
        Ok(())
    }

    fn leave_out(&mut self, member: &Member, why: String) -> io::Error {
        let says = format!("{why}: {} and what follows is left out; unpack it and name those that matter", member.name);
        self.left_out = Some(says);
        io::ErrorKind::QuotaExceeded.into()
    }

    fn why(&self, error: io::Error) -> io::Error {
        self.left_out.clone().map_or(error, io::Error::other)
    }

    /// Makes the file by its name, or by a number where that name cannot be had: it is no plain one, another member has it, or has
    /// a part of it, or no file system takes it.
    fn create(&self, name: &str) -> io::Result<(PathBuf, File)> {
        let create = |file: PathBuf| create(self.folder.path(), &file);
        if let Some(Ok(made)) = plain(name).map(create) {
            return Ok(made);
        }
        let numbered = PathBuf::from(format!("{}-{}", self.members, NUMBERED));
        let file = plain(name).and_then(|plain| plain.file_name().map(PathBuf::from)).map(|name| numbered.join(name));
        file.and_then(|file| create(file).ok()).map_or_else(|| create(numbered.join(NUMBERED)), Ok)
    }

    /// The same file twice would count twice.
    fn remove_if_repeated(&self, name: &str, path: &Path) {
        let Some(first) = plain(name).map(|plain| self.folder.path().join(plain)) else { return };
        if first != path && is_same(&first, path).unwrap_or(false) {
            // One that stays is read, and what it holds is known by then.
            let _ = fs::remove_file(path);
        }
    }
}

/// What files are called whose names cannot be used, and the end of the names of their folders.
const NUMBERED: &str = "file";

/// Makes a file and the folders that it is in, but not the one that all is unpacked into: a signal may have removed it.
fn create(unpacked: &Path, file: &Path) -> io::Result<(PathBuf, File)> {
    let mut folder = unpacked.to_owned();
    for part in file.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        fs::create_dir(&folder).or_else(|error| if folder.is_dir() { Ok(()) } else { Err(error) })?;
    }
    let path = unpacked.join(file);
    let file = File::create_new(&path)?;
    Ok((path, file))
}

/// Whether two files have the same bytes.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let length = |path| Ok::<u64, io::Error>(fs::symlink_metadata(path)?.len());
    if length(one)? != length(other)? {
        return Ok(false);
    }
    let bytes = |path| Ok::<_, io::Error>(io::BufReader::new(File::open(path)?).bytes());
    for (one, other) in bytes(one)?.zip(bytes(other)?) {
        if one? != other? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Copies all of `from`, but `max_bytes` at most.
fn copy(from: &mut dyn Read, to: &mut File, max_bytes: u64) -> io::Result<u64> {
    let mut left = max_bytes;
    while left > 0 {
        if unpacked::free_bytes(to)? < KEEP_FREE_BYTES + STEP_BYTES {
            return Err(io::Error::other(
                "the disk of the folder for temporary files is nearly full: set TMPDIR to another",
            ));
        }
        let step = left.min(STEP_BYTES);
        let copied = io::copy(&mut from.take(step), to)?;
        left -= copied;
        if copied < step {
            break;
        }
    }
    to.flush()?;
    Ok(max_bytes - left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_has_a_file_of_its_own() {
        let mut budget = Budget::default();
        let folder = Folder::within(None).unwrap();
        let mut unpacking = Unpacking { folder, budget: &mut budget, members: 0, left_out: None };
        let long = "x".repeat(300);
        for (name, content, expected) in [
            ("a.log", "one", Some("a.log")),
            ("a.log", "two", Some("2-file/a.log")),
            ("./a.log", "one", None),
            ("a.log/b", "three", Some("4-file/b")),
            ("../../etc/passwd", "four", Some("etc/passwd")),
            ("etc", "five", Some("6-file/etc")),
            ("", "six", Some("7-file/file")),
            ("/", "seven", Some("8-file/file")),
            (&long, "eight", Some("9-file/file")),
            (".hidden", "nine", Some(".hidden")),
        ] {
            let member = Member { name: name.to_owned(), changed: SystemTime::UNIX_EPOCH };
            unpacking.add(&member, &mut content.as_bytes()).unwrap();
            let numbered = unpacking.folder.path().join(format!("{}-file", unpacking.members));
            match expected {
                Some(path) => {
                    assert_eq!(fs::read_to_string(unpacking.folder.path().join(path)).unwrap(), content, "{name}")
                }
                None => assert_eq!(fs::read_dir(numbered).unwrap().count(), 0, "{name}"),
            }
        }
        unpacking.budget.files = 0;
        let member = Member { name: "more".to_owned(), changed: SystemTime::UNIX_EPOCH };
        assert!(unpacking.add(&member, &mut io::empty()).is_err());
        assert!(unpacking.left_out.unwrap().contains("more than 4096 files: more and what follows"));
    }
}
