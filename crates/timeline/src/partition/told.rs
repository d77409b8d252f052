//! What is told of each thread, from every kind of span that says something of a thread's state.

use std::collections::BTreeMap;

use fathom_evidence::kinds::span;
use fathom_evidence::tables::Span;

use super::sweep::{Precedence, Told};
use crate::cells::{Cell, Wait};
use crate::view::View;
use crate::waits::{self, PLAIN, Waits};

type ByThread = BTreeMap<i64, Vec<Told>>;

/// Everything that is told, by thread; of threads of other programs nothing is known.
pub(crate) fn of(view: &View<'_>) -> ByThread {
    let mut told = ByThread::new();
    let mut waits = Waits::new(view);
    // The kernel sees all calls, the JVM those of some classes.
    let has_calls = view.spans(span::SYSTEM_CALL).len() > 0;
    for (kind, state) in PLAIN {
        let is_repeated = has_calls && matches!(*kind, span::FILE_READ | span::FILE_WRITE | span::FILE_FORCE);
        if !is_repeated {
            each(view, kind, |row, wait| add(&mut told, row, wait, *state));
        }
    }
    for kind in [span::PARK, span::MONITOR_WAIT] {
        each(view, kind, |row, wait| add(&mut told, row, wait, waits.of_park(wait)));
    }
    // In a program that is its own service whoever sleeps is what the others wait for.
    let of_sleep = |waits: &mut Waits<'_, '_>, wait: &Span| match view.calls_itself() {
        true => Cell::Idle,
        false => waits.of_park(wait),
    };
    each(view, span::SLEEP, |row, wait| add(&mut told, row, wait, of_sleep(&mut waits, wait)));
    each(view, span::SYSTEM_CALL, |row, call| {
        let of_frames = waits.of_frames(call.stack_id);
        add(&mut told, row, call, waits::of_call(view, call, of_frames));
    });
    each(view, span::BLOCKED, |row, wait| {
        let of_frames = waits.of_frames(wait.stack_id);
        add(&mut told, row, wait, waits::of_kernel_wait(view, wait, of_frames));
    });
    for kind in [span::SOCKET_READ, span::SOCKET_WRITE] {
        each(view, kind, |row, socket| add_socket(view, &mut told, row, socket));
    }
    told
}

fn each(view: &View<'_>, kind: &str, mut see: impl FnMut(u32, &Span)) {
    for row in view.rows(kind) {
        let span = view.recording.spans.row(*row as usize);
        if span.tid != 0 {
            see(*row, &span);
        }
    }
}

fn add(told: &mut ByThread, row: u32, span: &Span, state: Cell) {
    let precedence = match state {
        Cell::Blocked(Wait::PageFault) | Cell::Runnable => Precedence::Interruption,
        Cell::Blocked(Wait::Unnamed) | Cell::Idle => Precedence::Unnamed,
        Cell::Unknown => Precedence::OffCpu,
        _ => Precedence::Wait,
    };
    told.entry(span.tid).or_default().push(Told::new(precedence, state, span.time_ns, span.end_ns(), row));
}

/// A read of a service waits for its answer; of one that answers in this program, for as long as who answers sleeps: the
/// last of it. A read of a client waits for its next request.
fn add_socket(view: &View<'_>, told: &mut ByThread, row: u32, socket: &Span) {
    if !view.is_service(socket) {
        return add(told, row, socket, Cell::Idle);
    }
    let waited_ns = view.waited_for_service_ns(socket).min(socket.duration_ns.max(0));
    let answer = Span { time_ns: socket.end_ns().saturating_sub(waited_ns), duration_ns: waited_ns, ..*socket };
    add(told, row, &answer, Cell::Blocked(Wait::Socket));
    add(told, row, socket, Cell::Idle);
}
