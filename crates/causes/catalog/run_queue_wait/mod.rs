//! Threads of the application waited in the run queue, because something else had the CPUs.

mod busiest;

use std::collections::HashMap;

use fathom_evidence::detail::RunQueueWait;
use fathom_evidence::kinds::{counter, event};
use fathom_timeline::ThreadState;

use crate::limits::HALF_A_THREAD;
use crate::measure::cpu_shortage;
use crate::signs::Signs;
use crate::{Cause, Claim, Comparison, Evidence, Family, Finding, Need, Support, format};
use busiest::{Busiest, busiest};

pub(crate) static CAUSE: Cause = Cause {
    id: "run_queue_wait",
    readme: include_str!("README.md"),
    family: Family::Cpu,
    refines: &[],
    equals: &[],
    has_lab: true,
    collectors: &["threads", "scheduler"],
    needs: &[&[Need::Counter(counter::THREAD_RUN_QUEUE_NS)]],
    actions: &["fewer runnable threads or more CPUs; see what ran instead"],
    decide,
};

fn decide(comparison: &Comparison<'_>) -> Finding {
    if let Some(share) = Signs::of(comparison).waiting {
        return Finding::needs_requests(&format!(
            "threads had no CPU for {} of the time in which they could have run: whether anybody felt it is not known",
            format::percent(share)
        ));
    }
    match comparison.analysis.account.states.contains_key(&ThreadState::Runnable) {
        true => counted(comparison),
        false => not_counted(comparison),
    }
}

/// The kernel counted how long threads waited.
fn counted(comparison: &Comparison<'_>) -> Finding {
    let waiting = comparison.state_evidence("threads of the application waiting for a CPU", "threads", |state| {
        state == ThreadState::Runnable
    });
    let before = format::baseline(waiting.baseline, format::number);
    let mut text = format!("{} threads wait for a CPU on average{before}", format::number(waiting.value));
    if let Some((slow, baseline)) = comparison.cores_of_others() {
        let before = baseline.map_or(String::new(), |baseline| format!(" (baseline {})", format::number(baseline)));
        text += &format!("; other processes use {} cores{before}", format::number(slow));
    }
    if let Some((name, part)) = who_ran_instead(comparison) {
        text += &format!("; in {} of the time of the long waits {name} ran instead", format::percent(part));
    }
    let own = fills_the_cpus_itself(comparison);
    if let Some((used, Busiest { method, part, .. })) = &own {
        let (used, part) = (format::percent(*used), format::percent(*part));
        text += &format!("; this process itself used {used} of the CPUs, {part} of that in {method}");
    }
    if is_as_ever(comparison, &waiting) {
        let says = format!("{text}: no more than in the baseline, which may have been as bad");
        return Finding::unknown(&says, "fathom explain … --baseline RECORDING").with(waiting);
    }
    let support = match too_short_for_the_requests(comparison).or_else(|| room_on_the_cpus(comparison)) {
        Some(says) => {
            text += &says;
            Support::Weak
        }
        None => Support::Observed,
    };
    let mut finding = Finding::new(support, text).with(waiting);
    if let Some(machine) = comparison.machine_use() {
        finding = finding.with(cpus_in_use(comparison, machine));
    }
    if let Some(cores) = comparison.cores_of_others() {
        let of_others = comparison.evidence(Evidence::CPU_OF_OTHERS, cores, "cores", "counters");
        finding = finding.with(of_others.of(&[counter::CPU_MACHINE_RATIO]));
    }
    if let Some((_, busiest)) = own {
        finding.actions.push(format!("make {} cheaper or call it less: it is what has the CPUs", busiest.method));
        finding = finding.with(of_busiest(comparison, &busiest));
    }
    finding.claims.push(Claim::all(ThreadState::Runnable));
    finding
}

/// What runs on the CPUs where they are full, this process has most of them, and one method has most of that.
fn fills_the_cpus_itself(comparison: &Comparison<'_>) -> Option<(f64, Busiest)> {
    let shortage = cpu_shortage(comparison);
    let (used, own) = shortage.machine.zip(shortage.own)?;
    let fills = shortage.is_full() == Some(true) && own >= MAJORITY * used;
    // Looks at all samples, and is only asked for where it counts.
    let busiest = fills.then(|| busiest(comparison))??;
    (busiest.part >= MAJORITY).then_some((own, busiest))
}

