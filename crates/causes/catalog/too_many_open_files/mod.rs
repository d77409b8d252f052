//! The process has reached its limit of open files: it can accept no connection, open no file, start no child.

use fathom_evidence::kinds::{counter, subject};
use fathom_timeline::{Intervals, Series, SignalKind, ThreadState};

use crate::cause::Claim;
use crate::measure::sleeps;
use crate::measure::syscalls::{self, ByThread};
use crate::measure::waits_below::WaitsBelow;
use crate::{Cause, Comparison, Family, Finding, Harm, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "too_many_open_files",
    readme: include_str!("README.md"),
    family: Family::Queues,
    refines: &[Refined::Cause("accept_queue_overflow"), Refined::Cause("sleeping_handlers")],
    equals: &[],
    has_lab: true,
    collectors: &["sockets", "facts", "system_calls"],
    needs: &[&[Need::Counter(counter::OPEN_FILES_COUNT)]],
    actions: &[
        "find what stays open: `ls -l /proc/PID/fd | awk '{print $NF}' | sort | uniq -c | sort -n`; close it (try-with-resources), or bound the pool that holds it",
        "raise the limit where the service is started (LimitNOFILE= of the unit, `ulimit -n`, the container's ulimits): a leak comes back later",
    ],
    decide,
};

/// From this part of the limit on it counts as reached: the files are counted every two seconds, and come and go between.
const REACHED: f64 = 0.98;

/// System calls that need a descriptor of their own.
const OPENING: &[&str] = &[
    "accept",
    "accept4",
    "socket",
    "socketpair",
    "open",
    "openat",
    "pipe2",
    "dup",
    "epoll_create1",
    "eventfd2",
    "inotify_init1",
];

fn decide(comparison: &Comparison<'_>) -> Finding {
    let open = comparison.sources().counter(counter::OPEN_FILES_COUNT, "");
    let Some(most) = comparison.slow.max(&open) else {
        return Finding::needs_kernel("how many files the process has open was not recorded");
    };
    let before = comparison.baseline_looked_at().and_then(|period| period.max(&open));
    let evidence =
        comparison.evidence("open files", (most, before), "count", "counters").of(&[counter::OPEN_FILES_COUNT]);
    let Some(limit) = limit(comparison) else {
        return Finding::needs_kernel("how many files the process may have open was not recorded").with(evidence);
    };
    let counted =
        format!("{} of the {} files that the process may have open", format::number(most), format::number(limit));
    if most < REACHED * limit {
        return Finding::absent(format!("at most {counted} were")).with(evidence);
    }
    let failed = failed(comparison);
    let (support, calls) = match failed {
        Some((now, before)) if now > before => {
            (Support::Observed, format!("; {} calls for another one failed each second", format::number(now)))
        }
        Some(_) => {
            return Finding::absent(format!("{counted} were, and no more calls for another one failed")).with(evidence);
        }
        None => (Support::Consistent, "; whether calls for another one failed was not recorded".to_owned()),
    };
    let when = reached(&open, limit).intersect(&comparison.slow.time);
    let unread_ns = unread_ns(comparison, &when);
    let mut finding = Finding::new(support, format!("{counted} were{calls}")).with(evidence);
    finding.claims.extend((unread_ns > 0.0).then(|| Claim::part(ThreadState::Unknown, unread_ns)));
    finding.claims.extend(before_another_attempt(comparison, &when));
    finding.harm = Some(Harm { happened_in: Vec::new(), when });
    finding
}

/// The limit that is in force: the soft one, which the JVM raises to the hard one when it starts.
fn limit(comparison: &Comparison<'_>) -> Option<f64> {
    let limits = comparison.recording().fact(subject::PROCESS, "limit.open_files")?;
    limits.split_whitespace().next()?.parse().ok()
}

/// Calls that need a descriptor and failed, each second, in the slow time and before; nothing where calls were not counted.
fn failed(comparison: &Comparison<'_>) -> Option<(f64, f64)> {
    if !comparison.sources().has_counter(counter::SYSTEM_CALLS_FAILED_COUNT) {
        return None;
    }
    let (now, before) = syscalls::both(comparison, |period| {
        ByThread::of(period, counter::SYSTEM_CALLS_FAILED_COUNT, OPENING).rise(period, |_| true) / period.seconds()
    });
    Some((now, before.unwrap_or(0.0)))
}

/// When the limit was reached. A number holds until the next one.
fn reached(open: &Series, limit: f64) -> Intervals {
    let held = open.0.windows(2).filter(|pair| pair[0].1 >= REACHED * limit);
    Intervals::union(held.map(|pair| (pair[0].0, pair[1].0)).collect())
}

/// Sleeps meanwhile, as far as threads slept less before: of who accepts or opens, and tries again.
fn before_another_attempt(comparison: &Comparison<'_>, when: &Intervals) -> Vec<Claim> {
    let slept = WaitsBelow::asleep(&comparison.slow, sleeps::are_sleeps(comparison.recording()));
    let meanwhile_ns: i64 = slept.iter().map(|sleep| when.within_ns(sleep.time_ns, sleep.end_ns())).sum();
    Claim::parts_in_order(comparison, &sleeps::STATES, meanwhile_ns as f64)
}

/// How long requests waited meanwhile in sockets that were not accepted or read, if requests define the slow time. That is
/// in no thread's account.
fn unread_ns(comparison: &Comparison<'_>, when: &Intervals) -> f64 {
    if !comparison.slowdown.signals.contains(&SignalKind::RequestLatency) {
        return 0.0;
    }
    let requests = comparison.sources().traffic.measured_requests();
    let unread =
        requests.map(|one| when.within_ns(one.from_ns, one.from_ns.saturating_add(one.unread_ns)) as f64 * one.weight);
    0.0 + unread.sum::<f64>()
}
