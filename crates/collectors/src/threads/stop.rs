//! When a signal had stopped the whole process.

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;

use super::SOURCE;

/// The stop in which the process is, if it is in one. Beginnings and ends lie between two looks: the middle is taken.
#[derive(Debug, Default)]
pub(super) struct Stop {
    began_ns: Option<i64>,
    looked_ns: Option<i64>,
}

impl Stop {
    pub(super) fn look(&mut self, is_stopped: bool, at_ns: i64, found: &mut Recording) {
        let between_ns = self.looked_ns.map_or(at_ns, |before_ns| before_ns + at_ns.saturating_sub(before_ns) / 2);
        self.looked_ns = Some(at_ns);
        if is_stopped {
            self.began_ns.get_or_insert(between_ns);
        } else {
            self.end(between_ns, found);
        }
    }

    /// Writes the stop if there is one.
    pub(super) fn end(&mut self, at_ns: i64, found: &mut Recording) {
        if let Some(began_ns) = self.began_ns.take() {
            let duration_ns = at_ns.saturating_sub(began_ns).max(0);
            found.add_span(began_ns, duration_ns, 0, span::PROCESS_STOPPED, "signal", "", SOURCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_from_the_middle_of_two_looks_to_the_middle_of_two() {
        for (looks, end, expected) in [
            (&[(0, false), (100, true), (200, true), (300, false)][..], 400, &[(50, 200)][..]),
            (&[(0, true), (100, false), (200, true), (300, false)], 400, &[(0, 50), (150, 100)]),
            (&[(0, false), (100, true)], 140, &[(50, 90)]),
            (&[(0, false), (100, false)], 140, &[]),
        ] {
            let (mut stop, mut found) = (Stop::default(), Recording::default());
            looks.iter().for_each(|(at_ns, is_stopped)| stop.look(*is_stopped, *at_ns, &mut found));
            stop.end(end, &mut found);
            let spans: Vec<(i64, i64)> = found.spans.rows().map(|row| (row.time_ns, row.duration_ns)).collect();
            assert_eq!(spans, expected, "{looks:?}");
        }
    }
}
