//! Traces of the block layer (`blktrace`, the kernel's `blk` tracer) as the table that btt prints: how long requests take in each stage.
//!
//! The definitions are btt's, so that the numbers are equal: a bio is found by its first sector when it gets a request or is merged, and by lying within a
//! request's sectors when that is inserted, issued or completed. Bios without data are left out. Added to what btt prints: percentiles, direct issue without insertion, and what
//! is missing of the trace. Where bios overlap on a device, sectors do not say which is which, in btt as here, and the two may differ.

mod bios;
mod parse;
mod table;

use std::path::{Path, PathBuf};

use crate::{Input, LoadError};

pub use table::{Group, Stage, Table};

/// Reads a trace: one file, or the files of all CPUs, of which one or the name that they share is given.
pub fn table(path: &Path) -> Result<Table, LoadError> {
    let files = of_all_cpus(path);
    let inputs = files.iter().map(|file| Input::open(file)).collect::<Result<Vec<Input>, LoadError>>()?;
    if inputs.iter().all(|input| input.is_empty()) {
        return Err(LoadError::Empty(path.to_owned()));
    }
    let mut table = Table::default();
    let read = parse::merged(&inputs, &mut |event| table.see(event));
    if read.events == 0 {
        let says = "not a trace of blktrace; record with: blktrace -d /dev/DISK -w 30".to_owned();
        return Err(LoadError::Unusable { path: path.to_owned(), says });
    }
    for (file, input) in files.iter().zip(&inputs) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        table.missing.extend(input.is_empty().then(|| format!("{name} is empty: what that CPU did is missing")));
        table.missing.extend(input.cut().map(|says| format!("{name}: {says}")));
    }
    table.finish(&read, files.len());
    Ok(table)
}

/// `x.blktrace.0` stands for the files of all CPUs, and so does `x`.
fn of_all_cpus(path: &Path) -> Vec<PathBuf> {
    const MARK: &str = ".blktrace.";
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let base = match name.find(MARK) {
        Some(at) => &name[..at],
        None if path.is_file() => return vec![path.to_owned()],
        None => name.as_str(),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_one = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix(base)
            .and_then(|rest| rest.strip_prefix(MARK))
            .is_some_and(|cpu| cpu.starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut files: Vec<PathBuf> = entries.filter(is_one).collect();
    files.sort();
    if files.is_empty() { vec![path.to_owned()] } else { files }
}
