//! `fathom lab`: reproduces a mechanism on this machine, sick and fixed.

mod all;
mod judge;
mod machine;
mod one;
mod play;
mod repeat;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Subcommand;
use fathom_labs::{Lab, LabError, TextProgress, Variant};
use fathom_report::units::amount;
use fathom_report::{TextOptions, beside, clean, json};
use serde::Serialize;

use super::Answer;
use crate::names::{self, Suggested};
use crate::terminal::Terminal;
use judge::Outcome;
use one::{Phase, Run, Runner};

/// Run a program with a known problem, record it, explain it
#[derive(Debug, clap::Args)]
#[command(after_help = START)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the labs
    List(ListArgs),
    Run(RunArgs),
    Play(play::Args),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Run a lab: start its program on a JDK of this machine, record it, explain the recording. Exit
/// code 1 if the verdict is not the expected one, 4 if the machine was too busy to tell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct RunArgs {
    /// Which lab (fathom lab list), or a folder with a lab.json
    #[arg(required_unless_present = "all", value_parser = Suggested(ids), hide_possible_values = true)]
    id: Option<String>,

    /// Run all labs, sick and fixed, in about half an hour, and print a table
    #[arg(long, conflicts_with_all = ["id", "fixed", "both", "variant"])]
    all: bool,

    /// With --all: every variant, at its usual length
    #[arg(long, requires = "all")]
    every_variant: bool,

    /// Run the fixed variant instead of the sick one
    #[arg(long, conflicts_with_all = ["both", "variant"])]
    fixed: bool,

    /// Run the sick variant, then the fixed one, and print them side by side
    #[arg(long, conflicts_with = "variant")]
    both: bool,

    /// With --both: so many runs of each, in turns, and then what fathom compare says of them
    #[arg(long, value_name = "N", requires = "both", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=50))]
    repeat: u16,

    /// Run this variant
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,

    /// Which JDK: a release such as 17, or its folder
    #[arg(long, value_name = "N|PATH")]
    jdk: Option<String>,

    /// Keep what is recorded in this folder
    #[arg(short, long, value_name = "DIR", alias = "out")]
    output: Option<PathBuf>,

    /// Keep what is recorded, in a temporary folder that is named at the end
    #[arg(long)]
    keep: bool,

    /// Use what the JVM records itself (JFR and GC log) instead of recording from outside
    #[arg(long)]
    from_files: bool,

    /// Send the requests to a socket from another process, and give Fathom no latencies
    #[arg(long, conflicts_with = "from_files")]
    at_sockets: bool,

    /// Record with --jfr never, as fathom record does where a start of Flight Recorder would be felt, and do not read the
    /// JVM's log
    #[arg(long, conflicts_with = "from_files")]
    gently: bool,

    /// Record with --jfr never --agent never: nothing is asked of the JVM, and its log is not read
    #[arg(long, conflicts_with_all = ["from_files", "gently"])]
    untouched: bool,

    /// Record with the rights of an ordinary user: no kernel events but those of the process itself
    #[arg(long, conflicts_with = "from_files")]
    unprivileged: bool,

    /// Ill for half as long, as with --all and --repeat
    #[arg(long, conflicts_with_all = ["all", "both"])]
    short: bool,

    /// Begin whatever others use of the CPUs, instead of waiting up to a minute for them
    #[arg(long)]
    at_once: bool,

    /// Write the page of the (first) run into this file
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    html: Option<PathBuf>,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const START: &str = "\
Examples:
  fathom lab list                            what each lab shows, its variants and its length
  fathom lab run code_cache_churn --both     the problem and its remedy on this machine, side by side
  fathom lab play code_cache_churn           a service that falls ill after two minutes, for fathom watch

A lab needs a JDK on this machine. fathom demo shows an answer without one.";

const EXAMPLES: &str = "\
Examples:
  fathom lab run code_cache_churn                 the sick variant
  fathom lab run code_cache_churn --both          sick and fixed, side by side
  fathom lab run code_cache_churn --both --repeat 5   five of each in turns, compared
  fathom lab run code_cache_churn --jdk 17 -o churn
  fathom lab run --all                            what this machine can prove, as a table";

const SCHEMA: u32 = 1;

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    match &args.command {
        Command::List(args) => Ok(Answer::done(list(args, terminal))),
        Command::Run(args) => run_lab(args, terminal),
        Command::Play(args) => play::run(args),
    }
}

/// A lab in the list.
#[derive(Serialize)]
struct Listed {
    id: &'static str,
    title: &'static str,
    seconds: f64,
    variants: Vec<&'static str>,
}

#[derive(Serialize)]
struct List {
    schema: u32,
    labs: Vec<Listed>,
}

fn list(args: &ListArgs, terminal: &Terminal) -> String {
    let labs = fathom_labs::labs().iter().map(|lab| Listed {
        id: &lab.id,
        title: &lab.title,
        seconds: lab.seconds(),
        variants: lab.variants.iter().map(|variant| variant.name.as_str()).collect(),
    });
    let labs: Vec<Listed> = labs.collect();
    if args.json {
        return json::pretty(&List { schema: SCHEMA, labs });
    }
    let titles: Vec<String> =
        labs.iter().map(|lab| format!("{} ({}; {} s each)", lab.title, lab.variants.join(", "), lab.seconds)).collect();
    let lines = labs.iter().zip(&titles).map(|(lab, title)| (lab.id, title.as_str()));
    fathom_report::causes(lines, &terminal.text(false))
}

