//! Messages of the application and kinds of requests: what came more or less often in the slow time. No cause reads them:
//! messages about a slowdown are mostly its consequence, and failed requests are sent again.

pub use fathom_timeline::Analysis;
pub use fathom_timeline::messages::{Lines, Messages, covered_ns, totals};

use crate::explanation::LineKind;

/// Kinds that an explanation names.
const TOLD: usize = 20;

/// All kinds of messages, the clearest difference first.
pub fn kinds(messages: &Messages) -> Vec<LineKind> {
    let per_s = |count: f64, length_ns: i64| count / (length_ns as f64 / 1e9).max(f64::MIN_POSITIVE);
    let (slow_ns, baseline_ns) = messages.lengths_ns;
    let (slow, baseline) = messages.counts;
    let kinds = messages.kinds.iter().map(|kind| LineKind {
        says: kind.name.clone(),
        slow_per_s: per_s(kind.counts.0, slow_ns),
        baseline_per_s: per_s(kind.counts.1, baseline_ns),
        slow_ratio: kind.counts.0 / slow.max(1.0),
        baseline_ratio: kind.counts.1 / baseline.max(1.0),
        odds_ratio: kind.odds_ratio,
        odds_low: kind.odds_range.0,
        odds_high: kind.odds_range.1,
        chance: kind.chance,
        differs: kind.differs,
    });
    kinds.collect()
}

/// Those that differ.
pub(crate) fn that_differ(analysis: &Analysis<'_>, lines: Lines) -> Vec<LineKind> {
    let kinds = analysis.messages(lines).map(kinds).unwrap_or_default();
    kinds.into_iter().filter(|kind| kind.differs).take(TOLD).collect()
}
