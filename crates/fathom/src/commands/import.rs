//! `fathom import`: files of other tools as one recording.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use fathom_evidence::{Finished, mask};
use fathom_report::imported::{Imported, ImportedFile};
use fathom_report::{imported, json};
use fathom_store::{FolderError, State};

use super::Answer;
use crate::inputs::{self, Hints, Service};
use crate::output::{folder_of, is_a_folders_name};
use crate::progress::Progress;
use crate::system::Needs;
use crate::system::confine::confine;
use crate::system::owner::{self, Place};
use crate::terminal::Terminal;

/// Put the files of one JVM together into one recording, or finish one whose writer was killed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// JFR recordings, GC logs, request latencies, or folders of these; or one unfinished recording
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,

    /// Where to write [default: the name of the first file with .fathom, in this folder]
    #[arg(short, long, value_name = "NAME.fathom")]
    output: Option<PathBuf>,

    #[command(flatten)]
    hints: Hints,

    /// Leave the JVM's own files (the folder raw) as it wrote them, for other tools, and free text in names of threads. Passwords,
    /// tokens and keys are masked in tables in any case
    #[arg(long)]
    keep_secrets: bool,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,

    /// As root, keep root's rights while files are read. By default all are dropped but reading these files
    #[arg(long)]
    no_sandbox: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom import app.jfr gc.log -o incident.fathom
  fathom import incident/ --latency latencies.csv
  fathom import killed.fathom                        finish a recording that was cut off

A recording is a folder of Parquet files, described in docs/schema.md, that any tool can read.";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    if args.keep_secrets {
        mask::keep_thread_names();
    }
    let imported = match unfinished(args) {
        Some(folder) => finish(folder, args.keep_secrets)?,
        None => import(args, terminal)?,
    };
    Ok(Answer::done(match args.json {
        true => json::pretty(&imported),
        false => imported::text(&imported, &terminal.text(false)),
    }))
}

/// The folder to finish in place, if that is what is asked for.
fn unfinished(args: &Args) -> Option<&Path> {
    match args.paths.as_slice() {
        [only] if args.output.is_none() && is_begun(only) => Some(only),
        _ => None,
    }
}

fn is_begun(path: &Path) -> bool {
    fathom_store::is_recording(path) || fathom_store::is_bare(path)
}

fn finish(path: &Path, keep_secrets: bool) -> Result<Imported> {
    let to_give = owner::enter_to_give(path)?;
    let folder = if to_give.is_some() { Path::new(".") } else { path };
    let finished = finish_in(folder, path, keep_secrets);
    to_give.map_or(Ok(()), owner::give_folder)?;
    let finished = finished?;
    Ok(Imported::new(path, Vec::new(), finished.rows, &finished.kept))
}

/// Finishes the recording in `folder`, which the caller knows as `path`.
fn finish_in(folder: &Path, path: &Path, keep_secrets: bool) -> Result<Finished> {
    if let Some(says) = crate::finish::nothing_written(folder) {
        bail!("{}: {says}", path.display());
    }
    let progress = Progress::start();
    progress.says(&format!("finishing {}", path.display()));
    match fathom_store::state(folder) {
        State::Finished => bail!("{}: this recording is finished already", path.display()),
        State::Running => bail!("{}: this recording goes on; end its recorder first (Ctrl-C)", path.display()),
        State::CutOff => {}
    }
    crate::finish::finish_cut_off(folder, keep_secrets)
}

fn import(args: &Args, terminal: &Terminal) -> Result<Imported> {
    let output = args.output.clone().unwrap_or_else(|| default_output(&args.paths[0]));
    is_a_folders_name(&output)?;
    if output.symlink_metadata().is_ok() {
        bail!("{}: exists already; name another folder with -o", output.display());
    }
    if !args.no_sandbox {
        let reads = args.paths.iter().chain(args.hints.files()).cloned().collect();
        confine(&Needs { reads, writes: vec![folder_of(&output)] })?;
    }
    let service = only_jvm(inputs::services(&args.paths, &args.hints, terminal)?)?;
    let progress = Progress::start();
    progress.says(&format!("writing {}", output.display()));
    write_at_once(&output, &service)?;
    let files = service.sources.iter().map(|source| ImportedFile {
        path: source.path.display().to_string(),
        format: source.format.to_owned(),
        rows: source.rows,
    });
    let recording = &service.recording;
    Ok(Imported::new(&output, files.collect(), recording.row_counts(), recording))
}

fn default_output(first: &Path) -> PathBuf {
    let absolute = fs::canonicalize(first).unwrap_or_else(|_| first.to_owned());
    let stem = absolute.file_stem().map_or_else(|| "recording".into(), |stem| stem.to_owned());
    PathBuf::from(stem).with_extension(fathom_store::EXTENSION)
}

fn only_jvm(mut services: Vec<Service>) -> Result<Service> {
    match (services.pop(), services.last()) {
        (Some(only), None) => Ok(only),
        (Some(last), Some(other)) => bail!(
            "{} and {} are not known to be of the same JVM at the same time; import them one by one",
            other.paths[0].display(),
            last.paths[0].display()
        ),
        (None, _) => bail!("nothing to import"),
    }
}

/// Writes beside the place and renames, so that what has the name is always whole.
fn write_at_once(output: &Path, service: &Service) -> Result<()> {
    let mut name = output.file_name().context("-o has to name a folder")?.to_owned();
    name.push(format!(".{}.unfinished", std::process::id()));
    let beside = output.with_file_name(name);
    let written = write_for_caller(&beside, service).map_err(|error| match error.downcast() {
        // The name of the temporary folder is not shown to the user.
        Ok(FolderError::Io { source, .. }) => anyhow!("{}: cannot be written: {source}", output.display()),
        Ok(other) => other.into(),
        Err(other) => anyhow!("{}: cannot be written: {}", output.display(), other.root_cause()),
    });
    let renamed = written.and_then(|()| fs::rename(&beside, output).with_context(|| output.display().to_string()));
    if renamed.is_err() {
        // What was written so far is of no use; that it cannot be removed would hide the real error.
        let _ = fs::remove_dir_all(&beside);
    }
    renamed
}

fn write_for_caller(folder: &Path, service: &Service) -> Result<()> {
    let place = Place::make(folder)?;
    fathom_store::write(&place.path(), &service.recording)?;
    place.give_to_caller()
}
