//! Where a file was found, and the name by which its user knows it.

use std::path::{Path, PathBuf};

/// Where something was found: in a folder or an archive.
pub(super) struct Place {
    /// What the user knows it as.
    pub(super) name: String,
    /// Where the archive that it is in was unpacked.
    pub(super) folder: Option<PathBuf>,
    /// In how many archives it is.
    pub(super) archives_deep: usize,
}

impl Place {
    /// What was named itself.
    pub(super) fn of(path: &Path) -> Place {
        Place { name: path.display().to_string(), folder: None, archives_deep: 0 }
    }

    /// What is inside of an archive.
    pub(super) fn inside(&self, folder: &Path) -> Place {
        let folder = Some(folder.to_owned());
        Place { name: self.name.clone(), folder, archives_deep: self.archives_deep + 1 }
    }

    /// A file in it. In an archive it has the name that it has there.
    pub(super) fn entry(&self, entry: &Path) -> Place {
        let inner = self.folder.as_ref().and_then(|folder| entry.strip_prefix(folder).ok());
        let name = Path::new(&self.name)
            .join(inner.map_or_else(|| entry.file_name().unwrap_or_default().into(), Path::to_owned));
        Place { name: name.display().to_string(), folder: self.folder.clone(), archives_deep: self.archives_deep }
    }
}
