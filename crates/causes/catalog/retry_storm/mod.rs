//! The same service is called again and again for one request.

use fathom_evidence::kinds::span;
use fathom_timeline::{ThreadState, Wait};

use crate::cause::Claim;
use crate::measure::calls::{self, Calls};
use crate::measure::{requests, waits};
use crate::period::Period;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "retry_storm",
    readme: include_str!("README.md"),
    family: Family::Services,
    refines: &[Refined::Cause("slow_downstream"), Refined::Family(Family::Load)],
    equals: &[
        (
            &[
                "accept_queue_overflow",
                "carrier_threads_exhausted",
                "connection_pool_exhausted",
                "delayed_acknowledgement",
                "dns_slow",
                "retransmissions",
                "sleeping_handlers",
                "thread_pool_exhausted",
            ],
            "each claims of the waits for answers the part that it measured itself",
        ),
        (
            &["class_loading", "logging_blocked"],
            "one says below which code a thread waits, the other what for: to change either helps",
        ),
    ],
    has_lab: false,
    collectors: &["requests"],
    needs: &[&[Need::Sockets], &[Need::Requests]],
    actions: &[
        "limit retries: a budget of a tenth of all calls, a growing pause between attempts, and none where the caller of this service retries itself",
        "a timeout longer than the other service's usual 99th percentile: attempts that are given up early are wasted work",
    ],
    decide,
};

/// Calls for each request, times as many as before, from which attempts are repeated: one attempt more for each call.
const REPEATED: f64 = 2.0;

/// The part of the added calls that had no answer from which it is seen that attempts failed. Those that are answered may be on purpose.
const MOST_FAILED: f64 = 0.5;

/// Calls of one peer in the slow time, and how many there are for each request.
struct Repeated<'a> {
    peer: &'a str,
    calls: Calls,
    now: f64,
    before: f64,
}

impl Repeated<'_> {
    /// The part of the calls that is more than before.
    fn added(&self) -> f64 {
        (1.0 - self.before / self.now).max(0.0)
    }

    /// The time of these, in ns.
    fn added_ns(&self) -> f64 {
        self.calls.total_ns * self.added()
    }

    fn support(&self) -> Support {
        match self.calls.unanswered >= MOST_FAILED * self.added() * self.calls.count {
            _ if self.now < REPEATED * self.before => Support::Absent,
            true => Support::Observed,
            false => Support::Weak,
        }
    }

    fn says(&self) -> String {
        let [now, before, unanswered] = [self.now, self.before, self.calls.unanswered.round()].map(format::number);
        let peer = self.peer;
        match self.support() {
            Support::Absent => format!("{peer} is called {now} times for each request (baseline {before})"),
            Support::Weak => format!(
                "{peer} is called {now} times for each request instead of {before}; it answered nearly all of them: errors, or calls on purpose"
            ),
            _ => format!(
                "{peer} is called {now} times for each request instead of {before}; {unanswered} calls had no answer"
            ),
        }
    }
}

fn decide(comparison: &Comparison<'_>) -> Finding {
    if comparison.sources().traffic.calls().is_empty() {
        return Finding::absent("no call of another service was seen at the sockets");
    }
    let Some(baseline) = comparison.baseline.as_ref() else {
        return Finding::unknown(
            "how often other services are called for a request as a rule was not recorded",
            "fathom explain … --baseline RECORDING",
        );
    };
    let Some(most) = most_repeated(&comparison.slow, baseline) else {
        return Finding::needs_requests("how many calls belong to a request, now and in the baseline, is not known");
    };
    let per_request = comparison.evidence("calls for each request", (most.now, Some(most.before)), "count", "spans");
    let finding = Finding::new(most.support(), most.says()).with(per_request.of(&[span::CALL]));
    match finding.support {
        Support::Absent => finding,
        _ => Finding { claims: claims(comparison, &most), ..finding },
    }
}

/// Waits for the calls that are more than before, as threads, client libraries or only the requests show them.
fn claims(comparison: &Comparison<'_>, most: &Repeated<'_>) -> Vec<Claim> {
    let in_requests_ns = most.added() * calls::beyond_in_requests_ns(comparison, most.peer, 0.0);
    let mut claims = vec![Claim::part(ThreadState::Blocked(Wait::Socket), most.added_ns())];
    claims.extend(waits::for_calls_of_others(comparison, most.added_ns()));
    claims.extend(waits::for_calls_in_requests(comparison, in_requests_ns));
    claims
}

/// The peer whose calls beyond those of each request before took most time. One that was not called before is not called again.
fn most_repeated<'a>(slow: &Period<'a>, baseline: &Period<'_>) -> Option<Repeated<'a>> {
    let per_request =
        |period: &Period<'_>, calls: &Calls| Some(calls.count / (requests::per_second(period)? * period.seconds()));
    let usual = calls::by_peer(baseline, |_| true);
    let of = |(peer, calls): (&'a str, Calls)| {
        let before = per_request(baseline, usual.get(peer)?)?;
        Some(Repeated { peer, calls, now: per_request(slow, &calls)?, before })
    };
    let repeated = calls::by_peer(slow, |_| true).into_iter().filter_map(of);
    repeated.max_by(|a, b| a.added_ns().total_cmp(&b.added_ns()).then(b.peer.cmp(a.peer)))
}
