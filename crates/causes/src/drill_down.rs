//! Where to see a cause at work: lanes, threads, stacks, and the worst instants.
//!
//! This follows from what the cause claims, was given and measured. Lanes, threads and stacks that a cause names itself
//! (`Finding::drill_down`) come first; most causes name none.

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::StackId;
use fathom_evidence::detail::{RunQueueWait, from_text};
use fathom_evidence::kinds::event;
use fathom_evidence::tables::Span;
use fathom_timeline::{BUCKET_NS, Origin, Segment, Stop, ThreadState, Wait, telling_frame};

use crate::attribution::Given;
use crate::cause::{Claim, Extent, Finding, Support};
use crate::comparison::Comparison;
use crate::explanation::{DrillDown, Evidence, Instant};
use crate::measure::waits;
use crate::{format, worst};

/// More lanes than this push the threads out of sight.
const LANES_MAX: usize = 3;

/// So many threads stand for the others.
const THREADS_MAX: usize = 3;

/// The maximum number of reported instants.
const INSTANTS_MAX: usize = 3;

/// One that is shorter than this part of the longest is not among the worst.
const COMPARABLE: f64 = 0.5;

/// A frame that has less of the stacks than this is not looked for in them.
const MIN_FOUND: f64 = 0.1;

/// Samples of threads that ran, the best first.
const ON_CPU: &[&str] = &[event::CPU, event::EXECUTION, event::WALL];

/// Samples of what was allocated.
const ALLOCATED: &[&str] = &[event::ALLOCATION, event::ALLOCATION_SAMPLED];

/// What shows a cause at work that was found, and given some time.
pub(crate) fn of(comparison: &Comparison<'_>, finding: &Finding, given: &Given) -> DrillDown {
    let state = state(comparison, finding, given);
    Shown { comparison, finding, state, waits: claimed(comparison, finding, state) }.drill_down()
}

/// What shows a kind of time that no cause explains.
pub(crate) fn of_state(comparison: &Comparison<'_>, state: ThreadState) -> DrillDown {
    let finding = Finding::new(Support::Observed, "");
    Shown { comparison, finding: &finding, state: Some(state), waits: claimed(comparison, &finding, Some(state)) }
        .drill_down()
}

/// The kind of time that is most of what a cause was given; without any, of what it claims, or in which it did harm.
fn state(comparison: &Comparison<'_>, finding: &Finding, given: &Given) -> Option<ThreadState> {
    let most =
        |sums: Vec<(ThreadState, f64)>| sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(state, _)| state);
    let taken = given.taken.iter().filter(|(_, ns)| **ns > 0.0).map(|(state, ns)| (*state, *ns)).collect();
    let claimed = || finding.claims.iter().map(|claim| (claim.state, claim.grown_ns(comparison))).collect();
    let harmed = || finding.harm.as_ref().map_or(Vec::new(), |harm| harm.happened_in.clone());
    most(taken).or_else(|| most(claimed())).or_else(|| most(harmed()))
}

/// The waits of a kind that a cause claims, without those of threads that always wait as much.
fn claimed<'c>(
    comparison: &'c Comparison<'_>,
    finding: &Finding,
    state: Option<ThreadState>,
) -> Vec<(i64, &'c Segment)> {
    let of_state = comparison.slow_waits().filter(|(_, segment, _)| Some(segment.state) == state);
    let claims: Vec<&Claim> = finding.claims.iter().filter(|claim| Some(claim.state) == state).collect();
    let is_claimed = |tid: i64, segment: &Segment| {
        claims.is_empty() || claims.iter().any(|claim| is_within(&claim.extent, tid, segment))
    };
    let claimed = of_state.filter(|(tid, segment, _)| is_claimed(*tid, segment));
    let claimed: Vec<(i64, &Segment)> = claimed.map(|(tid, segment, _)| (tid, segment)).collect();
    let usual = state.map_or_else(BTreeSet::new, |state| as_before(comparison, state));
    let more: Vec<(i64, &Segment)> = claimed.iter().copied().filter(|(tid, _)| !usual.contains(tid)).collect();
    if more.is_empty() { claimed } else { more }
}

