//! When the whole process was stopped from outside, found by sampling its state.

use fathom_evidence::Recording;
use fathom_evidence::kinds::span;

/// The stop in which the process is, if it is in one. Beginnings and ends lie between two looks: the middle is taken.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// Who looks.
    source: &'static str,
    /// When it began, and by what.
    began: Option<(i64, &'static str)>,
    looked_ns: Option<i64>,
}

impl Stopped {
    pub(crate) fn seen_by(source: &'static str) -> Stopped {
        Stopped { source, began: None, looked_ns: None }
    }

    /// `by` is what has stopped it, if anything has.
    pub(crate) fn look(&mut self, by: Option<&'static str>, at_ns: i64, found: &mut Recording) {
        let between_ns = self.looked_ns.map_or(at_ns, |before_ns| before_ns + at_ns.saturating_sub(before_ns) / 2);
        self.looked_ns = Some(at_ns);
        if self.began.map(|(_, by)| by) != by {
            self.end(between_ns, found);
        }
        if let Some(by) = by {
            self.began.get_or_insert((between_ns, by));
        }
    }

    /// Writes the stop if there is one.
    pub(crate) fn end(&mut self, at_ns: i64, found: &mut Recording) {
        if let Some((began_ns, by)) = self.began.take() {
            let duration_ns = at_ns.saturating_sub(began_ns).max(0);
            found.add_span(began_ns, duration_ns, 0, span::PROCESS_STOPPED, by, "", self.source);
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_evidence::kinds::stopped;

    use super::*;

    #[test]
    fn a_stop_is_from_the_middle_of_two_looks_to_the_middle_of_two() {
        let (signal, debugger) = (Some(stopped::SIGNAL), Some(stopped::DEBUGGER));
        for (looks, end, expected) in [
            (&[(0, None), (100, signal), (200, signal), (300, None)][..], 400, &[(50, 200, "signal")][..]),
            (&[(0, signal), (100, None), (200, signal), (300, None)], 400, &[(0, 50, "signal"), (150, 100, "signal")]),
            (&[(0, None), (100, signal)], 140, &[(50, 90, "signal")]),
            (&[(0, signal), (100, debugger)], 140, &[(0, 50, "signal"), (50, 90, "debugger")]),
            (&[(0, None), (100, None)], 140, &[]),
        ] {
            let (mut stop, mut found) = (Stopped::seen_by("threads"), Recording::default());
            looks.iter().for_each(|(at_ns, by)| stop.look(*by, *at_ns, &mut found));
            stop.end(end, &mut found);
            let spans: Vec<(i64, i64, &str)> =
                found.spans.rows().map(|row| (row.time_ns, row.duration_ns, found.text(row.name))).collect();
            assert_eq!(spans, expected, "{looks:?}");
        }
    }
}
