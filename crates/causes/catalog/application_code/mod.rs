//! The application's own code runs for longer: some of its methods take more of the CPU than before.

mod divide;
mod late;
mod methods;

use std::collections::HashSet;

use fathom_evidence::StackId;
use fathom_evidence::kinds::event;
use fathom_evidence::tables::Sample;
use fathom_timeline::{Layer, ThreadState};

use crate::cause::Claim;
use crate::limits::MIN_SAMPLES;
use crate::measure::{growth, requests};
use crate::period::Period;
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Refined, Support, format};
use divide::{beyond_compare, divide};
use methods::{Methods, method};

pub(crate) static CAUSE: Cause = Cause {
    id: "application_code",
    readme: include_str!("README.md"),
    family: Family::Code,
    refines: &[Refined::Family(Family::Cpu)],
    equals: &[],
    has_lab: true,
    collectors: &["async_profiler", "jfr"],
    needs: &[&[Need::Samples]],
    actions: &[
        "look at the method that grew and its callers, and at what changed there: a larger input, a cache that misses, a loop in a \
         loop",
    ],
    decide,
};

/// Where the rest of the code grew by more than this and requests were not counted, there may be more of them.
const TRAFFIC: f64 = 1.3;

/// What ran besides compiled Java grew by more than this part of what that grew by: then it is not the code, but how it runs.
const OTHERS: f64 = 0.5;

fn decide(comparison: &Comparison<'_>) -> Finding {
    let Some(baseline) = &comparison.baseline else {
        return Finding::unknown("no baseline to compare what ran with", "fathom explain … --baseline RECORDING");
    };
    let growth = Growth::of(comparison, baseline);
    let was_sampled = !growth.before.by_method.is_empty() || baseline.samples(growth.event).next().is_some();
    if growth.slow.by_method.is_empty() || !was_sampled {
        return Finding::needs_jfr("what the application's own code did was not sampled, or not in the baseline");
    }
    let running = comparison.state_evidence("compiled code of the application", "cores", |state| state == JAVA);
    let Some((most, _)) = growth.grown.first() else {
        return growth.none(comparison, baseline).with(running);
    };
    let text = growth.says(most);
    // What never ran before cannot be code that runs in another way now.
    if others_grew(comparison, &growth) && growth.has_run(baseline, most) {
        let says =
            format!("{text}, but JVM, interpreter or kernel took more with it: the same code runs in another way");
        return Finding::absent(says).with(running);
    }
    let grew_too = growth.rest.is_some_and(|times| times > TRAFFIC);
    if grew_too && comparison.sources().traffic.requests().next().is_none() {
        return Finding::unknown(
            &format!("{text}: it may be more requests, which were not recorded"),
            "fathom explain … --latency access.csv",
        );
    }
    // Samples show what ran. That requests waited for it, and not for something that was not recorded, they show only where it ran
    // in those that were late, or where some were late just then.
    let support = if late::is_what_requests_ran(comparison, &growth) {
        Support::Observed
    } else if late::ran_while_late(comparison, growth.samples(comparison)) {
        Support::Consistent
    } else {
        Support::Weak
    };
    let mut finding = Finding::new(support, text).with(running).with(growth.of_method(comparison, most));
    finding.claims = growth.claims(comparison);
    finding.crowding(comparison)
}

/// How many times as many requests there were as before, where they were counted; fewer need no less code each.
fn traffic(comparison: &Comparison<'_>, baseline: &Period<'_>) -> Option<f64> {
    let (slow, before) = (requests::per_second(&comparison.slow)?, requests::per_second(baseline)?);
    (before > 0.0).then(|| (slow / before).max(1.0))
}

const JAVA: ThreadState = ThreadState::Running(Layer::Java);
const NATIVE: ThreadState = ThreadState::Running(Layer::Native);

/// What ran in the slow time and before.
struct Growth {
    /// Which samples tell it.
    event: &'static str,
    slow: Methods,
    before: Methods,
    /// The methods that grew by more than the rest did, the most first, with the cores that they grew by.
    grown: Vec<(String, f64)>,
    /// How much the rest grew, if there was any to speak of.
    rest: Option<f64>,
    /// How many times as many requests there were, where they were counted.
    traffic: Option<f64>,
}

impl Growth {
    fn of(comparison: &Comparison<'_>, baseline: &Period<'_>) -> Growth {
        let has_cpu = comparison.sources().samples(event::CPU).next().is_some();
        let event = if has_cpu { event::CPU } else { event::EXECUTION };
        let (slow, before) = (Methods::of(&comparison.slow, event), Methods::of(baseline, event));
        let traffic = traffic(comparison, baseline);
        let (grown, rest) = divide(&slow, &before, traffic);
        Growth { event, slow, before, grown, rest, traffic }
    }