/// Threads whose waits take no more of their time than when nothing was slow.
fn as_before(comparison: &Comparison<'_>, state: ThreadState) -> BTreeSet<i64> {
    /// What varies by itself.
    const AS_MUCH: f64 = 0.8;
    // Idle threads wait for something without a name as well.
    let is_named = state != ThreadState::Blocked(Wait::Unnamed);
    let Some(baseline) = comparison.baseline_here().filter(|_| is_named) else { return BTreeSet::new() };
    let now = waits::by_thread(comparison, state, &comparison.slow.time);
    let scale = comparison.slow.seconds() / baseline.seconds().max(1e-9);
    let before = waits::by_thread(comparison, state, &baseline.time);
    let is_usual = |(tid, ns): &(i64, f64)| now.get(tid).is_none_or(|now| ns * scale >= AS_MUCH * now);
    before.into_iter().filter(is_usual).map(|(tid, _)| tid).collect()
}

fn is_within(extent: &Extent, tid: i64, segment: &Segment) -> bool {
    match extent {
        Extent::All | Extent::Part(_) => true,
        Extent::During(time) => time.get(&tid).is_some_and(|time| time.touches(segment.from_ns, segment.to_ns)),
    }
}

/// A cause that is looked for.
struct Shown<'c, 'a> {
    comparison: &'c Comparison<'a>,
    finding: &'c Finding,
    /// The kind of time that it is about.
    state: Option<ThreadState>,
    /// The waits of that kind.
    waits: Vec<(i64, &'c Segment)>,
}

impl Shown<'_, '_> {
    fn drill_down(&self) -> DrillDown {
        let event = self.event();
        DrillDown {
            lanes: self.lanes(),
            roles: self.roles(&event),
            threads: self.threads(),
            search: self.search(&event),
            table: self.table(&event),
            event,
            worst: self.worst(),
        }
    }

    /// The lanes that the cause names, those of what it measured, and those that show its kind of time.
    fn lanes(&self) -> Vec<String> {
        let measured = self.finding.evidence.iter().filter(|item| matches!(item.table.as_str(), "spans" | "counters"));
        let words = measured.flat_map(|item| item.of.iter().map(String::as_str));
        let of_state = self.state.map_or(&[][..], |state| state.row().told_by).iter().copied();
        let mut lanes: Vec<String> = Vec::new();
        for word in self.finding.drill_down.lanes.iter().map(String::as_str).chain(words).chain(of_state) {
            // Of a counter that one instance is named of the others say nothing.
            let is_known = lanes.iter().any(|known| known == word || known.split('|').next() == Some(word));
            if self.is_recorded(word) && lanes.len() < LANES_MAX && !is_known {
                lanes.push(word.to_owned());
            }
        }
        lanes
    }

    /// Whether there is anything to draw of a counter (maybe of one of its instances) or a kind of spans.
    fn is_recorded(&self, word: &str) -> bool {
        let sources = self.comparison.sources();
        let name = word.split('|').next().unwrap_or(word);
        sources.spans(name).len() > 0 || sources.has_counter(name)
    }

    /// The stacks that show it.
    fn event(&self) -> String {
        let own = self.finding.drill_down.event.as_str();
        let known = if self.has_stacks(own) { Some(own.to_owned()) } else { None };
        known.or_else(|| self.event_of_state()).or_else(|| self.event_of_evidence()).unwrap_or_default()
    }

