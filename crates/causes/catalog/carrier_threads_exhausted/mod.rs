//! Virtual threads have their answers but wait for a carrier: all carriers are busy.

mod from_outside;

use std::collections::{BTreeMap, BTreeSet};

use fathom_evidence::kinds::{counter, event, span};
use fathom_evidence::tables::Span;
use fathom_evidence::{StackId, StrId};
use fathom_timeline::{Intervals, ThreadState, Wait};

use crate::cause::{Claim, ThreadTime};
use crate::measure::{recording_threshold, stacks};
use crate::period::Period;
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "carrier_threads_exhausted",
    readme: include_str!("README.md"),
    family: Family::Locks,
    refines: &[Refined::Cause("slow_downstream"), Refined::Cause("sleeping_handlers")],
    equals: &[
        (
            &["delayed_acknowledgement", "retransmissions", "slow_downstream", "thread_pool_exhausted"],
            "each claims of the waits for answers the part that it measured itself",
        ),
        (
            &["accept_queue_overflow", "dns_slow", "too_many_open_files"],
            "requests were late while no thread was seen to wait: each claims as much as it measured itself",
        ),
    ],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[&[Need::Event("jdk.SocketRead")]],
    actions: &[
        "move what computes for long to an executor of platform threads: its stack is in the evidence",
        "up to JDK 23, replace synchronized around waits by a ReentrantLock: a thread that waits inside keeps its carrier",
        "more carriers (-Djdk.virtualThreadScheduler.parallelism), if there are idle CPUs",
    ],
    decide,
};

/// Carriers that are busy for this part of the time have none free when one is wanted, mostly.
const CARRIERS_BUSY: f64 = 0.8;

/// By so much more than before, or it is as usual.
const MIN_INCREASE: f64 = 0.2;

/// Up to this JDK a virtual thread that waits inside of `synchronized` keeps its carrier (JEP 491).
const LAST_TO_PIN: u32 = 23;

/// The event of such waits, and how long they are at least.
const PINNED: &str = "jdk.VirtualThreadPinned";

/// Carriers of the JDK's scheduler are called so, and numbered.
const CARRIER_NAME: &str = "ForkJoinPool-1-worker-";

/// The kernel's names of threads are no longer than this, in bytes.
const KERNEL_NAME_BYTES: usize = 15;

/// The stub of HotSpot at which the stack of a virtual thread ends that goes on after a wait: its callers are still in the heap.
const THAWED: &str = "cont_returnBarrier";

/// Below this a virtual thread runs.
const MOUNTED: &[&str] = &["java.lang.VirtualThread.run", THAWED];

fn decide(comparison: &Comparison<'_>) -> Finding {
    let reads: Vec<Span> = reads(&comparison.slow).collect();
    if reads.is_empty() {
        let not_recorded =
            || recording_threshold::of_waits(comparison, &["jdk.SocketRead"], "waits of virtual threads");
        return from_outside::decide(comparison).unwrap_or_else(not_recorded);
    }
    let not_recorded = || Finding::needs_jfr("virtual threads wait, but how busy their carriers are was not recorded");
    let Some(Busy { now: busy, before, stack, at_most }) = Busy::of(comparison) else { return not_recorded() };
    if busy < CARRIERS_BUSY && may_be_pinned_unseen(comparison) {
        let says = format!(
            "carriers of virtual threads computed for {} of the time; whether threads that wait kept them",
            format::percent(busy)
        );
        return recording_threshold::unknown(PINNED, &format!("{says} was not recorded"));
    }
    let evidence =
        comparison.evidence("part of the time in which the carriers were busy", (busy, before), "ratio", "samples");
    let evidence = Evidence { stack: comparison.stack_text(stack, 12), ..evidence.of(&[event::CPU, event::EXECUTION]) };
    if busy < CARRIERS_BUSY {
        let says = format!("carriers of virtual threads were busy for {} of the time", format::percent(busy));
        return if at_most < CARRIERS_BUSY { Finding::absent(says).with(evidence) } else { not_recorded() };
    }
    let usual = usual_ns(comparison);
    let claims = late(&reads, &usual);
    let late_ns: f64 = claims.values().map(|time| time.total_ns() as f64).sum();
    let text = format!(
        "carriers of virtual threads were busy for {} of the time{}{}, so that {} of virtual threads ended {} late on average, when a \
         carrier was free",
        format::percent(busy),
        format::baseline(before, format::percent),
        kept(&comparison.slow),
        format::count(reads.len(), "read"),
        format::time(late_ns / reads.len() as f64),
    );
    let is_new = before.is_none_or(|before| busy >= before + MIN_INCREASE);
    let mut finding = Finding::new(if is_new { Support::Consistent } else { Support::Weak }, text).with(evidence);
    finding.claims.push(Claim::during(ThreadState::Blocked(Wait::Socket), claims));
    finding
}

/// Whether threads that wait may have kept carriers without a word of it in the recording.
fn may_be_pinned_unseen(comparison: &Comparison<'_>) -> bool {
    comparison.jdk().is_some_and(|jdk| jdk <= LAST_TO_PIN) && !recording_threshold::has_short_ones(comparison, PINNED)
}

/// For how long virtual threads waited and kept their carriers.
fn kept(period: &Period<'_>) -> String {
    match pinned_ns(period) {
        0.0 => String::new(),
        ns => format!(" ({} of it by threads that waited and kept them)", format::time(ns)),
    }
}

fn pinned_ns(period: &Period<'_>) -> f64 {
    0.0 + period.spans(span::PINNED).map(|wait| wait.duration_ns.max(0) as f64).sum::<f64>()
}

/// Reads of virtual threads.
fn reads<'a>(period: &'a Period<'_>) -> impl Iterator<Item = Span> + 'a {
    period.spans(span::SOCKET_READ).filter(|read| read.tid < 0 && period.sources.traffic.is_service(read))
}

