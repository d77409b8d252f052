//! Memory is read before it is written, so that each page faults twice; if that splits huge pages, 513 times.

use fathom_evidence::kinds::{counter, role, subject};
use fathom_timeline::{Series, ThreadState};

use crate::explanation::Evidence;
use crate::measure::stacks;
use crate::measure::syscalls::running_claims;
use crate::period::SECOND;
use crate::{Cause, Claim, Comparison, Family, Finding, Need, Period, Refined, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "read_then_write_faults",
    readme: include_str!("README.md"),
    family: Family::Pages,
    refines: &[
        Refined::Family(Family::Collections),
        Refined::Family(Family::Safepoint),
        Refined::Family(Family::Load),
        Refined::Family(Family::Cpu),
    ],
    equals: &[],
    has_lab: true,
    collectors: &["page_faults", "memory"],
    needs: &[&[Need::Counter(counter::PAGE_FAULTS_COUNT)]],
    actions: &[
        "write first, or populate with MADV_POPULATE_WRITE (Linux 5.14); JDK 22 or 21.0.5 and later do so for the heap",
    ],
    decide,
};

/// Part of the faults that are repeated from which on it is a way of touching memory and not an accident: each
/// page touched so has one fault in vain and one that serves, which makes a half.
const MIN_REPEATED_SHARE: f64 = 0.1;

/// Pages that one huge page is split into.
const SMALL_PAGES: f64 = 512.0;

/// Where a fault of user code enters the kernel, on x86-64 and on arm64.
const ENTRIES: &[&str] = &["asm_exc_page_fault", "exc_page_fault", "do_mem_abort"];

/// Pages that the baseline must have got for the price of one to be known.
const ENOUGH_PAGES: f64 = 10_000.0;

/// First Linux that puts a huge page in the place of the huge zero page instead of splitting it.
const NOT_SPLIT_SINCE: (u32, u32) = (6, 13);

/// Page faults in some time, per second.
#[derive(Debug, Clone, Copy)]
struct Faults {
    all: f64,
    repeated: f64,
    splits: f64,
    /// Pages that the application's threads got: their faults but those in vain.
    served: f64,
    all_ns: f64,
    in_vain_ns: f64,
    /// The same of the collector's threads, which touch the heap when it grows.
    of_collector_ns: f64,
}

impl Faults {
    fn of(period: &Period<'_>) -> Faults {
        let sum =
            |name: &str, instances: &[&str], of_collector: bool| per_second(period, name, instances, of_collector);
        let of_both = |name: &str, instances: &[&str]| sum(name, instances, true) + sum(name, instances, false);
        let splits = period.sources.counter(counter::VMSTAT_COUNT, "thp_split_pmd");
        let of_application = |instances: &[&str]| sum(counter::PAGE_FAULTS_COUNT, instances, false);
        let mut faults = Faults {
            served: of_application(&["minor", "major"]) - of_application(&["repeated"]),
            all: of_both(counter::PAGE_FAULTS_COUNT, &["minor", "major"]),
            repeated: of_both(counter::PAGE_FAULTS_COUNT, &["repeated"]),
            splits: period.rise(&splits) / period.seconds(),
            all_ns: sum(counter::PAGE_FAULTS_NS, &[""], false),
            in_vain_ns: sum(counter::PAGE_FAULTS_NS, &["in vain"], false),
            of_collector_ns: sum(counter::PAGE_FAULTS_NS, &["in vain"], true),
        };
        if faults.splits_pages() {
            faults.in_vain_ns = faults.all_ns * SMALL_PAGES / (SMALL_PAGES + 1.0);
            faults.of_collector_ns = sum(counter::PAGE_FAULTS_NS, &[""], true) * SMALL_PAGES / (SMALL_PAGES + 1.0);
        }
        faults
    }

    /// Whether most faults are those of the small pages that huge ones were split into.
    fn splits_pages(&self) -> bool {
        self.repeated > 0.0 && self.would_be_most(self.splits)
    }

