//! `fathom lab`: see a mechanism on this machine, sick and fixed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use fathom_causes::ExplainOptions;
use fathom_causes::explanation::{Explanation, Verdict};
use fathom_collectors::{Target, collectors, recorder};
use fathom_labs::{
    Expectation, JdkWish, JfrSettings, Lab, LabError, LiveRecorder, PhaseLatency, PhaseRole, Recorder, RunOptions,
    RunOutput, TextProgress, Variant,
};
use fathom_report::units::amount;
use fathom_report::{TextOptions, beside, clean, json};
use serde::Serialize;

use super::Answer;
use crate::finish;
use crate::inputs;
use crate::terminal::Terminal;

/// Run a program that has a known disease, record it, explain it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the labs
    List(ListArgs),
    Run(RunArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Run a lab: start its program on a JDK of this machine, record it, explain the recording. Exit
/// code 1 if the verdict is not the one that the lab is made for
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct RunArgs {
    /// Which lab (fathom lab list)
    id: String,

    /// Run the fixed variant instead of the sick one
    #[arg(long, conflicts_with_all = ["both", "variant"])]
    fixed: bool,

    /// Run the sick variant, then the fixed one, and print them side by side
    #[arg(long, conflicts_with = "variant")]
    both: bool,

    /// Run this variant
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,

    /// Which JDK: a release such as 17, or its folder
    #[arg(long, value_name = "N|PATH")]
    jdk: Option<String>,

    /// Keep what is recorded in this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Keep what is recorded, in a temporary folder that is named at the end
    #[arg(long)]
    keep: bool,

    /// Let the JVM record itself (JFR and GC log) instead of recording it from outside
    #[arg(long)]
    from_files: bool,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom lab run code_cache_churn                 the disease
  fathom lab run code_cache_churn --both          the disease beside its cure
  fathom lab run code_cache_churn --jdk 17 --out /tmp/churn";

const SCHEMA: u32 = 1;

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    match &args.command {
        Command::List(args) => Ok(Answer::done(list(args, terminal))),
        Command::Run(args) => run_lab(args, terminal),
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

/// A variant that was run and explained.
#[derive(Serialize)]
struct Run {
    variant: &'static str,
    jdk: String,
    /// Where the recording is, if it was kept.
    folder: Option<String>,
    /// The id of the cause that has to come first; null when nothing must be slow.
    expected: Option<&'static str>,
    as_expected: bool,
    /// Latency of the requests in each phase, as the clients saw it.
    phases: Vec<Phase>,
    explanation: Explanation,
}

#[derive(Serialize)]
struct Phase {
    name: String,
    requests: usize,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

#[derive(Serialize)]
struct Runs<'a> {
    schema: u32,
    lab: &'a str,
    runs: &'a [Run],
}

fn run_lab(args: &RunArgs, terminal: &Terminal) -> Result<Answer> {
    let lab = fathom_labs::lab(&args.id)?;
    let variants = variants(lab, args)?;
    let place = Place::new(args)?;
    let stop = fathom_labs::stop_on_signals().context("cannot listen for Ctrl-C")?;
    let runs = variants.iter().map(|variant| run_variant(lab, variant, args, &place, &stop, terminal));
    let runs = runs.collect::<Result<Vec<Run>>>()?;
    let code = if runs.iter().all(|run| run.as_expected) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    let text = match args.json {
        true => json::pretty(&Runs { schema: SCHEMA, lab: &lab.id, runs: &runs }),
        false => text(&runs, &terminal.text(false)),
    };
    Ok(Answer { text, code })
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
        if let Some(folder) = &args.out {
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

fn run_variant(
    lab: &'static Lab,
    variant: &'static Variant,
    args: &RunArgs,
    place: &Place,
    stop: &Arc<AtomicBool>,
    terminal: &Terminal,
) -> Result<Run> {
    let options = RunOptions {
        variant: variant.name.clone(),
        jdk: args.jdk.as_deref().map(JdkWish::parse),
        out_dir: place.folder().join(&variant.name),
        time_scale: 1.0,
        recorder: if args.from_files { Recorder::Jfr(JfrSettings::Fathom) } else { Recorder::Live(&FromOutside) },
        stop: stop.clone(),
    };
    let output = match lab.run(&options, &mut TextProgress::to_stderr()) {
        Err(LabError::Interrupted { .. }) if !place.is_kept() => {
            bail!("stopped before the lab was over; nothing was kept")
        }
        output => output?,
    };
    let explanation = explain(&output, terminal)?;
    Ok(Run {
        variant: &variant.name,
        jdk: output.jdk.version,
        folder: place.is_kept().then(|| output.folder.display().to_string()),
        expected: expected_cause(&variant.expects),
        as_expected: is_expected(&variant.expects, &explanation),
        phases: phases(output.phases),
        explanation,
    })
}

/// Records the lab's JVM like any other.
#[derive(Debug)]
struct FromOutside;

impl LiveRecorder for FromOutside {
    fn record(&self, pid: u32, folder: &Path) -> std::result::Result<(), String> {
        let record = || -> Result<()> {
            let never = AtomicBool::new(false);
            let plan = recorder::Plan::new(folder.to_owned());
            recorder::record(&Target::of(pid)?, collectors(), &plan, &never, &mut Unwatched)?;
            finish::finish(folder).map(drop)
        };
        record().map_err(|error| format!("{error:#}"))
    }
}

struct Unwatched;
impl recorder::Watcher for Unwatched {}

/// Explains what the run left, from the files alone, like any other recording.
fn explain(output: &RunOutput, terminal: &Terminal) -> Result<Explanation> {
    let files = [output.recording.clone(), output.gc_log.clone(), output.latency.clone()];
    let mut services = inputs::services(&files, &inputs::Hints::default(), terminal)?;
    let found = services.len();
    match services.pop() {
        Some(service) if found == 1 => {
            Ok(fathom_causes::explain(&service.recording, &ExplainOptions { slow: None, baseline: None }))
        }
        _ => bail!("{}: what the lab recorded was taken for {found} JVMs", output.folder.display()),
    }
}

fn expected_cause(expected: &'static Expectation) -> Option<&'static str> {
    match expected {
        Expectation::NothingSlow => None,
        Expectation::First(cause) => Some(cause),
    }
}

/// Whether the expected cause comes first and is the only one that is at least likely.
fn is_expected(expected: &Expectation, explanation: &Explanation) -> bool {
    let likely = explanation.causes.iter().filter(|cause| cause.verdict <= Verdict::Likely);
    let likely: Vec<&str> = likely.map(|cause| cause.id.as_str()).collect();
    match expected {
        Expectation::NothingSlow => explanation.slow.is_empty(),
        Expectation::First(cause) => {
            !explanation.slow.is_empty()
                && explanation.causes.first().is_some_and(|first| first.id == *cause)
                && likely == [cause]
        }
    }
}

fn phases(measured: Vec<PhaseLatency>) -> Vec<Phase> {
    let kept = measured.into_iter().filter(|phase| phase.role != PhaseRole::WarmUp);
    kept.map(|PhaseLatency { name, requests, p50_ms, p99_ms, max_ms, .. }| Phase {
        name,
        requests,
        p50_ms,
        p99_ms,
        max_ms,
    })
    .collect()
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
    let expected = match run.expected {
        Some(cause) => format!("{cause} first and alone"),
        None => "nothing slow".to_owned(),
    };
    let outcome = if run.as_expected { "as expected" } else { "NOT as expected" };
    let folder = run.folder.as_ref().map_or_else(String::new, |folder| format!("; kept in {}", clean::line(folder)));
    format!("{} on JDK {}: {outcome} ({expected}){folder}\n", run.variant, run.jdk)
}
