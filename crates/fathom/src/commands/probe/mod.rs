//! `fathom probe`: what single instructions cost on this machine.

mod fence;

use std::fs;

use anyhow::Result;
use clap::Subcommand;
use fathom_causes::measure::aarch64::{Midr, register};
use fathom_report::json;
use fathom_report::probed::{Probed, text};

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

const EXAMPLES: &str = "\
Examples:
  fathom probe barrier          takes less than a second; run it where the service runs, also in its container

On x86-64 it measures cpuid, or serialize where the CPU has it; on arm64 the invalidation of a line of the
instruction cache.";

/// Where Linux shows the identification of the first core of arm64.
const MIDR: &str = "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1";

pub(crate) fn run(args: &Args, terminal: &Terminal) -> Result<Answer> {
    let What::Barrier(BarrierArgs { json }) = &args.what;
    let probed = Probed::new(&fence::fences(), processor());
    Ok(Answer::done(match json {
        true => json::pretty(&probed),
        false => text(&probed, &terminal.text(false)),
    }))
}

/// Which arm64 core this is, and whether each flush traps there.
fn processor() -> Option<String> {
    let midr = Midr::of(fs::read_to_string(MIDR).ok().as_deref().and_then(register)?);
    let erratum = if midr.has_erratum_1542419() { ", which has erratum 1542419" } else { "" };
    Some(format!("{midr}{erratum}"))
}
