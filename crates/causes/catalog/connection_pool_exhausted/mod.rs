//! Threads wait for a connection (or another object) from a pool whose objects are all in use.

mod ceiling;
mod pool_users;

use fathom_evidence::kinds::{event, span};
use fathom_timeline::{Root, ThreadState, Wait};

use crate::limits::{HALF_A_THREAD, MIN_OWNERS_WAITING_SHARE};
use crate::measure::waits::{self, Waits};
use crate::measure::{cpu_shortage, event_loops, recording_threshold};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Support, format};
use pool_users::Users;

pub(crate) static CAUSE: Cause = Cause {
    id: "connection_pool_exhausted",
    readme: include_str!("README.md"),
    family: Family::Locks,
    refines: &[],
    equals: &[(
        &["accept_queue_overflow", "dns_slow", "sleeping_handlers", "slow_downstream"],
        "of time that was not recorded each claims what was measured of it elsewhere",
    )],
    has_lab: true,
    collectors: &["jfr", "requests"],
    needs: &[&[Need::Event("jdk.ThreadPark"), Need::Spans(span::SAMPLED_WAIT, "waits")]],
    actions: &[
        "return connections earlier: nothing slow, no call of another service and no page of results between taking one and \
         returning it",
        "look for connections that are never returned: HikariCP's leakDetectionThreshold, DBCP's logAbandoned",
        "a larger pool (maximumPoolSize, maxTotal), if the server behind it can take more at once",
    ],
    decide,
};

const NONE_IN_HAND: &str =
    "no thread in the dumps of the slow time had one in hand: they may have been taken and not given back";

fn decide(comparison: &Comparison<'_>) -> Finding {
    let waiting = comparison.state_evidence("threads waiting for an object of a pool", "threads", is_ours);
    let Some((pool, waits)) = waits::most(comparison, Wait::Pool) else {
        let unseen = || event_loops::unseen(comparison, "objects of pools");
        return ceiling::find(comparison).or_else(unseen).unwrap_or_else(|| {
            recording_threshold::of_waits(comparison, &["jdk.ThreadPark"], "waits for an object of a pool")
        });
    };
    let before = waits::mean_before_ns(comparison, Wait::Pool, &pool);
    let mean = mean(comparison, &pool, &waits, before);
    let text = says(&waiting, &pool, &waits, before);
    if waiting.baseline.is_some_and(|before| waiting.value <= before) {
        let text = format!("{text}: no more than in the baseline");
        // What it is compared with may have been as bad.
        let finding = match waits.total_ns as f64 >= HALF_A_THREAD * comparison.slow.time.total_ns() as f64
            && comparison.is_slow()
        {
            true => Finding::unknown(&text, "fathom explain … --baseline RECORDING"),
            false => Finding::absent(text),
        };
        return finding.with(waiting).with(mean);
    }
    let on_a_service = part_on_a_service(comparison);
    let text = match on_a_service >= MIN_OWNERS_WAITING_SHARE {
        true => {
            format!(
                "{text}; in {} of that time users of connections waited for a service",
                format::percent(on_a_service)
            )
        }
        false => text,
    };
    let text = match Users::of(comparison) {
        Some(users) => format!("{text}; {}", users.says()),
        None if has_dumps(comparison) && pool_users::knows(&pool) => format!("{text}; {NONE_IN_HAND}"),
        None => text,
    };
    // Whoever has the connections may have waited for a CPU.
    let support = if cpu_shortage(comparison).by_others.is_some() { Support::Weak } else { Support::Observed };
    let mut finding = Finding::new(support, text).with(waiting).with(mean).claiming(comparison, is_ours);
    if on_a_service >= MIN_OWNERS_WAITING_SHARE {
        finding.chain.push("slow_downstream");
    }
    finding
}

/// Whether any thread was seen in a dump in the slow time.
fn has_dumps(comparison: &Comparison<'_>) -> bool {
    comparison.slow.samples(event::DUMP).next().is_some()
}

fn is_ours(state: ThreadState) -> bool {
    state == ThreadState::Blocked(Wait::Pool)
}

/// The part of the waiting during which the service behind the pool was waited for.
fn part_on_a_service(comparison: &Comparison<'_>) -> f64 {
    let is_on_a_service = |root: &Root| root.segment.state == ThreadState::Blocked(Wait::Socket);
    let waits = comparison.resolved().iter().filter(|piece| piece.wait == Wait::Pool);
    let (on_a_service, all) = waits.fold((0.0, 0.0), |(part, all), piece| {
        let is_one = piece.root.as_ref().is_some_and(is_on_a_service);
        (part + if is_one { piece.waiting_ns } else { 0.0 }, all + piece.waiting_ns)
    });
    if all > 0.0 { on_a_service / all } else { 0.0 }
}

fn says(waiting: &Evidence, pool: &str, waits: &Waits, before: Option<f64>) -> String {
    let earlier = format::baseline(waiting.baseline, format::number);
    let usual = format::instead_of(before.filter(|before| *before > 0.0));
    format!(
        "{} threads wait for an object of a pool on average{earlier}; most in {pool}: {}",
        format::number(waiting.value),
        waits.says(&usual)
    )
}

fn mean(comparison: &Comparison<'_>, pool: &str, waits: &Waits, before: Option<f64>) -> Evidence {
    let mean = comparison.evidence(&format!("mean wait in {pool}"), (waits.mean_ns(), before), "ns", "spans");
    Evidence { stack: comparison.stack_text(waits.stack, 12), ..mean.of(&[span::PARK, span::MONITOR_WAIT]) }
}
