//! Loads files and prints what they hold and how long it took, best of several rounds.
//!
//! `cargo run --release -p fathom-readers --example load -- FILE [ROUNDS]`

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use fathom_evidence::{Recording, Table};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: load FILE [ROUNDS]")?;
    let rounds: u32 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let path = Path::new(&path);
    let mut best = Duration::MAX;
    let mut recording = Recording::default();
    for _ in 0..rounds {
        let start = Instant::now();
        recording = fathom_readers::load_file(path, &fathom_readers::LoadOptions::default())?;
        best = best.min(start.elapsed());
    }
    print(&recording);
    let megabytes = std::fs::metadata(path)?.len() as f64 / 1e6;
    println!("{:.1} ms, {:.0} MB/s", best.as_secs_f64() * 1e3, megabytes / best.as_secs_f64());
    Ok(())
}

fn print(recording: &Recording) {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let tables = [
        ("samples", &recording.samples.event),
        ("spans", &recording.spans.kind),
        ("counters", &recording.counters.name),
        ("facts", &recording.facts.subject),
    ];
    for (table, column) in tables {
        column.iter().for_each(|id| *counts.entry((table, recording.text(*id))).or_default() += 1);
    }
    for ((table, word), count) in counts {
        println!("{count:>9} {table} {word}");
    }
    recording.losses.rows().for_each(|row| println!("loss {}: {}", recording.text(row.kind), recording.text(row.says)));
    println!(
        "{} threads, {} frames, {} stacks, {} strings",
        recording.threads.len(),
        recording.stacks.frame_count(),
        recording.stacks.stack_count(),
        recording.strings.len()
    );
    println!("{} logs, {} losses", recording.logs.len(), recording.losses.len());
}
