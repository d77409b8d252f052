//! `fathom probe`: what a mechanism costs on this machine.

mod fence;
mod touch;

use std::fs;

use anyhow::Result;
use clap::Subcommand;
use fathom_causes::measure::aarch64::{Midr, register};
use fathom_report::probed::{self, Probed};
use fathom_report::touched::{self, Touched};
use fathom_report::{TextOptions, json};
use serde::Serialize;

use super::Answer;
use crate::terminal::Terminal;

/// Measure on this machine what a mechanism costs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Barrier(BarrierArgs),
    Touch(TouchArgs),
}

/// The price of an entry barrier of compiled code: what threads pay after a collection has armed them
/// (see fathom causes nmethod_barrier_storm and icache_flush_storm)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct BarrierArgs {
    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// The first touch of memory: CPU time and page faults, by each way in which JDKs touch the heap before its use
/// (see fathom causes read_then_write_faults)
#[derive(Debug, clap::Args)]
#[command(after_help = TOUCH_EXAMPLES)]
struct TouchArgs {
    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  fathom probe barrier          takes less than a second; run it where the service runs, also in its container

On x86-64 it measures cpuid, or serialize where the CPU has it; on arm64 the invalidation of a line of the
instruction cache.";

const TOUCH_EXAMPLES: &str = "\
Examples:
  fathom probe touch            takes a few seconds and 34 MiB; run it where the service runs

It tells what -XX:+AlwaysPreTouch, and the first use of a new heap, cost on this kernel with small and with huge pages.";

/// Where Linux shows the identification of the first core of arm64.
const MIDR: &str = "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let options = terminal.text(false);
    Ok(Answer::done(match &args.what {
        What::Barrier(BarrierArgs { json }) => {
            told(*json, &Probed::new(&fence::fences(), processor()), probed::text, &options)
        }
        What::Touch(TouchArgs { json }) => {
            told(*json, &Touched::new(touch::BYTES as u64, touch::ROUNDS, touch::ways()), touched::text, &options)
        }
    }))
}

fn told<T: Serialize>(json: bool, answer: &T, text: fn(&T, &TextOptions) -> String, options: &TextOptions) -> String {
    if json { json::pretty(answer) } else { text(answer, options) }
}

/// Which arm64 core this is, and whether each flush traps there.
fn processor() -> Option<String> {
    let midr = Midr::of(fs::read_to_string(MIDR).ok().as_deref().and_then(register)?);
    let erratum = if midr.has_erratum_1542419() { ", which has erratum 1542419" } else { "" };
    Some(format!("{midr}{erratum}"))
}
