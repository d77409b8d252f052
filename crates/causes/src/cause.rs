//! What a cause is, and what it answers.

use std::collections::BTreeMap;

use fathom_timeline::{Intervals, ThreadState};

use crate::comparison::Comparison;
use crate::explanation::{DrillDown, Evidence, Missing};
use crate::family::{Family, Refined};
use crate::need::Need;
use crate::piece::Level;

/// A cause of slowness. One folder of the catalogue declares one as `pub(crate) static CAUSE`.
#[derive(Debug)]
pub struct Cause {
    /// Its id: the name of its folder. Names what happens, never the remedy.
    pub id: &'static str,
    /// Its page.
    pub readme: &'static str,
    /// What its mechanism is about.
    pub family: Family,
    /// Whose time it explains more exactly: where both are seen equally well, it comes first.
    pub refines: &'static [Refined],
    /// Causes that may claim the same time without being its mechanism or its consequence, by their ids, and why these share it.
    /// One of the two says so.
    pub equals: &'static [(&'static [&'static str], &'static str)],
    /// Whether its folder has a lab.
    pub has_lab: bool,
    /// The collectors that record what shows it on a live JVM; none when no collector can.
    pub collectors: &'static [&'static str],
    /// What has to be recorded before its absence means anything: one of each group.
    pub needs: &'static [&'static [Need]],
    /// What to do about it, the most effective first.
    pub actions: &'static [&'static str],
    /// Looks for the cause.
    pub decide: fn(&Comparison<'_>) -> Finding,
}

impl Cause {
    /// Whether it explains more exactly what `other` explains.
    pub fn refines(&self, other: &Cause) -> bool {
        self.id != other.id && self.refines.iter().any(|refined| refined.is(other.id, other.family))
    }

    /// Whether one of the two says that they share what both claim.
    pub fn is_equal_to(&self, other: &Cause) -> bool {
        let says = |one: &Cause, id: &str| one.equals.iter().any(|(ids, _)| ids.contains(&id));
        says(self, other.id) || says(other, self.id)
    }

    /// What people call it: the heading of its page.
    pub fn name(&self) -> &'static str {
        self.readme.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or(self.id)
    }

    /// What it is, in one sentence: the first paragraph of its page.
    pub fn title(&self) -> &'static str {
        let mut paragraphs = self.readme.split("\n\n").map(str::trim).filter(|text| !text.is_empty());
        paragraphs.find(|text| !text.starts_with('#')).unwrap_or("")
    }
}

/// How well the signature of a cause is seen, the best first. How much time it explains is another question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Support {
    /// The mechanism itself was seen.
    Observed,
    /// All signs that there are fit, but the mechanism was not seen itself.
    Consistent,
    /// Some signs fit.
    Weak,
    /// Nothing of it was seen.
    #[default]
    Absent,
    /// What would show it was not recorded.
    NotMeasured,
}

/// Some time of each of some threads; of the whole process under 0.
pub type ThreadTime = BTreeMap<i64, Intervals>;

/// Thread time that a cause explains: which time, not only how much, so that two causes are not paid for the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Which kind of time.
    pub state: ThreadState,
    /// Which of it.
    pub extent: Extent,
}

/// Which part of a kind of time.
#[derive(Debug, Clone, PartialEq)]
pub enum Extent {
    /// All of it.
    All,
    /// So much of its excess, in ns: what was sampled or counted is known as an amount only.
    Part(f64),
    /// What lies in some time of some threads.
    During(ThreadTime),
}

impl Claim {
    /// All of the excess of a kind of time.
    pub fn all(state: ThreadState) -> Claim {
        Claim { state, extent: Extent::All }
    }

    /// At most so much of it, in ns.
    pub fn part(state: ThreadState, at_most_ns: f64) -> Claim {
        Claim { state, extent: Extent::Part(at_most_ns) }
    }

    /// What of it lies in some time of some threads.
    pub fn during(state: ThreadState, time: ThreadTime) -> Claim {
        Claim { state, extent: Extent::During(time) }
    }

