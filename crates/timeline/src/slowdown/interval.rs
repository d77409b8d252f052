//! A stretch of slow time.

use crate::signals::SignalKind;

/// A stretch of time in which the service was slow.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowInterval {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// The signal that shows it best.
    pub signal: SignalKind,
    /// Worst value of that signal in it, in the signal's unit; of a latency the worst that a second had.
    pub worst: f64,
}