    fn event_of_state(&self) -> Option<String> {
        let sampled = |words: &[&str]| words.iter().find(|word| self.has_stacks(word)).map(|word| (*word).to_owned());
        match self.state? {
            ThreadState::Blocked(wait) => self
                .waits
                .iter()
                .any(|(_, wait)| self.stack_of(wait).is_some())
                .then(|| format!("waits/{}", wait.row().id)),
            ThreadState::Stopped(Stop::Process | Stop::Machine)
            | ThreadState::Unsent(_)
            | ThreadState::Idle
            | ThreadState::Unknown => None,
            ThreadState::Stopped(Stop::Collection(of) | Stop::WaitingCollector(of))
                if of.origin == Origin::Explicit =>
            {
                sampled(&["spans/system_gc"]).or_else(|| sampled(ON_CPU))
            }
            ThreadState::Stopped(Stop::Collection(of)) if of.origin == Origin::Allocation => {
                sampled(ALLOCATED).or_else(|| sampled(ON_CPU))
            }
            _ => sampled(ON_CPU),
        }
    }

    /// That of the first measurement that has a stack.
    fn event_of_evidence(&self) -> Option<String> {
        let item = self.finding.evidence.iter().find(|item| !item.stack.is_empty())?;
        let prefix = if item.table == "spans" { "spans/" } else { "" };
        item.of.iter().map(|word| format!("{prefix}{word}")).find(|event| self.has_stacks(event))
    }

    /// Whether there are stacks of an event of samples or, as `spans/KIND`, of a kind of spans.
    fn has_stacks(&self, event: &str) -> bool {
        let sources = self.comparison.sources();
        match event.strip_prefix("spans/") {
            Some(kind) => {
                sources.spans(kind).any(|span| span.stack_id != StackId(0) || span.kernel_stack_id != StackId(0))
            }
            None => sources.samples(event).next().is_some(),
        }
    }

    fn stack_of(&self, wait: &Segment) -> Option<StackId> {
        let stack = self.comparison.recording().spans.stack_id[wait.row? as usize];
        (stack != StackId(0)).then_some(stack)
    }

    /// Where the list that tells most of it is, when no stacks do.
    fn table(&self, event: &str) -> String {
        let first = self.finding.evidence.iter().map(|item| item.table.as_str()).find(|table| *table != "account");
        match event {
            "" => first.unwrap_or("spans").to_owned(),
            waiting if waiting.contains('/') => "spans".to_owned(),
            _ => "samples".to_owned(),
        }
    }

    /// Those that the cause names, else threads of the JVM's own, where the stacks have any of them.
    fn roles(&self, event: &str) -> Vec<String> {
        if !self.finding.drill_down.roles.is_empty() {
            return self.finding.drill_down.roles.clone();
        }
        let state = self
            .state
            .filter(|state| matches!(state, ThreadState::Compiler | ThreadState::Collector(_) | ThreadState::Vm));
        let roles = state.map_or(&[][..], |state| state.row().roles);
        let sources = self.comparison.sources();
        let is_sampled = self.comparison.slow.samples(event).any(|sample| roles.contains(&sources.role(sample.tid)));
        if is_sampled { roles.iter().map(|role| (*role).to_owned()).collect() } else { Vec::new() }
    }

    /// Those that the cause names, else those that waited longest in all.
    fn threads(&self) -> Vec<i64> {
        if !self.finding.drill_down.threads.is_empty() {
            return self.finding.drill_down.threads.clone();
        }
        let mut sums: BTreeMap<i64, i64> = BTreeMap::new();
        for (tid, wait) in &self.waits {
            *sums.entry(*tid).or_default() += wait.within_ns(&self.comparison.slow.time);
        }
        with_most(sums)
    }

    /// The frame that tells it: the one that the cause names, of waits the one below which most of it was waited, else the leaf
    /// of a measured stack. One that few of the stacks have leads past the others.
    fn search(&self, event: &str) -> String {
        let frame = match event {
            _ if !self.finding.drill_down.search.is_empty() => Some(self.finding.drill_down.search.as_str()),
            waiting if waiting.starts_with("waits/") => self.telling(),
            lasting if lasting.contains('/') => None,
            _ => self.measured_leaf().filter(|frame| self.is_frequent(frame, event)),
        };
        frame.unwrap_or_default().to_owned()
    }