    /// Whether most faults would be those, were so many huge pages split.
    fn would_be_most(&self, splits: f64) -> bool {
        splits > 0.0 && splits * SMALL_PAGES >= MIN_SHARE_OF_FAULTS * self.all
    }
}

fn per_second(period: &Period<'_>, name: &str, instances: &[&str], of_collector: bool) -> f64 {
    let counters = period.sources.counters(name);
    let chosen = counters.iter().filter(|((instance, tid), _)| {
        let is_collector = period.sources.role(*tid) == role::GC;
        instances.contains(&period.sources.recording.text(*instance)) && is_collector == of_collector
    });
    let sum: f64 = chosen.map(|(_, series): (_, &Series)| period.rise(series)).sum();
    0.0 + sum / period.seconds()
}

/// From this part of the faults on they are most of them.
const MIN_SHARE_OF_FAULTS: f64 = 0.5;

fn decide(comparison: &Comparison<'_>) -> Finding {
    if !comparison.sources().has_counter(counter::PAGE_FAULTS_COUNT) {
        return Finding::needs_kernel("page faults of each thread were not recorded");
    }
    let slow = Faults::of(&comparison.slow);
    let baseline = comparison.baseline_looked_at().as_ref().map(Faults::of);
    let evidence = evidence(comparison, &slow, baseline.as_ref());
    let says = format!(
        "{} of {} page faults per second were repeated at the same page",
        format::number(slow.repeated),
        format::number(slow.all)
    );
    if !slow.splits_pages() && slow.repeated < MIN_REPEATED_SHARE * slow.all.max(1.0) {
        if slow.would_be_most(slow.repeated) && !comparison.sources().has_counter(counter::VMSTAT_COUNT) {
            return Finding::needs_kernel(&format!("{says}; whether huge pages were split was not recorded"));
        }
        return Finding::absent(says).with_all(evidence);
    }
    let split = match slow.splits_pages() {
        true => {
            format!(
                "; {} huge pages per second were split by it{}",
                format::number(slow.splits),
                splitting_kernel(comparison)
            )
        }
        false => String::new(),
    };
    let dearer_ns = dearer_ns(comparison, &slow, baseline.as_ref());
    let dearer = match dearer_ns {
        Some(ns) => format!("; as many pages cost {} per second less in the baseline", format::time(ns)),
        None => String::new(),
    };
    let text = format!(
        "{says}: read first, then written{split}; {} per second in vain{dearer}",
        format::time(slow.in_vain_ns + slow.of_collector_ns)
    );
    let mut finding = Finding::new(Support::Observed, text).with_all(evidence);
    finding.claims = claims(comparison, &slow, baseline.as_ref(), dearer_ns);
    finding.actions = advice(comparison, &slow);
    finding.crowding(comparison)
}

fn evidence(comparison: &Comparison<'_>, slow: &Faults, baseline: Option<&Faults>) -> Vec<Evidence> {
    let both = |measure: fn(&Faults) -> f64| (measure(slow), baseline.map(measure));
    vec![
        comparison
            .evidence("repeated page faults", both(|faults| faults.repeated), "1/s", "counters")
            .of(&[counter::PAGE_FAULTS_COUNT]),
        comparison
            .evidence("page faults", both(|faults| faults.all), "1/s", "counters")
            .of(&[counter::PAGE_FAULTS_COUNT]),
        comparison
            .evidence("faults in vain", both(|faults| faults.in_vain_ns + faults.of_collector_ns), "ns/s", "counters")
            .of(&[counter::PAGE_FAULTS_NS]),
        comparison
            .evidence("huge pages split (machine)", both(|faults| faults.splits), "1/s", "counters")
            .of(&[counter::VMSTAT_COUNT]),
    ]
}

