//! Threads wait for results of an executor whose workers are all busy, so that tasks wait in its queue.

mod line;
mod workers;

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::StackId;
use fathom_evidence::kinds::{event, span};
use fathom_timeline::{Intervals, ThreadState, Wait, telling_frame};

use self::line::{Line, Waiters};
use self::workers::{Pool, is_nobodys_work, pools};
use crate::cause::Claim;
use crate::measure::{recording_threshold, stacks, waits};
use crate::period::Period;
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Support, format, latency};

pub(crate) static CAUSE: Cause = Cause {
    id: "thread_pool_exhausted",
    readme: include_str!("README.md"),
    family: Family::Locks,
    refines: &[],
    equals: &[(&["slow_downstream"], "each claims of the waits for answers the part that it measured itself")],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::Event("jdk.ThreadPark"), Need::Spans(span::SAMPLED_WAIT, "waits")]],
    actions: &[
        "shorten what the workers do: their stack is in the evidence",
        "keep tasks that wait (for services, locks, files) out of an executor of a few threads, or give them one of their own",
        "more workers, if there are CPUs for them; a bounded queue refuses early instead of late",
    ],
    decide,
};

/// Where this part of the tasks find no free worker, what waits in the queue is most of what is late; where fewer than that do, it is not
/// much.
const MOST_WAIT: f64 = 0.5;
const FEW_WAIT: f64 = 0.1;

/// A worker that was seen at work for less than this part of the time may have been idle: too short parks are not recorded.
const MIN_SEEN_AT_WORK: f64 = 0.5;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let waiting = comparison.state_evidence("threads waiting for results of other threads", "threads", is_ours);
    let Some((call, waits)) = waits::most(comparison, Wait::Task) else {
        return recording_threshold::of_waits(comparison, &["jdk.ThreadPark"], "waits for results of other threads");
    };
    if is_as_before(comparison) {
        return Finding::absent("no more threads than in the baseline wait for results of other threads").with(waiting);
    }
    let waiters = Waiters::of(comparison, &comparison.slow.time);
    let pools = pools(comparison, &waiters);
    let is_full = |pool: &&Pool| pool.waiting_tasks() >= MOST_WAIT && pool.seen >= MIN_SEEN_AT_WORK;
    let Some(pool) = pools.iter().filter(is_full).max_by(|a, b| a.seen.total_cmp(&b.seen)) else {
        return no_full_pool(comparison, &pools).with(waiting);
    };
    // Each worker serves one at a time: the others stand in line.
    let in_line = pool.line.beyond;
    let grown = in_line - before(comparison, &pool.workers).map_or(0.0, |line| line.beyond);
    if grown <= 0.0 {
        return several_for_each(comparison, pool, &waiting).with(waiting);
    }
    let (call, waits) = waits::most_of(comparison, Wait::Task, |tid| waiters.has(tid)).unwrap_or((call, waits));
    let text = format!(
        "{} while threads waited for results ({} of their time seen at work), {} of which \
         stood in line on average; most in {call}: {}, mean {}, longest {}",
        pool.says_how_full(),
        format::percent(pool.seen),
        format::number(in_line),
        format::count(waits.count, "wait"),
        format::time(waits.mean_ns()),
        format::time(waits.longest_ns as f64)
    );
    let text = text + &of_workers(comparison, pool);
    // It was not recorded that the awaited tasks were in the queue of this executor.
    let mut finding = Finding::new(Support::Consistent, text).with(waiting).with(at_work(comparison, pool));
    finding.claims.push(Claim::part(ThreadState::Blocked(Wait::Task), grown * comparison.excess().slow_ns));
    // What keeps the workers from those that stand in line.
    finding.claims.extend(more_of_the_same(comparison, &pool.workers));
    finding
}

/// Who waited for results when nothing was slow.
fn before(comparison: &Comparison<'_>, workers: &BTreeSet<i64>) -> Option<Line> {
    let baseline = comparison.baseline_here()?;
    Some(Waiters::of(comparison, &baseline.time).line(workers))
}

/// No more threads wait than there are workers, and all workers are busy: each thread waits for several queued tasks, or
/// its tasks do more than before. Tasks do more of the same if their own waits take as long as before.
fn several_for_each(comparison: &Comparison<'_>, pool: &Pool, waiting: &Evidence) -> Finding {
    let workers = pool.workers.len();
    let more = more_of_the_same(comparison, &pool.workers);
    if workers < 2 || more.is_empty() {
        let says = format!(
            "{} threads wait for results of other threads, no more than {} has workers ({workers})",
            format::number(waiting.value),
            pool.name
        );
        return Finding::absent(says);
    }
    let text = format!(
        "all {workers} workers of {} were busy while threads waited for results ({} of their time seen at work): they do more of what they \
         did before, none of which takes longer; either results of several tasks are waited for, which stand in line, or each task does \
         more",
        pool.name,
        format::percent(pool.seen)
    );
    let mut finding = Finding::new(Support::Weak, text + &of_workers(comparison, pool)).with(at_work(comparison, pool));
    finding.claims.push(Claim::all(ThreadState::Blocked(Wait::Task)));
    finding.claims.extend(more);
    finding
}