/// How long a read from each service took before, in ns.
fn usual_ns(comparison: &Comparison<'_>) -> BTreeMap<StrId, f64> {
    let mut sums: BTreeMap<StrId, (f64, f64)> = BTreeMap::new();
    for read in comparison.baseline_here().into_iter().flat_map(reads) {
        let sum = sums.entry(read.name).or_default();
        *sum = (sum.0 + read.duration_ns.max(0) as f64, sum.1 + 1.0);
    }
    sums.into_iter().map(|(name, (ns, count))| (name, ns / count)).collect()
}

/// The end of each read, beyond what the service usually takes.
fn late(reads: &[Span], usual_ns: &BTreeMap<StrId, f64>) -> ThreadTime {
    let ends = reads.iter().map(|read| {
        let usual_ns = usual_ns.get(&read.name).copied().unwrap_or(0.0) as i64;
        (read.tid, read.time_ns.saturating_add(usual_ns), read.end_ns())
    });
    Intervals::by_key(ends.filter(|(_, from_ns, to_ns)| from_ns < to_ns))
}

/// How busy the carriers were.
struct Busy {
    now: f64,
    before: Option<f64>,
    /// With what most.
    stack: StackId,
    /// They may have been as busy by what was not recorded.
    at_most: f64,
}

impl Busy {
    /// By samples of what runs on them, else the whole process fills the CPUs.
    fn of(comparison: &Comparison<'_>) -> Option<Busy> {
        let slow = Mounted::of(comparison, &comparison.slow);
        let baseline = comparison.baseline.as_ref().map(|baseline| Mounted::of(comparison, baseline).busy());
        let (stack, at_most) = (slow.most, slow.at_most(comparison));
        let by_cpu = comparison.process_use().map(|(now, before)| Busy { now, before, stack, at_most });
        let by_samples = (slow.ns > 0.0).then(|| Busy { now: slow.busy(), before: baseline, stack, at_most });
        match (by_samples, by_cpu) {
            (Some(samples), Some(cpu)) => Some(if cpu.now > samples.now { cpu } else { samples }),
            (samples, cpu) => samples.or(cpu),
        }
    }
}

/// How many carriers there are; `seen` of them ran something. One that never ran is known by its name. Ended ones have
/// names too, but hardly more exist at once than CPUs. Samples of some recorders name the virtual thread.
fn carriers(comparison: &Comparison<'_>, seen: usize) -> usize {
    let recording = comparison.recording();
    let names = recording.threads.iter().map(|(_, thread)| recording.text(thread.name));
    let named = names.filter(|name| is_carrier(name)).count();
    let cpus = comparison.analysis.account.cpus.unwrap_or(1.0) as usize;
    let known = if named == 0 && seen == 0 { cpus } else { named.min(cpus) };
    known.max(seen)
}

/// The kernel cuts long names.
fn is_carrier(name: &str) -> bool {
    name.starts_with(CARRIER_NAME) || name.len() == KERNEL_NAME_BYTES && CARRIER_NAME.starts_with(name)
}

/// For how long threads could have run but had no CPU, as the kernel counts it.
fn waited_for_cpu_ns(period: &Period<'_>, tids: &BTreeSet<i64>) -> f64 {
    let waits = period.sources.counters(counter::THREAD_RUN_QUEUE_NS);
    0.0 + waits.iter().filter(|((_, tid), _)| tids.contains(tid)).map(|(_, series)| period.rise(series)).sum::<f64>()
}

/// What was seen of threads that run virtual ones.
struct Mounted {
    /// In which a virtual thread computed, or waited and kept its carrier: for something, or for a CPU.
    ns: f64,
    carriers: usize,
    seconds: f64,
    most: StackId,
}

impl Mounted {
    fn of(comparison: &Comparison<'_>, period: &Period<'_>) -> Mounted {
        let mut weights: BTreeMap<StackId, f64> = BTreeMap::new();
        let mut is_mounted = stacks::are_below(period.sources.recording, MOUNTED);
        let mut seen: BTreeSet<i64> = BTreeSet::new();
        for sample in period.samples(stacks::running_event(comparison)) {
            if is_mounted(sample.stack_id) {
                *weights.entry(sample.stack_id).or_default() += sample.weight_ns.max(0) as f64;
                seen.extend((sample.tid > 0).then_some(sample.tid));
            }
        }
        let most = stacks::most_seen(&weights);
        let computed_ns = 0.0 + weights.values().sum::<f64>();
        // Carriers that mostly wait for a CPU are too slow rather than too few.
        let ns = computed_ns + waited_for_cpu_ns(period, &seen).min(computed_ns) + pinned_ns(period);
        Mounted { ns, carriers: carriers(comparison, seen.len()), seconds: period.seconds(), most }
    }

    fn busy(&self) -> f64 {
        self.part(self.ns / 1e9 / self.seconds)
    }

    /// Without samples they may have used all that the process used; and they may have waited for CPUs for as long as they computed, which
    /// not every recorder tells.
    fn at_most(&self, comparison: &Comparison<'_>) -> f64 {
        if self.ns > 0.0 && comparison.sources().has_counter(counter::THREAD_RUN_QUEUE_NS) {
            return self.busy();
        }
        let cores = comparison.process_use().zip(comparison.analysis.account.cpus).map(|((used, _), cpus)| used * cpus);
        let computed = if self.ns > 0.0 { Some(self.busy()) } else { cores.map(|cores| self.part(cores)) };
        computed.map_or(1.0, |computed| (2.0 * computed).min(1.0))
    }

    fn part(&self, cores: f64) -> f64 {
        (cores / self.carriers.max(1) as f64).min(1.0)
    }
}
