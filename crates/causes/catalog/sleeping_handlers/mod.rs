//! Threads that handle requests sleep meanwhile: before a retry, between two polls, to limit a rate.

mod by_the_clock;
mod native;
mod of_anybody;
mod parks;
mod timer;

use std::collections::BTreeMap;

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{Recording, StackId};
use fathom_timeline::{Intervals, Segment, Sources, ThreadState, Wait, begins_with, is_own};

use crate::cause::{Claim, ThreadTime};
use crate::explanation::DrillDown;
use crate::measure::waits_below::{self, WaitsBelow};
use crate::measure::{growth, handling, sleeps};
use crate::period::Period;
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Support, drill_down, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "sleeping_handlers",
    readme: include_str!("README.md"),
    family: Family::Locks,
    refines: &[],
    equals: &[
        (
            &["slow_downstream"],
            "requests were late while no thread was seen to wait: each claims as much as it measured itself",
        ),
        (&["thread_pool_exhausted"], "the worker whose result is waited for sleeps, and there are too few"),
    ],
    has_lab: true,
    collectors: &["jfr", "async_profiler", "system_calls"],
    needs: &[&[Need::Event("jdk.ThreadSleep"), Need::Spans(span::SAMPLED_WAIT, "waits")], &[Need::Requests]],
    actions: &[
        "find what fails or is late and is therefore tried again: the caller of the sleep is in the evidence",
        "few attempts under one deadline; no attempt without time left for its answer",
        "do not poll with sleep: wait for the event (a future, a condition), or free the thread and answer later",
    ],
    decide,
};

/// Beginnings of the frames of servers below which requests are handled. What idles, looks after sessions or keeps time is not
/// below them.
const SERVERS: &[&str] = &[
    "javax.servlet.",
    "jakarta.servlet.",
    "org.apache.catalina.core.ApplicationFilterChain.",
    "org.eclipse.jetty.server.",
    "io.undertow.server.",
    "io.undertow.servlet.",
    "com.sun.net.httpserver.",
    "sun.net.httpserver.",
    "org.springframework.web.",
    "org.glassfish.jersey.server.",
    "org.jboss.resteasy.",
    "io.vertx.core.http.",
    "io.netty.handler.codec.http",
    "io.netty.channel.AbstractChannelHandlerContext.",
    "io.grpc.",
    "io.helidon.webserver.",
    "io.micronaut.http.server.",
    "org.apache.thrift.server.",
    "org.apache.dubbo.",
    "org.apache.cassandra.transport.",
    "kafka.server.",
    "sun.rmi.server.",
];

fn decide(comparison: &Comparison<'_>) -> Finding {
    let handling = Handling::of(comparison);
    let clocked = by_the_clock::of_handlers(comparison, &handling);
    let (slow, baseline) = waits_below::both(comparison, |period| of_requests(period, &handling));
    let Some(longest) = slow.longest() else {
        let found = clocked.unwrap_or_else(|| by_the_clock::of_others(comparison));
        return if found.claims.is_empty() {
            of_unknown_threads(comparison, &handling).unwrap_or(found)
        } else {
            found
        };
    };
    let threads = (slow.threads(), baseline.as_ref().map(WaitsBelow::threads));
    let told = told(comparison, &slow, threads, longest, &handling);
    // Of many sleeps few are kept one by one.
    clocked.filter(|clocked| clocked.grown_ns(comparison) > told.grown_ns(comparison)).unwrap_or(told)
}

/// Sleeps of threads that were not seen to handle requests; else what a timer shows.
fn of_unknown_threads(comparison: &Comparison<'_>, handling: &Handling<'_>) -> Option<Finding> {
    let of_anybody = of_anybody::decide(comparison);
    match &of_anybody {
        Some(finding) if !finding.claims.is_empty() => of_anybody,
        _ => timer::decide(comparison, handling).or(of_anybody),
    }
}

