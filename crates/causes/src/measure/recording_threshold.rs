//! What it means that an event of JFR does not occur.

use crate::cause::Finding;
use crate::comparison::Comparison;
use crate::format;

/// Many short waits slow a service down as well as few long ones: they have to be recorded from
/// here on before their absence means anything, in ns.
pub const SHORT_NS: f64 = 5e6;

/// The answer when there is no wait of a kind in the slow time: excluded if even short ones would
/// have been recorded, unknown otherwise. `waits` names them: `waits for locks`; `events` are those that tell of some of them.
pub fn of_waits(comparison: &Comparison<'_>, events: &[&'static str], waits: &str) -> Finding {
    let from_ns = |event: &&str| comparison.recorded_from_ns(event).unwrap_or(f64::INFINITY);
    let Some(event) = events.iter().max_by(|a, b| from_ns(a).total_cmp(&from_ns(b))) else {
        return Finding::absent(waits);
    };
    match comparison.recorded_from_ns(event) {
        Some(from_ns) if from_ns <= SHORT_NS => Finding::absent(match from_ns > 1.0 {
            true => format!("no {waits} of {} or longer", format::time(from_ns)),
            false => format!("no {waits} recorded"),
        }),
        Some(from_ns) => unknown(event, &format!("{waits} under {} were not recorded", format::time(from_ns))),
        None => unknown(event, &format!("{waits} were not recorded")),
    }
}

/// The JVM's own settings leave short waits out, so the command has to name the event.
pub fn unknown(event: &str, says: &str) -> Finding {
    let command = format!("jcmd PID JFR.start settings=profile {event}#threshold=1ms duration=60s filename=app.jfr");
    Finding::unknown(says, &format!("{command}, then fathom explain app.jfr"))
}
