//! How much space a folder takes.

use std::fs;
use std::path::Path;

/// Size of all files in a folder and the folders in it, in bytes.
pub fn size_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => size_bytes(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
