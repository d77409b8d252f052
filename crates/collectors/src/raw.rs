//! Files of others that a recording keeps as they are, beside its tables.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes a new file that only its owner can read.
pub(crate) fn keep(from: &mut impl Read, to: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(from, &mut file).map(|_| ())
}