/// Sleeps of handlers that were recorded one by one.
fn told(
    comparison: &Comparison<'_>,
    slow: &WaitsBelow,
    threads: (f64, Option<f64>),
    longest: &Span,
    handling: &Handling<'_>,
) -> Finding {
    let asleep = asleep(comparison, "threads asleep while they handle requests", threads, longest);
    let text = says(comparison, slow, threads, " while they handle requests");
    if !growth::grew(threads) {
        return Finding::absent(format!("{text}: no more than in the baseline")).with(asleep);
    }
    let mut finding = Finding::new(Support::Observed, text).with(asleep);
    finding.drill_down = drill_down(comparison, slow);
    finding.claims = claims(comparison, threads);
    finding.claims.extend(claims_of_helpers(comparison, slow.iter().filter(|sleep| !handling.is_by(sleep.tid))));
    finding
}

/// When which thread worked on a request that was measured, in the recording and in another one that it is compared with.
struct Handling<'c> {
    here: &'c Sources<'c>,
    own: ThreadTime,
    /// Of those for whose results handlers wait.
    helpers: ThreadTime,
    elsewhere: ThreadTime,
}

impl<'c> Handling<'c> {
    fn of(comparison: &'c Comparison<'_>) -> Handling<'c> {
        let own = handling::times(comparison.sources().traffic.measured_requests());
        let helpers = of_helpers(comparison, &own);
        let baseline = comparison.baseline.as_ref().map(|period| period.sources);
        let elsewhere = baseline.filter(|sources| !std::ptr::eq(*sources, comparison.sources()));
        let elsewhere = elsewhere.map(|sources| handling::times(sources.traffic.measured_requests()));
        Handling { here: comparison.sources(), own, helpers, elsewhere: elsewhere.unwrap_or_default() }
    }

    fn is_by(&self, tid: i64) -> bool {
        self.own.contains_key(&tid)
    }

    /// For how much of some time a thread of a period's recording worked on a request.
    fn within_ns(&self, period: &Period<'_>, tid: i64, (from_ns, to_ns): (i64, i64)) -> i64 {
        let of = |threads: &ThreadTime| threads.get(&tid).map_or(0, |times| times.within_ns(from_ns, to_ns));
        match std::ptr::eq(period.sources, self.here) {
            true => of(&self.own).max(of(&self.helpers)),
            false => of(&self.elsewhere),
        }
    }
}

/// As much as there is more of it: others may sleep who have nothing to do.
fn claims(comparison: &Comparison<'_>, (now, before): (f64, Option<f64>)) -> Vec<Claim> {
    Claim::parts_in_order(comparison, &sleeps::STATES, (now - before.unwrap_or(0.0)) * comparison.excess().slow_ns)
}

/// What others of the program waited for while these slept: of that it is known whose sleep it was, or how much it was in all.
fn claims_of_helpers<'s>(comparison: &Comparison<'_>, sleeps: impl Iterator<Item = &'s Span>) -> Vec<Claim> {
    let helpers = Intervals::by_key(sleeps.map(|sleep| (sleep.tid, sleep.time_ns, sleep.end_ns())));
    let (now, before) = comparison.both_looked_at(|period| native::counted(period, |tid| helpers.contains_key(&tid)));
    let counted_ns = (now - before.unwrap_or(0.0)) * comparison.excess().slow_ns;
    let mut claims: Vec<Claim> = sleeps::STATES.iter().map(|state| Claim::during(*state, helpers.clone())).collect();
    claims.extend((counted_ns > 0.0).then(|| Claim::part(ThreadState::Blocked(Wait::Task), counted_ns)));
    claims
}

/// Sleeps of threads that handle a request: below a server's frames, or between the arrival of a request and its answer, also of who
/// works on it for the event loop that reads and answers, or for a result that a handler waits for.
fn of_requests(period: &Period<'_>, handling: &Handling<'_>) -> WaitsBelow {
    let is_within =
        |sleep: &Span| handling.within_ns(period, sleep.tid, (sleep.time_ns, sleep.end_ns())) > sleep.duration_ns / 2;
    let recording = period.sources.recording;
    let mut is_sleep = are_sleeps(period);
    let is_of_a_handler = |wait: &Span| is_handler(recording, wait.stack_id) || is_within(wait);
    let told = WaitsBelow::asleep(period, |wait| is_sleep(wait) && is_of_a_handler(wait));
    let mut native = native::Sleeps::of(period);
    told.with(WaitsBelow::standing(period, |wait| native.has(wait) && is_of_a_handler(wait)))
}

