//! Whether the rows that would show a cause are specific enough: a wait without a stack, a collection without its cause, or
//! a system call without a name may be anything.

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;
use fathom_evidence::{StackId, StrId};

use crate::comparison::Comparison;
use crate::measure::unsent;
use crate::need::Need;

/// A field without which rows of a kind say only that something of that kind was.
#[derive(Debug, Clone, Copy)]
enum Field {
    Name,
    Stack,
    Detail,
}

/// Whether the rows by which a need is met say what they are, where there are any.
pub(crate) fn are_there(comparison: &Comparison<'_>, need: Need) -> bool {
    !fields(need).iter().any(|(kind, field)| is_empty(comparison, (kind, source(need)), *field))
}

/// What rows have to say for their absence from a kind to mean anything.
fn fields(need: Need) -> &'static [(&'static str, Field)] {
    // What is waited on says that another thread initializes a class.
    const MONITORS: &[(&str, Field)] = &[
        (span::MONITOR_ENTER, Field::Name),
        (span::MONITOR_ENTER, Field::Stack),
        (span::MONITOR_WAIT, Field::Name),
        (span::SAMPLED_WAIT, Field::Stack),
    ];
    const PARKS: &[(&str, Field)] =
        &[(span::PARK, Field::Name), (span::PARK, Field::Stack), (span::SAMPLED_WAIT, Field::Stack)];
    const READS: &[(&str, Field)] =
        &[(span::SOCKET_READ, Field::Name), (span::SOCKET_READ, Field::Detail), (span::SAMPLED_WAIT, Field::Stack)];
    match need {
        Need::Collections => &[(span::GC_PAUSE, Field::Detail), (span::GC, Field::Detail)],
        Need::SystemGc => &[(span::SYSTEM_GC, Field::Stack)],
        Need::Stops => &[(span::VM_OPERATION, Field::Name), (span::SAFEPOINT, Field::Name)],
        Need::PageFaults => &[(span::PAGE_FAULT, Field::Detail)],
        Need::Sockets => &[(span::REQUEST, Field::Detail), (span::CALL, Field::Detail)],
        Need::Event("jdk.ThreadPark") => PARKS,
        Need::Event("jdk.ThreadSleep") => &[(span::SLEEP, Field::Stack)],
        Need::Event("jdk.SocketRead") => READS,
        Need::Event("jdk.JavaMonitorEnter") => MONITORS,
        Need::Spans(span::SYSTEM_CALL, _) => &[(span::SYSTEM_CALL, Field::Name), (span::SYSTEM_CALL, Field::Detail)],
        // Who waited for a device was in a call that is known by its name.
        Need::Spans(span::BLOCK_REQUEST, _) => {
            &[(span::BLOCK_REQUEST, Field::Detail), (span::SYSTEM_CALL, Field::Name)]
        }
        Need::Spans(span::SAMPLED_WAIT, _) => &[(span::SAMPLED_WAIT, Field::Stack)],
        _ => &[],
    }
}

/// Of which source rows have to say it, where others have rows of the same kind: a file of latencies knows no sockets.
fn source(need: Need) -> Option<&'static str> {
    matches!(need, Need::Sockets).then_some(unsent::SOURCE)
}

/// Whether there are rows of a kind, of this source or any, and all of them lack a field.
fn is_empty(comparison: &Comparison<'_>, (kind, source): (&str, Option<&str>), field: Field) -> bool {
    let lacks = |row: Span| match field {
        Field::Name => row.name == StrId(0),
        Field::Stack => row.stack_id == StackId(0),
        Field::Detail => row.detail == StrId(0),
    };
    let is_meant = |row: &Span| source.is_none_or(|source| comparison.recording().text(row.source) == source);
    let mut rows = comparison.sources().spans(kind).filter(is_meant).peekable();
    rows.peek().is_some() && rows.all(lacks)
}
