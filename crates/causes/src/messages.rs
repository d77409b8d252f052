//! Messages of the application: what came more or less often in the slow time. No cause reads them, as what a program says of a slowdown is
//! mostly what followed from it.

use fathom_timeline::{Analysis, messages};

use crate::explanation::MessageKind;

/// Kinds that an explanation names.
const TOLD: usize = 20;

/// All kinds of messages, slow time against baseline.
#[derive(Debug, Clone)]
pub struct Compared {
    /// How many messages there were in the slow time, and in the baseline.
    pub counts: (f64, f64),
    /// How long both are, in ns.
    pub lengths_ns: (i64, i64),
    /// Whether both are long enough to tell differences from chance.
    pub is_comparable: bool,
    /// The kinds, the clearest difference first.
    pub kinds: Vec<MessageKind>,
}

/// Compares the messages; `None` where there are none, nothing was slow, or nothing else was recorded.
pub fn compared(analysis: &Analysis<'_>) -> Option<Compared> {
    let found = analysis.messages()?;
    let per_s = |count: f64, length_ns: i64| count / (length_ns as f64 / 1e9).max(f64::MIN_POSITIVE);
    let (slow_ns, base_ns) = found.lengths_ns;
    let kind = |kind: &messages::Kind| MessageKind {
        says: kind.name.clone(),
        slow_per_s: per_s(kind.counts.0, slow_ns),
        baseline_per_s: per_s(kind.counts.1, base_ns),
        odds_ratio: kind.odds_ratio,
        odds_low: kind.odds_range.0,
        odds_high: kind.odds_range.1,
        chance: kind.chance,
        differs: kind.differs,
    };
    let kinds = found.kinds.iter().map(kind).collect();
    Some(Compared { counts: found.counts, lengths_ns: found.lengths_ns, is_comparable: found.is_comparable, kinds })
}

/// Kinds of messages by how often they came, where nothing is compared.
pub fn totals(analysis: &Analysis<'_>) -> Vec<(String, f64)> {
    messages::totals(&analysis.sources)
}

/// From when to when the logs of a recording have messages.
pub fn covered_ns(analysis: &Analysis<'_>) -> Option<(i64, i64)> {
    messages::covered_ns(&analysis.sources)
}

/// Those that differ.
pub(crate) fn that_differ(analysis: &Analysis<'_>) -> Vec<MessageKind> {
    let kinds = compared(analysis).map(|compared| compared.kinds).unwrap_or_default();
    kinds.into_iter().filter(|kind| kind.differs).take(TOLD).collect()
}
