//! Collections of a recording, by which sources of the same JVM are recognised.

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;

/// Two sources place the same collection within this of each other, in ns.
pub(super) const SLACK_NS: i64 = 20_000_000;

/// From this share of collections at the same instants two sources agree.
pub(super) const AGREES: f64 = 0.6;

/// Fewer collections than this tell nothing.
pub(super) const SEVERAL: usize = 3;

/// Its rows tell how many collections there were between two looks, and not when.
const COUNTS_ONLY: &str = "jstat";

/// Beginning and length of each pause of the collector, in order; of the collections where there are no pauses.
pub(super) fn collections(recording: &Recording) -> Vec<(i64, i64)> {
    let counts_only = recording.strings.find(COUNTS_ONLY);
    let of = |kind: &str| {
        let kind = recording.strings.find(kind);
        let rows = recording.spans.rows().filter(|row| Some(row.kind) == kind && Some(row.source) != counts_only);
        let mut found: Vec<(i64, i64)> = rows.map(|row| (row.time_ns, row.duration_ns)).collect();
        found.sort_unstable();
        found
    };
    let pauses = of(span::GC_PAUSE);
    if pauses.is_empty() { of(span::GC) } else { pauses }
}

/// The share of collections of which both have one at the same instant, in the time that both cover; `None` when there are
/// too few to tell.
pub(super) fn share_of_same(own: &[i64], others: &[i64]) -> Option<f64> {
    let from = own.first()?.max(others.first()?).saturating_sub(SLACK_NS);
    let to = own.last()?.min(others.last()?).saturating_add(SLACK_NS);
    let within = |list: &[i64]| list.iter().filter(|at| (from..=to).contains(*at)).count();
    let (fewer, more) = if within(own) <= within(others) { (own, others) } else { (others, own) };
    let is_there = |at: &&i64| {
        let next = more.partition_point(|other| *other < at.saturating_sub(SLACK_NS));
        more.get(next).is_some_and(|other| *other <= at.saturating_add(SLACK_NS))
    };
    let count = within(fewer);
    let same = fewer.iter().filter(|at| (from..=to).contains(*at)).filter(is_there).count();
    (count > 1 && count + within(more) >= 2 * SEVERAL).then(|| same as f64 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_jstat_say_nothing_of_instants() {
        let mut recording = Recording::default();
        recording.add_span(5, 2, 0, span::GC_PAUSE, "", "", "jstat");
        assert_eq!(collections(&recording), []);
        recording.add_span(7, 2, 0, span::GC_PAUSE, "", "", "gc_log");
        assert_eq!(collections(&recording), [(7, 2)]);
    }

    #[test]
    fn instants_in_common() {
        let own: Vec<i64> = (0..20).map(|index| index * 900_000_000 + index * index % 7 * 50_000_000).collect();
        let late: Vec<i64> = own.iter().map(|at| at + 300_000_000).collect();
        assert_eq!(share_of_same(&own, &own[4..12]), Some(1.0));
        assert!(share_of_same(&own, &late).unwrap() < AGREES);
        assert_eq!(share_of_same(&own, &[]), None);
        let seconds = |list: &[i64]| list.iter().map(|s| s * 1_000_000_000).collect::<Vec<_>>();
        assert_eq!(share_of_same(&seconds(&[1, 3, 9]), &seconds(&[2, 4, 5, 6, 8])), None);
        assert_eq!(share_of_same(&seconds(&[1, 3, 7, 11]), &seconds(&[2, 4, 5, 6, 8])), Some(0.0));
    }
}
