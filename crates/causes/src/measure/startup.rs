//! The JVM's start, in which it loads, interprets and compiles code for the first time.

use crate::comparison::Comparison;

/// The part of the slow time that lies in the JVM's start, from which on most of it does.
const MIN_STARTUP_SHARE: f64 = 0.5;

/// Whether most of the slow time lies in the JVM's start.
pub fn is_mostly_startup(comparison: &Comparison<'_>) -> bool {
    let startup = comparison.analysis.account.startup.warm_up_buckets;
    let all = comparison.slowdown.slow_buckets().count().max(1);
    let within = comparison.slowdown.slow_buckets().filter(|index| *index < startup).count();
    within as f64 / all as f64 >= MIN_STARTUP_SHARE
}
