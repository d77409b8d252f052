//! The recordings of a folder as one series of runs over time, with the numbers and marks of `fathom runs`.

use fathom_compare::{History, MAX_RUNS, Mark, Run};
use serde::Serialize;

use super::Answer;

/// The newest runs that were read, in order of time, each with the number of its recording. A folder may have any number of
/// recordings, and each run has hundreds of facts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(Vec<(u32, Run)>);

impl Series {
    /// Adds the run of a recording, which may be in the series already; of more than [`MAX_RUNS`] the oldest is dropped.
    pub(crate) fn add(&mut self, id: u32, run: Run) {
        self.0.retain(|(known, _)| *known != id);
        let place = self.0.partition_point(|(known, other)| (other.from_ns, *known) < (run.from_ns, id));
        self.0.insert(place, (id, run));
        if self.0.len() > MAX_RUNS {
            self.0.remove(0);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Recordings that are not in the series.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Missing {
    /// They were not read so far.
    pub(crate) unread: usize,
    /// They could not be read.
    pub(crate) unreadable: usize,
    /// They are older than those of the series, which has its limit.
    pub(crate) left_out: usize,
}

#[derive(Serialize)]
struct Runs<'a> {
    /// As `fathom runs --json` prints it.
    #[serde(flatten)]
    history: &'a History,
    /// The recording of each run.
    recordings: Vec<u32>,
    /// The marks in words.
    changes: Vec<Change>,
    /// The causes of all runs, the first one lost the most time.
    lost: Vec<Cause<'a>>,
    #[serde(flatten)]
    missing: Missing,
}

#[derive(Serialize)]
struct Change {
    by: String,
    with_it: Vec<String>,
}

#[derive(Serialize)]
struct Cause<'a> {
    id: &'a str,
    name: &'a str,
    /// Lost time per request of each run, or per second where requests are not known.
    ns: Vec<f64>,
}

/// Answers `runs`.
pub(crate) fn answer(series: Series, missing: Missing) -> Answer {
    let (recordings, runs): (Vec<u32>, Vec<Run>) = series.0.into_iter().unzip();
    // They are in order of time, in which they stay.
    let history = History::of(runs);
    let change = |mark: &Mark| Change { by: mark.by(), with_it: mark.with_it() };
    Answer::json(&Runs {
        recordings,
        changes: history.marks.iter().map(change).collect(),
        lost: history.causes().into_iter().map(|id| cause(id, &history.runs)).collect(),
        history: &history,
        missing,
    })
}

fn cause<'a>(id: &'a str, runs: &[Run]) -> Cause<'a> {
    let name = fathom_causes::cause(id).map_or(id, |cause| cause.name());
    let lost = |run: &Run| run.per_unit(run.causes.get(id).copied().unwrap_or(0.0));
    Cause { id, name, ns: runs.iter().map(lost).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(from_ns: i64) -> Run {
        Run { from_ns, ..Run::default() }
    }

    fn numbers(series: &Series) -> Vec<u32> {
        series.0.iter().map(|(id, _)| *id).collect()
    }

    #[test]
    fn runs_are_in_order_of_time_and_are_there_once() {
        let mut series = Series::default();
        for (id, from_ns) in [(0, 30), (1, 10), (2, 20), (3, 20), (0, 30)] {
            series.add(id, run(from_ns));
        }
        assert_eq!(numbers(&series), [1, 2, 3, 0]);
    }

    #[test]
    fn of_many_runs_the_newest_are_kept() {
        let mut series = Series::default();
        let most = MAX_RUNS as u32;
        for id in 0..most + 5 {
            series.add(id, run(-i64::from(id)));
        }
        // The newest ones came first.
        assert_eq!(numbers(&series), (0..most).rev().collect::<Vec<_>>());
    }
}
