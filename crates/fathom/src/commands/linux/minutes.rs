//! `fathom minutes`: recordings as rows of minutes and facts, for questions about many hosts.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use fathom_causes::ExplainOptions;
use fathom_causes::explanation::{CauseVerdict, Explanation, Verdict};
use fathom_report::json;
use fathom_watch::minutes::recorded::{self, About};
use serde::Serialize;

use super::Answer;
use crate::inputs::{self, Question, Service};
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Turn recordings into the tables minutes and facts, which fathom-fleet compares over many hosts
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,

    /// The folder for both tables; those of other recordings may be there already
    #[arg(short, long, value_name = "FOLDER", default_value = "fleet")]
    output: PathBuf,

    /// Name of the host that was recorded [default: the name of the recording]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom minutes web-1.jfr --host web-1 -o fleet     and so on for each host
  fathom minutes recordings/ -o fleet
  fathom-fleet outliers fleet                        which host differs, and since when (docs/fleet.md)";

const SCHEMA: u32 = 1;

/// What was written.
#[derive(Serialize)]
struct Written {
    schema: u32,
    folder: PathBuf,
    recordings: Vec<OneRecording>,
}

/// Of one recording.
#[derive(Serialize)]
struct OneRecording {
    name: String,
    host: String,
    minutes: usize,
}

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let cannot = || format!("writing to {}", args.output.display());
    // The sandbox can allow only what exists. The folder is for its owner only, like the folders in it.
    DirBuilder::new().recursive(true).mode(0o700).create(&args.output).with_context(cannot)?;
    args.question.confine(Some(args.output.clone()))?;
    let services = args.question.for_verdicts().services(terminal)?;
    if args.host.is_some() && services.len() > 1 {
        bail!("--host names one host, and these are {} JVMs: turn them into minutes one by one", services.len());
    }
    let progress = Progress::start();
    let mut recordings = Vec::new();
    for service in &services {
        progress.says(&format!("minutes of {}", service.paths[0].display()));
        recordings.push(write(args, service, terminal)?);
    }
    drop(progress);
    let written = Written { schema: SCHEMA, folder: args.output.clone(), recordings };
    Ok(Answer::done(if args.json { json::pretty(&written) } else { text(&written) }))
}

fn write(args: &Args, service: &Service, terminal: &Terminal) -> Result<OneRecording> {
    let slow = args.question.slow_ns(service, terminal)?;
    let explanation = fathom_causes::explain(&service.recording, &ExplainOptions { slow, baseline: None });
    let name = inputs::file_name(&service.paths[0]);
    let host = args.host.clone().unwrap_or_else(|| stem(&name));
    let about = About {
        host: host.clone(),
        incident: name.clone(),
        verdict: explanation.headline.says.clone(),
        slow_from_ns: explanation.slow.first().map(|slow| slow.from_ns),
        cause: first_cause(&explanation),
    };
    let written = recorded::write(&args.output, &service.recording, &about);
    let minutes = written.with_context(|| format!("writing to {}", args.output.display()))?;
    Ok(OneRecording { name, host, minutes })
}

fn stem(name: &str) -> String {
    name.split_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// As `fathom watch` takes it.
fn first_cause(explanation: &Explanation) -> Option<(String, f64)> {
    let is_told = |cause: &&CauseVerdict| matches!(cause.verdict, Verdict::Shown | Verdict::Likely | Verdict::Possible);
    let first = explanation.causes.iter().find(is_told)?;
    Some((first.id.to_string(), first.share))
}

fn text(written: &Written) -> String {
    let line = |one: &OneRecording| format!("{}  host {}, minutes {}", one.name, one.host, one.minutes);
    let lines: Vec<String> = written.recordings.iter().map(line).collect();
    format!("{}\nwritten to {}", lines.join("\n"), written.folder.display())
}
