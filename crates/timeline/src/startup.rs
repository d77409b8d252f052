//! How long the JVM was starting up.
//!
//! While it starts a JVM compiles what it runs, and interprets until then: that is its job, not a
//! slowdown, unless requests say otherwise. Start-up is over when compiling has died down, and
//! in any case when more code has been compiled than the code cache can hold: from then on code
//! is thrown away and compiled again.

use fathom_evidence::kinds::counter;

use crate::grid::BUCKET_NS;
use crate::view::View;

/// Start-up lasts no longer than this, in buckets.
const MAX_BUCKETS: usize = 120;

/// Compiling has died down when it takes less of a core than this over [`QUIET_BUCKETS`].
const QUIET_CORES: f64 = 0.1;

/// See [`QUIET_CORES`].
const QUIET_BUCKETS: usize = 3;

/// Start-up lasts at least this long, and just as long when nothing is known about compiling, in ns.
const LEAST_NS: i64 = 5 * BUCKET_NS;

/// Buckets at the beginning of the grid that belong to the JVM's start-up.
pub(crate) fn buckets(view: &View<'_>, compiler_ns: Option<&Vec<f64>>) -> usize {
    let grid = view.grid;
    let Some(started_ns) = view.jvm_started_at_ns() else { return 0 };
    let age_ns = grid.start_ns.saturating_sub(started_ns);
    if age_ns > MAX_BUCKETS as i64 * BUCKET_NS {
        return 0;
    }
    let least = LEAST_NS.saturating_sub(age_ns).max(0).unsigned_abs().div_ceil(BUCKET_NS.unsigned_abs()) as usize;
    let limit = MAX_BUCKETS.min(grid.len).min(full_turnover(view));
    let Some(compiler_ns) = compiler_ns else { return least.min(limit) };
    (least..limit).find(|index| is_quiet(compiler_ns, *index)).unwrap_or(limit)
}

fn is_quiet(compiler_ns: &[f64], index: usize) -> bool {
    let next = &compiler_ns[index..(index + QUIET_BUCKETS).min(compiler_ns.len())];
    next.iter().sum::<f64>() < QUIET_CORES * BUCKET_NS as f64 * next.len() as f64
}

/// The bucket by which as much code has been compiled as the code cache can hold.
fn full_turnover(view: &View<'_>) -> usize {
    let Some(reserved) = view.code_cache_reserved_bytes() else { return usize::MAX };
    let produced = view.counter(counter::COMPILE_CODE_BYTES, "");
    let reached = produced.0.iter().find(|(_, bytes)| *bytes >= reserved);
    reached.map_or(usize::MAX, |(time, _)| view.grid.bucket_of(*time).unwrap_or(0))
}
