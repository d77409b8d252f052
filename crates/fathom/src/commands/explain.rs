//! `fathom explain`: why was it slow?

use std::path::PathBuf;

use anyhow::{Result, bail};
use fathom_causes::ExplainOptions;
use fathom_causes::explanation::Explanation;
use fathom_evidence::Recording;
use fathom_report::json;

use super::Answer;
use crate::exit::{complain, told};
use crate::inputs::{self, Question, Service, library};
use crate::output::Output;
use crate::page_file;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Say why a JVM was slow: ranked causes with their evidence, what is ruled out, what could not be determined
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) question: Question,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    pub(super) json: bool,

    /// Also write the page into this file, for a ticket; - writes only the page, to standard output
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,

    /// Print every measurement, cause and loss instead of what matters most
    #[arg(short, long)]
    pub(super) all: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom explain app.jfr gc.log
  fathom explain app.jfr --html app.html                     and the page as one file, for a ticket
  fathom explain incident/                                   everything in a folder and its folders
  fathom explain app.jfr --slow 10:02:21..10:02:51           for a slow time that you know
  fathom explain monday.jfr --baseline sunday.jfr            for a recording that is slow throughout
  fathom explain gc.log --started-at '2026-11-20 10:00:00'   a log that only knows the uptime
  fathom explain app.jfr --latency access.log \\
      --latency-pattern '^\\S+ \\[(?<time>[^]]+)\\] .* (?<latency_us>\\d+)$'";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let html = args.html.as_deref().map(Output::at).transpose()?;
    if args.json && html.as_ref().is_some_and(Output::is_standard) {
        bail!("--json and the page cannot both go to standard output: name a file after --html");
    }
    args.question.confine(html.as_ref().and_then(Output::folder))?;
    match html {
        Some(html) => with_page(args, html, args.question.services(terminal)?, terminal),
        None => without_page(args, &args.question.for_verdicts(), terminal),
    }
}

/// Explains one JVM and writes its page.
fn with_page(args: &Args, html: Output, services: Vec<Service>, terminal: &Terminal) -> Result<Answer> {
    let service = only_jvm(services)?;
    let baseline = library::baseline(&args.question, terminal)?;
    let progress = Progress::start();
    progress.says(&format!("explaining {}", service.paths[0].display()));
    let page = library::loaded(service, &args.question, baseline, terminal)?;
    progress.says(&format!("writing {}", html.path().display()));
    let is_all = html.is_standard();
    page_file::write(html, &page)?;
    drop(progress);
    match is_all {
        true => Ok(Answer::done(String::new())),
        false => Ok(answer(args, &[page.into_explanation()], terminal)),
    }
}

fn without_page(args: &Args, question: &Question, terminal: &Terminal) -> Result<Answer> {
    let services = question.services(terminal)?;
    let baseline = question.baseline(terminal)?.map(|(_, recording)| recording);
    let progress = Progress::start();
    let mut explanations = Vec::new();
    let mut refusals = Vec::new();
    for service in &services {
        progress.says(&format!("explaining {}", service.paths[0].display()));
        match explain(service, args, baseline.as_ref(), terminal) {
            Ok(explanation) => explanations.push(explanation),
            Err(refusal) => refusals.push(refusal),
        }
    }
    drop(progress);
    match refusals.pop() {
        Some(last) if explanations.is_empty() => return Err(last),
        last => refusals.iter().chain(&last).for_each(|refusal| complain(&told(refusal))),
    }
    Ok(answer(args, &explanations, terminal))
}

fn answer(args: &Args, explanations: &[Explanation], terminal: &Terminal) -> Answer {
    Answer::done(match args.json {
        true => json::explanations(explanations),
        false => text(explanations, args.all, terminal),
    })
}

fn explain(service: &Service, args: &Args, baseline: Option<&Recording>, terminal: &Terminal) -> Result<Explanation> {
    let slow = args.question.slow_ns(service, terminal)?;
    let mut explanation = fathom_causes::explain(&service.recording, &ExplainOptions { slow, baseline });
    if explanation.recording.title.is_empty() {
        explanation.recording.title = inputs::file_name(&service.paths[0]);
    }
    Ok(explanation)
}

fn text(explanations: &[Explanation], all: bool, terminal: &Terminal) -> String {
    let options = terminal.text(all);
    let texts: Vec<String> =
        explanations.iter().map(|explanation| fathom_report::explanation(explanation, &options)).collect();
    texts.join("\n\n")
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
