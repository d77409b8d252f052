//! Brings a recording whose writer has ended, or was killed, into its final form.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fathom_evidence::kinds::{loss, recorded, subject};
use fathom_evidence::{Finished, Recording};
use fathom_readers::LoadOptions;
use fathom_store::{Finishing, FolderError, State};

use crate::system::left_in_jvm;
use crate::workers;

/// Fact that names a file of the `raw` folder that has been read.
const RAW_FILE: &str = "raw_file";

/// Reads what the JVM and its agents left in the folder `raw` into the tables, and turns the
/// streams into Parquet. The raw files stay, for other tools, without the secrets that they hold unless these are to be
/// kept.
#[cfg(target_os = "linux")]
pub(crate) fn finish(path: &Path, keep_secrets: bool) -> Result<Finished> {
    put_together(Finishing::begin(path)?, path, keep_secrets)
}

/// The same for a recording whose writer was killed, with what it has left in the JVM. No other process finishes it meanwhile.
pub(crate) fn finish_cut_off(path: &Path, keep_secrets: bool) -> Result<Finished> {
    let finishing = Finishing::begin(path)?;
    left_in_jvm::fetch(path)?;
    put_together(finishing, path, keep_secrets)
}

fn put_together(mut finishing: Finishing, path: &Path, keep_secrets: bool) -> Result<Finished> {
    workers::prepare();
    for file in raw_files(path) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let options = since(finishing.fact(subject::JVM, STARTED_AT));
        match fathom_readers::load_file(&file, &options) {
            Ok(read) if options.started_at_ns.is_none() && is_undated_log(&read) => {
                finishing.add_loss(READ_ALONG, loss::REFUSED, 0, UNDATED);
            }
            Ok(mut read) => {
                mark_read_along(&mut read);
                finishing.add(read)?;
                finishing.add_fact(subject::RECORDING, RAW_FILE, &name, "fathom");
            }
            Err(error) => finishing.add_loss("fathom", loss::REFUSED, 0, &format!("raw/{error}")),
        }
        if !keep_secrets && let Err(error) = fathom_readers::scrub(&file) {
            let says = format!("raw/{name} may hold passwords, tokens and keys, which could not be taken out: {error}");
            finishing.add_loss("fathom", loss::REFUSED, 0, &says);
        }
    }
    Ok(finishing.end()?)
}

/// Reads a recording, with the files of its folder `raw` as far as they are not in the tables yet.
pub(crate) fn open(path: &Path) -> Result<Recording, FolderError> {
    let mut recording = fathom_store::open(path)?;
    if fathom_store::state(path) == State::Finished {
        return Ok(recording);
    }
    for file in raw_files(path).into_iter().filter(|file| !is_read(&recording, file)).collect::<Vec<_>>() {
        let options = since(recording.fact(subject::JVM, STARTED_AT));
        match fathom_readers::load_file(&file, &options) {
            Ok(read) if options.started_at_ns.is_none() && is_undated_log(&read) => {
                recording.add_loss(READ_ALONG, loss::REFUSED, 0, UNDATED);
            }
            Ok(mut read) => {
                mark_read_along(&mut read);
                recording.absorb(read);
            }
            Err(error) => recording.add_loss("fathom", loss::REFUSED, 0, &format!("raw/{error}")),
        }
    }
    Ok(recording)
}

/// What to say of a recording whose writer has not come to its first write; `None` for any other folder. The profiler's guard may
/// have left samples all the same.
pub(crate) fn nothing_written(path: &Path) -> Option<&'static str> {
    let is_nothing = fathom_store::is_bare(path) && raw_files(path).is_empty();
    is_nothing.then(|| nothing_written_by(fathom_store::state(path)))
}

/// The same for one in which nothing was found.
pub(crate) fn nothing_written_by(state: State) -> &'static str {
    match state {
        State::Running => "nothing was written yet: its recorder has just begun",
        _ => "nothing was written yet when its recorder was killed: record again",
    }
}

fn is_read(recording: &Recording, file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    recording.facts.rows().any(|fact| {
        (recording.text(fact.subject), recording.text(fact.key), recording.text(fact.value))
            == (subject::RECORDING, RAW_FILE, name.as_ref())
    })
}

/// Fact that the JVM's counters and Flight Recorder have: when it started.
const STARTED_AT: &str = "started_at_ns";

/// A log may have the JVM's uptime alone, which is the default of `-Xlog`: it is placed by the start.
fn since(started_at_ns: Option<&str>) -> LoadOptions {
    LoadOptions { started_at_ns: started_at_ns.and_then(|text| text.parse().ok()), ..LoadOptions::default() }
}

/// What is said of a GC log that cannot be placed.
const UNDATED: &str =
    "the GC log has the JVM's uptime only, and when the JVM started was not recorded: add the decorator time to -Xlog";

/// Whether it is a GC log whose times were estimated from when its copy was written, which tells nothing.
fn is_undated_log(read: &Recording) -> bool {
    let is = |row: fathom_evidence::tables::Loss| {
        (read.text(row.source), read.text(row.kind)) == ("gc_log", loss::CLOCK_ESTIMATED)
    };
    read.losses.rows().any(is) && read.fact(subject::JVM, STARTED_AT).is_none()
}

/// Source of rows of a GC log that was read along. The same log may be given beside the recording: then each row would stand
/// there twice, while of two sources the account takes one.
const READ_ALONG: &str = "gc_log_read_along";

fn mark_read_along(read: &mut Recording) {
    let Some(log) = read.strings.find("gc_log") else { return };
    let along = read.strings.intern(READ_ALONG);
    for sources in [&mut read.spans.source, &mut read.counters.source, &mut read.facts.source, &mut read.logs.source] {
        sources.iter_mut().filter(|source| **source == log).for_each(|source| *source = along);
    }
}

/// The files that readers have to read, by name; no copy of what is there as a whole. A folder without raw files is as good as one with.
fn raw_files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path.join("raw")) else { return Vec::new() };
    // What begins with a point is not whole yet.
    let whole = entries.flatten().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    let mut files: Vec<PathBuf> = whole.map(|entry| entry.path()).collect();
    files.retain(|file| fs::symlink_metadata(file).is_ok_and(|data| data.is_file() && data.len() > 0));
    files.sort();
    let of_whole = |file: &PathBuf| Some(recorded::followed(file.file_name()?.to_str()?));
    let copies: Vec<String> = files.iter().filter_map(of_whole).collect();
    files.retain(|file| !copies.iter().any(|copy| file.ends_with(copy)));
    files
}
