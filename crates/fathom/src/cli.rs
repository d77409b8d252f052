//! The command line as a whole; each command declares its own arguments.

use std::sync::LazyLock;

use clap::{Parser, Subcommand};
use fathom_evidence::schema::SCHEMA_VERSION;

use crate::commands::{
    blk, causes, compare, completions, demo, doctor, explain, export, guard, import, lab, load, logs, mcp, minutes,
    open, probe, ps, record, report, routing, runs, watch,
};
use crate::terminal::Color;

/// What a report of a mistake has to say: the program, where it comes from, and what it reads and writes.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("FATHOM_COMMIT"));
    format!("{version} (commit {commit}, recordings of schema {SCHEMA_VERSION})")
});

/// Finds out why a JVM service on Linux was slow when the cause lies below the Java code.
#[derive(Debug, Parser)]
#[command(name = "fathom", version = VERSION.as_str(), arg_required_else_help = true, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colour; auto follows NO_COLOR and uses none when the output is not a terminal
    // After the options of a command: clap counts both from nought.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN", display_order = 900)]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // In the order in which a user meets them: --help lists them so.
    Demo(demo::Args),
    Doctor(doctor::Args),
    Ps(ps::Args),
    Record(record::Args),
    Explain(explain::Args),
    Open(open::Args),
    Watch(watch::Args),
    Trigger(watch::TriggerArgs),
    Compare(compare::Args),
    Runs(runs::Args),
    Logs(logs::Args),
    Causes(causes::Args),
    Lab(lab::Args),
    Load(load::Args),
    Import(import::Args),
    Export(export::Args),
    Minutes(minutes::Args),
    Mcp(mcp::Args),
    Routing(routing::Args),
    Blk(blk::Args),
    Probe(probe::Args),
    Completions(completions::Args),
    Report(report::Args),
    GuardProfiler(guard::Args),
}

const EXAMPLES: &str = "\
Examples:
  fathom demo                                what an answer looks like; needs no JVM
  fathom ps                                  the JVMs of this machine
  fathom record --for 30s                    a running JVM and the kernel around it
  sudo fathom watch                          continuous: notices a slowdown, records and explains it
  fathom explain app.jfr gc.log              why it was slow, from files of the JVM
  fathom explain incident/                   every recording and log in a folder and its folders
  fathom compare before/ --with after/       what differs, and whether it is better
  fathom open app.jfr gc.log                 the same in the browser, on one time axis
  fathom explain app.jfr --latency lat.csv   with the latencies of your requests
  fathom mcp recordings/                     an MCP server for AI assistants
  fathom causes code_cache_churn             mechanism, evidence and remedies of a cause
  fathom lab run code_cache_churn --both     reproduce it on this machine, sick and fixed
  fathom load --from access.log --to http://test:8080
                                             production's requests, sent to a test server
  fathom routing keys.txt --first 'java-hash mod 8' --second 'java-hash mod 4'
                                             where a dead node's keys go

Exit codes: 0 done, 1 the input or the machine refused, 2 bad usage, 3 compare found what --fail-if or --require names,
4 INCONCLUSIVE: the machine was too busy for a lab or a load.
Commands that have --json print JSON with it, described in docs/json.md.";
