//! The JVM stops the application, but not for a collection: thread dumps, heap dumps, histograms, redefined classes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fathom_evidence::detail::VmOperation;
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::tables::Span;
use fathom_timeline::{Intervals, Stop, StopSpan, ThreadState};

use crate::cause::{Claim, ThreadTime};
use crate::measure::collections::{are_minor, is_long};
use crate::measure::safepoints::bare;
use crate::{Cause, Comparison, Family, Finding, Need, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "vm_operations",
    readme: include_str!("README.md"),
    family: Family::Safepoint,
    refines: &[Refined::Family(Family::Cpu), Refined::Family(Family::Load)],
    equals: &[],
    has_lab: true,
    collectors: &["jvm_probes", "jfr"],
    needs: &[&[Need::Stops]],
    actions: &["find what requests them: -Xlog:safepoint names each, and jdk.ExecuteVMOperation the thread that asked"],
    decide,
};

const STATE: ThreadState = ThreadState::Stopped(Stop::Operation);

/// A stop that a request notices, in ns.
const FELT_STOP_NS: i64 = 10_000_000;

/// Shorter ones are noticed when they take this part of the time together.
const NOTICED_SHARE: f64 = 0.01;

/// What recorders and agents have the JVM do when they start, Fathom too. A stop for it may be no problem of the service.
const OF_RECORDERS: &[&str] = &["redefined classes", "deoptimization of compiled code", "Flight Recorder"];

/// What people call operations whose names contain a word, and what is to be done about them.
const KNOWN: &[(&[&str], &str, &str)] = &[
    (
        &["ThreadDump", "PrintThreads", "GetAllStackTraces", "GetStackTrace", "GetThreadListStackTraces"],
        "thread dumps",
        "fewer thread dumps: ask the agent or monitor that takes them for a longer interval, fewer threads and a limit of depth",
    ),
    (&["FindDeadlocks"], "searches for deadlocks", "look for deadlocks by hand, not in a monitor's interval"),
    (&["HeapDumper", "Heap Dump"], "heap dumps", "dump the heap of a replica that is out of rotation"),
    (
        &["GC_HeapInspection", "HeapIterate", "Class Histogram"],
        "class histograms and walks through the heap",
        "count classes from a heap dump, or of a replica that is out of rotation",
    ),
    (&["RevokeBias", "EnableBiasedLocking"], "revocations of biased locks", "-XX:-UseBiasedLocking (JDK 17 and older)"),
    (
        &["RedefineClasses", "Retransform"],
        "redefined classes",
        "have agents change classes when the JVM starts, not in service",
    ),
    (
        &["Deoptimize"],
        "deoptimization of compiled code",
        "see what redefines classes or loads those that end an assumption",
    ),
    (&["JFR"], "Flight Recorder", "jdk.OldObjectSample without paths to GC roots (path-to-gc-roots=false)"),
];

/// Parts of the names of collections' operations.
const OF_COLLECTIONS: &[&str] =
    &["Collect", "CGC", "GC", "G1", "Shenandoah", "ZMark", "ZRelocate", "ZVerify", "XMark", "XRelocate", "XVerify"];

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !is_recorded(comparison) {
        return Finding::unknown("stops were not recorded", "-Xlog:safepoint*:file=gc.log:time,uptime,level,tags");
    }
    let stops = Stops::of(comparison);
    if stops.are_bare(comparison) {
        let says = format!("{}; the log does not say for what, nor how long threads took to stop", stops.says());
        return Finding::unknown(&says, "-XX:+PrintSafepointStatistics -XX:PrintSafepointStatisticsCount=1 (JDK 8)");
    }
    if let Some(stop) = stops.cut.filter(|cut| cut.duration_ns() >= FELT_STOP_NS.max(stops.longest_ns())) {
        let length = format::time(stop.duration_ns() as f64);
        let says = format!("the recording begins in a stop of {length}, and what that was for stands before it");
        return Finding::unknown(&says, "-Xlog:gc*,safepoint*:file=gc.log:time,uptime,level,tags, from before that on");
    }
    let share = stops.total_ns() / comparison.slow.time.total_ns().max(1) as f64;
    if stops.longest_ns() < FELT_STOP_NS && share < NOTICED_SHARE {
        return Finding::absent(match stops.longest_ns() {
            0 => "nothing but collections stopped the application".to_owned(),
            longest => {
                format!("what was no collection stopped the application for {} at most", format::time(longest as f64))
            }
        });
    }
    if comparison.excess_threads(|state| state == STATE) <= 0.0 {
        return Finding::absent(format!("{}, as in the baseline", stops.says()));
    }
    // A few short stops in a few seconds are no more than possible, unless requests tell; nor are those of a recorder, except for one that is
    // long enough to be noticed.
    let lengths: Vec<(i64, i64)> = stops.all().map(|stop| (stop.from_ns, stop.duration_ns())).collect();
    let support = if are_minor(comparison, &lengths) || stops.are_of_recorders() && !is_long(&lengths) {
        Support::Weak
    } else {
        Support::Observed
    };
    let mut finding = Finding::new(support, stops.says() + &asked_by(comparison))
        .with_all(stops.evidence(comparison))
        .drawn_by(&[span::VM_OPERATION, span::SAFEPOINT]);
    finding.actions.extend(stops.advice());
    finding.claims.push(Claim::during(STATE, ThreadTime::from([(0, stops.time())])));
    finding
}