/// By how much the application's faults became dearer for the pages that it got, per second. That is more than the
/// faults in vain: to write to the zero page the kernel has to take it out of the tables of all CPUs first, and each fault
/// has to enter and leave the kernel, which only samples show.
fn dearer_ns(comparison: &Comparison<'_>, slow: &Faults, baseline: Option<&Faults>) -> Option<f64> {
    // Split pages are not pages that were asked for.
    let comparable = baseline.filter(|_| !slow.splits_pages());
    let baseline = comparable.filter(|faults| {
        faults.served * comparison.baseline_looked_at().as_ref().map_or(0.0, Period::seconds) >= ENOUGH_PAGES
    })?;
    let (slow_running, quiet_running) = comparison.excess().sums(|state| matches!(state, ThreadState::Running(_)));
    let (slow_share, quiet_share) = stacks::below(comparison, ENTRIES).share;
    let of_samples = |share: f64, running_ns: f64| share * running_ns / comparison.excess().slow_ns.max(1.0) * SECOND;
    let more_pages = slow.served / baseline.served;
    let dearer = |slow_ns: f64, quiet_ns: f64| slow_ns - quiet_ns * more_pages;
    let ns = dearer(slow.all_ns, baseline.all_ns)
        .max(dearer(of_samples(slow_share, slow_running), of_samples(quiet_share.unwrap_or(0.0), quiet_running)));
    (ns > slow.in_vain_ns - baseline.in_vain_ns).then_some(ns)
}

/// Faults are CPU time of the thread that takes them; those of the collector's threads make its pauses longer, by
/// the share of each of its workers.
fn claims(comparison: &Comparison<'_>, slow: &Faults, baseline: Option<&Faults>, dearer_ns: Option<f64>) -> Vec<Claim> {
    let grown = |measure: fn(&Faults) -> f64| {
        (measure(slow) - baseline.map_or(0.0, measure)).max(0.0) * comparison.slow.seconds()
    };
    let of_application = dearer_ns.map(|ns| ns * comparison.slow.seconds());
    let mut claims = running_claims(comparison, of_application.unwrap_or_else(|| grown(|faults| faults.in_vain_ns)));
    let workers = comparison.sources().flag("ParallelGCThreads").unwrap_or(1.0).max(1.0);
    let mut left = grown(|faults| faults.of_collector_ns) / workers * comparison.excess().concurrency;
    for excess in &comparison.excess().states {
        if matches!(excess.state, ThreadState::Stopped(_)) && left > 0.0 {
            let at_most_ns = left.min(excess.lost_ns());
            claims.push(Claim::part(excess.state, at_most_ns));
            left -= at_most_ns;
        }
    }
    claims
}

/// What depends on the JVM and the kernel.
fn advice(comparison: &Comparison<'_>, slow: &Faults) -> Vec<String> {
    let pretouches = comparison.recording().fact(subject::FLAG, "AlwaysPreTouch") == Some("true");
    let mut advice = Vec::new();
    if let Some(jdk) = comparison.jdk().filter(|jdk| pretouches && touches_by_adding(*jdk, comparison)) {
        advice.push(format!("JDK {jdk} touches the heap by atomic additions of 0: JDK 22, or 21.0.5, does not"));
    }
    if slow.splits_pages() {
        advice.push("Linux 6.13 or later does not split the huge zero page; until then: echo 0 > /sys/kernel/mm/transparent_hugepage/use_zero_page".to_owned());
    }
    advice
}

/// OpenJDK 18 to 21.0.4 touch by an atomic addition, which arm64 takes for a read first.
fn touches_by_adding(jdk: u32, comparison: &Comparison<'_>) -> bool {
    let version = comparison.recording().fact(subject::JVM, "version").unwrap_or("");
    let is_early_21 = || (0..=4).any(|update| version.contains(&format!("21.0.{update}+")));
    (18..=20).contains(&jdk) || jdk == 21 && is_early_21()
}

/// Whether the kernel is known to split, for people.
fn splitting_kernel(comparison: &Comparison<'_>) -> String {
    let kernel = comparison.recording().fact(subject::HOST, "kernel").unwrap_or("");
    let mut numbers = kernel.split(['.', '-', ' ']).filter_map(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) < NOT_SPLIT_SINCE => format!(", as Linux {major}.{minor} does"),
        _ => String::new(),
    }
}
