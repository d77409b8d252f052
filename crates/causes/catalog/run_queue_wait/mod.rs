//! Threads of the application could have run but had no CPU, because something else ran.

use std::collections::HashMap;

use fathom_evidence::detail::RunQueueWait;
use fathom_evidence::kinds::counter;
use fathom_timeline::Cell;

use crate::{Case, Cause, Claim, Evidence, Finding, Standing, say};

pub(crate) static CAUSE: Cause = Cause {
    id: "run_queue_wait",
    readme: include_str!("README.md"),
    refines: &[],
    has_lab: true,
    collectors: &["threads", "scheduler"],
    actions: &["fewer runnable threads or more CPUs; see who ran instead"],
    decide,
};

/// Use of all CPUs from which a thread that wants to run has to wait.
const BUSY: f64 = 0.9;

fn decide(case: &Case<'_>) -> Finding {
    match case.analysis.account.cells.contains_key(&Cell::Runnable) {
        true => counted(case),
        false => not_counted(case),
    }
}

/// The kernel counted how long threads waited.
fn counted(case: &Case<'_>) -> Finding {
    let waiting =
        case.cell_evidence("threads of the application waiting for a CPU", "threads", |cell| cell == Cell::Runnable);
    let before = say::before(waiting.baseline, say::number);
    let mut text = format!("{} threads wait for a CPU on average{before}", say::number(waiting.value));
    if let Some((slow, quiet)) = case.cores_of_others() {
        let before = quiet.map_or(String::new(), |quiet| format!(", before: {}", say::number(quiet)));
        text += &format!("; other processes use {} cores{before}", say::number(slow));
    }
    if let Some((name, part)) = who_ran_instead(case) {
        text += &format!("; in {} of the time of the long waits {name} ran instead", say::percent(part));
    }
    if is_as_ever(case, &waiting) {
        let says = format!("{text}: no more than before, which may have been as bad");
        return Finding::unknown(&says, "fathom explain … --baseline RECORDING").with(waiting);
    }
    let standing = match too_short_for_the_requests(case).or_else(|| room_on_the_cpus(case)) {
        Some(says) => {
            text += &says;
            Standing::Faint
        }
        None => Standing::Seen,
    };
    let mut finding = Finding::new(standing, text).with(waiting);
    if let Some(machine) = case.machine_use() {
        finding = finding.with(cpus_in_use(case, machine));
    }
    if let Some(cores) = case.cores_of_others() {
        let of_others = case.evidence(Evidence::CPU_OF_OTHERS, cores, "cores", "counters");
        finding = finding.with(of_others.of(&[counter::CPU_MACHINE_RATIO]));
    }
    finding.claims.push(Claim::all(Cell::Runnable));
    finding
}

/// As many threads as this have no CPU all the time only if there is too little of it all the time.
const HALF_A_THREAD: f64 = 0.5;

/// Whether threads wait for CPUs a lot, and did so in the rest of the recording: that this is usual nobody knows.
fn is_as_ever(case: &Case<'_>, waiting: &Evidence) -> bool {
    let is_no_more = waiting.baseline.is_some_and(|before| waiting.value <= before);
    is_no_more && waiting.value >= HALF_A_THREAD && case.is_slow() && case.analysis.reference.is_none()
}

/// Said when requests were late for more than twice as long as all threads together waited for CPUs longer than before:
/// then most of the delay of each is something else, perhaps something that was not recorded.
fn too_short_for_the_requests(case: &Case<'_>) -> Option<String> {
    let waited_ns = case.excess().of(Cell::Runnable)?.lost_ns();
    let late_ns = case.requests_late_ns()?;
    (late_ns > 2.0 * waited_ns).then(|| {
        let (waited, late) = (say::time(waited_ns), say::time(late_ns));
        format!("; that is {waited} more than before, and the slowest requests were late for {late}: something else delays them")
    })
}

/// Said when the CPUs were not full and the long waits make up little of the waiting: then threads that were let go at once,
/// after a stop or by a lock, waited a moment for each other or for a neighbour, and a CPU more would have changed little.
fn room_on_the_cpus(case: &Case<'_>) -> Option<String> {
    let own = case.process_use().map_or(0.0, |(own, _)| own);
    let used = case.machine_use()?.0.max(own);
    let (waited_ns, _) = case.excess().sums(|cell| cell == Cell::Runnable);
    let long_ns: f64 = case.long_waits_for_cpu().map(|wait| wait.duration_ns.max(0) as f64).sum();
    (used < BUSY && 2.0 * long_ns < waited_ns).then(|| {
        let (used, long) = (say::percent(used), say::percent(long_ns / waited_ns));
        format!(
            "; the CPUs had room ({used} in use), and long waits are {long} of it: a CPU more would have changed little"
        )
    })
}

fn cpus_in_use(case: &Case<'_>, used: (f64, Option<f64>)) -> Evidence {
    case.evidence("CPUs in use", used, "ratio", "counters").of(&[counter::CPU_MACHINE_RATIO])
}

/// Who ran most while threads of the application waited long, and its part of that time.
fn who_ran_instead(case: &Case<'_>) -> Option<(String, f64)> {
    let mut by_name: HashMap<String, i64> = HashMap::new();
    for wait in case.long_waits_for_cpu() {
        let name = case.slow.detail::<RunQueueWait>(&wait).instead.filter(|name| !name.is_empty())?;
        let sum = by_name.entry(name).or_default();
        *sum = sum.saturating_add(wait.duration_ns.max(0));
    }
    let total: f64 = by_name.values().map(|ns| *ns as f64).sum();
    let (name, ns) = by_name.into_iter().max_by(|a, b| (a.1, &b.0).cmp(&(b.1, &a.0)))?;
    (total > 0.0).then_some((name, ns as f64 / total))
}

/// Only how busy the CPUs were is known.
fn not_counted(case: &Case<'_>) -> Finding {
    match (case.machine_use(), case.process_use()) {
        (Some((machine, _)), Some((own, _))) if machine >= BUSY => {
            let says = format!(
                "the CPUs were {} in use, {} by this process: its threads may have waited for a CPU, which was not recorded",
                say::percent(machine),
                say::percent(own)
            );
            Finding::needs_kernel(&says).with(cpus_in_use(case, (machine, None)))
        }
        _ => Finding::needs_kernel("run-queue waits were not recorded"),
    }
}