    /// So much of several kinds of time, in ns: of each as much as it grew, in their order, until all is claimed.
    pub fn parts_in_order(comparison: &Comparison<'_>, states: &[ThreadState], mut at_most_ns: f64) -> Vec<Claim> {
        let mut claims = Vec::new();
        for state in states {
            let part_ns = at_most_ns.min(comparison.grown_ns(*state));
            if part_ns > 0.0 {
                claims.push(Claim::part(*state, part_ns));
                at_most_ns -= part_ns;
            }
        }
        claims
    }

    /// The part of a level of a piece of lost time that it claims.
    pub(crate) fn part_of(&self, comparison: &Comparison<'_>, level: &Level) -> f64 {
        match (&self.extent, level.when) {
            (Extent::All, _) => 1.0,
            (Extent::Part(_), _) => self.part_of_excess(comparison),
            (Extent::During(time), Some((tid, from_ns, to_ns))) => {
                let within_ns = time.get(&tid).map_or(0, |time| time.within_ns(from_ns, to_ns));
                let part = within_ns as f64 / to_ns.saturating_sub(from_ns).max(1) as f64;
                (part / level.grown.max(part)).min(1.0)
            }
            (Extent::During(_), None) => 0.0,
        }
    }

    /// The part of the excess of its kind of time that it is, as far as that is an amount.
    fn part_of_excess(&self, comparison: &Comparison<'_>) -> f64 {
        let lost_ns = comparison.grown_ns(self.state);
        match self.extent {
            Extent::All => 1.0,
            Extent::Part(at_most_ns) if lost_ns > 0.0 => (at_most_ns / lost_ns).clamp(0.0, 1.0),
            _ => 0.0,
        }
    }

    /// How much of what grew it is, whether or not that counts as lost, in ns.
    pub(crate) fn grown_ns(&self, comparison: &Comparison<'_>) -> f64 {
        let grown_ns = comparison.grown_ns(self.state);
        match &self.extent {
            Extent::During(time) => within_ns(comparison, time).min(grown_ns),
            _ => grown_ns * self.part_of_excess(comparison),
        }
    }

    /// How much of it there was, in ns: what lies in some time of some threads, and an amount, are known as such; all of a kind of time
    /// by how much it grew.
    fn seen_ns(&self, comparison: &Comparison<'_>) -> f64 {
        let all_ns = comparison.excess().of(self.state).map_or(0.0, |excess| excess.slow_ns);
        match &self.extent {
            Extent::During(time) => within_ns(comparison, time).min(all_ns),
            Extent::Part(ns) => ns.min(all_ns),
            Extent::All => self.grown_ns(comparison),
        }
    }
}

/// The slow part of some time of some threads.
fn within_ns(comparison: &Comparison<'_>, time: &ThreadTime) -> f64 {
    let within = |time: &Intervals| time.intersect(&comparison.slow.time).total_ns() as f64;
    time.values().map(within).sum()
}

/// Harm other than lost time: datagrams that were lost, say. Such a cause follows from something that held up the thread or
/// process that should have prevented it. It claims no time; the causes of the time in which it happened stand behind it.
#[derive(Debug, Clone, Default)]
pub struct Harm {
    /// In which kinds of time it happened, and for how long in each, in ns.
    pub happened_in: Vec<(ThreadState, f64)>,
    /// When it happened.
    pub when: Intervals,
}

/// The answer of one cause.
#[derive(Debug, Clone, Default)]
pub struct Finding {
    /// How well its signature is seen.
    pub support: Support,
    /// One or two sentences with figures.
    pub says: String,
    /// The measurements behind it.
    pub evidence: Vec<Evidence>,
    /// The time it explains.
    pub claims: Vec<Claim>,
    /// What would make the answer better.
    pub missing: Vec<Missing>,
    /// Ids of causes behind this one, the nearest first, as far as the cause itself knows them; the engine
    /// follows them to the root.
    pub chain: Vec<&'static str>,
    /// When it was at work, where that is known to a second or better: of causes of the same kind of time the
    /// one that was at work when harm was done stands behind it.
    pub when: Option<Intervals>,
    /// Set when it did harm other than lost time.
    pub harm: Option<Harm>,
    /// Set when it is not meant even where no other cause of its family explains the time.
    pub is_never_meant: bool,
    /// Things to do that depend on what was found; they come before the cause's own.
    pub actions: Vec<String>,
    /// What to look at, as far as it does not follow from claims and evidence.
    pub drill_down: DrillDown,
}

