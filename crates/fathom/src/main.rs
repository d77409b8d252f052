//! The program: reads the command line, does one command, prints its answer.
//!
//! What a command does is in [`commands`], one module each. Rules that hold for all of them are
//! here: the answer goes to standard output in one piece, everything else to standard error; exit
//! code 0 is done, 1 is refused (one line says what and what to do), 2 is bad usage; a reader of
//! the output that goes away is not an error.

mod cli;
mod commands;
#[cfg(test)]
mod documented;
mod exit;
mod finish;
mod inputs;
mod names;
mod output;
mod page_file;
mod progress;
mod quantities;
mod system;
mod terminal;
mod times;
mod workers;

use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser};

use cli::{Cli, Command};
use commands::Answer;
use terminal::Terminal;

/// Releases are linked with musl, whose own allocator lets one thread in at a time.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    exit::report_panics_in_one_line();
    let cli = Cli::parse();
    let terminal = Terminal::new(cli.color);
    let code = exit::guarded(|| run(&cli.command, &terminal));
    system::unpacked::remove_all();
    code
}

fn run(command: &Command, terminal: &Terminal) -> anyhow::Result<ExitCode> {
    let Answer { text, code } = match command {
        Command::Demo(args) => commands::demo::run(args, terminal)?,
        Command::Import(args) => commands::import::run(args, terminal)?,
        Command::Export(args) => commands::export::run(args, terminal)?,
        Command::Blk(args) => commands::blk::run(args)?,
        Command::Logs(args) => commands::logs::run(args, terminal)?,
        Command::Explain(args) => commands::explain::run(args, terminal)?,
        Command::Compare(args) => commands::compare::run(args, terminal)?,
        Command::Runs(args) => commands::runs::run(args, terminal)?,
        Command::Report(args) => commands::report::run(args, terminal)?,
        Command::Open(args) => commands::open::run(args, terminal)?,
        Command::Mcp(args) => commands::mcp::run(args, terminal)?,
        Command::Minutes(args) => commands::minutes::run(args, terminal)?,
        Command::Causes(args) => commands::causes::run(args, terminal)?,
        Command::Completions(args) => commands::completions::run(args, Cli::command())?,
        Command::GuardProfiler(args) => commands::guard::run(args)?,
        Command::Ps(args) => commands::ps::run(args, terminal)?,
        Command::Record(args) => commands::record::run(args, terminal)?,
        Command::Doctor(args) => commands::doctor::run(args, terminal)?,
        Command::Lab(args) => commands::lab::run(args, terminal)?,
        Command::Load(args) => commands::load::run(args, terminal)?,
        Command::Probe(args) => commands::probe::run(args, terminal)?,
        Command::Watch(args) => commands::watch::run(args)?,
        Command::Trigger(args) => commands::watch::trigger(args)?,
        Command::Routing(args) => commands::routing::run(args, terminal)?,
    };
    terminal::print(&text).context("standard output")?;
    Ok(code)
}
