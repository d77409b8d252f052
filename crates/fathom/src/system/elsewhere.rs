//! What the program asks of systems on which it only reads files and writes answers, with the rights of its user.

/// There are no rights to give up that the answer does not need.
pub(crate) mod confine {
    use anyhow::Result;

    use crate::system::Needs;

    pub(crate) fn confine(_: &Needs) -> Result<()> {
        Ok(())
    }
}

/// A folder by its path.
pub(crate) mod folder {
    use std::ffi::OsStr;
    use std::fs::{self, File, FileType, OpenOptions};
    use std::io::ErrorKind;
    use std::path::{Path, PathBuf};

    use anyhow::Result;

    use crate::system::Found;

    pub(crate) struct Folder(PathBuf);

    impl Folder {
        pub(crate) fn open(path: &Path) -> Result<Folder> {
            fs::read_dir(path)?;
            Ok(Folder(path.to_owned()))
        }

        pub(crate) fn path(&self) -> PathBuf {
            self.0.clone()
        }

        pub(crate) fn find(&self, name: &OsStr) -> Result<Found> {
            match fs::symlink_metadata(self.0.join(name)) {
                Ok(found) => Ok(kind(found.file_type())),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(Found::Nothing),
                Err(error) => Err(error.into()),
            }
        }

        pub(crate) fn stream(&self, name: &OsStr) -> Result<File> {
            Ok(OpenOptions::new().write(true).open(self.0.join(name))?)
        }
    }

    fn kind(of: FileType) -> Found {
        match of {
            _ if of.is_file() => Found::File,
            _ if of.is_symlink() => Found::Other("a link, which is not followed"),
            _ if of.is_dir() => Found::Other("a folder"),
            _ if is_stream(of) => Found::Stream,
            _ => Found::Other("no file"),
        }
    }

    #[cfg(unix)]
    fn is_stream(of: FileType) -> bool {
        use std::os::unix::fs::FileTypeExt;

        of.is_char_device() || of.is_fifo()
    }

    #[cfg(not(unix))]
    fn is_stream(_: FileType) -> bool {
        false
    }
}

/// JVMs are not talked to here.
pub(crate) mod left_in_jvm {
    use std::path::Path;

    use anyhow::Result;

    pub(crate) fn fetch(_: &Path) -> Result<()> {
        Ok(())
    }
}

/// What is written belongs to who runs the program.
pub(crate) mod owner {
    use std::convert::Infallible;
    use std::fs::File;
    use std::io;
    use std::path::{Path, PathBuf};

    use anyhow::{Context, Result, bail};

    /// Where a recording's folder is going to be; the store makes it.
    pub(crate) struct Place(PathBuf);

    impl Place {
        pub(crate) fn make(path: &Path) -> Result<Place> {
            path.file_name().with_context(|| format!("{}: -o has to name a folder", path.display()))?;
            if path.symlink_metadata().is_ok() {
                bail!("{}: exists already; name another folder with -o", path.display());
            }
            Ok(Place(path.to_owned()))
        }

        pub(crate) fn path(&self) -> PathBuf {
            self.0.clone()
        }

        pub(crate) fn give_to_caller(&self) -> Result<()> {
            Ok(())
        }
    }

    pub(crate) fn enter_to_give(_: &Path) -> Result<Option<Infallible>> {
        Ok(None)
    }

    pub(crate) fn give_folder(none: Infallible) -> Result<()> {
        match none {}
    }

    pub(crate) fn give_file(_: &File) -> io::Result<()> {
        Ok(())
    }
}

/// Folders for what is unpacked. What a program that was killed has left is for the system to remove.
pub(crate) mod unpacked {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use tempfile::{Builder, TempDir};

    #[derive(Debug)]
    pub(crate) struct Folder(TempDir);

    impl Folder {
        pub(crate) fn within(outer: Option<&Path>) -> io::Result<Folder> {
            let mut builder = Builder::new();
            builder.prefix("fathom-unpacked-");
            outer.map_or_else(|| builder.tempdir(), |outer| builder.tempdir_in(outer)).map(Folder)
        }

        pub(crate) fn path(&self) -> &Path {
            self.0.path()
        }
    }

    /// Each is removed when it is dropped.
    pub(crate) fn remove_all() {}

    /// Not known here: a full disk ends the unpacking.
    pub(crate) fn free_bytes(_: &File) -> io::Result<u64> {
        Ok(u64::MAX)
    }
}
