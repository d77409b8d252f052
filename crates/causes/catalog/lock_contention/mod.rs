//! Threads wait for a lock that another thread holds.

mod holder;
mod owners;
mod unending;

use std::collections::{BTreeSet, HashMap};

use fathom_evidence::StrId;
use fathom_evidence::detail::Wait as Detail;
use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_timeline::{ThreadState, Wait, is_class_initialization, telling_frame};

use crate::limits::MIN_OWNERS_WAITING_SHARE;
use crate::measure::{cpu_shortage, recording_threshold, waits};
use crate::{Cause, Comparison, Evidence, Family, Finding, Need, Support, format};

pub(crate) static CAUSE: Cause = Cause {
    id: "lock_contention",
    readme: include_str!("README.md"),
    family: Family::Locks,
    refines: &[],
    equals: &[],
    has_lab: true,
    collectors: &["jfr"],
    needs: &[
        &[Need::Event("jdk.JavaMonitorEnter"), Need::Spans(span::SAMPLED_WAIT, "waits")],
        &[Need::Event("jdk.ThreadPark"), Need::Spans(span::SAMPLED_WAIT, "waits")],
    ],
    actions: &["hold the lock for a shorter time, or split it; see the stack of the waits and the thread that held it"],
    decide,
};

/// One thread waits for a lock that is not given back; two may wait for each other.
const IN_A_CIRCLE: usize = 2;

/// A lock with no other details.
const NAMELESS: &str = "a lock without a name";

/// What is known of one lock's waits.
#[derive(Default)]
struct Lock {
    waits: usize,
    /// How many of them only looks (thread dumps, samples) show, and how many of these found a thread waiting.
    by_looks: (usize, usize),
    total_ns: i64,
    stack: u32,
    longest_ns: i64,
    owner: Option<String>,
    /// The method that asks for it, if the lock has no name.
    place: Option<String>,
}

fn decide(comparison: &Comparison<'_>) -> Finding {
    let waiting = comparison.state_evidence("threads waiting for locks", "threads", is_ours);
    if waiting.value <= 0.0 && unending::may_be_unwritten(comparison) {
        return Finding::unknown(
            "requests were not answered before the recording ended, and a wait that has not ended is not in it",
            "jcmd PID Thread.print",
        );
    }
    if waiting.value <= 0.0 {
        return recording_threshold::of_waits(
            comparison,
            &["jdk.JavaMonitorEnter", "jdk.ThreadPark"],
            "waits for locks",
        );
    }
    let locks = locks(comparison);
    let longest = locks.into_iter().max_by_key(|(class, lock)| (lock.total_ns, class.clone()));
    let (class, lock) = longest.unwrap_or_else(|| (NAMELESS.to_owned(), Lock::default()));
    let mut text = says(&waiting, &class, &lock);
    let holder = of_the_holder(comparison);
    let seen = lock.place.as_deref().filter(|_| holder.is_none()).and_then(|place| holder::seen_in(comparison, place));
    text += holder.as_ref().map(|(_, says)| says).or(seen.as_ref()).map_or("", String::as_str);
    let (unending, deadlocked) = (unending::threads(comparison), unending::deadlocked(comparison));
    if deadlocked > 0 {
        text += &format!("; the JVM found {} in a deadlock", format::count(deadlocked, "thread"));
    } else if unending >= IN_A_CIRCLE {
        text += &format!(
            "; {unending} threads had waited for seconds and still did when the recording ended, as in a deadlock"
        );
    }
    let taken = cpu_shortage(comparison).by_others;
    if let Some(used) = taken {
        text += &format!(
            "; other processes had taken the CPUs ({} in use): the holder may have waited for one",
            format::percent(used)
        );
    }
    let support = if taken.is_some() { Support::Weak } else { Support::Observed };
    let mut finding = Finding::new(support, text).with(waiting).with(of_lock(comparison, &class, &lock));
    if unending.max(deadlocked) >= IN_A_CIRCLE {
        finding.actions.push(
            "jcmd PID Thread.print: it names the threads of a deadlock and what each holds; only a restart ends one"
                .to_owned(),
        );
    }
    if holder.is_some() || seen.is_some() {
        finding
            .actions
            .push("first fix what the holder waits for: make it quick, or do it without the lock".to_owned());
    }
    if let Some((evidence, _)) = holder {
        finding = finding.with(evidence);
    }
    finding.claiming(comparison, is_ours)
}

