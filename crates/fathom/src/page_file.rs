//! Writes the page as one file: like a recording it is for its owner only.

use anyhow::Result;
use fathom_page::{Loaded, single_file};

use crate::output::Output;

/// Writes the page of a recording; its size in bytes.
pub(crate) fn write(output: Output, page: &Loaded) -> Result<u64> {
    let html = single_file::html(page)?;
    output.write(&html)?;
    Ok(html.len() as u64)
}
