//! `fathom compare`: what differs between two sides, and whether it got better.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use fathom_compare::{Accepted, Comparison, Requirement, State, VerdictKind};
use fathom_report::json;

use super::Answer;
use crate::inputs::runs::runs_or_profiles;
use crate::system::Needs;
use crate::system::confine::confine;
use crate::terminal::Terminal;

/// A build asked for something that is not so.
const ASKED_AND_NOT_SO: u8 = 3;

/// Compare runs of a program before (A) and after a change (B): what differs in flags, JDK, kernel and machine; whether B is
/// better or worse; which causes appeared and which disappeared
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The runs before: recordings, folders of them, or files; 1 to 100 runs
    #[arg(required = true, value_name = "A")]
    a: Vec<PathBuf>,

    /// The runs after
    #[arg(long, required = true, num_args = 1.., value_name = "B")]
    with: Vec<PathBuf>,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,

    /// Print Markdown, for a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,

    /// End with exit code 3 on this verdict
    #[arg(long, value_enum, value_name = "VERDICT", value_delimiter = ',')]
    fail_if: Vec<FailIf>,

    /// End with exit code 3 when a measure of B is shown to have risen by more, such as 'p99 <= +10%'. Measures are p50, p90,
    /// p99, mean, stopped, lost. A limit within the confidence interval is undecided
    #[arg(long, value_name = "LIMIT")]
    require: Vec<Requirement>,

    /// Compare although this differs, because you know that it does not matter
    #[arg(long, value_name = "REASON", value_delimiter = ',')]
    accept: Vec<Reason>,

    /// Print every row
    #[arg(short, long)]
    all: bool,

    /// As root, keep root's rights while files are read. By default all are dropped but reading these files
    #[arg(long)]
    no_sandbox: bool,
}

/// What ends a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailIf {
    /// B is worse
    Worse,
    /// Nothing can be said
    NotComparable,
    /// A limit of --require is neither kept nor broken
    Undecided,
}

/// A reason for which sides are not compared.
#[derive(Debug, Clone, Copy)]
struct Reason(Accepted);

impl ValueEnum for Reason {
    fn value_variants<'a>() -> &'a [Reason] {
        const ALL: [Reason; 6] = [
            Reason(Accepted::Load),
            Reason(Accepted::Machine),
            Reason(Accepted::WarmUp),
            Reason(Accepted::Busy),
            Reason(Accepted::Drift),
            Reason(Accepted::Source),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.word()))
    }
}

const EXAMPLES: &str = "\
Examples:
  fathom compare before/ --with after/                          folders of runs
  fathom compare a1.fathom a2.fathom --with b1.fathom b2.fathom
  fathom compare monday.jfr --with tuesday.jfr                  what differs; one run a side has no verdict
  fathom compare before.pb.gz --with after.pb.gz                profiles without times: which frames differ
  fathom compare main/ --with branch/ --fail-if worse --markdown
  fathom compare main/ --with branch/ --require 'p50 <= +5%' --require 'p99 <= +25%'

How many runs: five a side, in turns (A B B A A B B A A B), find a difference of 10 % of p50 on a quiet machine; three find 20 %.
Without turns a drift of the machine looks like a difference, and large ones only are believed.

Verdicts: better, worse, no difference found (with the smallest difference that would have been found in 4 of 5 such
comparisons), not comparable (with the reason). Runs that are the same are called different in 1 of 20 comparisons.";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    if !args.no_sandbox {
        confine(&Needs { reads: args.a.iter().chain(&args.with).cloned().collect(), writes: Vec::new() })?;
    }
    let (a, b) = (runs_or_profiles(&args.a, "A", terminal)?, runs_or_profiles(&args.with, "B", terminal)?);
    let accepted: Vec<Accepted> = args.accept.iter().map(|reason| reason.0).collect();
    let comparison = fathom_compare::compare(a, b, &accepted, &args.require);
    let text = match (args.json, args.markdown) {
        (true, _) => json::pretty(&comparison),
        (_, true) => fathom_report::comparison_as_markdown(&comparison),
        _ => fathom_report::comparison(&comparison, &terminal.text(args.all)),
    };
    let code = if is_failed(&comparison, &args.fail_if) { ExitCode::from(ASKED_AND_NOT_SO) } else { ExitCode::SUCCESS };
    Ok(Answer { text, code })
}

fn is_failed(comparison: &Comparison, fail_if: &[FailIf]) -> bool {
    let has = |state: State| comparison.requirements.iter().any(|outcome| outcome.state == state);
    let is_so = |what: &FailIf| match what {
        FailIf::Worse => comparison.verdict.kind == VerdictKind::Worse,
        FailIf::NotComparable => {
            matches!(comparison.verdict.kind, VerdictKind::NotComparable | VerdictKind::NoVerdict)
        }
        FailIf::Undecided => has(State::Undecided),
    };
    has(State::Broken) || fail_if.iter().any(is_so)
}
