//! What a command is asked about: files, when it was slow, and what to compare with.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::error::ErrorKind;
use fathom_evidence::Recording;
use fathom_report::units;

use super::{Hints, Service, services};
use crate::system::Needs;
use crate::system::confine::confine;
use crate::terminal::Terminal;
use crate::times::{TimeError, TimeRange};

/// The arguments of every command that explains.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Question {
    /// JFR recordings, GC logs, request latencies, recordings of fathom, or folders of these and
    /// of folders; their formats are recognised. Files of the same JVM are taken together
    /// [default: the newest recording in this folder]
    #[arg(value_name = "FILE")]
    paths: Vec<PathBuf>,

    /// Time range that was slow (default: detect it): 10:02:21..10:02:51, +20s..+50s after the
    /// beginning, or with date and zone
    #[arg(long, value_name = "FROM..TO")]
    slow: Option<TimeRange>,

    /// A recording of the same service in normal operation, instead of the rest of this one
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    #[command(flatten)]
    hints: Hints,

    /// As root, keep root's rights while files are read. By default all are dropped but reading these files
    #[arg(long)]
    no_sandbox: bool,
}

impl Question {
    /// About files and nothing else.
    pub(crate) fn of(paths: &[PathBuf]) -> Question {
        Question { paths: paths.to_vec(), ..Question::default() }
    }

    /// About `folder` where no file was named.
    pub(crate) fn or_folder(mut self, folder: &str) -> Question {
        if self.paths.is_empty() {
            self.paths.push(folder.into());
        }
        self
    }

    /// The same question when only verdicts are wanted, and not the rows that they are made of.
    pub(crate) fn for_verdicts(&self) -> Question {
        let mut question = self.clone();
        question.hints.for_verdicts = true;
        question
    }

    /// The same question when samples are wanted, whether or not each has a time.
    pub(crate) fn with_untimed(&self) -> Question {
        let mut question = self.clone();
        question.hints.takes_untimed = true;
        question
    }

    /// The files that were named, or the newest recording in this folder.
    pub(crate) fn paths(&self) -> Result<Vec<PathBuf>> {
        if self.paths.is_empty() { Ok(vec![newest_recording()?]) } else { Ok(self.paths.clone()) }
    }

    /// Gives up what root may do beyond reading these files and writing in `writes`.
    pub(crate) fn confine(&self, writes: Option<PathBuf>) -> Result<()> {
        if self.no_sandbox {
            return Ok(());
        }
        let mut reads = self.paths()?;
        reads.extend(self.baseline.iter().chain(self.hints.files()).cloned());
        confine(&Needs { reads, writes: writes.into_iter().collect() })
    }

    /// What is known of the files.
    pub(crate) fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Whether each recording can be taken for itself: latencies belong to all that were named.
    pub(crate) fn alone(&self) -> bool {
        self.hints.latency.is_empty()
    }

    /// Everything that was named, one service for each JVM.
    pub(crate) fn services(&self, terminal: &Terminal) -> Result<Vec<Service>> {
        services(&self.paths()?, &self.hints, terminal)
    }

    /// The recording of the service when it was well, with its name.
    pub(crate) fn baseline(&self, terminal: &Terminal) -> Result<Option<(String, Recording)>> {
        let Some(path) = &self.baseline else { return Ok(None) };
        let mut services = services(std::slice::from_ref(path), &self.hints.without_latency(), terminal)?;
        match (services.pop(), services.len()) {
            (Some(service), 0) => Ok(Some((super::file_name(path), service.recording))),
            (_, others) => bail!("{}: {} JVMs in the baseline; name one", path.display(), others + 1),
        }
    }

    /// The slow time that was given, if the recording covers some of it.
    pub(crate) fn slow_ns(&self, service: &Service, terminal: &Terminal) -> Result<Option<(i64, i64)>> {
        self.slow.map(|range| slow_ns(service, range, terminal)).transpose()
    }
}

/// The recording in this folder that was written last.
fn newest_recording() -> Result<PathBuf> {
    let written = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    let entries = fs::read_dir(".").context("this folder")?.flatten().map(|entry| PathBuf::from(entry.file_name()));
    let newest = entries.filter(|path| fathom_store::is_recording(path)).max_by_key(written);
    newest.context("no recording in this folder: name a file or folder, or make one with fathom record")
}

/// The slow time that was given, if the recording covers some of it.
fn slow_ns(service: &Service, range: TimeRange, terminal: &Terminal) -> Result<(i64, i64)> {
    let name = service.paths[0].display();
    let Some((start_ns, end_ns)) = service.recording.time_range_ns() else { bail!("{name}: nothing in it has a time") };
    let (from_ns, to_ns) = range.resolve_ns(start_ns, end_ns, &terminal.zone).map_err(usage)?;
    if to_ns <= start_ns || from_ns >= end_ns {
        let at = |time_ns| units::date_and_time(time_ns, &terminal.zone);
        bail!(
            "{name}: --slow is {}..{} but the recording covers {}..{}: name a time in it, or +FROM..+TO after its beginning",
            at(from_ns),
            at(to_ns),
            at(start_ns),
            at(end_ns)
        );
    }
    Ok((from_ns, to_ns))
}

fn usage(error: TimeError) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("--slow: {error}\n"))
}
