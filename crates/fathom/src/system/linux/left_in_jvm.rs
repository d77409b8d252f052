//! What a killed recorder has left in the JVM.

use std::fs;
use std::path::Path;

use anyhow::Result;
use fathom_collectors::{Clock, Target, fetch_flight_recording};
use fathom_evidence::Recording;
use fathom_evidence::kinds::subject;

/// Fetches it into the recording's folder `raw`, if the JVM still lives. Otherwise the recording says that it is missing.
pub(crate) fn fetch(path: &Path) -> Result<()> {
    let recording = fathom_store::open(path)?;
    let raw = path.join("raw");
    let has_any = fs::metadata(raw.join("recording.jfr")).is_ok_and(|data| data.len() > 0);
    if let (Some((target, from_ns)), false) = (same_jvm(&recording), has_any) {
        let seconds = Clock::read().now_ns().saturating_sub(from_ns) / 1_000_000_000 + 60;
        // Whatever the reason: the recording says that it is missing, and how to get it.
        let _ = fetch_flight_recording(&target, &raw, seconds.unsigned_abs());
    }
    Ok(())
}

/// The JVM that was recorded, if it still lives, and since when it was.
fn same_jvm(recording: &Recording) -> Option<(Target, i64)> {
    let target = Target::of(recording.fact(subject::JVM, "pid")?.parse().ok()?).ok()?;
    let is_same = recording.fact(subject::PROCESS, "start_ticks")? == target.start_ticks.to_string()
        && recording.fact(subject::HOST, "boot_id")?
            == fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim();
    let from_ns = recording.time_range_ns().map_or(0, |(first_ns, _)| first_ns);
    is_same.then_some((target, from_ns))
}
