//! `fathom guard-profiler`: started by `fathom record`, and still running if `fathom record` is killed.

use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use fathom_collectors::Guarded;

use super::Answer;

/// End the profiler of a recorder that was killed (for fathom record, which starts it)
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    pid: u32,
    start_ticks: u64,
    library: String,
    folder: String,
    raw: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let Args { pid, start_ticks, library, folder, raw } = args;
    let (library, folder, raw) = (library.clone(), folder.clone(), raw.clone());
    let guarded = Guarded { pid: *pid, start_ticks: *start_ticks, library, folder, raw };
    guarded.wait(io::stdin()).context("the profiler of a killed recorder could not be ended")?;
    Ok(Answer::done(String::new()))
}
