//! Reads comparisons of runs, one a line, and prints the verdict of each: what `bench/compare` counts.
//!
//! A line is `{"a": [RUN, …], "b": [RUN, …]}`; a run has `from_ns`, `length_ns`, `count`, `p50_ns` and `mean_ns`.

use std::io::{self, BufRead};

use fathom_compare::{Latencies, Run, compare};
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
    mean_ns: f64,
}

fn run(numbers: Numbers) -> Run {
    let Numbers { from_ns, length_ns, count, p50_ns, mean_ns } = numbers;
    let latencies = Latencies { source: String::new(), count, p50_ns, p90_ns: p50_ns, p99_ns: p50_ns, mean_ns };
    Run { from_ns, length_ns, latencies: Some(latencies), ..Run::default() }
}

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line: Line = serde_json::from_str(&line?)?;
        let [a, b] = [line.a, line.b].map(|side| side.into_iter().map(run).collect());
        let verdict = compare(a, b, &[], &[]).verdict;
        println!("{:?}\t{}", verdict.kind, verdict.says);
    }
    Ok(())
}
