//! `fathom lab play`: a lab for a person or program that follows its output.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use fathom_labs::{Arrivals, JdkWish, Lengths, LiveRecorder, Progress, Recorder, RunOptions, Second};

use crate::commands::Answer;
use crate::names::Suggested;
use crate::quantities;
use crate::terminal;

/// Run a lab's program as a service that is healthy for a while and then falls ill, for fathom watch or another tool beside it: its
/// requests come to a socket, nothing is recorded. Prints `pid=…` and `phase=…`
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Which lab (fathom lab list), or a folder with a lab.json
    #[arg(value_parser = Suggested(super::ids), hide_possible_values = true)]
    id: String,

    /// This variant instead of the sick one
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,

    /// Which JDK: a release such as 17, or its folder
    #[arg(long, value_name = "N|PATH")]
    jdk: Option<String>,

    /// For how long it is healthy, besides its warm-up
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = quantities::duration)]
    healthy: Duration,

    /// For how long it is ill
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = quantities::duration)]
    ill: Duration,

    /// So many times one after the other. What stays ill, as a full old generation does, is not well between
    #[arg(long, value_name = "N", default_value = "1")]
    times: NonZeroUsize,
}

pub(super) fn run(args: &Args) -> Result<Answer> {
    let lab = super::find(&args.id)?;
    let folder = tempfile::Builder::new().prefix("fathom-lab-").tempdir().context("no temporary folder")?;
    let options = RunOptions {
        variant: args.variant.clone().unwrap_or_else(|| lab.sick().name.clone()),
        jdk: args.jdk.as_deref().map(JdkWish::parse),
        out_dir: folder.path().join("played"),
        lengths: Lengths::Played {
            healthy_s: args.healthy.as_secs_f64(),
            ill_s: args.ill.as_secs_f64(),
            times: args.times.get(),
        },
        arrivals: Arrivals::AtSocket,
        recorder: Recorder::Live(&Nobody),
        stop: fathom_labs::stop_on_signals().context("cannot listen for Ctrl-C")?,
    };
    lab.run(&options, &mut Told)?;
    Ok(Answer::done(String::new()))
}

/// Records nothing.
#[derive(Debug)]
struct Nobody;

impl LiveRecorder for Nobody {
    fn record(&self, pid: u32, _: &Path, has_begun: &(dyn Fn() + Sync)) -> std::result::Result<(), String> {
        has_begun();
        terminal::print(&format!("pid={pid}\n")).map_err(|error| error.to_string())
    }
}

/// What happens, as lines of standard output; what it means on standard error.
struct Told;

impl Progress for Told {
    fn says(&mut self, text: &str) {
        if text.starts_with("phase=") {
            // If the reader has gone, the end reports it.
            let _ = terminal::print(&format!("{text}\n"));
        } else {
            eprintln!("{text}");
        }
    }

    fn second(&mut self, _: &Second) {}
}