impl Finding {
    /// How much of what grew the mechanism is, whether or not that counts as lost, in ns.
    pub(crate) fn grown_ns(&self, comparison: &Comparison<'_>) -> f64 {
        self.claims.iter().map(|claim| claim.grown_ns(comparison)).sum()
    }

    /// How much there was of the mechanism, in ns, also where it was there from the first second on.
    pub(crate) fn seen_ns(&self, comparison: &Comparison<'_>) -> f64 {
        self.claims.iter().map(|claim| claim.seen_ns(comparison)).sum()
    }

    /// An answer with a support and a sentence, to which the rest is added.
    pub fn new(support: Support, says: impl Into<String>) -> Finding {
        Finding { support, says: says.into(), ..Finding::default() }
    }

    /// Nothing of it was seen. Whether that excludes it the engine knows, by what was recorded.
    pub fn absent(says: impl Into<String>) -> Finding {
        Finding::new(Support::Absent, says)
    }

    /// What would show the cause was not recorded.
    pub fn unknown(says: &str, record_with: &str) -> Finding {
        let missing = Missing { says: says.to_owned(), record_with: record_with.to_owned() };
        Finding { missing: vec![missing], ..Finding::new(Support::NotMeasured, says) }
    }

    /// The evidence that only the kernel has.
    pub fn needs_kernel(says: &str) -> Finding {
        Finding::unknown(says, Missing::RECORD)
    }

    /// What only those know who wait for the service, and a time when they did not have to.
    pub fn needs_requests(says: &str) -> Finding {
        Finding::unknown(says, "fathom explain … --latency FILE, or --baseline RECORDING of a time when it was well")
    }

    /// The evidence that a log of the collector has.
    pub fn needs_gc_log() -> Finding {
        Finding::unknown("no collections were recorded", Missing::GC_LOG)
    }

    /// The evidence that a recording of the JVM has.
    pub fn needs_jfr(says: &str) -> Finding {
        Finding::unknown(says, Missing::JFR)
    }

    /// Adds a measurement.
    #[must_use]
    pub fn with(mut self, evidence: Evidence) -> Finding {
        self.evidence.push(evidence);
        self
    }

    /// Adds measurements.
    #[must_use]
    pub fn with_all(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Finding {
        self.evidence.extend(evidence);
        self
    }

    /// Names what is drawn over time that shows it best: counters (`NAME|INSTANCE` for one of many) and kinds of spans.
    #[must_use]
    pub fn drawn_by(mut self, lanes: &[&str]) -> Finding {
        self.drill_down.lanes.extend(lanes.iter().map(|lane| (*lane).to_owned()));
        self
    }

    /// Names the event of samples, or `spans/` and the kind of spans, whose stacks show it best.
    #[must_use]
    pub fn with_stacks_of(mut self, event: &str) -> Finding {
        event.clone_into(&mut self.drill_down.event);
        self
    }

    /// Claims what the application waited for CPUs because of the running that is claimed already.
    #[must_use]
    pub fn crowding(mut self, comparison: &Comparison<'_>) -> Finding {
        let is_running = |claim: &&Claim| matches!(claim.state, ThreadState::Running(_) | ThreadState::Compiler);
        let running = self.claims.iter().filter(is_running);
        let at_most_ns = comparison.crowding_of_ns(running.map(|claim| claim.grown_ns(comparison)).sum());
        self.claims.extend((at_most_ns > 0.0).then(|| Claim::part(ThreadState::Runnable, at_most_ns)));
        self
    }

    /// Claims all excess of the kinds of time that `select` chooses, and what the application waited
    /// for CPUs because these ran.
    #[must_use]
    pub fn claiming(mut self, comparison: &Comparison<'_>, select: impl Fn(ThreadState) -> bool) -> Finding {
        let states = comparison.excess().states.iter().map(|excess| excess.state);
        self.claims.extend(states.filter(|state| select(*state)).map(Claim::all));
        let at_most_ns = comparison.crowding_ns(&select);
        self.claims.extend((at_most_ns > 0.0).then(|| Claim::part(ThreadState::Runnable, at_most_ns)));
        self
    }
}