/// The waits of workers that are many more than before, and take as long.
fn more_of_the_same(comparison: &Comparison<'_>, workers: &BTreeSet<i64>) -> Vec<Claim> {
    const MANY_MORE: f64 = 2.0;
    const AS_LONG_AT_MOST: f64 = 1.25;
    let Some(baseline) = comparison.baseline_here() else { return Vec::new() };
    let before = line::waits_of(comparison, workers, &baseline.time);
    let now = line::waits_of(comparison, workers, &comparison.slow.time);
    let is_more = |state: &ThreadState, waits: &[(i64, i64, i64)]| {
        let rate = |waits: &[(i64, i64, i64)], period: &Period<'_>| waits.len() as f64 / period.seconds();
        let mean_ns = |waits: &[(i64, i64, i64)]| {
            let all_ns: f64 = waits.iter().map(|(_, from_ns, to_ns)| to_ns.saturating_sub(*from_ns) as f64).sum();
            all_ns / waits.len().max(1) as f64
        };
        before.get(state).is_some_and(|before| {
            rate(waits, &comparison.slow) >= MANY_MORE * rate(before, baseline)
                && mean_ns(waits) <= AS_LONG_AT_MOST * mean_ns(before)
        })
    };
    let more = now.into_iter().filter(|(state, waits)| !is_nobodys_work(*state) && is_more(state, waits));
    more.map(|(state, waits)| Claim::during(state, Intervals::by_key(waits))).collect()
}

/// What the workers waited for themselves, where that is most of their time: it comes first.
fn of_workers(comparison: &Comparison<'_>, pool: &Pool) -> String {
    const MIN_SHARE_OF_WORKERS: f64 = 0.5;
    let mut waits: BTreeMap<ThreadState, (f64, BTreeMap<StackId, f64>)> = BTreeMap::new();
    let of_workers = comparison.slow_waits().filter(|(tid, ..)| pool.workers.contains(tid));
    for (_, segment, _) in of_workers.filter(|(_, segment, _)| !is_nobodys_work(segment.state)) {
        let ns = segment.within_ns(&comparison.slow.time) as f64;
        let (all_ns, by_stack) = waits.entry(segment.state).or_default();
        *all_ns += ns;
        let stack = segment.row.map(|row| comparison.recording().spans.row(row as usize).stack_id);
        *by_stack.entry(stack.unwrap_or_default()).or_default() += ns;
    }
    let all_ns = comparison.slow.time.total_ns() as f64 * pool.workers.len() as f64;
    let most = waits.into_iter().max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
    most.filter(|(_, (ns, _))| *ns >= MIN_SHARE_OF_WORKERS * all_ns).map_or(String::new(), |(state, (ns, stacks))| {
        let place = telling_frame(comparison.recording(), stacks::most_seen(&stacks));
        let place = place.map_or(String::new(), |frame| format!(" in {frame}"));
        format!("; the workers themselves were {state}{place} for {} of their time", format::percent(ns / all_ns))
    })
}

/// Growth of the waits, as a part of the lost time, that counts as none.
const NO_MORE_THAN_BEFORE: f64 = 0.01;

/// Whether the waits take no more time than when nothing was slow.
fn is_as_before(comparison: &Comparison<'_>) -> bool {
    let grown_ns = comparison.grown_ns(ThreadState::Blocked(Wait::Task));
    comparison.is_slow()
        && comparison.baseline.is_some()
        && grown_ns < NO_MORE_THAN_BEFORE * comparison.excess().lost_ns()
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Blocked(Wait::Task)
}

fn at_work(comparison: &Comparison<'_>, pool: &Pool) -> Evidence {
    let says = format!("part of the time in which the workers of {} were seen at work", pool.name);
    let evidence = comparison.evidence(&says, (pool.seen, None), "ratio", "samples");
    Evidence { stack: comparison.stack_text(pool.stack, 12), ..evidence.of(&[event::CPU, event::EXECUTION]) }
}

/// Without a full executor: one with free workers excludes it, an unknown one does not. Where it is not known when requests were late, a
/// mean over the whole recording hides some seconds in which it was full.
fn no_full_pool(comparison: &Comparison<'_>, pools: &[Pool]) -> Finding {
    if !comparison.is_slow() && !latency::are_requests_quick(comparison) {
        return Finding::needs_requests(
            "threads wait for results, and when requests were late, so that executors had to be full, is not known",
        );
    }
    let busiest = pools.iter().max_by(|a, b| a.waiting_tasks().total_cmp(&b.waiting_tasks()));
    let idle = |pool: &Pool| {
        let idle = format::percent(pool.idle);
        format!("the busiest executor, {}, had nothing to do for {idle} of its workers' time", pool.name)
    };
    match busiest {
        Some(pool) if pool.waiting_tasks() < FEW_WAIT => Finding::absent(idle(pool)),
        Some(pool) if pool.waiting_tasks() < MOST_WAIT => {
            let part = format::percent(pool.waiting_tasks());
            Finding::needs_kernel(&format!("{}, so that about {part} of its tasks had to wait for one", idle(pool)))
        }
        _ => Finding::needs_kernel("threads wait for results, but what the workers of executors did was not recorded"),
    }
}
