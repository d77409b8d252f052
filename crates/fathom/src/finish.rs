//! Brings a recording whose writer has ended, or was killed, into its final form.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fathom_evidence::Finished;
use fathom_evidence::kinds::{loss, subject};
use fathom_readers::LoadOptions;
use fathom_store::Finishing;

/// Fact that names a file of the `raw` folder that has been read.
const RAW_FILE: &str = "raw_file";

/// Reads what the JVM and its agents left in the folder `raw` into the tables, and turns the
/// streams into Parquet. The raw files stay, for other tools.
pub(crate) fn finish(path: &Path) -> Result<Finished> {
    let mut finishing = Finishing::begin(path)?;
    for file in raw_files(path) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match fathom_readers::load_file(&file, &LoadOptions::default()) {
            Ok(read) => {
                finishing.add(read)?;
                finishing.add_fact(subject::RECORDING, RAW_FILE, &name, "fathom");
            }
            Err(error) => finishing.add_loss("fathom", loss::REFUSED, 0, &format!("raw/{error}")),
        }
    }
    Ok(finishing.end()?)
}

/// The files that readers have to read, by name. A folder without raw files is as good as one with.
fn raw_files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path.join("raw")) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| fs::symlink_metadata(file).is_ok_and(|data| data.is_file() && data.len() > 0));
    files.sort();
    files
}
