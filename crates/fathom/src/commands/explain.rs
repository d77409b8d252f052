//! `fathom explain`: why was it slow?

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::error::ErrorKind;
use fathom_causes::ExplainOptions;
use fathom_causes::explanation::Explanation;
use fathom_evidence::{Recording, folder};
use fathom_report::{json, units};

use super::Answer;
use crate::exit::complain;
use crate::inputs::{self, Hints, Service};
use crate::progress::Progress;
use crate::terminal::Terminal;
use crate::times::{TimeError, TimeRange};

/// Say why a JVM was slow: ranked causes with their evidence, what is ruled out, what cannot be told
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// JFR recordings, GC logs, request latencies, recordings of fathom, or folders of these;
    /// their formats are recognised. Files of the same JVM are taken together
    /// [default: the newest recording in this folder]
    #[arg(value_name = "FILE")]
    paths: Vec<PathBuf>,

    /// When it was slow, instead of finding it out: 10:02:21..10:02:51, +20s..+50s after the
    /// beginning, or with date and zone
    #[arg(long, value_name = "FROM..TO")]
    slow: Option<TimeRange>,

    /// A recording of the same service when it was well, instead of the rest of this one
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    #[command(flatten)]
    hints: Hints,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,

    /// Print every measurement, cause and loss instead of what matters most
    #[arg(short, long)]
    all: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom explain app.jfr gc.log
  fathom explain incident/                                   everything in a folder
  fathom explain app.jfr --slow 10:02:21..10:02:51           you know when it was slow
  fathom explain monday.jfr --baseline sunday.jfr            it was slow all the time
  fathom explain gc.log --started-at '2026-11-20 10:00:00'   a log that only knows the uptime
  fathom explain app.jfr --latency access.log \\
      --latency-pattern '^\\S+ \\[(?<time>[^]]+)\\] .* (?<latency_us>\\d+)$'";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let newest: Vec<PathBuf> = if args.paths.is_empty() { vec![newest_recording()?] } else { Vec::new() };
    let paths = if args.paths.is_empty() { &newest } else { &args.paths };
    let services = inputs::services(paths, &args.hints, terminal)?;
    let baseline = args.baseline.as_ref().map(|path| baseline(path, args, terminal)).transpose()?;
    let progress = Progress::start();
    let mut explanations = Vec::new();
    let mut refusals = Vec::new();
    for service in &services {
        progress.says(&format!("explaining {}", service.paths[0].display()));
        match explain(service, args.slow, baseline.as_ref(), terminal) {
            Ok(explanation) => explanations.push(explanation),
            Err(refusal) => refusals.push(refusal),
        }
    }
    drop(progress);
    match refusals.pop() {
        Some(last) if explanations.is_empty() => return Err(last),
        last => refusals.iter().chain(&last).for_each(|refusal| complain(&format!("{refusal:#}"))),
    }
    Ok(Answer::done(if args.json {
        json::explanations(&explanations)
    } else {
        text(&explanations, args.all, terminal)
    }))
}

/// The recording in this folder that was written last.
fn newest_recording() -> Result<PathBuf> {
    let written = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    let entries = fs::read_dir(".").context("this folder")?.flatten().map(|entry| PathBuf::from(entry.file_name()));
    let newest = entries.filter(|path| folder::is_recording(path)).max_by_key(written);
    newest.context("no recording in this folder: name a file or folder, or make one with fathom record")
}

fn baseline(path: &PathBuf, args: &Args, terminal: &Terminal) -> Result<Recording> {
    let mut services = inputs::services(std::slice::from_ref(path), &args.hints.without_latency(), terminal)?;
    match (services.pop(), services.len()) {
        (Some(service), 0) => Ok(service.recording),
        (_, others) => bail!("{}: {} JVMs in the baseline; name one", path.display(), others + 1),
    }
}

fn explain(
    service: &Service,
    slow: Option<TimeRange>,
    baseline: Option<&Recording>,
    terminal: &Terminal,
) -> Result<Explanation> {
    let slow = slow.map(|range| slow_ns(service, range, terminal)).transpose()?;
    let mut explanation = fathom_causes::explain(&service.recording, &ExplainOptions { slow, baseline });
    if explanation.recording.title.is_empty() {
        explanation.recording.title = inputs::file_name(&service.paths[0]);
    }
    Ok(explanation)
}

/// The slow time that was given, if the recording covers some of it.
fn slow_ns(service: &Service, range: TimeRange, terminal: &Terminal) -> Result<(i64, i64)> {
    let name = service.paths[0].display();
    let Some((start_ns, end_ns)) = service.recording.time_range_ns() else { bail!("{name}: nothing in it has a time") };
    let (from_ns, to_ns) = range.resolve_ns(start_ns, end_ns, &terminal.zone).map_err(usage)?;
    if to_ns <= start_ns || from_ns >= end_ns {
        let at = |time_ns| units::date_and_time(time_ns, &terminal.zone);
        bail!(
            "{name}: --slow is {}..{} but the recording covers {}..{}",
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

fn text(explanations: &[Explanation], all: bool, terminal: &Terminal) -> String {
    let options = terminal.text(all);
    let texts: Vec<String> =
        explanations.iter().map(|explanation| fathom_report::explanation(explanation, &options)).collect();
    texts.join("\n\n")
}
