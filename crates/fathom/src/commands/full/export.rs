//! `fathom export`: samples, stops and causes in the formats of other tools.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use fathom_causes::{ExplainOptions, explain};
use fathom_export::{Format, Marker, Selection, markers};

use super::Answer;
use crate::commands::explain::only_jvm;
use crate::inputs::{Question, Service};
use crate::output::Output;
use crate::progress::Progress;
use crate::terminal::Terminal;
use crate::times::TimeRange;

/// Write samples with their stacks in the format of another tool, with slow intervals, causes and stops as markers
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,

    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: To,

    /// Where to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Only this time range: 10:02:21..10:02:51, +20s..+50s after the beginning, or with date and zone
    #[arg(long, value_name = "FROM..TO")]
    between: Option<TimeRange>,

    /// Only threads whose name contains this, or the thread with this number
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,

    /// Samples of this event (default: of the CPU, or the best there is)
    #[arg(long, value_name = "EVENT")]
    event: Option<String>,
}

/// The formats by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    /// Lines of stacks with their weights, for flame graph tools
    Collapsed,
    /// A table of samples and markers
    Csv,
    /// Firefox Profiler
    Firefox,
    /// OpenTelemetry's profiles as protocol buffers
    Otlp,
    /// Perfetto
    Perfetto,
    /// pprof
    Pprof,
    /// speedscope
    Speedscope,
}

const EXAMPLES: &str = "\
Examples:
  fathom export app.jfr --to speedscope -o app.speedscope.json
  fathom export incident/ --to firefox -o app.json           with slow intervals and causes as markers
  fathom export app.jfr --to collapsed --between +20s..+50s --thread exec -o slow.txt
  fathom export app.jfr --to pprof --event allocation -o app.pb.gz";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let output = Output::at(&args.output)?;
    args.question.confine(output.folder())?;
    let service = only_jvm(args.question.with_untimed().services(terminal)?)?;
    let progress = Progress::start();
    progress.says("choosing samples");
    let selected = selection(args, &service, terminal)?.choose(&service.recording).map_err(|says| anyhow!(says))?;
    if selected.is_untimed() && format(args.to).needs_times() {
        bail!("these samples are sums without times: --to collapsed, otlp, pprof or speedscope takes them");
    }
    let mut marked = markers::of(&service.recording, selected.range_ns);
    if matches!(args.to, To::Firefox | To::Perfetto | To::Csv) {
        progress.says("explaining");
        marked.extend(reasons(args, &service, terminal)?);
    }
    let mut bytes = Vec::new();
    fathom_export::write(format(args.to), &service.recording, &selected, &marked, &mut bytes)?;
    output.write(&bytes)?;
    Ok(Answer::done(String::new()))
}

fn format(to: To) -> Format {
    match to {
        To::Collapsed => Format::Collapsed,
        To::Csv => Format::Csv,
        To::Firefox => Format::Firefox,
        To::Otlp => Format::Otlp,
        To::Perfetto => Format::Perfetto,
        To::Pprof => Format::Pprof,
        To::Speedscope => Format::Speedscope,
    }
}

fn selection(args: &Args, service: &Service, terminal: &Terminal) -> Result<Selection> {
    let (start_ns, end_ns) = service.recording.time_range_ns().unwrap_or_default();
    let between = args.between.map(|range| range.resolve_ns(start_ns, end_ns, &terminal.zone)).transpose()?;
    Ok(Selection {
        from_ns: between.map(|(from_ns, _)| from_ns),
        to_ns: between.map(|(_, to_ns)| to_ns),
        thread: args.thread.clone(),
        event: args.event.clone(),
    })
}

/// When it was slow, and why.
fn reasons(args: &Args, service: &Service, terminal: &Terminal) -> Result<Vec<Marker>> {
    let slow = args.question.slow_ns(service, terminal)?;
    let baseline = args.question.baseline(terminal)?.map(|(_, recording)| recording);
    let explanation = explain(&service.recording, &ExplainOptions { slow, baseline: baseline.as_ref() });
    Ok(fathom_page::marks(&explanation))
}
