//! The executors of a recording, and whether their workers were at work.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::kinds::{event, span};
use fathom_evidence::tables::Sample;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{Intervals, ThreadState, Wait};

use super::line::{Line, Waiters};
use crate::comparison::stem;
use crate::limits::MIN_SAMPLES;
use crate::measure::stacks::{self, is_below};
use crate::period::Period;
use crate::{Comparison, format};

/// What a worker of an executor runs below.
const WORKERS: &[&str] =
    &["java.util.concurrent.ThreadPoolExecutor.runWorker", "java.util.concurrent.ForkJoinWorkerThread.run"];

/// Where it waits for the next task.
const TAKING: &[&str] =
    &["java.util.concurrent.ThreadPoolExecutor.getTask", "java.util.concurrent.ForkJoinPool.awaitWork"];

/// An executor with what its workers did while others waited for results in the slow time, more of them than it has workers where that was so.
pub(super) struct Pool {
    /// What the names of its threads begin with.
    pub(super) name: String,
    pub(super) workers: BTreeSet<i64>,
    /// Who waited meanwhile.
    pub(super) line: Line,
    /// The part of the workers' time in which they were seen to run or to wait for something.
    pub(super) seen: f64,
    /// The part of it in which they had nothing to do.
    pub(super) idle: f64,
    /// Where they were seen most.
    pub(super) stack: StackId,
}

/// The executors of the recording: threads whose names differ at most in a number at the end. At least one was seen below a
/// worker's loop, and threads that are none of them may wait for their results.
pub(super) fn pools(comparison: &Comparison<'_>, waiters: &Waiters<'_>) -> Vec<Pool> {
    let mut names: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    for (tid, _) in comparison.recording().threads.iter() {
        names.entry(stem(comparison.thread_name(tid))).or_default().insert(tid);
    }
    let workers = workers_seen(comparison);
    let is_pool = |name: &str, tids: &BTreeSet<i64>| !name.is_empty() && tids.iter().any(|tid| workers.contains(tid));
    let pools = names.into_iter().filter(|(name, tids)| is_pool(name, tids));
    let pools = pools.map(|(name, workers)| (name, waiters.line(&workers), workers));
    let waited_for = pools.filter(|(_, line, _)| !line.time.is_empty());
    waited_for.map(|(name, line, workers)| Pool::of(comparison, name, workers, line)).collect()
}

/// Threads that were seen below the loop of a worker, in samples or in their waits for work.
fn workers_seen(comparison: &Comparison<'_>) -> BTreeSet<i64> {
    let mut is_worker = stacks::are_below(comparison.recording(), WORKERS);
    let events = [event::CPU, event::EXECUTION, event::WALL, event::WAIT];
    let samples = events.into_iter().flat_map(|event| comparison.sources().samples(event));
    let mut found: BTreeSet<i64> = samples.filter(|s| is_worker(s.stack_id)).map(|sample| sample.tid).collect();
    let parks = comparison.sources().spans(span::PARK);
    found.extend(parks.filter(|park| is_worker(park.stack_id)).map(|park| park.tid));
    found
}

impl Pool {
    /// The part of the tasks that find no free worker, where these are busy for as long as they are and tasks come at random times (Erlang's
    /// formula): of one worker as much as it is busy, of many little until they hardly have a break.
    pub(super) fn waiting_tasks(&self) -> f64 {
        let busy = (1.0 - self.idle).clamp(0.0, 1.0);
        let offered = busy * self.workers.len() as f64;
        let lost = (1..=self.workers.len()).fold(1.0, |lost, count| offered * lost / (count as f64 + offered * lost));
        if busy < 1.0 { lost / (1.0 - busy * (1.0 - lost)) } else { 1.0 }
    }

    /// How full it was, as a sentence without an end.
    pub(super) fn says_how_full(&self) -> String {
        const ALL_BUSY: f64 = 0.1;
        let (count, name) = (self.workers.len(), &self.name);
        if self.idle <= ALL_BUSY {
            return format!("all {count} workers of {name} were busy");
        }
        let workers = format::count(count, "worker");
        let (idle, waiting) = (format::percent(self.idle), format::percent(self.waiting_tasks()));
        format!(
            "{workers} of {name} had nothing to do for {idle} of the time only, so that about {waiting} of the tasks had to wait"
        )
    }