    fn measured_leaf(&self) -> Option<&str> {
        let of_samples = |item: &&Evidence| item.table == "samples" && !item.stack.is_empty();
        self.finding.evidence.iter().find(of_samples)?.stack.split(';').next()
    }

    fn is_frequent(&self, frame: &str, event: &str) -> bool {
        let recording = self.comparison.recording();
        let mut counts: BTreeMap<StackId, usize> = BTreeMap::new();
        for sample in self.comparison.slow.samples(event) {
            *counts.entry(sample.stack_id).or_default() += 1;
        }
        let has_frame = |stack| recording.stacks.leaf_to_root(stack).any(|one| recording.text(one.symbol) == frame);
        let found: usize = counts.iter().filter(|(stack, _)| has_frame(**stack)).map(|(_, count)| count).sum();
        found as f64 >= MIN_FOUND * counts.values().sum::<usize>() as f64
    }

    fn telling(&self) -> Option<&str> {
        let recording = self.comparison.recording();
        let (mut sums, mut all) = (BTreeMap::<&str, i64>::new(), 0);
        for (_, wait) in &self.waits {
            let ns = wait.within_ns(&self.comparison.slow.time);
            all += ns;
            if let Some(frame) = self.stack_of(wait).and_then(|stack| telling_frame(recording, stack)) {
                *sums.entry(frame).or_default() += ns;
            }
        }
        let (frame, ns) = sums.into_iter().max_by_key(|(_, ns)| *ns)?;
        (ns as f64 >= MIN_FOUND * all as f64).then_some(frame)
    }

    /// Those that the cause names, else the longest stops, waits or bursts; of what is known as an amount only, the second with
    /// most of it.
    fn worst(&self) -> Vec<Instant> {
        if !self.finding.drill_down.worst.is_empty() {
            return self.finding.drill_down.worst.clone();
        }
        let found = match (self.state, &self.finding.harm) {
            (_, Some(harm)) => self.harmed(harm.when.iter()),
            (Some(ThreadState::Stopped(_)), _) => self.stops(),
            (Some(ThreadState::Blocked(_)), _) => self.waited(),
            (Some(ThreadState::Runnable), _) => self.without_a_cpu(),
            _ => Vec::new(),
        };
        let worst = longest(found);
        if worst.is_empty() { self.second_with_most().into_iter().collect() } else { worst }
    }

    fn harmed(&self, bursts: impl Iterator<Item = (i64, i64)>) -> Vec<Instant> {
        let what = self.finding.evidence.first().map_or("harm", |item| item.says.as_str());
        bursts.map(|(from_ns, to_ns)| instant(from_ns, to_ns, 0, "", what)).collect()
    }

    fn stops(&self) -> Vec<Instant> {
        let stops = self.comparison.slow_stops().filter(|stop| self.state == Some(ThreadState::Stopped(stop.stop)));
        stops
            .map(|stop| instant(stop.from_ns, stop.to_ns, 0, "", &ThreadState::Stopped(stop.stop).to_string()))
            .collect()
    }

