//! Parts of the heap before and after a collection.

use crate::cursor::Cursor;
use crate::gc_log::event::{Change, Event, Family, Space};
use crate::gc_log::unified::{Message, Rule, pauses};

pub(super) const RULES: &[Rule] = &[
    Rule {
        prefix: b"DefNew: ",
        read: young,
        samples: &[
            "GC(0) DefNew: 17462K(19648K)->2175K(19648K) Eden: 17462K(17472K)->0K(17472K) From: 0K(2176K)->2175K(2176K)",
            "GC(0) DefNew: 17472K->2176K(19648K)",
        ],
    },
    Rule { prefix: b"PSYoungGen: ", read: young, samples: &["GC(0) PSYoungGen: 76800K(89600K)->0K(89600K)"] },
    Rule { prefix: b"ParNew: ", read: young, samples: &["GC(0) ParNew: 17472K->2176K(19648K)"] },
    Rule { prefix: b"Tenured: ", read: old, samples: &["GC(0) Tenured: 0K(43712K)->10637K(43712K)"] },
    Rule { prefix: b"ParOldGen: ", read: old, samples: &["GC(0) ParOldGen: 204181K(204800K)->204181K(204800K)"] },
    Rule { prefix: b"PSOldGen: ", read: old, samples: &["GC(0) PSOldGen: 8K->8K(204800K)"] },
    Rule { prefix: b"CMS: ", read: old, samples: &["GC(0) CMS: 0K->10711K(43712K)"] },
    Rule {
        prefix: b"Metaspace: ",
        read: metaspace,
        samples: &[
            "GC(0) Metaspace: 175K(384K)->175K(384K) NonClass: 169K(256K)->169K(256K) Class: 5K(128K)->5K(128K)",
            "GC(0) Metaspace: 4307K->4307K(1056768K)",
            "GC(0) y: Metaspace: 3M used, 3M committed, 1088M reserved",
        ],
    },
    Rule { prefix: b"Eden regions: ", read: eden, samples: &["GC(0) Eden regions: 24->0(149)"] },
    Rule { prefix: b"Survivor regions: ", read: survivors, samples: &["GC(0) Survivor regions: 0->3(3)"] },
    Rule { prefix: b"Old regions: ", read: old_regions, samples: &["GC(0) Old regions: 0->2"] },
    Rule { prefix: b"Humongous regions: ", read: humongous, samples: &["GC(0) Humongous regions: 9->0"] },
    Rule { prefix: b"Archive regions: ", read: detail, samples: &["GC(0) Archive regions: 2->2"] },
    Rule { prefix: b"Eden: ", read: detail, samples: &["GC(0) Eden: 17462K(17472K)->0K(17472K)"] },
    Rule { prefix: b"From: ", read: detail, samples: &["GC(0) From: 0K(2176K)->2175K(2176K)"] },
    Rule {
        prefix: b"Free: ",
        read: detail,
        samples: &[
            "Free: 12M, Max: 256K regular, 12M humongous, Frag: 0% external, 0% internal; Reserve: 3M, Max: 256K",
        ],
    },
];

fn resize<'a>(message: Message<'a>, mut rest: Cursor<'a>, space: Space) -> Option<Event<'a>> {
    let change = pauses::change(&mut rest)?;
    Some(Event::Resize { gc_id: message.gc_id, family: family(message.text), space, change })
}

/// The collector that has a generation of this name.
fn family(text: &[u8]) -> Option<Family> {
    match text {
        [b'D', b'e', b'f', ..] => Some(Family::Serial),
        [b'P', b'S', ..] | [b'P', b'a', b'r', b'O', ..] => Some(Family::Parallel),
        [b'P', b'a', b'r', b'N', ..] | [b'C', b'M', b'S', ..] => Some(Family::Cms),
        _ => None,
    }
}

fn young<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    resize(message, rest, Space::Young)
}

fn old<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    resize(message, rest, Space::Old)
}

/// ZGC writes what is in use, without a before.
fn metaspace<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    resize(message, rest, Space::Metaspace).or_else(|| {
        let mut rest = rest;
        let used = rest.size()?;
        rest.expect(b" used")?;
        let change = Change { before: used, after: used, capacity: None };
        Some(Event::Resize { gc_id: message.gc_id, family: None, space: Space::Metaspace, change })
    })
}

fn regions<'a>(message: Message<'a>, mut rest: Cursor<'a>, space: Space) -> Option<Event<'a>> {
    let before = rest.integer()?;
    rest.expect(b"->")?;
    let after = rest.integer()?;
    let capacity = rest.eat(b"(").then(|| rest.integer()).flatten();
    Some(Event::Resize {
        gc_id: message.gc_id,
        family: Some(Family::G1),
        space,
        change: Change { before, after, capacity },
    })
}

fn eden<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    regions(message, rest, Space::EdenRegions)
}

fn survivors<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    regions(message, rest, Space::SurvivorRegions)
}

fn old_regions<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    regions(message, rest, Space::OldRegions)
}

fn humongous<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    regions(message, rest, Space::HumongousRegions)
}

fn detail<'a>(_: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::Detail)
}