/// More than this part of something is most of it.
const MAJORITY: f64 = 0.5;

fn of_busiest(comparison: &Comparison<'_>, busiest: &Busiest) -> Evidence {
    let label = format!("part of the application's CPU in {}", busiest.method);
    let evidence = comparison.evidence(&label, (busiest.part, None), "ratio", "samples");
    let stack = comparison.stack_text(busiest.stack, 12);
    Evidence { stack, ..evidence.of(&[event::CPU, event::EXECUTION]) }
}

/// Whether threads wait for CPUs a lot, and did so in the rest of the recording. It is unknown whether that is usual.
fn is_as_ever(comparison: &Comparison<'_>, waiting: &Evidence) -> bool {
    let is_no_more = waiting.baseline.is_some_and(|before| waiting.value <= before);
    is_no_more
        && waiting.value >= HALF_A_THREAD
        && comparison.is_slow()
        && comparison.analysis.baseline_recording.is_none()
}

/// The delay of requests, times the waiting for CPUs, from which on most of it is something else.
const MOST_OF_DELAY: f64 = 2.0;

/// Said when requests were late for more than twice as long as all threads together waited for CPUs longer than before:
/// then most of the delay of each is something else, perhaps something that was not recorded.
fn too_short_for_the_requests(comparison: &Comparison<'_>) -> Option<String> {
    let waited_ns = comparison.excess().of(ThreadState::Runnable)?.lost_ns();
    let late_ns = comparison.requests_late_ns()?;
    (late_ns > MOST_OF_DELAY * waited_ns).then(|| {
        let (waited, late) = (format::time(waited_ns), format::time(late_ns));
        format!("; that is {waited} more than in the baseline, and the slowest requests were late for {late}: something else delays them")
    })
}

/// Said when the CPUs were not full and the long waits make up little of the waiting: then threads that were let go at once,
/// after a stop or by a lock, waited a moment for each other or for a neighbour, and a CPU more would have changed little.
fn room_on_the_cpus(comparison: &Comparison<'_>) -> Option<String> {
    let used = cpu_shortage(comparison).room()?;
    let (waited_ns, _) = comparison.excess().sums(|state| state == ThreadState::Runnable);
    let long_ns: f64 = comparison.long_waits_for_cpu().map(|wait| wait.duration_ns.max(0) as f64).sum();
    (2.0 * long_ns < waited_ns).then(|| {
        let (used, long) = (format::percent(used), format::percent(long_ns / waited_ns));
        format!(
            "; the CPUs had room ({used} in use), and long waits are {long} of it: a CPU more would have changed little"
        )
    })
}

fn cpus_in_use(comparison: &Comparison<'_>, used: (f64, Option<f64>)) -> Evidence {
    comparison.evidence("CPUs in use", used, "ratio", "counters").of(&[counter::CPU_MACHINE_RATIO])
}

/// Who ran most while threads of the application waited long, and its part of that time.
fn who_ran_instead(comparison: &Comparison<'_>) -> Option<(String, f64)> {
    let mut by_name: HashMap<String, i64> = HashMap::new();
    for wait in comparison.long_waits_for_cpu() {
        let name = comparison.slow.detail::<RunQueueWait>(&wait).instead.filter(|name| !name.is_empty())?;
        let sum = by_name.entry(name).or_default();
        *sum = sum.saturating_add(wait.duration_ns.max(0));
    }
    let total: f64 = by_name.values().map(|ns| *ns as f64).sum();
    let (name, ns) = by_name.into_iter().max_by(|a, b| (a.1, &b.0).cmp(&(b.1, &a.0)))?;
    (total > 0.0).then_some((name, ns as f64 / total))
}

/// Only how busy the CPUs were is known.
fn not_counted(comparison: &Comparison<'_>) -> Finding {
    let shortage = cpu_shortage(comparison);
    match (shortage.machine, shortage.own) {
        (Some(machine), Some(own)) if shortage.is_full() == Some(true) => {
            let says = format!(
                "the CPUs were {} in use, {} by this process: its threads may have waited for a CPU, which was not recorded",
                format::percent(machine),
                format::percent(own)
            );
            Finding::needs_kernel(&says).with(cpus_in_use(comparison, (machine, None)))
        }
        _ => Finding::needs_kernel("run-queue waits were not recorded"),
    }
}
