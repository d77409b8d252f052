//! `fathom report`: the page as one file.

use std::path::PathBuf;

use anyhow::{Result, bail};
use fathom_report::{json, units};
use serde::Serialize;

use super::Answer;
use crate::inputs::library::{baseline, loaded};
use crate::inputs::{Question, Service};
use crate::output::Output;
use crate::page_file;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Write the page of a recording into one file that needs no server and no network: for a ticket
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,

    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE", alias = "out")]
    output: PathBuf,

    /// Print what was written as JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom report incident.fathom -o incident.html
  fathom report app.jfr gc.log --baseline sunday.jfr -o app.html";

const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Written {
    schema: u32,
    path: String,
    bytes: u64,
}

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let output = Output::at(&args.output)?;
    if args.json && output.is_standard() {
        bail!("--json and the page cannot both go to standard output: name a file after -o");
    }
    args.question.confine(output.folder())?;
    let service = only_jvm(args.question.services(terminal)?)?;
    let baseline = baseline(&args.question, terminal)?;
    let progress = Progress::start();
    progress.says(&format!("writing {}", args.output.display()));
    let is_all = output.is_standard();
    let bytes = page_file::write(output, &loaded(service, &args.question, baseline, terminal)?)?;
    let written = Written { schema: SCHEMA, path: args.output.display().to_string(), bytes };
    Ok(Answer::done(match args.json {
        true => json::pretty(&written),
        false if is_all => String::new(),
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
