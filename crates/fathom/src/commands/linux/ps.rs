//! `fathom ps`: the JVMs of this machine.

use anyhow::Result;
use fathom_collectors::jvms::{Jvm, jvms};
use fathom_report::json;
use fathom_report::jvms::{JvmLine, Jvms, text};
use regex::Regex;

use super::Answer;
use crate::quantities;
use crate::terminal::Terminal;

/// List the JVMs of this machine, those in containers included
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only JVMs whose main class or arguments match
    #[arg(long = "match", value_name = "REGEX", value_parser = quantities::pattern)]
    pattern: Option<Regex>,

    /// Whole command lines
    #[arg(long)]
    all: bool,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom ps                   yours
  sudo fathom ps              those of all users, and in containers
  fathom ps --match 'shop'    those whose main class or arguments match

Nothing is attached to. Secrets in arguments are masked.";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let is_wanted = |jvm: &Jvm| args.pattern.as_ref().is_none_or(|pattern| jvm.matches(pattern));
    let found = Jvms::new(jvms().into_iter().filter(is_wanted).map(line).collect());
    Ok(Answer::done(match args.json {
        true => json::pretty(&found),
        false => text(&found, &terminal.text(args.all)),
    }))
}

fn line(jvm: Jvm) -> JvmLine {
    let known = |text: String| Some(text).filter(|text| !text.is_empty());
    JvmLine {
        pid: jvm.target.pid,
        inner_pid: jvm.target.inner_pid,
        user: jvm.user,
        main: known(jvm.main),
        command_line: jvm.command_line,
        version: known(jvm.version),
        collector: known(jvm.collector),
        uptime_s: jvm.uptime_ns as f64 / 1e9,
        heap_used_bytes: jvm.heap_used_bytes,
        heap_max_bytes: jvm.heap_max_bytes,
        container: jvm.container,
    }
}
