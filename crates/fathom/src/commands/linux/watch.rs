//! `fathom watch`: the service that monitors continuously. `fathom trigger`: asks it for a recording.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use fathom_watch::config::Config;
use fathom_watch::{control, signals};

use super::Answer;

/// The configuration that is read where none is named, if there is one.
const USUAL_FILE: &str = "/etc/fathom/watch.toml";

/// Watch the JVMs of this host all the time: notice when one becomes slow, record it with the minute before, explain it, notify you
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Configuration in TOML (docs/watch.md) [default: /etc/fathom/watch.toml, where there is one]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Where recordings and verdicts go, instead of the configuration's folder
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Check the configuration and end
    #[arg(long)]
    check_config: bool,

    /// List the signals that rules may name and end
    #[arg(long, conflicts_with = "check_config")]
    list_signals: bool,
}

const EXAMPLES: &str = "\
Examples:
  sudo fathom watch                                  every JVM, recordings in /var/lib/fathom
  fathom watch -o incidents                          JVMs of this user, with what needs no rights
  fathom watch --config watch.toml --check-config    says what is wrong, or nothing

Ctrl-C or SIGTERM ends it, SIGHUP makes it read its configuration again, and it records on SIGUSR1 or `fathom trigger`.
It logs to standard output, one JSON object per line.";

/// Ask a running `fathom watch` to record now, with the minute before
#[derive(Debug, clap::Args)]
pub(crate) struct TriggerArgs {
    /// The JVM with this process id; all that are watched without it
    #[arg(long, value_name = "PID", value_parser = super::target::pid, allow_negative_numbers = true)]
    pid: Option<u32>,

    /// The folder of the service
    #[arg(short, long, value_name = "FOLDER", default_value = "/var/lib/fathom")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    if args.list_signals {
        let lines = signals::NAMES.map(|(name, meaning)| format!("{name:<28} {meaning}\n"));
        return Ok(Answer::done(lines.concat()));
    }
    let file = args.config.clone().or_else(|| Some(PathBuf::from(USUAL_FILE)).filter(|file| file.exists()));
    let mut config = file.as_deref().map(Config::read).transpose()?.unwrap_or_default();
    if args.check_config {
        let name = file.as_deref().unwrap_or(Path::new("the default"));
        return Ok(Answer::done(format!("{}: the configuration is good\n", name.display())));
    }
    if let Some(folder) = &args.output {
        config.folder = std::path::absolute(folder)?;
    }
    // The program may be exchanged while the service runs: what explains is what recorded.
    fathom_watch::run(config, file, args.output.is_some(), Path::new("/proc/self/exe"))?;
    Ok(Answer::done(String::new()))
}

pub(crate) fn trigger(args: &TriggerArgs) -> Result<Answer> {
    let count = control::ask(&args.output, args.pid).map_err(|error| anyhow!(error))?;
    let jvms = if count == 1 { "JVM" } else { "JVMs" };
    Ok(Answer::done(format!("asked for a recording of {count} {jvms}; {} has it soon\n", args.output.display())))
}