/// What the holders of the locks waited for themselves, if that is most of it: measured, and said.
fn of_the_holder(comparison: &Comparison<'_>) -> Option<(Evidence, String)> {
    let (doing, ns) = owners::most_waited_for(comparison)?;
    let (all, _) = comparison.excess().sums(is_ours);
    let part = ns / all.max(1.0);
    let evidence = comparison.evidence("part of it in which the holder waited itself", (part, None), "ratio", "spans");
    let says = format!("; in {} of that time the holder itself was {doing}", format::percent(part));
    (part >= MIN_OWNERS_WAITING_SHARE)
        .then(|| (evidence.of(&[span::BLOCKED, span::SYSTEM_CALL, span::PAGE_FAULT]), says))
}

fn is_ours(state: ThreadState) -> bool {
    matches!(state, ThreadState::Blocked(Wait::Lock | Wait::Permit))
}

/// The waits of the slow time, by what was waited for.
fn locks(comparison: &Comparison<'_>) -> HashMap<String, Lock> {
    let ours = comparison.slow_waits().filter(|(_, segment, _)| is_ours(segment.state));
    let rows: BTreeSet<u32> = ours.filter_map(|(_, segment, _)| segment.row).collect();
    let mut locks: HashMap<String, Lock> = HashMap::new();
    for row in rows {
        let wait = comparison.recording().spans.row(row as usize);
        let (name, place) = lock_of(comparison, &wait);
        let lock = locks.entry(name).or_default();
        lock.add(comparison, &wait);
        lock.place = place;
    }
    locks
}

/// Its class, as the JVM tells it; of a wait that was seen from outside, where in the program it is, and that method.
fn lock_of(comparison: &Comparison<'_>, wait: &Span) -> (String, Option<String>) {
    let recording = comparison.recording();
    match (recording.text(wait.kind), telling_frame(recording, wait.stack_id)) {
        (_, frame) if is_class_initialization(recording, wait) => (
            format!("the initialization of a class by another thread, in {}", frame.unwrap_or("code of the JDK")),
            None,
        ),
        // A thread dump names the class as the JVM does; a cut recording of the JVM may have lost it.
        (span::MONITOR_ENTER | span::PARK | span::SAMPLED_WAIT, _) if wait.name != StrId(0) => {
            (recording.text(wait.name).to_owned(), None)
        }
        (_, Some(frame)) => (format!("a lock in {frame}"), Some(frame.to_owned())),
        (_, None) => (NAMELESS.to_owned(), None),
    }
}

impl Lock {
    fn add(&mut self, comparison: &Comparison<'_>, wait: &Span) {
        let detail = comparison.slow.detail::<Detail>(wait);
        self.waits += 1;
        if let Some(looks) = detail.looks {
            self.by_looks = (self.by_looks.0 + 1, self.by_looks.1 + looks as usize);
        }
        self.total_ns = self.total_ns.saturating_add(wait.duration_ns);
        if wait.duration_ns > self.longest_ns {
            self.longest_ns = wait.duration_ns;
            self.stack = wait.stack_id.0;
            self.owner = detail.previous_owner.or(self.owner.take());
        }
    }
}

fn says(waiting: &Evidence, class: &str, lock: &Lock) -> String {
    let before = format::baseline(waiting.baseline, format::number);
    let owner = lock.owner.as_ref().map_or(String::new(), |owner| format!("; held by {owner} in the longest"));
    let waits = match lock.by_looks {
        (waits, looks) if waits > 0 && waits == lock.waits => waits::found_by_looks(looks),
        _ => format!(
            "{}, mean {}, longest {}",
            format::count(lock.waits, "wait"),
            format::time(lock.total_ns as f64 / lock.waits.max(1) as f64),
            format::time(lock.longest_ns as f64)
        ),
    };
    format!(
        "{} threads wait for locks on average{before}; most for {class}: {waits}{owner}",
        format::number(waiting.value)
    )
}

fn of_lock(comparison: &Comparison<'_>, class: &str, lock: &Lock) -> Evidence {
    let stack = comparison.wait_text(fathom_evidence::StackId(lock.stack), 12);
    let waited = comparison
        .evidence(&format!("waits for {class}, in all"), (lock.total_ns as f64, None), "ns", "spans")
        .of(&[span::MONITOR_ENTER, span::PARK, span::BLOCKED, span::SAMPLED_WAIT]);
    Evidence { stack, ..waited }
}