fn is_recorded(comparison: &Comparison<'_>) -> bool {
    let kinds = [span::SAFEPOINT, span::VM_OPERATION];
    kinds.iter().any(|kind| comparison.sources().spans(kind).len() > 0)
        || comparison.is_recorded("jdk.SafepointBegin")
        || comparison.sources().has_counter(counter::SAFEPOINT_TIME_NS)
        || comparison.slow_stops().any(|stop| stop.stop == Stop::Operation)
}

/// Stops that are no collections.
struct Stops<'a> {
    /// By what people call them.
    by_name: BTreeMap<&'static str, Vec<&'a StopSpan>>,
    /// One that the recording begins in, which may be a collection.
    cut: Option<&'a StopSpan>,
}

impl<'a> Stops<'a> {
    fn of(comparison: &Comparison<'a>) -> Stops<'a> {
        let names = Names::of(comparison);
        let cut = cut_at_the_beginning(comparison, &names);
        let mut stops: BTreeMap<&'static str, Vec<&StopSpan>> = BTreeMap::new();
        for stop in comparison.slow_stops().filter(|stop| stop.stop == Stop::Operation) {
            let name = names.of_stop(stop);
            if cut != Some(stop) && !is_collection(name) {
                stops.entry(called(name)).or_default().push(stop);
            }
        }
        Stops { by_name: stops, cut }
    }

    fn all(&self) -> impl Iterator<Item = &'a StopSpan> + '_ {
        self.by_name.values().flatten().copied()
    }

    fn total_ns(&self) -> f64 {
        sum_ns(self.all())
    }

    /// Whether most of them are known by their length alone, and are long.
    fn are_bare(&self, comparison: &Comparison<'_>) -> bool {
        let bare = sum_ns(bare(comparison).iter());
        2.0 * bare > self.total_ns() && self.longest_ns() >= FELT_STOP_NS
    }

    fn longest_ns(&self) -> i64 {
        self.all().map(StopSpan::duration_ns).max().unwrap_or(0)
    }

    fn time(&self) -> Intervals {
        Intervals::union(self.all().map(|stop| (stop.from_ns, stop.to_ns)).collect())
    }

    /// By how much time they took, the most first.
    fn by_time(&self) -> Vec<(&'static str, f64)> {
        let mut sums: Vec<(&str, f64)> =
            self.by_name.iter().map(|(name, stops)| (*name, sum_ns(stops.iter().copied()))).collect();
        sums.sort_by_key(|(_, ns)| Reverse(*ns as i64));
        sums
    }

    fn says(&self) -> String {
        const NAMED: usize = 3;
        let total_ns = self.total_ns();
        let part = |(name, ns): (&str, f64)| format!("{name} ({})", format::percent(ns / total_ns.max(1.0)));
        let parts: Vec<String> = self.by_time().into_iter().take(NAMED).map(part).collect();
        format!(
            "the JVM stopped the application {} for what is no collection, for {} in all, the longest {}: {}",
            format::count(self.all().count(), "time"),
            format::time(total_ns),
            format::time(self.longest_ns() as f64),
            parts.join(", ")
        )
    }

    fn evidence(&self, comparison: &Comparison<'_>) -> Vec<crate::Evidence> {
        let of = |says: &str, value: f64, unit: &str| {
            comparison.evidence(says, (value, None), unit, "spans").of(&[span::SAFEPOINT, span::VM_OPERATION])
        };
        vec![
            of("stops that are no collections", self.all().count() as f64, "count"),
            of("their sum", self.total_ns(), "ns"),
            of("the longest", self.longest_ns() as f64, "ns"),
        ]
    }

    fn are_of_recorders(&self) -> bool {
        let of_recorders: f64 =
            self.by_time().iter().filter(|(name, _)| OF_RECORDERS.contains(name)).map(|(_, ns)| ns).sum();
        2.0 * of_recorders >= self.total_ns()
    }

    /// What to do about those that took most.
    fn advice(&self) -> Option<String> {
        let (most, _) = *self.by_time().first()?;
        KNOWN.iter().find(|(_, called, _)| *called == most).map(|(_, _, advice)| (*advice).to_owned())
    }
}

/// The stop without a name that a recording of a JVM that ran before begins in: the line of its collection, if it was one, stands in
/// what was cut off.
fn cut_at_the_beginning<'a>(comparison: &Comparison<'a>, names: &Names<'_>) -> Option<&'a StopSpan> {
    let (account, begins_ns) = (&comparison.analysis.account, comparison.sources().observed_ns.0);
    let reached_ns = account.stops.first().filter(|stop| stop.stop == Stop::TimeToSafepoint).map(|stop| stop.to_ns);
    let first = account.stops.iter().find(|stop| stop.stop != Stop::TimeToSafepoint)?;
    let is_first = first.from_ns <= reached_ns.unwrap_or(begins_ns) && account.stops[0].from_ns <= begins_ns;
    let is_slow = comparison.slow.time.touches(first.from_ns, first.to_ns);
    let is_cut = is_first && is_slow && first.stop == Stop::Operation && account.startup.boot_buckets == 0;
    (is_cut && names.of_stop(first).is_empty()).then_some(first)
}

fn sum_ns<'s>(stops: impl Iterator<Item = &'s StopSpan>) -> f64 {
    0.0 + stops.map(|stop| stop.duration_ns() as f64).sum::<f64>()
}

