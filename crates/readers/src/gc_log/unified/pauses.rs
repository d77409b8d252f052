//! Pauses, concurrent phases, whole collections and allocation stalls.

use crate::cursor::{Cursor, trim};
use crate::gc_log::event::{Change, CpuTimes, Event, Family, Pause, Phase, Stamp};
use crate::gc_log::unified::{Message, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        prefix: b"Pause ",
        read: pause,
        samples: &[
            "GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->5M(256M) 5.123ms",
            "GC(1) Pause Young (Allocation Failure) 17M->12M(61M) 8.499ms",
            "GC(2) Pause Young (Concurrent Start) (Metadata GC Threshold) 24M->5M(256M) 5.123ms",
            "GC(3) Pause Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Allocation / Pinned) 254M->254M(256M) 9.5ms",
            "GC(4) Pause Full (System.gc()) 9M->1M(8M) 3.2ms",
            "GC(4) Pause Full (G1 Compaction Pause) 250M->240M(256M) 1234.567ms",
            "GC(5) Pause Remark 12M->12M(256M) 1.2ms",
            "GC(6) Pause Initial Mark (G1 Evacuation Pause) 24M->4M(256M) (0.123s, 0.128s) 5.1ms",
            "GC(7) Pause Init Mark (unload classes) 0.354ms",
            "GC(8) Pause Degenerated GC (Outside of Cycle) 60M->20M(64M) 12.3ms",
            "GC(9) y: Pause Relocate Start 0.006ms",
            "GC(10) Y: Pause Mark Start (Major) 0.01ms",
            "GC(11) Pause Full (Ergonomics)",
            "GC(12) Pause Young (Normal) (G1 Preventive Collection)",
            "Pause Full (CodeCache GC Threshold) 4M->2M(362M) 5.701ms",
        ],
    },
    Rule {
        prefix: b"Concurrent ",
        read: concurrent,
        samples: &[
            "GC(5) Concurrent Mark (0.123s, 0.456s) 12.3ms",
            "GC(5) Concurrent Mark (0.123s)",
            "GC(5) Concurrent Scan Root Regions 0.3ms",
            "GC(5) Concurrent Mark Cycle 6.5ms",
            "GC(6) Concurrent Cycle",
            "GC(7) Concurrent cleanup 30M->10M(64M) 0.1ms",
            "GC(7) Concurrent marking (Young) 3.1ms",
            "GC(8) Y: Concurrent Mark 1.2ms",
            "Concurrent String Deduplication (1.2s)",
        ],
    },
    Rule {
        prefix: b"Garbage Collection (",
        read: collection,
        samples: &["GC(0) Garbage Collection (Warmup)", "GC(0) Garbage Collection (Warmup) 104M(10%)->34M(3%)"],
    },
    Rule {
        prefix: b"Minor Collection (",
        read: collection,
        samples: &[
            "GC(3) Minor Collection (Allocation Rate) 104M(10%)->34M(3%) 0.012s",
            "GC(3) Minor Collection (Allocation Rate) Aborted",
        ],
    },
    Rule {
        prefix: b"Major Collection (",
        read: collection,
        samples: &[
            "GC(4) Major Collection (CodeCache GC Threshold)",
            "GC(4) Major Collection (System.gc()) 104M(10%)->34M(3%) 0.012s",
        ],
    },
    Rule {
        prefix: b"Young Generation",
        read: generation,
        samples: &["GC(4) Y: Young Generation 104M(10%)->34M(3%) 0.012s", "GC(4) Y: Young Generation"],
    },
    Rule {
        prefix: b"Old Generation",
        read: generation,
        samples: &["GC(4) O: Old Generation 104M(10%)->34M(3%) 0.012s"],
    },
    Rule {
        prefix: b"Allocation Stall (",
        read: stall,
        samples: &[
            "Allocation Stall (main) 12.345ms",
            "Allocation Stall (pool-1 (a)) 1.0ms",
            "GC(3) Allocation Stall (main) 2.0ms",
        ],
    },
    Rule { prefix: b"Relocation Stall (", read: stall, samples: &["Relocation Stall (main) 12.345ms"] },
    Rule { prefix: b"User=", read: cpu, samples: &["GC(2) User=0.01s Sys=0.00s Real=0.02s"] },
    Rule { prefix: b"To-space ", read: trouble, samples: &["GC(7) To-space exhausted"] },
    Rule { prefix: b"Promotion failed", read: trouble, samples: &["GC(7) Promotion failed"] },
    Rule {
        prefix: b"Cancelling GC",
        read: trouble,
        samples: &["Cancelling GC: Allocation Failure", "GC(3) Cancelling GC: Upgrade To Full GC"],
    },
    Rule {
        prefix: b"Degenerated GC upgrading ",
        read: trouble,
        samples: &["GC(3) Degenerated GC upgrading to Full GC"],
    },
    Rule {
        prefix: b"Bootstrap cycle for old ",
        read: trouble,
        samples: &["GC(3) Bootstrap cycle for old generation was cancelled"],
    },
    Rule { prefix: b"Cancel marking", read: trouble, samples: &["GC(3) Cancel marking: Young"] },
    Rule { prefix: b"Terminating old gc cycle", read: trouble, samples: &["GC(3) Terminating old gc cycle."] },
    Rule {
        prefix: b"Coalescing and filling ",
        read: concurrent,
        samples: &["GC(3) Coalescing and filling old regions 1.5ms"],
    },
    Rule { prefix: b"Failed to allocate ", read: trouble, samples: &["Failed to allocate Shared, 24K"] },
    Rule { prefix: b"Out Of Memory", read: trouble, samples: &["Out Of Memory (main)"] },
    Rule {
        prefix: b"Trigger",
        read: trigger,
        samples: &[
            "Trigger: Free (1234K) is below minimum threshold (2000K)",
            "Trigger (Young): Learning 1 of 5. Free (9M) is below initial threshold (10M)",
        ],
    },
];