    /// By how many cores the methods grew that did, by their own code and by native code that they call.
    fn cores(&self) -> (f64, f64) {
        let grown = self.grown.iter().map(|(method, _)| (self.slow.cpu(method), self.before.cpu(method)));
        grown.fold((0.0, 0.0), |sum, (slow, before)| {
            (sum.0 + slow.java - before.java, sum.1 + slow.native - before.native)
        })
    }

    fn claims(&self, comparison: &Comparison<'_>) -> Vec<Claim> {
        let (java, native) = self.cores();
        let grown = [(JAVA, java), (NATIVE, native)].into_iter().filter(|(_, cores)| *cores > 0.0);
        grown.map(|(state, cores)| Claim::part(state, cores * comparison.excess().slow_ns)).collect()
    }

    /// What it means that no method grew: too few samples of one that was hardly seen before do not acquit it.
    fn none(&self, comparison: &Comparison<'_>, baseline: &Period<'_>) -> Finding {
        let seconds = (comparison.slow.seconds(), baseline.seconds());
        let is_more_often = |method: &str, samples: usize| {
            let before = self.before.cpu(method).samples;
            !growth::may_be_chance((samples as f64, seconds.0), (before as f64, seconds.1))
        };
        let mut few = self
            .slow
            .by_method
            .iter()
            .map(|(method, cpu)| (method, cpu.samples))
            .filter(|(_, samples)| *samples < MIN_SAMPLES);
        if let Some((method, samples)) = few.find(|(method, samples)| is_more_often(method, *samples)) {
            let says = format!(
                "{method} runs more than in the baseline, and {} tell no more of it",
                format::count(samples, "sample")
            );
            return Finding::unknown(&says, "fathom record --for 10m");
        }
        let (slow, before) = (format::number(self.slow.cores), format::number(self.before.cores));
        if let Some(leaf) = beyond_compare(&self.slow, &self.before, self.traffic) {
            let says = format!(
                "nearly all of the code is {leaf}, on {slow} cores instead of {before}: it may be more requests, which were not recorded"
            );
            return Finding::unknown(&says, "fathom explain … --latency access.csv");
        }
        let says = format!(
            "no method takes more of the CPU than in the baseline beyond what all do ({slow} cores instead of {before})"
        );
        Finding::absent(says)
    }

    fn says(&self, method: &str) -> String {
        format!(
            "{method} takes {} cores instead of {}{}, the rest of the code {}",
            format::number(self.slow.cores(method)),
            format::number(self.before.cores(method)),
            others(self.grown.len()),
            self.rest.map_or("was not seen".to_owned(), |times| format!("× {}", format::number(times)))
        )
    }

    /// Whether a method was seen at work in the baseline, by itself or inlined into another.
    fn has_run(&self, baseline: &Period<'_>, method: &str) -> bool {
        let recording = baseline.sources.recording;
        let Some(method) = recording.strings.find(method) else { return false };
        let stacks: HashSet<StackId> = baseline.samples(self.event).map(|sample| sample.stack_id).collect();
        stacks.into_iter().any(|stack| recording.stacks.leaf_to_root(stack).any(|frame| frame.symbol == method))
    }

    /// Samples of the methods that grew, in the slow time.
    fn samples<'s>(&'s self, comparison: &'s Comparison<'_>) -> impl Iterator<Item = Sample> + 's {
        let is_application = |sample: &Sample| comparison.sources().is_application(sample.tid);
        comparison.slow.samples(self.event).filter(is_application).filter(|sample| self.is_of_grown(comparison, sample))
    }

    fn is_of_grown(&self, comparison: &Comparison<'_>, sample: &Sample) -> bool {
        let method = method(comparison.recording(), sample.stack_id);
        method.is_some_and(|(method, _)| self.grown.iter().any(|(grown, _)| grown == method))
    }

    fn of_method(&self, comparison: &Comparison<'_>, method: &str) -> Evidence {
        let cores = (self.slow.cores(method), Some(self.before.cores(method)));
        let evidence = comparison.evidence(&format!("CPU of {method}"), cores, "cores", "samples");
        let stack = comparison.stack_text(self.slow.stack(method), 12);
        Evidence { stack, ..evidence.of(&[event::CPU, event::EXECUTION]) }
    }
}

fn others(methods: usize) -> String {
    match methods {
        0 | 1 => String::new(),
        more => format!(" (and {} grew with it)", format::count(more - 1, "other method")),
    }
}

/// Whether the JVM or the kernel took about as much more for it: then the code runs in another way, and is not more.
fn others_grew(comparison: &Comparison<'_>, growth: &Growth) -> bool {
    let others = comparison.excess_threads(|state| match state {
        ThreadState::Running(layer) => layer != Layer::Java,
        ThreadState::Compiler | ThreadState::Vm => true,
        _ => false,
    });
    let (_, native) = growth.cores();
    others - native > OTHERS * (comparison.excess_threads(|state| state == JAVA) + native)
}