    fn of(comparison: &Comparison<'_>, name: &str, workers: BTreeSet<i64>, line: Line) -> Pool {
        let (period, time) = (&comparison.slow, &line.time);
        let takes_tasks = takes_tasks(comparison, &workers);
        let (seen, idle, stack) = by_wall(period, &workers, &takes_tasks, time)
            .or_else(|| by_waits(period, &takes_tasks, time))
            .or_else(|| is_at_one_task(comparison, &workers, &takes_tasks).then_some((0.0, 0.0, StackId::default())))
            .unwrap_or_else(|| by_account(comparison, &workers, time));
        let is_numbered = workers.iter().any(|tid| comparison.thread_name(*tid) != name);
        Pool { name: format!("{name}{}", if is_numbered { "N" } else { "" }), seen, idle, workers, line, stack }
    }
}

/// The parts of the workers' time in which they were at work and had nothing to do, and where they were seen most, as samples of
/// the wall clock have it; none where these are too few.
fn by_wall(
    period: &Period<'_>,
    workers: &BTreeSet<i64>,
    takes_tasks: &BTreeSet<i64>,
    time: &Intervals,
) -> Option<(f64, f64, StackId)> {
    let recording = period.sources.recording;
    let is_one = |sample: &Sample| workers.contains(&sample.tid) && time.contains(sample.time_ns);
    let samples: Vec<Sample> = period.samples(event::WALL).filter(is_one).collect();
    let (mut weights, mut idle_ns, mut all_ns) = (BTreeMap::new(), 0.0, 0.0);
    let is_at_a_task = |sample: &Sample| takes_tasks.contains(&sample.tid) && is_in_a_task(recording, sample.stack_id);
    for sample in &samples {
        let ns = sample.weight_ns.max(0) as f64;
        all_ns += ns;
        match fathom_timeline::of_standing(recording, sample.stack_id) {
            Some(state) if is_nobodys_work(state) && !is_at_a_task(sample) => idle_ns += ns,
            _ => *weights.entry(sample.stack_id).or_default() += ns,
        }
    }
    let at_work_ns: f64 = 0.0 + weights.values().sum::<f64>();
    let part = |ns: f64| ns / f64::max(all_ns, 1.0);
    (samples.len() >= MIN_SAMPLES).then(|| (part(at_work_ns), part(idle_ns), stacks::most_seen(&weights)))
}

/// The same by samples of the waits and of what ran; none where few were taken.
fn by_waits(period: &Period<'_>, workers: &BTreeSet<i64>, time: &Intervals) -> Option<(f64, f64, StackId)> {
    let recording = period.sources.recording;
    let is_one = |sample: &Sample| workers.contains(&sample.tid) && time.contains(sample.time_ns);
    let waits: Vec<Sample> = period.samples(event::WAIT).filter(is_one).collect();
    let (ran_ns, mut weights) = sampled(period, is_one);
    let (mut work_ns, mut idle_ns) = (ran_ns, 0.0);
    for wait in waits.iter().filter(|wait| wait.stack_id != StackId::default()) {
        let ns = wait.weight_ns.max(0) as f64;
        if is_in_a_task(recording, wait.stack_id) {
            work_ns += ns;
            *weights.entry(wait.stack_id).or_default() += ns;
        } else {
            idle_ns += ns;
        }
    }
    let all_ns = (time.total_ns() as f64 * workers.len() as f64).max(1.0);
    let part = |ns: f64| (ns / all_ns).min(1.0);
    (waits.len() >= MIN_SAMPLES).then(|| (part(work_ns), part(idle_ns), stacks::most_seen(&weights)))
}

/// Whether a worker waits within a task, and for no result: whatever it waits for there, it takes no other task meanwhile.
fn is_in_a_task(recording: &Recording, stack: StackId) -> bool {
    let is_for_a_result = fathom_timeline::of_standing(recording, stack) == Some(ThreadState::Blocked(Wait::Task));
    is_below(recording, stack, WORKERS) && !is_below(recording, stack, TAKING) && !is_for_a_result
}

/// Whether no worker was seen to take a task, nor the JVM asked: they may have been full all the time, or run tasks that never end.
fn is_at_one_task(comparison: &Comparison<'_>, workers: &BTreeSet<i64>, takes_tasks: &BTreeSet<i64>) -> bool {
    let mut waits = comparison.sources().samples(event::WAIT).filter(|wait| workers.contains(&wait.tid));
    takes_tasks.is_empty() && waits.next().is_some() && comparison.sources().spans(span::PARK).len() == 0
}

