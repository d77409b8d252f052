//! What each collector costs: records a process for some seconds and prints the CPU time and the
//! rows of each, without the program around it.
//!
//! `cargo run --release -p fathom-collectors --example collector_cost -- PID SECONDS [COLLECTOR...]`

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fathom_collectors::recorder::{Plan, Watcher, record};
use fathom_collectors::{Target, collectors};

struct Silent;
impl Watcher for Silent {}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || {
        arguments
            .next()
            .ok_or("usage: collector_cost PID SECONDS [COLLECTOR...]")?
            .parse::<u32>()
            .map_err(Box::<dyn Error>::from)
    };
    let (pid, seconds) = (number()?, number()?);
    let folder = std::env::temp_dir().join(format!("collector_cost-{}.fathom", std::process::id()));
    let mut plan = Plan::new(folder.clone());
    plan.duration = Some(Duration::from_secs(seconds.into()));
    plan.only = arguments.collect();
    let recorded = record(&Target::of(pid)?, collectors(), &plan, &AtomicBool::new(false), &mut Silent)?;
    println!("{:<16} {:>10} {:>10}  refused", "collector", "CPU %", "rows/s");
    let observed_s = recorded.observed_ns as f64 / 1e9;
    for part in &recorded.parts {
        let (share, rows) = (part.cpu_ns as f64 / 1e7 / observed_s, part.rows as f64 / observed_s);
        let why = part.refused.as_ref().map_or("", |refusal| &refusal.why);
        println!("{:<16} {share:>10.2} {rows:>10.0}  {why}", part.name);
    }
    println!(
        "{} s, started in {:.1} ms, {}",
        observed_s.round(),
        recorded.started_in_ns as f64 / 1e6,
        folder.display()
    );
    Ok(())
}
