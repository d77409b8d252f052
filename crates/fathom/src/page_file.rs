//! Writes the page as one file: like a recording it is for its owner only, and what has the name is always whole.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use fathom_page::{Loaded, single_file};

use crate::owner;

/// Writes the page of a recording.
pub(crate) fn write(path: &Path, page: &Loaded) -> Result<()> {
    let html = single_file::html(page)?;
    let put = || -> Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Made with mode 0600, and renamed over the name, so that a link there is not followed.
        let mut beside = tempfile::Builder::new().prefix(".fathom-page-").tempfile_in(folder)?;
        beside.write_all(&html)?;
        beside.persist(path)?;
        owner::give_to_caller(path)
    };
    put().with_context(|| format!("{}: cannot be written", path.display()))
}
