//! `fathom blk`: the stages of requests to disks, from a trace of blktrace.

use std::path::PathBuf;

use anyhow::Result;
use fathom_readers::blktrace::{self, Group, Stage, Table};
use serde_json::{Value, json};

use super::Answer;

/// Show how long requests to disks took in each stage, from a trace of blktrace: btt's table with percentiles
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A trace: one file, one of the files of all CPUs (x.blktrace.0), the name that they share (x), or what blkparse printed
    #[arg(value_name = "FILE")]
    path: PathBuf,

    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  blktrace -d /dev/sda -w 30 -o x && fathom blk x
  fathom blk x.blktrace.0 --json

Stages have btt's definitions and numbers. G2D is not in btt: requests that went to the driver without being inserted
into a scheduler's queue. Where bios overlap on a device, sectors do not say which is which.";

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let table = blktrace::table(&args.path)?;
    Ok(Answer::done(if args.json { format!("{:#}\n", in_json(&table)) } else { text(&table) }))
}

fn text(table: &Table) -> String {
    let mut text = format!(
        "{}: {} events in {:.3} s, {} file{}; times in µs\n",
        if table.version == 0 { "text of blkparse".to_owned() } else { format!("blktrace version {}", table.version) },
        table.events,
        table.length_ns as f64 / 1e9,
        table.files,
        if table.files == 1 { "" } else { "s" }
    );
    for group in &table.groups {
        text += &format!(
            "\n{:<42}{:>9}{:>14}{:>14}{:>14}{:>14}{:>14}\n",
            group.name, "N", "min", "mean", "p50", "p99", "max"
        );
        group.stages.iter().for_each(|stage| text += &row(stage));
    }
    for says in &table.missing {
        text += &format!("\n{says}");
    }
    if !table.missing.is_empty() {
        text.push('\n');
    }
    text
}

fn row(stage: &Stage) -> String {
    let us = |ns: f64| format!("{:.3}", ns / 1e3);
    format!(
        "  {:<5}{:<35}{:>9}{:>14}{:>14}{:>14}{:>14}{:>14}\n",
        stage.name,
        stage.says,
        stage.count,
        us(stage.min_ns as f64),
        us(stage.mean_ns),
        us(stage.p50_ns as f64),
        us(stage.p99_ns as f64),
        us(stage.max_ns as f64)
    )
}

fn in_json(table: &Table) -> Value {
    let stage = |stage: &Stage| {
        json!({
            "stage": stage.name, "count": stage.count, "min_ns": stage.min_ns, "mean_ns": stage.mean_ns, "p50_ns": stage.p50_ns,
            "p99_ns": stage.p99_ns, "max_ns": stage.max_ns,
        })
    };
    let group =
        |group: &Group| json!({"name": group.name, "stages": group.stages.iter().map(stage).collect::<Vec<_>>()});
    json!({
        "schema": 1, "version": table.version, "files": table.files, "events": table.events, "length_ns": table.length_ns,
        "groups": table.groups.iter().map(group).collect::<Vec<_>>(), "missing": table.missing,
    })
}