/// Whether a wait is a sleep.
fn are_sleeps<'s>(period: &'s Period<'_>) -> impl FnMut(&Span) -> bool + 's {
    let recording = period.sources.recording;
    let mut is_told = sleeps::are_sleeps(recording);
    move |wait| match recording.text(wait.kind) {
        span::PARK | span::MONITOR_WAIT => parks::is_sleep(period, wait),
        _ => is_told(wait) || parks::is_sleep(period, wait),
    }
}

/// Whether it is the application that sleeps, called by a server.
fn is_handler(recording: &Recording, stack: StackId) -> bool {
    let is_of_server = |symbol: &str| begins_with(symbol, SERVERS);
    let mut frames = recording.stacks.leaf_to_root(stack).map(|frame| (is_own(recording, &frame), frame));
    let Some((_, caller)) = frames.by_ref().find(|(is_own, _)| *is_own) else { return false };
    !is_of_server(recording.text(caller.symbol)) && frames.any(|(_, frame)| is_of_server(recording.text(frame.symbol)))
}

fn asleep(comparison: &Comparison<'_>, says: &str, threads: (f64, Option<f64>), longest: &Span) -> Evidence {
    let stack = comparison.wait_text(longest.stack_id, 12);
    let asleep = comparison.evidence(says, threads, "threads", "spans");
    Evidence { stack, ..asleep.of(&[span::SLEEP, span::PARK, span::SAMPLED_WAIT]) }
}

fn says(comparison: &Comparison<'_>, sleeps: &WaitsBelow, threads: (f64, Option<f64>), when: &str) -> String {
    let sleeper =
        longest_sleeper(comparison, sleeps).map_or(String::new(), |method| format!(", most of it in {method}"));
    let longest = sleeps.longest().map_or(0, |sleep| sleep.duration_ns);
    format!(
        "{} threads sleep on average{when}{}{sleeper}: {}, the longest {}",
        format::number(threads.0),
        format::baseline(threads.1, format::number),
        format::count(sleeps.iter().count(), "sleep"),
        format::time(longest as f64)
    )
}

/// The sleeps: the account cannot tell them from idleness.
fn drill_down(comparison: &Comparison<'_>, sleeps: &WaitsBelow) -> DrillDown {
    let what = longest_sleeper(comparison, sleeps).map_or("asleep".to_owned(), |method| format!("asleep in {method}"));
    DrillDown { event: format!("spans/{}", span::SLEEP), ..drill_down::at_spans(comparison, sleeps.iter(), &what) }
}

/// The method of the application that slept longest in all.
fn longest_sleeper<'a>(comparison: &Comparison<'a>, sleeps: &WaitsBelow) -> Option<&'a str> {
    let recording = comparison.recording();
    let mut methods: BTreeMap<&str, i64> = BTreeMap::new();
    for sleep in sleeps.iter() {
        if let Some(method) = sleeper(recording, sleep.stack_id) {
            let sum = methods.entry(method).or_default();
            *sum = sum.saturating_add(sleep.duration_ns);
        }
    }
    methods.into_iter().max_by_key(|(_, ns)| *ns).map(|(method, _)| method)
}

/// The method of the application that sleeps.
fn sleeper(recording: &Recording, stack: StackId) -> Option<&str> {
    let caller = recording.stacks.leaf_to_root(stack).find(|frame| is_own(recording, frame))?;
    Some(recording.text(caller.symbol))
}

/// For who works on a result for which one of those threads waits meanwhile, as far as it is known who ended the wait.
fn of_helpers(comparison: &Comparison<'_>, handling: &ThreadTime) -> ThreadTime {
    let partition = &comparison.analysis.account.partition;
    let mut helpers = Vec::new();
    for (tid, recorded) in partition.recorded() {
        let Some(times) = handling.get(&tid) else { continue };
        let is_for_a_result =
            |wait: &&Segment| wait.state == ThreadState::Blocked(Wait::Task) && times.touches(wait.from_ns, wait.to_ns);
        let waits = recorded.iter().filter(is_for_a_result);
        let chains = waits.flat_map(|wait| comparison.analysis.edges().chains(partition, tid, wait));
        let hops = chains.flat_map(|chain| chain.hops);
        helpers.extend(hops.map(|helper| (helper.tid, helper.segment.from_ns, helper.segment.to_ns)));
    }
    Intervals::by_key(helpers)
}
