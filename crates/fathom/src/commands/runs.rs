//! `fathom runs`: runs over time, and where they changed.

use std::path::PathBuf;

use anyhow::Result;
use fathom_compare::History;
use fathom_report::json;

use super::Answer;
use crate::inputs;
use crate::output::Output;
use crate::system::Needs;
use crate::system::confine::confine;
use crate::terminal::Terminal;

/// Show all runs of a folder in order of time, as a table and a chart, and mark where latency or lost time changed for good
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Recordings, folders of them, or files; up to 100 runs
    #[arg(required = true, value_name = "FOLDER")]
    paths: Vec<PathBuf>,

    /// Also write the chart into this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Also write the chart and the table into this file, as a page that needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,

    /// As root, keep root's rights while files are read. By default all are dropped but reading these files
    #[arg(long)]
    no_sandbox: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom runs nightly/
  fathom runs nightly/ --svg nightly.svg --html nightly.html

A change needs three runs on each side. Of series without a change 5 % get a mark. A machine that drifts changes, and gets marks.";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let [svg, html] = [&args.svg, &args.html].map(|path| path.as_deref().map(Output::beside_an_answer).transpose());
    let (svg, html) = (svg?, html?);
    if !args.no_sandbox {
        let writes = [&svg, &html].into_iter().flatten().filter_map(Output::folder).collect();
        confine(&Needs { reads: args.paths.clone(), writes })?;
    }
    let history = History::of(inputs::runs::runs(&args.paths, "runs", terminal)?);
    let options = terminal.text(true);
    if let Some(svg) = svg {
        svg.write(fathom_report::svg(&history).as_bytes())?;
    }
    if let Some(html) = html {
        html.write(fathom_report::history_page(&history, &options).as_bytes())?;
    }
    Ok(Answer::done(match args.json {
        true => json::pretty(&history),
        false => fathom_report::history(&history, &options),
    }))
}
