//! How much of the waiting that is known to be work the account calls idle, and the other way round. Words: the folder of a
//! recording, then beginnings of the functions that only threads at work are in. Prints seconds as JSON: what is true, then what the
//! account says. Waits without a stack tell neither.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

use fathom_evidence::{Recording, StackId};
use fathom_timeline::{Options, ThreadState, Wait, analyse, is_below};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().ok_or("a recording is missing")?);
    let at_work: Vec<String> = words.collect();
    let at_work: Vec<&str> = at_work.iter().map(String::as_str).collect();
    let mut recording = fathom_store::open(&folder)?;
    recording.name_waits_by_samples();
    let seconds = seconds(&recording, &at_work).ok_or("nothing in the recording has a time")?;
    let sums = seconds.iter().map(|((truth, said), s)| format!("\"{truth} {said}\": {s:.3}"));
    println!("{{{}}}", sums.collect::<Vec<_>>().join(", "));
    Ok(())
}

/// Seconds of waiting by what is true and what the account says.
fn seconds(recording: &Recording, at_work: &[&str]) -> Option<BTreeMap<(&'static str, &'static str), f64>> {
    let analysis = analyse(recording, &Options::default())?;
    let mut sums = BTreeMap::new();
    for (tid, segments) in analysis.account.partition.recorded() {
        for segment in segments.iter().filter(|_| analysis.sources.is_application(tid)) {
            let stack = segment.row.map_or(StackId(0), |row| recording.spans.stack_id[row as usize]);
            let Some(said) = said(segment.state).filter(|_| stack != StackId(0)) else { continue };
            let truth = if is_below(recording, stack, at_work) { "work" } else { "idle" };
            *sums.entry((truth, said)).or_default() += segment.length_ns() as f64 / 1e9;
        }
    }
    Some(sums)
}

/// What the account says of a wait; none of anything else.
fn said(state: ThreadState) -> Option<&'static str> {
    match state {
        ThreadState::Idle => Some("idle"),
        ThreadState::Unknown | ThreadState::Blocked(Wait::Unnamed) => Some("unknown"),
        ThreadState::Blocked(_) => Some("work"),
        _ => None,
    }
}
