//! A file that the program writes for its user: complete or not at all, for its owner only, and never in place of
//! something that is not a file.
//!
//! Constraints: the program may be root, and the folder may be open to everybody. So the folder is opened once, and the
//! type of what already has the name is checked: devices and pipes are written into, links are not followed, and only a
//! file is replaced.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::system::folder::Folder;
use crate::system::{Found, owner};

/// Names of standard output.
const STANDARD: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Names of what the caller has opened for us, `>(gzip)` of a shell among them. They are links, and to be followed.
const OPENED_BY_CALLER: [&str; 3] = ["/dev/fd/", "/dev/std", "/proc/self/fd/"];

/// Where something is going to be written.
pub(crate) struct Output {
    path: PathBuf,
    to: To,
}

enum To {
    Standard,
    /// A device or a pipe.
    Stream(File),
    /// A file in this folder.
    Named(Folder, OsString),
}

impl Output {
    /// Looks at the place before the work is done, so that a refusal comes at once.
    pub(crate) fn at(path: &Path) -> Result<Output> {
        let to = To::at(path).with_context(|| cannot(path))?;
        Ok(Output { path: path.to_owned(), to })
    }

    /// For a command that has an answer to print as well.
    pub(crate) fn beside_an_answer(path: &Path) -> Result<Output> {
        match Output::at(path)? {
            output if output.is_standard() => bail!("the answer goes to standard output already: name a file"),
            output => Ok(output),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder in which a file is made; none for what is open already.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        match &self.to {
            To::Named(..) => Some(folder_of(&self.path)),
            To::Standard | To::Stream(_) => None,
        }
    }

    /// Whether standard output has no room for anything else.
    pub(crate) fn is_standard(&self) -> bool {
        matches!(self.to, To::Standard)
    }

    pub(crate) fn write(self, bytes: &[u8]) -> Result<()> {
        let written = match self.to {
            To::Standard => to_stream(&mut io::stdout().lock(), bytes),
            To::Stream(mut stream) => to_stream(&mut stream, bytes),
            To::Named(folder, name) => to_file(&folder, &name, bytes),
        };
        written.with_context(|| cannot(&self.path))
    }
}

/// Refuses the names of standard output for what is written as a folder.
pub(crate) fn is_a_folders_name(path: &Path) -> Result<()> {
    match STANDARD.iter().any(|name| path == Path::new(name)) {
        true => bail!("a recording is a folder and cannot go to standard output: name one with -o"),
        false => Ok(()),
    }
}

fn cannot(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

impl To {
    fn at(path: &Path) -> Result<To> {
        if STANDARD.iter().any(|name| path == Path::new(name)) {
            return Ok(To::Standard);
        }
        if OPENED_BY_CALLER.iter().any(|start| path.as_os_str().as_encoded_bytes().starts_with(start.as_bytes())) {
            return Ok(To::Stream(OpenOptions::new().write(true).open(path)?));
        }
        let name = path.file_name().context("this names no file")?;
        let folder = Folder::open(&folder_of(path))?;
        match folder.find(name)? {
            Found::Nothing | Found::File => Ok(To::Named(folder, name.to_owned())),
            Found::Stream => Ok(To::Stream(folder.stream(name)?)),
            Found::Other(what) => bail!("this is {what}: name another"),
        }
    }
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

fn to_stream(stream: &mut impl Write, bytes: &[u8]) -> Result<()> {
    stream.write_all(bytes)?;
    Ok(stream.flush()?)
}

/// Writes beside the name and renames: what has the name is always whole.
fn to_file(folder: &Folder, name: &OsStr, bytes: &[u8]) -> Result<()> {
    let folder_now = folder.path();
    let made = tempfile::Builder::new().prefix(".fathom-page-").tempfile_in(&folder_now);
    // The library's errors name paths that the user did not give.
    let beside = made.map_err(|error| io::Error::from(error.kind()))?;
    beside.as_file().write_all(bytes)?;
    beside.as_file().sync_all()?;
    owner::give_file(beside.as_file())?;
    let path = folder_now.join(name);
    match folder.find(name)? {
        Found::Nothing => beside.persist_noclobber(path)?,
        Found::File => beside.persist(path)?,
        Found::Stream => bail!("this is no file meanwhile"),
        Found::Other(what) => bail!("this is {what} meanwhile"),
    };
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
    use std::thread;

    use rustix::fs::{CWD, FileType, Mode};

    use super::*;

    fn write(path: &Path, bytes: &[u8]) -> Result<()> {
        Output::at(path)?.write(bytes)
    }

    #[test]
    fn what_is_no_file_stays_what_it_is() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("file"), "old").unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink("file", at("link")).unwrap();
        symlink("nothing", at("link_to_nothing")).unwrap();
        symlink("folder", at("link_to_folder")).unwrap();
        for (name, says) in [
            ("link", "a link"),
            ("link_to_nothing", "a link"),
            ("link_to_folder", "a link"),
            ("folder", "a folder"),
            ("folder/..", "names no file"),
            ("no/such", "No such file"),
        ] {
            let error = format!("{:#}", write(&at(name), b"new").unwrap_err());
            assert!(error.contains(says), "{name}: {error}");
        }
        assert_eq!(fs::read(at("file")).unwrap(), b"old");
        assert!(!at("nothing").exists());
        write(&at("file"), b"new").unwrap();
        write(&at("link_to_folder/inside"), b"new").unwrap();
        assert_eq!(
            (fs::read(at("file")).unwrap(), fs::read(at("folder/inside")).unwrap()),
            (b"new".into(), b"new".into())
        );
    }

    #[test]
    fn pipes_are_written_into() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write(&pipe, b"page").unwrap();
        assert_eq!(reader.join().unwrap(), b"page");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    }

