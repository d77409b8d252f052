//! Events at each local port and at each called service, in steps of a tenth of a second. Knows no evidence.

use std::collections::HashMap;

/// How fine the counts are, in ns: a burst of datagrams that fills a queue takes some tenths of a second.
const STEP_NS: i64 = 100_000_000;

/// Endpoints that are counted; a host that asks others has some hundreds.
const ENDPOINTS_MAX: usize = 4_096;

/// What is counted, in the order of [`Counts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Arrivals,
    Sends,
    ReceivedBytes,
    SentBytes,
    Resent,
    Reset,
    ClosedUnanswered,
    Ended,
    EndedNs,
    ConnectsFailed,
}

const KINDS: usize = What::ConnectsFailed as usize + 1;

/// Amounts of one endpoint.
pub(super) type Counts = [f64; KINDS];

/// An endpoint and what happened there in a step.
pub(super) type Step = (usize, Counts);

/// Adds up.
#[derive(Debug, Default)]
pub(super) struct Steps {
    by_name: HashMap<String, usize>,
    names: Vec<String>,
    counts: Vec<Counts>,
    touched: Vec<usize>,
    from_ns: i64,
    /// Things that happened at endpoints beyond the bound.
    pub(super) beyond: u64,
}

impl Steps {
    /// The number of an endpoint; none if there are too many.
    pub(super) fn endpoint(&mut self, name: String) -> Option<usize> {
        if let Some(known) = self.by_name.get(&name) {
            return Some(*known);
        }
        if self.names.len() >= ENDPOINTS_MAX {
            self.beyond += 1;
            return None;
        }
        let number = self.names.len();
        self.names.push(name.clone());
        self.counts.push(Counts::default());
        self.by_name.insert(name, number);
        Some(number)
    }

    /// The endpoints by their numbers.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn add(&mut self, endpoint: usize, what: What, amount: f64) {
        let counts = &mut self.counts[endpoint];
        if counts.iter().all(|count| *count == 0.0) {
            self.touched.push(endpoint);
        }
        counts[what as usize] += amount;
    }

    /// The step that is over at an instant, if there was anything in it: from when, to when, and what.
    pub(super) fn over(&mut self, now_ns: i64) -> Option<((i64, i64), Vec<Step>)> {
        let begins_ns = now_ns.saturating_sub(now_ns.rem_euclid(STEP_NS));
        // Packets of several devices are not quite in order: a late one counts for the step that is under way.
        if begins_ns <= self.from_ns {
            return None;
        }
        let step = self.rest();
        self.from_ns = begins_ns;
        step
    }

    /// The step that is under way.
    pub(super) fn rest(&mut self) -> Option<((i64, i64), Vec<Step>)> {
        let counts = &mut self.counts;
        let step: Vec<Step> = self.touched.drain(..).map(|at| (at, std::mem::take(&mut counts[at]))).collect();
        (!step.is_empty()).then_some(((self.from_ns, self.from_ns.saturating_add(STEP_NS)), step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_given_when_they_are_over() {
        let mut steps = Steps::default();
        let [port, peer] = [":80", "a:1"].map(|name| steps.endpoint(name.to_owned()).unwrap());
        assert_eq!((steps.endpoint(":80".to_owned()), steps.over(5 * STEP_NS + 7)), (Some(port), None));
        steps.add(port, What::Arrivals, 1.0);
        steps.add(port, What::Arrivals, 1.0);
        steps.add(peer, What::EndedNs, 9.0);
        assert_eq!(steps.over(6 * STEP_NS - 1), None);
        let ((from_ns, to_ns), step) = steps.over(8 * STEP_NS).unwrap();
        assert_eq!((from_ns, to_ns, step.len()), (5 * STEP_NS, 6 * STEP_NS, 2));
        assert_eq!((step[0].0, step[0].1[What::Arrivals as usize]), (port, 2.0));
        assert_eq!(steps.rest(), None);
    }
}
