//! Fathom's driver in the benchmarks: loads FILE into tables in memory, PASSES times, and prints `seconds rows` for each.
//!
//! It does what `fathom import` does before it writes: recognises the format, parses, resolves stacks and threads, and
//! fills every table. `RAYON_NUM_THREADS` says on how many threads.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use fathom_evidence::Recording;
use fathom_evidence::Table;
use fathom_readers::{LoadOptions, load_file};

const USAGE: &str = "usage: fathom-load FILE PASSES";

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let file = PathBuf::from(arguments.next().context(USAGE)?);
    let passes: usize = arguments.next().context(USAGE)?.to_string_lossy().parse().context(USAGE)?;
    for _ in 0..passes {
        let start = Instant::now();
        let recording = load_file(&file, &LoadOptions::default())?;
        println!("{:.6} {}", start.elapsed().as_secs_f64(), rows(&recording));
    }
    Ok(())
}

/// What was read, over all tables that grow with the file.
fn rows(recording: &Recording) -> usize {
    recording.samples.len() + recording.spans.len() + recording.counters.len() + recording.logs.len()
}
