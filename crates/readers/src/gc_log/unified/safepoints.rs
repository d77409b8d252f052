//! Safepoints, in the three shapes that unified logging has had.

use crate::cursor::Cursor;
use crate::gc_log::event::{Event, Safepoint};
use crate::gc_log::unified::{Message, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        prefix: b"Safepoint \"",
        read: safepoint,
        samples: &[
            "Safepoint \"GenCollectFull\", Time since last: 62646663 ns, Reaching safepoint: 299002532 ns, Cleanup: 25177 ns, At safepoint: 1268275 ns, Total: 300295984 ns",
            "Safepoint \"G1CollectForAllocation\", Time since last: 32570477 ns, Reaching safepoint: 3255 ns, At safepoint: 3242100 ns, Leaving safepoint: 1200 ns, Total: 3246555 ns, Threads: 1 runnable, 11 total",
        ],
    },
    Rule {
        prefix: b"Total time for which application threads were stopped: ",
        read: stopped,
        samples: &[
            "Total time for which application threads were stopped: 1.8919149 seconds, Stopping threads took: 1.8663072 seconds",
        ],
    },
    Rule {
        prefix: b"Entering safepoint region: ",
        read: entering,
        samples: &["Entering safepoint region: GenCollectForAllocation"],
    },
    Rule { prefix: b"Leaving safepoint region", read: detail, samples: &["Leaving safepoint region"] },
    Rule { prefix: b"Application time: ", read: detail, samples: &["Application time: 0.0025031 seconds"] },
];

/// `Key: number ns` pairs, whichever the JDK writes.
fn safepoint<'a>(message: Message<'a>, mut rest: Cursor<'a>) -> Option<Event<'a>> {
    let operation = rest.until(b'"')?;
    let (mut reaching, mut total, mut sum) = (None, None, 0_i64);
    let mut found = Safepoint { operation, ..Safepoint::default() };
    while rest.eat(b", ") {
        let key = rest.until(b':')?;
        rest.spaces();
        let value = rest.integer()?;
        let ns = i64::try_from(value).ok()?;
        match key {
            b"Threads" => {
                found.running_threads = Some(value);
                rest.expect(b" runnable, ")?;
                found.threads = rest.integer();
                break;
            }
            b"Time since last" => {}
            b"Total" => total = Some(ns),
            _ => {
                sum = sum.saturating_add(ns);
                if key == b"Reaching safepoint" {
                    reaching = Some(ns);
                }
            }
        }
        rest.expect(b" ns")?;
    }
    found.time_to_safepoint_ns = reaching;
    found.duration_ns = total.unwrap_or(sum);
    found.start = message.at.minus(found.duration_ns);
    reaching.is_some().then_some(Event::Safepoint(found))
}

/// JDK 9-12, and with a time before it JDK 7 and 8.
fn stopped<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    let (duration_ns, time_to_safepoint_ns) = stopped_times(rest)?;
    let start = message.at.minus(duration_ns);
    Some(Event::Safepoint(Safepoint { start, duration_ns, time_to_safepoint_ns, ..Safepoint::default() }))
}

/// `S seconds, Stopping threads took: S seconds`; the second part is missing in JDK 7.
pub(in crate::gc_log) fn stopped_times(mut rest: Cursor<'_>) -> Option<(i64, Option<i64>)> {
    let duration_ns = rest.fixed(9)?;
    rest.expect(b" seconds")?;
    let time_to_safepoint_ns = if rest.eat(b", Stopping threads took: ") { Some(rest.fixed(9)?) } else { None };
    Some((duration_ns, time_to_safepoint_ns))
}

fn entering<'a>(_: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::SafepointName(rest.0))
}

fn detail<'a>(_: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::Detail)
}