/// What follows a phase's name: qualifiers and cause, heap, duration.
struct Tail<'a> {
    /// Name with its qualifiers, without cause and trouble.
    name: &'a [u8],
    cause: &'a [u8],
    trouble: &'a [u8],
    heap: Option<Change>,
    duration_ns: Option<i64>,
}

/// Parenthesised words that belong to the name; the others are causes.
fn is_qualifier(group: &[u8]) -> bool {
    matches!(
        group,
        b"Normal"
            | b"Mixed"
            | b"Prepare Mixed"
            | b"Concurrent Start"
            | b"Concurrent End"
            | b"Major"
            | b"Minor"
            | b"Young"
            | b"Old"
            | b"Global"
            | b"Degenerated"
            | b"unload classes"
            | b"process weakrefs"
            | b"Mark"
            | b"Evacuation"
            | b"Update Refs"
            | b"Update References"
            | b"Roots"
            | b"Outside of Cycle"
    ) || group.starts_with(b"update refs")
        || group.starts_with(b"process weakrefs")
}

/// Reads `text`, a phase's name and all that follows it.
fn tail(text: &[u8]) -> Option<Tail<'_>> {
    let mut found = Tail { name: b"", cause: b"", trouble: b"", heap: None, duration_ns: None };
    let mut cursor = Cursor(text);
    let mut name_length = cursor.run(|byte| !matches!(byte, b'(' | b'0'..=b'9')).len();
    loop {
        cursor.spaces();
        match cursor.peek() {
            None => break,
            Some(b'(') => {
                let group = cursor.group()?;
                match group {
                    [b'0'..=b'9', ..] => {}
                    _ if is_qualifier(group) => name_length = text.len() - cursor.0.len(),
                    _ if group.starts_with(b"Evacuation Failure") => found.trouble = group,
                    _ => found.cause = group,
                }
            }
            Some(b'0'..=b'9') => match change(&mut cursor) {
                Some(heap) => found.heap = Some(heap),
                None => found.duration_ns = Some(duration(&mut cursor)?),
            },
            Some(_) => return None,
        }
    }
    found.name = trim(&text[..name_length]);
    Some(found)
}

/// A pause or concurrent phase as JDK 8's Shenandoah names them, which are the names of later JDKs.
pub(in crate::gc_log) fn phase_of_shenandoah(start: Stamp, text: &[u8], duration_ns: i64) -> Option<Event<'_>> {
    let Tail { name, cause, heap, .. } = tail(text)?;
    if !name.starts_with(b"Pause ") {
        return Some(Event::Concurrent(Phase { start, duration_ns, gc_id: None, name }));
    }
    let family = Some(Family::Shenandoah);
    Some(Event::Pause(Pause { start, duration_ns, name, cause, heap, family, ..Pause::default() }))
}

/// `24M->5M(256M)` or `104M(10%)->34M(3%)`.
pub(in crate::gc_log) fn change(cursor: &mut Cursor<'_>) -> Option<Change> {
    let mut rest = *cursor;
    let before = rest.size()?;
    share_or_capacity(&mut rest);
    rest.expect(b"->")?;
    let after = rest.size()?;
    let capacity = share_or_capacity(&mut rest);
    *cursor = rest;
    Some(Change { before, after, capacity })
}

/// `(256M)`; `(10%)` is skipped.
fn share_or_capacity(cursor: &mut Cursor<'_>) -> Option<u64> {
    let mut inside = Cursor(if cursor.peek() == Some(b'(') { cursor.group()? } else { return None });
    let size = inside.size();
    size.filter(|_| inside.is_done())
}

