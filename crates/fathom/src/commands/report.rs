//! `fathom report`: the page as one file.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use fathom_report::{json, units};
use serde::Serialize;

use super::Answer;
use crate::inputs::library::{baseline, loaded};
use crate::inputs::{Question, Service};
use crate::page_file;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Write the page of a recording into one file that needs no server and no network: for a ticket
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    /// Print what was written as JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom report incident.fathom --out incident.html
  fathom report app.jfr gc.log --baseline sunday.jfr --out app.html";

const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Written {
    schema: u32,
    path: String,
    bytes: u64,
}

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let service = only_jvm(args.question.services(terminal)?)?;
    let baseline = baseline(&args.question, terminal)?;
    let progress = Progress::start();
    progress.says(&format!("writing {}", args.out.display()));
    page_file::write(&args.out, &loaded(service, &args.question, baseline, terminal)?)?;
    let bytes = fs::metadata(&args.out).with_context(|| args.out.display().to_string())?.len();
    let written = Written { schema: SCHEMA, path: args.out.display().to_string(), bytes };
    Ok(Answer::done(match args.json {
        true => json::pretty(&written),
        false => format!("{} ({})\n", written.path, units::amount(bytes as f64, "bytes")),
    }))
}

/// A page shows one JVM.
pub(crate) fn only_jvm(mut services: Vec<Service>) -> Result<Service> {
    match (services.pop(), services.last()) {
        (Some(only), None) => Ok(only),
        (Some(last), Some(other)) => bail!(
            "{} and {} are not known to be of the same JVM at the same time; a page shows one",
            other.paths[0].display(),
            last.paths[0].display()
        ),
        (None, _) => bail!("nothing to write"),
    }
}