    fn waited(&self) -> Vec<Instant> {
        let mut waits = self.waits.clone();
        // Only the longest are reported, and making words for a million others would take long.
        waits.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.length_ns()));
        waits.truncate(100);
        let told = waits.into_iter().map(|(tid, wait)| {
            let what = worst::words(self.comparison, wait);
            instant(wait.from_ns, wait.to_ns, tid, self.comparison.thread_name(tid), &what)
        });
        told.collect()
    }

    fn without_a_cpu(&self) -> Vec<Instant> {
        let waits = self.comparison.long_waits_for_cpu().map(|wait| {
            let detail: RunQueueWait = from_text(self.comparison.recording().text(wait.detail));
            let instead = detail.instead.map_or_else(String::new, |who| format!(", {who} ran instead"));
            let thread = self.comparison.thread_name(wait.tid);
            instant(wait.time_ns, wait.end_ns(), wait.tid, thread, &format!("waiting for a CPU{instead}"))
        });
        waits.collect()
    }

    fn second_with_most(&self) -> Option<Instant> {
        let state = self.state?;
        let row = self.comparison.analysis.account.states.get(&state)?;
        let slow = self.comparison.slowdown.slow_buckets().filter(|index| row.get(*index).is_some_and(|ns| *ns > 0.0));
        let most = slow.max_by(|a, b| row[*a].total_cmp(&row[*b]))?;
        let (_, usual) = self.comparison.mean(row);
        let threads = |ns: f64| ns / BUCKET_NS as f64;
        let before = format::baseline(usual, |ns| format::number(threads(ns)));
        let from_ns = self.comparison.analysis.account.grid.start_of(most);
        let says = format!("{}: {state}{before}", format::amount(threads(row[most]), "threads"));
        Some(Instant { from_ns, to_ns: from_ns.saturating_add(BUCKET_NS), tid: 0, says })
    }
}

/// The longest of some spans, each described in a few words, and the threads that have most of them: for a cause whose time
/// the account cannot separate from other time.
pub(crate) fn at_spans<'s>(
    comparison: &Comparison<'_>,
    spans: impl Iterator<Item = &'s Span>,
    what: &str,
) -> DrillDown {
    let mut sums: BTreeMap<i64, i64> = BTreeMap::new();
    let told = spans.map(|one| {
        let sum = sums.entry(one.tid).or_default();
        *sum = sum.saturating_add(one.duration_ns);
        instant(one.time_ns, one.end_ns(), one.tid, comparison.thread_name(one.tid), what)
    });
    let worst = longest(told.collect());
    DrillDown { threads: with_most(sums), worst, ..DrillDown::default() }
}

/// The threads with most of something.
fn with_most(sums: BTreeMap<i64, i64>) -> Vec<i64> {
    let mut most: Vec<(i64, i64)> = sums.into_iter().collect();
    most.sort_by_key(|(tid, ns)| (std::cmp::Reverse(*ns), *tid));
    most.into_iter().take(THREADS_MAX).map(|(tid, _)| tid).collect()
}

fn instant(from_ns: i64, to_ns: i64, tid: i64, thread: &str, what: &str) -> Instant {
    let on = if thread.is_empty() { String::new() } else { format!(" on {thread}") };
    let says = format!("{}{on}: {what}", format::time(to_ns.saturating_sub(from_ns) as f64));
    Instant { from_ns, to_ns, tid, says }
}

/// The longest of them, no two at the same time: threads that wait for one thing are one instant.
fn longest(mut found: Vec<Instant>) -> Vec<Instant> {
    found.sort_by_key(|one| (std::cmp::Reverse(one.to_ns.saturating_sub(one.from_ns)), one.from_ns, one.tid));
    let mut worst: Vec<Instant> = Vec::new();
    for one in found {
        let length = |of: &Instant| of.to_ns.saturating_sub(of.from_ns) as f64;
        let is_short = worst.first().is_some_and(|first| length(&one) < COMPARABLE * length(first));
        if is_short || worst.len() == INSTANTS_MAX {
            break;
        }
        if !worst.iter().any(|known| one.from_ns < known.to_ns && one.to_ns > known.from_ns) {
            worst.push(one);
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_as_long_as_each_other_and_apart() {
        let of = |from_ns: i64, to_ns: i64, tid: i64| instant(from_ns, to_ns, tid, "", "x");
        let found = vec![of(0, 100, 1), of(10, 100, 2), of(200, 280, 1), of(300, 340, 1), of(500, 600, 3)];
        let worst: Vec<i64> = longest(found).into_iter().map(|one| one.from_ns).collect();
        assert_eq!(worst, [0, 500, 200]);
        assert_eq!(longest(Vec::new()), []);
    }
}