fn is_collection(name: &str) -> bool {
    OF_COLLECTIONS.iter().any(|part| name.contains(part)) && called(name) == OTHERS
}

const OTHERS: &str = "other operations";

/// What people call an operation.
fn called(name: &str) -> &'static str {
    let is = |(words, _, _): &&(&[&str], &str, &str)| words.iter().any(|word| name.contains(word));
    KNOWN.iter().find(is).map_or(OTHERS, |(_, called, _)| called)
}

/// Names of stops, from any source that has them.
struct Names<'a> {
    comparison: &'a Comparison<'a>,
    /// In order, of each kind.
    known: [Vec<Span>; 3],
}

impl<'a> Names<'a> {
    fn of(comparison: &'a Comparison<'_>) -> Names<'a> {
        let is_operation = |row: &Span| called(comparison.recording().text(row.name)) != OTHERS;
        let known = [span::GC_PHASE, span::SAFEPOINT, span::VM_OPERATION].map(|kind| {
            let spans = comparison.slow.spans(kind);
            let mut spans: Vec<Span> = spans.filter(|row| kind != span::GC_PHASE || is_operation(row)).collect();
            spans.sort_by_key(|span| span.time_ns);
            spans
        });
        Names { comparison, known }
    }

    fn of_stop(&self, stop: &StopSpan) -> &'a str {
        let middle_ns = stop.from_ns + stop.duration_ns() / 2;
        let around = |spans: &Vec<Span>| {
            let last = spans[..spans.partition_point(|span| span.time_ns <= middle_ns)].last()?;
            Some(self.comparison.recording().text(last.name))
                .filter(|name| last.end_ns() >= middle_ns && !name.is_empty())
        };
        self.known.iter().find_map(around).unwrap_or("")
    }
}

/// Who asked for most of them, where that was recorded.
fn asked_by(comparison: &Comparison<'_>) -> String {
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for operation in comparison.slow.spans(span::VM_OPERATION) {
        let detail: VmOperation = comparison.slow.detail(&operation);
        let is_ours = detail.safepoint == Some(true) && !is_collection(comparison.recording().text(operation.name));
        // An operation without another caller was requested by the VM thread itself.
        if let Some(caller) = detail.caller.filter(|caller| is_ours && caller != "VM Thread") {
            let sum = sums.entry(caller).or_default();
            *sum = sum.saturating_add(operation.duration_ns.max(0));
        }
    }
    let most = sums.into_iter().max_by_key(|(_, ns)| *ns).filter(|(caller, ns)| *ns > 0 && !caller.is_empty());
    most.map_or(String::new(), |(caller, _)| format!("; most requested by {caller}"))
}
