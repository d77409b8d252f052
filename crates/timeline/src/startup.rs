//! How long the JVM was starting up.
//!
//! A starting JVM interprets its code and compiles it. That is not a slowdown, unless requests say otherwise. Start-up is
//! over when compilation has died down, at the latest when more code has been compiled than the code cache can hold: from
//! then on code is thrown away and compiled again.

use fathom_evidence::kinds::counter;

use crate::grid::BUCKET_NS;
use crate::sources::Sources;

/// Start-up lasts no longer than this, in buckets.
const MAX_STARTUP_BUCKETS: usize = 120;

/// Compiling has died down when it takes less of a core than this over [`QUIET_BUCKETS`].
const QUIET_CORES: f64 = 0.1;

/// See [`QUIET_CORES`].
const QUIET_BUCKETS: usize = 3;

/// Start-up lasts at least this long, and just as long when nothing is known about compiling, in ns.
const MIN_STARTUP_NS: i64 = 5 * BUCKET_NS;

/// How much of the grid's beginning belongs to the JVM's start, in buckets.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Startup {
    /// The first seconds, in which anything may happen.
    pub boot_buckets: usize,
    /// Until what the program runs is compiled; at least as long.
    pub warm_up_buckets: usize,
}

/// Finds the start of the JVM in the grid.
pub(crate) fn find(sources: &Sources<'_>, compiler_ns: Option<&Vec<f64>>) -> Startup {
    let grid = sources.grid;
    let Some(started_ns) = sources.jvm_started_at_ns() else { return Startup::default() };
    let age_ns = grid.start_ns.saturating_sub(started_ns);
    if age_ns > MAX_STARTUP_BUCKETS as i64 * BUCKET_NS {
        return Startup::default();
    }
    let least = MIN_STARTUP_NS.saturating_sub(age_ns).max(0).unsigned_abs().div_ceil(BUCKET_NS.unsigned_abs()) as usize;
    let limit = MAX_STARTUP_BUCKETS.min(grid.len).min(full_turnover(sources));
    let boot_buckets = least.min(limit);
    let quiet = compiler_ns.map(|ns| (boot_buckets..limit).find(|index| is_quiet(ns, *index)).unwrap_or(limit));
    Startup { boot_buckets, warm_up_buckets: quiet.unwrap_or(boot_buckets) }
}

fn is_quiet(compiler_ns: &[f64], index: usize) -> bool {
    let next = &compiler_ns[index..(index + QUIET_BUCKETS).min(compiler_ns.len())];
    next.iter().sum::<f64>() < QUIET_CORES * BUCKET_NS as f64 * next.len() as f64
}

/// The bucket by which as much code has been compiled as the code cache can hold.
fn full_turnover(sources: &Sources<'_>) -> usize {
    let Some(reserved) = sources.code_cache_reserved_bytes() else { return usize::MAX };
    let produced = sources.counter(counter::COMPILE_CODE_BYTES, "");
    let reached = produced.0.iter().find(|(_, bytes)| *bytes >= reserved);
    reached.map_or(usize::MAX, |(time, _)| sources.grid.bucket_of(*time).unwrap_or(0))
}
