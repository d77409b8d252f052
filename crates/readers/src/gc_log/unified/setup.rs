//! Which collector it is and how it is set up.

use memchr::memchr;

use crate::cursor::{Cursor, trim};
use crate::gc_log::decorations::Topic;
use crate::gc_log::event::{Event, Family};
use crate::gc_log::unified::{Message, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        prefix: b"Using ",
        read: using,
        samples: &["Using G1", "Using Concurrent Mark Sweep", "Using The Z Garbage Collector"],
    },
    Rule { prefix: b"Initializing The Z ", read: z, samples: &["Initializing The Z Garbage Collector"] },
    Rule { prefix: b"GC Workers for ", read: z_generational, samples: &["GC Workers for Old Generation: 1 (dynamic)"] },
    Rule { prefix: b"Heap Region Size: ", read: region_size, samples: &["Heap Region Size: 1M"] },
    Rule { prefix: b"Heap region size: ", read: region_size, samples: &["Heap region size: 1M"] },
    Rule { prefix: b"Version: ", read: version, samples: &["Version: 17.0.15+6-Debian-1deb12u1 (release)"] },
    Rule {
        prefix: b"Heuristics ergonomically ",
        read: detail,
        samples: &["Heuristics ergonomically sets -XX:+ExplicitGCInvokesConcurrent"],
    },
    Rule {
        prefix: b"Min heap equals ",
        read: detail,
        samples: &["Min heap equals to max heap, disabling ShenandoahUncommit"],
    },
];

fn using<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    let family = match rest.0 {
        b"Serial" => Family::Serial,
        b"Parallel" => Family::Parallel,
        b"Concurrent Mark Sweep" => Family::Cms,
        b"G1" => Family::G1,
        b"Shenandoah" => Family::Shenandoah,
        b"The Z Garbage Collector" => Family::Z,
        b"Epsilon" => Family::Epsilon,
        // `Using 2 workers of 2 for evacuation` and the like.
        _ => return (message.topic != Topic::Unknown).then_some(Event::Detail),
    };
    Some(Event::Collector(family))
}

fn z<'a>(_: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::Collector(Family::Z))
}

fn z_generational<'a>(_: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    rest.0.starts_with(b"Old Generation").then_some(Event::Collector(Family::ZGenerational)).or(Some(Event::Detail))
}

fn region_size<'a>(_: Message<'a>, mut rest: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::RegionSize(rest.size()?))
}

fn version<'a>(_: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::Fact { key: b"Version", value: rest.0 })
}

/// `Key: value` of `gc,init`.
pub(super) fn property(message: Message<'_>) -> Option<Event<'_>> {
    let colon = memchr(b':', message.text).filter(|_| message.topic == Topic::Init && message.gc_id.is_none());
    Some(
        colon
            .map_or(Event::Detail, |at| Event::Fact { key: &message.text[..at], value: trim(&message.text[at + 1..]) }),
    )
}

fn detail<'a>(_: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::Detail)
}
