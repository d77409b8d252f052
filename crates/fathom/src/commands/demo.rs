//! `fathom demo`: an example answer, from a recording that is built into this program.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Answer, explain, open};
use crate::inputs::{self, Question};
use crate::terminal::Terminal;

/// Show what an answer looks like: a recording inside of this program, of a JVM whose code cache was too small. Needs no
/// JVM and no root
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Show the page instead of the text: in the browser of this desktop, or at the address that is printed
    #[arg(long, conflicts_with_all = ["html", "all"])]
    open: bool,

    /// Also write the page into this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print every measurement, cause and loss instead of what matters most
    #[arg(short, long)]
    all: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom demo                    the answer in the terminal
  fathom demo --open             the page, until Ctrl-C
  fathom demo --html demo.html   the page as one file";

/// A run of the lab `code_cache_churn`, sick, on JDK 17: what the JVM wrote, and how long requests took.
const RECORDING: [(&str, &[u8]); 3] = [
    ("recording.jfr.gz", include_bytes!("../../../../testdata/labs/code_cache_churn-sick-jdk17/recording.jfr.gz")),
    ("gc.log.gz", include_bytes!("../../../../testdata/labs/code_cache_churn-sick-jdk17/gc.log.gz")),
    ("latency.csv.gz", include_bytes!("../../../../testdata/labs/code_cache_churn-sick-jdk17/latency.csv.gz")),
];

const NEXT: &str = "
next         fathom demo --open                                the same on the page
             sudo fathom record --for 30s && fathom explain    the same for your JVM
";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let unpacked = inputs::own(&RECORDING).context("the folder for temporary files")?;
    let question = Question::of(&[unpacked.path().to_owned()]);
    if args.open {
        return open::show(&question, terminal);
    }
    let explain = explain::Args { question, json: false, html: args.html.clone(), all: args.all };
    let mut answer = explain::run(&explain, terminal)?;
    // A page that goes to standard output stays alone there.
    if !answer.text.is_empty() {
        answer.text.push_str(NEXT);
    }
    Ok(answer)
}
