//! When the recorder itself did not run: it was stopped, it had no CPU, or its disk hung. Periodic looks did not happen
//! meanwhile, and this must not be taken for a time in which nothing happened.

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;

/// It comes by twenty times a second; on a busy machine it is late by some of that.
const LATE_NS: i64 = 1_000_000_000;

/// Looks at the time.
#[derive(Debug, Default)]
pub(super) struct Absence {
    last_ns: Option<i64>,
}

impl Absence {
    /// The recorder has come by at `now_ns`.
    pub(super) fn look(&mut self, now_ns: i64, pending: &mut Recording) {
        let Some(last_ns) = self.last_ns.replace(now_ns) else { return };
        let away_ns = now_ns.saturating_sub(last_ns);
        if away_ns >= LATE_NS {
            pending.add_span(last_ns, away_ns, 0, span::NOT_RECORDED, "", "", "fathom");
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::Table;

    use super::*;

    #[test]
    fn a_second_without_a_look_is_told() {
        let (mut absence, mut pending) = (Absence::default(), Recording::default());
        for now_ms in [1_000_000, 1_000_050, 1_000_900, 1_007_000, 1_007_050] {
            absence.look(now_ms * 1_000_000, &mut pending);
        }
        let told: Vec<(i64, i64)> = pending.spans.rows().map(|span| (span.time_ns, span.duration_ns)).collect();
        assert_eq!((pending.spans.len(), told), (1, vec![(1_000_900_000_000, 6_100_000_000)]));
    }
}
