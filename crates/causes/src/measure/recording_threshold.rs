//! What the absence of a JFR event proves.

use fathom_evidence::kinds::subject;
use fathom_timeline::{ThreadState, Wait};

use crate::cause::{Finding, Support};
use crate::comparison::Comparison;
use crate::explanation::Missing;
use crate::limits::MINOR_SHARE;
use crate::{format, latency};

/// Many short waits slow a service down as well as few long ones: they have to be recorded from
/// here on before their absence means anything, in ns.
const SHORT_NS: f64 = 5e6;

/// Whether an event was recorded from short ones on, whatever they waited for.
pub fn has_short_ones(comparison: &Comparison<'_>, event: &'static str) -> bool {
    comparison.recorded_from_ns(event).is_some_and(|from_ns| from_ns <= SHORT_NS)
        && (event != PARK || are_all_parks_recorded(comparison))
}

const PARK: &str = "jdk.ThreadPark";

/// async-profiler writes parks for locks and semaphores only, under the event's name and without the threshold that the JVM always has.
fn are_all_parks_recorded(comparison: &Comparison<'_>) -> bool {
    comparison.recording().fact(subject::SETTING, "jdk.ThreadPark#threshold").is_some()
}

/// The answer if there is no wait of a kind in the slow time: excluded if even short ones would have been recorded, unknown
/// otherwise. `waits` names them: `waits for locks`; `events` are those that report some of them.
pub fn of_waits(comparison: &Comparison<'_>, events: &[&'static str], waits: &str) -> Finding {
    if events == [PARK] && comparison.is_recorded(PARK) && !are_all_parks_recorded(comparison) {
        return unknown(PARK, &format!("{waits} were not recorded: async-profiler tells of waits for locks only"));
    }
    let from_ns = |event: &&str| comparison.recorded_from_ns(event).unwrap_or(f64::INFINITY);
    let Some(event) = events.iter().max_by(|a, b| from_ns(a).total_cmp(&from_ns(b))) else {
        return Finding::absent(waits);
    };
    match comparison.recorded_from_ns(event) {
        Some(from_ns) if from_ns <= SHORT_NS => {
            let unseen = unseen_then(comparison, event, waits)
                .or_else(|| on_virtual_threads(comparison, events, waits))
                .or_else(|| without_a_name(comparison, events, waits));
            unseen.unwrap_or_else(|| absent(from_ns, waits))
        }
        Some(from_ns) => unknown(event, &format!("{waits} under {} were not recorded", format::time(from_ns))),
        None => unknown(event, &format!("{waits} were not recorded")),
    }
}

fn absent(from_ns: f64, waits: &str) -> Finding {
    Finding::absent(match from_ns > 1.0 {
        true => format!("no {waits} of {} or longer", format::time(from_ns)),
        false => format!("no {waits} recorded"),
    })
}

/// What `fathom watch` keeps of the minute before it records has no waits: who was slow then is not acquitted by those of later.
fn unseen_then(comparison: &Comparison<'_>, event: &str, waits: &str) -> Option<Finding> {
    let is_unseen = comparison.is_slow() && 2 * comparison.waits_read_ns() < comparison.slow.time.total_ns();
    is_unseen.then(|| unknown(event, &format!("{waits} were not recorded yet when it was slow")))
}

/// Whether virtual threads ran.
pub fn has_virtual_threads(comparison: &Comparison<'_>) -> bool {
    // The second one is the carrier's: stacks from outside of the JVM may end where a virtual thread's frames begin.
    const RUN: [&str; 2] = ["java.lang.VirtualThread.run", "java.lang.VirtualThread.runContinuation"];
    let strings = &comparison.recording().strings;
    RUN.iter().any(|symbol| strings.find(symbol).is_some())
}

/// A virtual thread that parks, or that waits for a monitor, leaves its carrier without an event. Where requests are known and quick
/// none waited for long.
fn on_virtual_threads(comparison: &Comparison<'_>, events: &[&'static str], waits: &str) -> Option<Finding> {
    const UNSEEN: [&str; 2] = ["jdk.ThreadPark", "jdk.JavaMonitorEnter"];
    let is_unseen = events.iter().any(|event| UNSEEN.contains(event)) && has_virtual_threads(comparison);
    (is_unseen && !latency::are_requests_quick(comparison)).then(|| {
        let says = format!("no {waits} of platform threads, and those of virtual threads are not recorded");
        Finding::unknown(&says, "jcmd PID Thread.dump_to_file FILE")
    })
}

/// A park is named by known frames and classes. If a good part of the lost time went into parks without any of these, they
/// may be of any kind: a pool that the application made itself looks like that.
fn without_a_name(comparison: &Comparison<'_>, events: &[&str], waits: &str) -> Option<Finding> {
    let unnamed_ns = comparison.excess().of(ThreadState::Blocked(Wait::Unnamed))?.lost_ns();
    let is_good_part = unnamed_ns > 0.0 && unnamed_ns >= MINOR_SHARE * comparison.excess().lost_ns();
    (events.contains(&"jdk.ThreadPark") && is_good_part).then(|| {
        let says =
            format!("no {waits} that are known by their frames, but threads waited for something without a name");
        Finding::unknown(&says, "jcmd PID Thread.print")
    })
}

/// What records an event whatever its length: the JVM's own settings leave short waits out, so the command has to name it.
pub fn missing(event: &str, says: &str) -> Missing {
    let command = format!("jcmd PID JFR.start settings=profile {event}#threshold=1ms duration=60s filename=app.jfr");
    Missing { says: says.to_owned(), record_with: format!("{command}, then fathom explain app.jfr") }
}

/// The answer where such waits were not recorded.
pub fn unknown(event: &str, says: &str) -> Finding {
    Finding { missing: vec![missing(event, says)], ..Finding::new(Support::NotMeasured, says) }
}
