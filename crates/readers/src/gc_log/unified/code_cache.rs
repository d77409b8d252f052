//! The code cache: how full it is, and what the JVM does about it.

use crate::cursor::Cursor;
use crate::gc_log::event::Event;
use crate::gc_log::unified::{Message, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        prefix: b"CodeCache: size=",
        read: unsegmented,
        samples: &["CodeCache: size=20480Kb used=19846Kb max_used=19855Kb free=634Kb"],
    },
    Rule {
        prefix: b"CodeHeap '",
        read: segment,
        samples: &[
            "CodeHeap 'non-profiled nmethods': size=120032Kb used=1846Kb max_used=1855Kb free=118186Kb",
            "CodeHeap 'profiled nmethods' is full. Compiler has been disabled.",
        ],
    },
    Rule { prefix: b"CodeCache is full.", read: full, samples: &["CodeCache is full. Compiler has been disabled."] },
    Rule {
        prefix: b"Triggering ",
        read: note,
        samples: &[
            "Triggering threshold (12.749%) GC due to allocating 15.005% since last unloading (60.1% used -> 75.1% used)",
            "Triggering aggressive GC due to having only 9.999% free memory",
        ],
    },
    Rule {
        prefix: b"Try increasing the code ",
        read: note,
        samples: &["Try increasing the code heap size using -XX:ProfiledCodeHeapSize="],
    },
    Rule {
        prefix: b"Allocation rate: ",
        read: detail,
        samples: &[
            "Allocation rate: 1283.043 KB/s, time to aggressive unloading: 11.184 s, cold timeout: 10.0 s, cold gc count: 2",
        ],
    },
    Rule {
        prefix: b"Unknown code cache pressure",
        read: detail,
        samples: &["Unknown code cache pressure; don't age code"],
    },
    Rule {
        prefix: b"Code cache critically low",
        read: note,
        samples: &["Code cache critically low; use aggressive unloading"],
    },
    Rule { prefix: b"Restarting compiler", read: note, samples: &["Restarting compiler"] },
];

fn unsegmented<'a>(message: Message<'a>, rest: Cursor<'a>) -> Option<Event<'a>> {
    usage(message, b"", rest)
}

fn segment<'a>(message: Message<'a>, mut rest: Cursor<'a>) -> Option<Event<'a>> {
    let segment = rest.until(b'\'')?;
    if rest.eat(b" is full") {
        return Some(Event::CodeCacheFull { at: message.at, segment });
    }
    rest.expect(b": size=")?;
    usage(message, segment, rest)
}

/// `20480Kb used=19846Kb max_used=19855Kb free=634Kb`
fn usage<'a>(message: Message<'a>, segment: &'a [u8], mut rest: Cursor<'a>) -> Option<Event<'a>> {
    let kilobytes = |cursor: &mut Cursor<'_>| cursor.integer()?.checked_mul(1_024);
    let size = kilobytes(&mut rest)?;
    rest.expect(b"Kb used=")?;
    let used = kilobytes(&mut rest)?;
    Some(Event::CodeCache { at: message.at, segment, size, used })
}

fn full<'a>(message: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::CodeCacheFull { at: message.at, segment: b"" })
}

fn note<'a>(message: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::Note { at: message.at, class: "code_cache", text: message.text })
}

fn detail<'a>(_: Message<'a>, _: Cursor<'a>) -> Option<Event<'a>> {
    Some(Event::Detail)
}