/// Those of the workers that came back for another task. A task that never ends, such as one that polls, is no work that others
/// stand in line for.
fn takes_tasks(comparison: &Comparison<'_>, workers: &BTreeSet<i64>) -> BTreeSet<i64> {
    let mut is_taking = stacks::are_below(comparison.recording(), TAKING);
    let looks = [event::WAIT, event::WALL].into_iter().flat_map(|event| comparison.sources().samples(event));
    let looks = looks.filter(|look| workers.contains(&look.tid));
    looks.filter(|look| is_taking(look.stack_id)).map(|look| look.tid).collect()
}

/// Whether a worker has nothing to do. A worker that waits for a result itself is not what the others wait for.
pub(super) fn is_nobodys_work(state: ThreadState) -> bool {
    matches!(state, ThreadState::Idle | ThreadState::Unknown | ThreadState::Blocked(Wait::Unnamed | Wait::Task))
}

/// The same by what is known of their waits, and samples of those that ran.
fn by_account(comparison: &Comparison<'_>, workers: &BTreeSet<i64>, time: &Intervals) -> (f64, f64, StackId) {
    let all_ns = time.total_ns() as f64 * workers.len() as f64;
    let (mut waited_ns, mut idle_ns) = (0.0, 0.0);
    for (_, recorded) in comparison.analysis.account.partition.recorded().filter(|(tid, _)| workers.contains(tid)) {
        for segment in recorded {
            let ns = segment.within_ns(time) as f64;
            *(if is_nobodys_work(segment.state) { &mut idle_ns } else { &mut waited_ns }) += ns;
        }
    }
    let is_one = |sample: &Sample| workers.contains(&sample.tid) && time.contains(sample.time_ns);
    let (sampled_ns, mut weights) = sampled(&comparison.slow, is_one);
    weights.extend(waits_at_work(&comparison.slow, is_one));
    let part = |ns: f64| (ns / all_ns.max(1.0)).min(1.0);
    (part(waited_ns + sampled_ns), part(idle_ns), stacks::most_seen(&weights))
}

/// For how long threads ran, by the kind of samples that saw most of it, and where.
fn sampled(period: &Period<'_>, is_one: impl Fn(&Sample) -> bool) -> (f64, BTreeMap<StackId, f64>) {
    let of = |event: &str| {
        let weights = weights(period.samples(event).filter(&is_one));
        (0.0 + weights.values().sum::<f64>(), weights)
    };
    let (cpu, execution) = (of(event::CPU), of(event::EXECUTION));
    if cpu.0 >= execution.0 { cpu } else { execution }
}

/// Where threads waited while they were at work.
fn waits_at_work(period: &Period<'_>, is_one: impl Fn(&Sample) -> bool) -> BTreeMap<StackId, f64> {
    let is_at_work = |sample: &Sample| {
        fathom_timeline::of_standing(period.sources.recording, sample.stack_id)
            .is_some_and(|state| !is_nobodys_work(state))
    };
    weights(period.samples(event::WAIT).filter(|sample| is_one(sample) && is_at_work(sample)))
}

fn weights(samples: impl Iterator<Item = Sample>) -> BTreeMap<StackId, f64> {
    let mut weights = BTreeMap::new();
    samples.for_each(|sample| *weights.entry(sample.stack_id).or_default() += sample.weight_ns.max(0) as f64);
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_workers_few_tasks_wait_until_they_hardly_have_a_break() {
        let waiting = |workers: i64, busy: f64| {
            let line = Line { time: Intervals::default(), beyond: 0.0 };
            let (seen, idle, stack) = (busy, 1.0 - busy, StackId::default());
            let pool = Pool { name: "pool-N".to_owned(), workers: (0..workers).collect(), line, seen, idle, stack };
            (pool.waiting_tasks() * 100.0).round()
        };
        assert_eq!([0.0, 0.3, 0.7, 1.0].map(|busy| waiting(1, busy)), [0.0, 30.0, 70.0, 100.0]);
        assert_eq!([0.5, 0.7, 0.9, 1.0].map(|busy| waiting(2, busy)), [33.0, 58.0, 85.0, 100.0]);
        assert_eq!([0.5, 0.7, 0.9, 0.95].map(|busy| waiting(20, busy)), [0.0, 9.0, 55.0, 76.0]);
    }
}
