//! `fathom explain`: why was it slow?

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use fathom_causes::ExplainOptions;
use fathom_causes::explanation::Explanation;
use fathom_evidence::Recording;
use fathom_report::json;

use super::Answer;
use crate::exit::{complain, told};
use crate::inputs::{self, Question, Service, library, usual};
use crate::output::Output;
use crate::page_file;
use crate::progress::Progress;
use crate::terminal::{self, Terminal};

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
        false => {
            let mut answers = Answers::default();
            answers.add(&page.into_explanation(), args, terminal)?;
            Ok(answers.end(args))
        }
    }
}

fn without_page(args: &Args, question: &Question, terminal: &Terminal) -> Result<Answer> {
    let services = question.services(terminal)?;
    let baseline = question.baseline(terminal)?.map(|(_, recording)| recording);
    let progress = Progress::start();
    let mut answers = Answers::default();
    let mut refusals = Vec::new();
    for service in services {
        progress.says(&format!("explaining {}", service.paths[0].display()));
        match explain(&service, args, baseline.as_ref(), terminal) {
            Ok(explanation) => answers.add(&explanation, args, terminal)?,
            Err(refusal) => refusals.push(refusal),
        }
    }
    drop(progress);
    match refusals.pop() {
        Some(last) if answers.count == 0 => return Err(last),
        last => refusals.iter().chain(&last).for_each(|refusal| complain(&told(refusal))),
    }
    Ok(answers.end(args))
}

/// JSON of more than so many bytes is printed before the rest is known.
const KEPT_BYTES: usize = 1 << 20;

/// Answers as they come: a folder may have thousands of JVMs, whose explanations are larger than what they are about.
#[derive(Default)]
struct Answers {
    count: usize,
    text: String,
    json: json::Several,
}

impl Answers {
    fn add(&mut self, explanation: &Explanation, args: &Args, terminal: &Terminal) -> Result<()> {
        self.count += 1;
        if !args.json {
            let one = fathom_report::explanation(explanation, &terminal.text(args.all));
            self.text.extend([if self.text.is_empty() { "" } else { "\n\n" }, &one]);
            return Ok(());
        }
        self.text += &self.json.add(explanation);
        if self.text.len() > KEPT_BYTES {
            terminal::print(&std::mem::take(&mut self.text)).context("standard output")?;
        }
        Ok(())
    }

    fn end(self, args: &Args) -> Answer {
        Answer::done(if args.json { self.text + &self.json.end() } else { self.text })
    }
}

fn explain(service: &Service, args: &Args, baseline: Option<&Recording>, terminal: &Terminal) -> Result<Explanation> {
    let slow = args.question.slow_ns(service, terminal)?;
    let usual = if baseline.is_none() { usual::of(service, slow, terminal) } else { None };
    let slow = slow.or(usual.as_ref().and_then(|usual| usual.slow));
    let baseline = baseline.or(usual.as_ref().map(|usual| &usual.recording));
    let mut explanation = fathom_causes::explain(&service.recording, &ExplainOptions { slow, baseline });
    if explanation.recording.title.is_empty() {
        explanation.recording.title = inputs::file_name(&service.paths[0]);
    }
    Ok(explanation)
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