    #[test]
    fn devices_are_written_into_and_pipes_of_strangers_are_not() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: only root can make devices, and files of others");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let device = |name: &str, minor| {
            rustix::fs::mknodat(CWD, at(name), FileType::CharacterDevice, Mode::RWXU, rustix::fs::makedev(1, minor))
        };
        if device("null", 3).and(device("full", 7)).is_err() {
            println!("SKIPPED: no devices can be made here");
            return;
        }
        write(&at("null"), b"page").unwrap();
        assert!(format!("{:#}", write(&at("full"), b"page").unwrap_err()).contains("No space left"));
        for name in ["null", "full"] {
            assert!(fs::symlink_metadata(at(name)).unwrap().file_type().is_char_device(), "{name}");
        }
        rustix::fs::mkfifoat(CWD, at("pipe"), Mode::RWXU).unwrap();
        std::os::unix::fs::chown(at("pipe"), Some(65_534), None).unwrap();
        assert!(format!("{:#}", write(&at("pipe"), b"page").unwrap_err()).contains("belongs to user 65534"));
    }

    #[test]
    fn an_exchange_of_folders_turns_nothing() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for folder in ["mine", "others"] {
            fs::create_dir(at(folder)).unwrap();
            fs::write(at(folder).join("page"), "old").unwrap();
        }
        let output = Output::at(&at("mine/page")).unwrap();
        fs::rename(at("mine"), at("moved")).unwrap();
        symlink("others", at("mine")).unwrap();
        output.write(b"new").unwrap();
        assert_eq!(fs::read(at("others/page")).unwrap(), b"old");
        assert_eq!(fs::read(at("moved/page")).unwrap(), b"new");
        assert_eq!(fs::metadata(at("moved/page")).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(at("moved")).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn what_is_put_there_meanwhile_is_not_replaced() {
        let place = tempfile::tempdir().unwrap();
        let page = place.path().join("page");
        let output = Output::at(&page).unwrap();
        symlink("/etc/passwd", &page).unwrap();
        assert!(output.write(b"new").is_err());
        assert_eq!(fs::read_link(&page).unwrap(), Path::new("/etc/passwd"));
    }
}
