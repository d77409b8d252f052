//! Folders of a run that a declaration can name.

use std::path::{Path, PathBuf};

/// The folders of one run.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    scratch: PathBuf,
}

impl Places {
    pub(crate) fn in_folder(scratch: &Path) -> Places {
        Places { scratch: scratch.to_owned() }
    }

    /// Compiled native code: `{native}`.
    pub(crate) fn native(&self) -> PathBuf {
        self.scratch.join("native")
    }

    /// The mounted slow disk: `{disk}`.
    pub(crate) fn disk(&self) -> PathBuf {
        self.scratch.join("stage/mounted")
    }

    /// What the stage needs for itself.
    pub(crate) fn stage(&self) -> PathBuf {
        self.scratch.join("stage")
    }

    /// Replaces the names of folders in a text of a declaration. `{scratch}` is on the machine's own disk.
    pub(crate) fn fill(&self, text: &str) -> String {
        let places = [("{native}", self.native()), ("{disk}", self.disk()), ("{scratch}", self.scratch.clone())];
        let mut filled = text.to_owned();
        for (name, folder) in places.iter().filter(|(name, _)| text.contains(name)) {
            filled = filled.replace(name, &folder.to_string_lossy());
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_are_filled_in() {
        let places = Places::in_folder(Path::new("/tmp/x"));
        for (text, expected) in [
            ("-Xlog:gc:file={disk}/gc.log", "-Xlog:gc:file=/tmp/x/stage/mounted/gc.log"),
            ("{native}/a{scratch}", "/tmp/x/native/a/tmp/x"),
            ("{other} 5", "{other} 5"),
        ] {
            assert_eq!(places.fill(text), expected);
        }
    }
}