/// `12.345ms` or `0.012s`.
fn duration(cursor: &mut Cursor<'_>) -> Option<i64> {
    for (unit, scale) in [(&b"ms"[..], 6), (b"us", 3), (b"ns", 0), (b"s", 9)] {
        let mut rest = *cursor;
        let ns = rest.fixed(scale);
        if let (Some(ns), true) = (ns, rest.eat(unit)) {
            *cursor = rest;
            return Some(ns);
        }
    }
    None
}

fn pause<'a>(message: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    let Tail { name, cause, trouble, heap, duration_ns } = tail(message.text)?;
    let Some(duration_ns) = duration_ns else {
        return Some(Event::PauseBegins { at: message.at, gc_id: message.gc_id, name: message.text });
    };
    let start = message.at.minus(duration_ns);
    let pause = Pause { start, duration_ns, gc_id: message.gc_id, name, cause, heap, trouble, ..Pause::default() };
    Some(Event::Pause(pause))
}

fn concurrent<'a>(message: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    // The name may contain details with digits or a colon, which are not needed.
    let Some(Tail { name, heap, duration_ns, .. }) = tail(message.text) else { return Some(Event::Detail) };
    if matches!(name, b"Concurrent Cycle" | b"Concurrent Mark Cycle" | b"Concurrent Undo Cycle") {
        let (at, gc_id) = (message.at, message.gc_id);
        let ended = duration_ns.is_some();
        return Some(Event::Collection { at, gc_id, name, cause: b"", heap, duration_ns, ended });
    }
    let Some(duration_ns) = duration_ns else { return Some(Event::Detail) };
    let start = message.at.minus(duration_ns);
    Some(Event::Concurrent(Phase { start, duration_ns, gc_id: message.gc_id, name }))
}

fn collection<'a>(message: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    let aborted = message.text.strip_suffix(b" Aborted");
    let Tail { name, cause, heap, duration_ns, .. } = tail(aborted.unwrap_or(message.text))?;
    let ended = heap.is_some() || aborted.is_some();
    Some(Event::Collection { at: message.at, gc_id: message.gc_id, name, cause, heap, duration_ns, ended })
}

/// A generation's share of a major collection of ZGC; the headings of its tables begin alike.
fn generation<'a>(message: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    let found = tail(message.text).and_then(|tail| Some((tail.name, tail.duration_ns?)));
    let Some((name, duration_ns)) = found else { return Some(Event::Detail) };
    let start = message.at.minus(duration_ns);
    Some(Event::Concurrent(Phase { start, duration_ns, gc_id: message.gc_id, name }))
}

fn stall<'a>(message: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    let at = memchr::memrchr(b' ', message.text)?;
    let duration_ns = duration(&mut Cursor(&message.text[at + 1..]))?;
    let start = message.at.minus(duration_ns);
    Some(Event::Stall(Phase { start, duration_ns, gc_id: message.gc_id, name: &message.text[..at] }))
}

fn cpu<'a>(message: Message<'a>, mut rest: Cursor<'a>) -> Option<Event<'a>> {
    let user_ns = rest.fixed(9)?;
    rest.expect(b"s Sys=")?;
    let system_ns = rest.fixed(9)?;
    rest.expect(b"s Real=")?;
    let real_ns = rest.fixed(9)?;
    Some(Event::Cpu { gc_id: message.gc_id, times: CpuTimes { user_ns, system_ns, real_ns } })
}

fn trouble<'a>(message: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::Note { at: message.at, class: "gc_trouble", text: message.text })
}

fn trigger<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    matches!(rest.0, [b':', ..] | [b' ', b'(', ..]).then_some(())?;
    Some(Event::Note { at: message.at, class: "gc_trigger", text: message.text })
}

/// A part of a pause, by its shape: a name, a blank, a duration.
pub(super) fn phase(message: Message<'_>) -> Option<Event<'_>> {
    if !message.text.first()?.is_ascii_uppercase() {
        return None;
    }
    let at = memchr::memrchr(b' ', message.text)?;
    let mut cursor = Cursor(&message.text[at + 1..]);
    let duration_ns = duration(&mut cursor).filter(|_| cursor.is_done())?;
    let name = &message.text[..at];
    // `Name: 1.0ms` belongs to a summary that is printed later, and so says nothing of when it was.
    let is_summary = name.ends_with(b":") || name.ends_with(b" ");
    let start = message.at.minus(duration_ns);
    (!is_summary).then_some(Event::PausePhase(Phase { start, duration_ns, gc_id: message.gc_id, name }))
}