#[derive(Serialize)]
struct Runs<'a> {
    schema: u32,
    lab: &'a str,
    runs: &'a [Run],
}

fn run_lab(args: &RunArgs, terminal: &Terminal) -> Result<Answer> {
    let Some(id) = &args.id else { return all::run(args, terminal) };
    let lab = find(id)?;
    let variants = variants(lab, args)?;
    if let (true, [sick, fixed]) = (args.repeat > 1, variants.as_slice()) {
        return repeat::run(args, lab, [sick, fixed], terminal);
    }
    let runner = Runner::new(args, if args.short { repeat::EXPOSED } else { 1.0 })?;
    let run = |variant: &&'static Variant| {
        let folder = runner.place.folder().join(&variant.name);
        runner.run(lab, variant, folder, &mut TextProgress::to_stderr(), terminal)
    };
    let runs = variants.iter().map(run).collect::<Result<Vec<Run>>>()?;
    let code = Outcome::code(runs.iter().filter_map(|run| run.judgement.outcome));
    let text = match args.json {
        true => json::pretty(&Runs { schema: SCHEMA, lab: &lab.id, runs: &runs }),
        false => text(&runs, &terminal.text(false)),
    };
    Ok(Answer { text, code })
}

/// Ids of all labs.
fn ids() -> Vec<&'static str> {
    fathom_labs::labs().iter().map(|lab| lab.id.as_str()).collect()
}

/// The lab with this id, or the one in this folder.
fn find(id: &str) -> Result<&'static Lab> {
    fathom_labs::lab(id).map_err(|error| match (&error, names::nearest(id, ids().into_iter())) {
        (LabError::UnknownLab { .. }, Some(meant)) => {
            anyhow!("there is no lab {id}; did you mean {meant}? fathom lab list shows them all")
        }
        (LabError::UnknownLab { .. }, None) => anyhow!("there is no lab {id}: fathom lab list shows them all"),
        _ => error.into(),
    })
}

fn variants(lab: &'static Lab, args: &RunArgs) -> Result<Vec<&'static Variant>> {
    let fixed = || lab.fixed().with_context(|| format!("the lab {} has nothing to fix", lab.id));
    Ok(match &args.variant {
        Some(name) => vec![lab.variant(name)?],
        None if args.both => vec![lab.sick(), fixed()?],
        None if args.fixed => vec![fixed()?],
        None => vec![lab.sick()],
    })
}

/// Where runs are recorded.
enum Place {
    Kept(PathBuf),
    /// Goes away with this value, whatever happens.
    Temporary(tempfile::TempDir),
}

impl Place {
    fn new(args: &RunArgs) -> Result<Place> {
        if let Some(folder) = &args.output {
            return Ok(Place::Kept(folder.clone()));
        }
        let temporary = tempfile::Builder::new().prefix("fathom-lab-").tempdir().context("no temporary folder")?;
        Ok(if args.keep { Place::Kept(temporary.keep()) } else { Place::Temporary(temporary) })
    }

    fn folder(&self) -> &Path {
        match self {
            Place::Kept(folder) => folder,
            Place::Temporary(folder) => folder.path(),
        }
    }

    fn is_kept(&self) -> bool {
        matches!(self, Place::Kept(_))
    }
}

/// Each explanation, then all of them side by side, then whether they are what the lab is made for.
fn text(runs: &[Run], options: &TextOptions) -> String {
    let mut text = String::new();
    for run in runs {
        text.push_str(&fathom_report::explanation(&run.explanation, options));
        text.push('\n');
    }
    let columns: Vec<fathom_report::Variant> = runs.iter().map(column).collect();
    text.push_str(&beside(&columns, options));
    text.push('\n');
    for run in runs {
        text.push_str(&verdict_line(run));
    }
    for page in runs.iter().filter_map(|run| run.page.as_ref()) {
        text.push_str(&clean::line(&page.display().to_string()));
        text.push('\n');
    }
    text
}

fn column(run: &Run) -> fathom_report::Variant<'_> {
    const MILLISECOND_NS: f64 = 1e6;
    let p99 = |phase: &Phase| (format!("p99 of requests, {}", phase.name), amount(phase.p99_ms * MILLISECOND_NS, "ns"));
    fathom_report::Variant {
        name: run.variant,
        explanation: &run.explanation,
        measured: run.phases.iter().map(p99).collect(),
    }
}

fn verdict_line(run: &Run) -> String {
    let outcome = run.judgement.text();
    let folder = run.folder.as_ref().map_or_else(String::new, |folder| format!("; kept in {}", clean::line(folder)));
    format!("{} on JDK {}: {outcome} ({}){folder}\n", run.variant, run.jdk, run.wanted)
}
