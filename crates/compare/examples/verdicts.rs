//! Reads comparisons of runs, one a line, and prints of each the verdict, whether p99 differs by its interval, and the verdict's
//! sentence: what `bench/compare` counts.
//!
//! A line is `{"a": [RUN, …], "b": [RUN, …]}`; a run has `from_ns`, `length_ns`, `count`, `p50_ns` and `mean_ns`, and may have
//! `p90_ns`, `p99_ns` and `others_cpu`.

use std::io::{self, BufRead};

use fathom_compare::{Comparison, Latencies, Measure, Run, compare};
use serde::Deserialize;

#[derive(Deserialize)]
struct Line {
    a: Vec<Numbers>,
    b: Vec<Numbers>,
}

#[derive(Deserialize)]
struct Numbers {
    from_ns: i64,
    length_ns: i64,
    count: f64,
    p50_ns: f64,
    p90_ns: Option<f64>,
    p99_ns: Option<f64>,
    mean_ns: f64,
    others_cpu: Option<f64>,
}

fn run(numbers: Numbers) -> Run {
    let Numbers { from_ns, length_ns, count, p50_ns, p90_ns, p99_ns, mean_ns, others_cpu } = numbers;
    let [p90_ns, p99_ns] = [p90_ns, p99_ns].map(|tail_ns| tail_ns.unwrap_or(p50_ns));
    let seconds = length_ns.max(1) as f64 / 1e9;
    let latencies = Latencies { source: String::new(), count, seconds, p50_ns, p90_ns, p99_ns, mean_ns };
    Run { from_ns, length_ns, latencies: Some(latencies), others_cpu, ..Run::default() }
}

fn tail(comparison: &Comparison) -> &'static str {
    let p99 = comparison.measures.iter().find(|one| one.measure == Measure::P99);
    match p99.and_then(|one| one.change) {
        Some(change) if change.low > 0.0 || change.high < 0.0 => "different",
        Some(_) => "within chance",
        None => "unknown",
    }
}

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line: Line = serde_json::from_str(&line?)?;
        let [a, b] = [line.a, line.b].map(|side| side.into_iter().map(run).collect());
        let comparison = compare(a, b, &[], &[]);
        println!("{:?}\t{}\t{}", comparison.verdict.kind, tail(&comparison), comparison.verdict.says);
    }
    Ok(())
}
