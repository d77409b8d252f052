//! Requests that got no answer during the recording. A hanging service looks like that, and so does one whose clients wait
//! for news (long polls): it answers late because there is nothing to say.

use crate::account::Account;
use crate::grid::BUCKET_NS;
use crate::intervals::Intervals;
use crate::partition::Segment;
use crate::sources::Sources;
use crate::traffic::users::{Answer, Request, count, lengths, quantile};

/// Fewer than this may come from a client that never wanted an answer.
const MIN_UNANSWERED: f64 = 3.0;

/// Requests are unanswered for longer than so many times what others of their port take to be answered: long polls are not.
const MIN_UNANSWERED_RATIO: f64 = 2.0;

/// What is known of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Unanswered {
    /// How many there are.
    pub count: f64,
    /// Of how many requests.
    pub all: f64,
    /// For how long the oldest of them waited, in ns.
    pub longest_ns: i64,
    /// Whether most requests ended with a client that would wait no longer, all of them after about the same time, as
    /// programs with a time-out do and people do not.
    pub are_timed_out: bool,
    requests: Vec<Request>,
}

impl Unanswered {
    /// Those of the port that leads; none where so few went without an answer.
    pub fn of(sources: &Sources<'_>) -> Option<Unanswered> {
        // Nearly always there is nothing to look at.
        if count(sources.traffic.requests().filter(|one| one.answer != Answer::Sent)) < MIN_UNANSWERED {
            return None;
        }
        let usual_ns = sources.traffic.p99_ns(|one| one.answer == Answer::Sent).unwrap_or(0.0);
        let is_long =
            |one: &Request| one.answer != Answer::Sent && one.duration_ns() as f64 > MIN_UNANSWERED_RATIO * usual_ns;
        let requests: Vec<Request> = sources.traffic.requests().filter(is_long).collect();
        let (unanswered, all) = (count(requests.iter()), count(sources.traffic.requests()));
        (unanswered >= MIN_UNANSWERED).then(|| Unanswered {
            count: unanswered,
            all,
            longest_ns: requests.iter().map(Request::duration_ns).max().unwrap_or(0),
            are_timed_out: are_timed_out(lengths(requests.iter().filter(|one| one.answer == Answer::GivenUp)), all),
            requests,
        })
    }

    /// How many of them waited at once, bucket by bucket, where that is a hang: threads hang meanwhile, or their clients gave up.
    pub(crate) fn hanging(&self, sources: &Sources<'_>, account: &Account) -> Vec<f64> {
        let grid = account.grid;
        let mut waiting_ns = grid.zeros();
        for one in &self.requests {
            grid.spread(&mut waiting_ns, one.from_ns, one.to_ns, one.duration_ns().max(0) as f64 * one.weight);
        }
        let stuck = stuck(sources, account);
        let is_hang = |index: usize| {
            let from_ns = grid.start_of(index);
            self.are_timed_out || stuck.touches(from_ns, grid.start_of(index + 1))
        };
        let values = waiting_ns.iter().enumerate();
        values.map(|(index, ns)| if is_hang(index) { ns / BUCKET_NS as f64 } else { 0.0 }).collect()
    }
}

/// Whether so many of all requests were given up after about the same time.
fn are_timed_out(mut given_up: Vec<(i64, f64)>, all: f64) -> bool {
    const MIN_GIVEN_UP: f64 = 10.0;
    const MIN_SHARE_GIVEN_UP: f64 = 0.5;
    const ALIKE: f64 = 1.2;
    let count = 0.0 + given_up.iter().map(|one| one.1).sum::<f64>();
    let spread = quantile(&mut given_up, 0.1).zip(quantile(&mut given_up, 0.9));
    count >= MIN_GIVEN_UP && count >= MIN_SHARE_GIVEN_UP * all && spread.is_some_and(|(low, high)| high <= ALIKE * low)
}

/// When some thread of the application waited without end for what no healthy one waits for so long.
fn stuck(sources: &Sources<'_>, account: &Account) -> Intervals {
    let own = account.partition.recorded().filter(|(tid, _)| sources.is_application(*tid));
    Intervals::union(own.flat_map(|(_, recorded)| long_waits(recorded)).collect())
}

/// Waits of one thread that follow each other, as those that were sampled do, and are long together.
fn long_waits(recorded: &[Segment]) -> Vec<(i64, i64)> {
    const LONG_NS: i64 = 5_000_000_000;
    const SAME_NS: i64 = 500_000_000;
    let mut waits: Vec<(i64, i64)> = Vec::new();
    for wait in recorded.iter().filter(|segment| segment.state.row().is_never_long) {
        match waits.last_mut().filter(|last| wait.from_ns.saturating_sub(last.1) < SAME_NS) {
            Some(last) => last.1 = wait.to_ns,
            None => waits.push((wait.from_ns, wait.to_ns)),
        }
    }
    waits.retain(|(from_ns, to_ns)| to_ns.saturating_sub(*from_ns) >= LONG_NS);
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::states::{ThreadState, Wait};

    #[test]
    fn clients_that_time_out_give_up_alike() {
        let many = |lengths: &[i64]| lengths.iter().map(|ns| (*ns, 5.0)).collect::<Vec<_>>();
        for (given_up, all, are) in [
            (many(&[5_000, 5_010, 5_001, 5_500]), 30.0, true),
            (many(&[5_000, 5_010, 5_001, 5_500]), 50.0, false),
            (many(&[1_000, 5_010, 9_000, 20_500]), 20.0, false),
            (many(&[5_000]), 5.0, false),
            (Vec::new(), 100.0, false),
        ] {
            assert_eq!(are_timed_out(given_up, all), are);
        }
    }

    #[test]
    fn waits_of_a_thread_that_hangs_are_one() {
        let lock = ThreadState::Blocked(Wait::Lock);
        let wait = |from_ms: i64, to_ms: i64, state| Segment {
            from_ns: from_ms * 1_000_000,
            to_ns: to_ms * 1_000_000,
            state,
            row: None,
        };
        let found = long_waits(&[
            wait(0, 3_000, lock),
            wait(3_100, 5_200, lock),
            wait(9_000, 13_000, lock),
            wait(20_000, 40_000, ThreadState::Idle),
        ]);
        assert_eq!(found, [(0, 5_200_000_000)]);
    }
}
