//! What the program had written and the kernel had not sent yet, or had to retransmit: answers, and requests of calls.

use std::collections::BTreeMap;

use fathom_evidence::StrId;
use fathom_evidence::kinds::{recorded, span, subject};
use fathom_timeline::{Hold, Intervals, ThreadState, Unsent, Wait};

use crate::cause::ThreadTime;
use crate::comparison::Comparison;
use crate::measure::lengths::Lengths;
use crate::measure::waits;
use crate::period::Period;
use crate::{Claim, Finding, Support};

/// The collector that measures at the sockets.
pub(crate) const SOURCE: &str = "requests";

/// What was in the kernel's send queues in some time: answers at the service's port, and requests by their peers.
#[derive(Debug, Default)]
struct Sent {
    answers: Lengths,
    questions: BTreeMap<StrId, Lengths>,
}

impl Sent {
    fn of(period: &Period<'_>, hold: Hold) -> Sent {
        let of_hold = |unsent: Option<Unsent>| unsent.filter(|unsent| unsent.hold == hold).map(|unsent| unsent.ns);
        let mut sent = Sent::default();
        for request in
            period.sources.traffic.measured_requests().filter(|request| period.has(request.from_ns, request.to_ns))
        {
            of_hold(request.unsent).into_iter().for_each(|ns| sent.answers.add(ns, request.weight));
        }
        for call in period.sources.traffic.calls().iter().filter(|call| period.has(call.from_ns, call.to_ns)) {
            let ns = of_hold(call.unsent);
            ns.into_iter().for_each(|ns| sent.questions.entry(call.peer).or_default().add(ns, call.weight));
        }
        sent
    }

    /// Of questions those for which most was waited.
    fn most(&self) -> Option<(StrId, Lengths)> {
        let most = self.questions.iter().max_by(|a, b| a.1.total_ns.total_cmp(&b.1.total_ns));
        most.map(|(peer, stood)| (*peer, *stood))
    }

    fn total(&self) -> Lengths {
        let mut all = self.answers;
        for stood in self.questions.values() {
            all.count += stood.count;
            all.total_ns += stood.total_ns;
            all.longest_ns = all.longest_ns.max(stood.longest_ns);
        }
        all
    }
}

/// Whether sending was recorded: a recorder that polls connections now and then sees requests, but not how they are sent.
pub fn was_measured(comparison: &Comparison<'_>) -> bool {
    let is_followed = comparison.recording().fact(subject::RECORDING, recorded::REQUESTS_FOLLOWED).is_some();
    // Exact requests of a capture say nothing of what the recorder at the sockets saw.
    let is_exact = comparison.sources().traffic.ports().iter().any(|port| port.uncertain_ns == 0.0);
    let is_whole = is_exact && !was_captured(comparison);
    comparison.has_source(SOURCE) && (is_followed || is_whole || !comparison.sources().traffic.calls().is_empty())
}

/// Whether packets were captured: what they show happened; what the filter of the capture left out is not known.
pub fn was_captured(comparison: &Comparison<'_>) -> bool {
    comparison.has_source("pcap")
}

/// The words for one reason.
#[derive(Debug)]
pub struct Words {
    /// What happened to what was sent.
    pub why: &'static str,
    /// What is measured: how many there were, and for how long each.
    pub evidence: [&'static str; 2],
    /// That there were none.
    pub absent: &'static str,
}

/// The finding about what stood in the kernel for one reason.
pub fn finding(comparison: &Comparison<'_>, hold: Hold, words: &Words) -> Finding {
    let slow = Sent::of(&comparison.slow, hold);
    let all = slow.total();
    if all.count == 0.0 {
        return none(comparison, words);
    }
    let before = comparison.baseline.as_ref().map(|baseline| (Sent::of(baseline, hold).total(), baseline.seconds()));
    let seconds = comparison.slow.seconds();
    let counts = (all.count, before.map(|(all, length)| all.count * seconds / length));
    let lengths = (all.mean_ns(), before.map(|(all, _)| all.mean_ns()));
    let [count, length] = words.evidence;
    let kinds = [span::REQUEST, span::CALL];
    Finding::new(Support::Observed, says(comparison, &slow, words.why))
        .with(comparison.evidence(count, counts, "count", "spans").of(&kinds))
        .with(comparison.evidence(length, lengths, "ns", "spans").of(&kinds))
        .claiming(comparison, |state| state == ThreadState::Unsent(hold))
        .and_questions(comparison, hold, &slow)
}

fn none(comparison: &Comparison<'_>, words: &Words) -> Finding {
    match (was_measured(comparison), was_captured(comparison)) {
        (true, _) => Finding::absent(words.absent),
        (_, true) => Finding::needs_kernel("the captured packets show none, and what was not captured is not known"),
        _ => Finding::needs_kernel("when answers left the machine was not recorded"),
    }
}

fn says(comparison: &Comparison<'_>, sent: &Sent, why: &str) -> String {
    let port =
        || comparison.sources().traffic.ports().first().map_or("", |port| comparison.recording().text(port.name));
    let answers = (sent.answers.count > 0.0).then(|| format!("at {} {}", port(), sent.answers.says("answer")));
    let questions =
        sent.most().map(|(peer, stood)| format!("to {} {}", comparison.recording().text(peer), stood.says("question")));
    let parts: Vec<String> = answers.into_iter().chain(questions).collect();
    format!("{why}: {}", parts.join("; "))
}

impl Finding {
    /// Claims what threads waited for answers while the questions had not left, and as much of what others waited for them.
    fn and_questions(mut self, comparison: &Comparison<'_>, hold: Hold, sent: &Sent) -> Finding {
        let asked = when_asked(comparison, hold);
        if asked.is_empty() {
            return self;
        }
        self.claims.push(Claim::during(ThreadState::Blocked(Wait::Socket), asked));
        let stood_ns: f64 = sent.questions.values().map(|stood| stood.total_ns).sum();
        self.claims.extend(waits::for_calls_of_others(comparison, stood_ns));
        self
    }
}

/// When questions of each thread had been asked and had not left: the end of one is given away soon after its beginning.
fn when_asked(comparison: &Comparison<'_>, hold: Hold) -> ThreadTime {
    Intervals::by_key(comparison.sources().traffic.calls().iter().filter_map(|call| {
        let Unsent { ns, .. } = call.unsent.filter(|unsent| unsent.hold == hold)?;
        Some((call.tid, call.from_ns, call.from_ns.saturating_add(ns)))
    }))
}
