//! What is recorded of each thread, from every kind of span that says something of a thread's state.

use std::collections::BTreeMap;

use fathom_evidence::kinds::{recorded, span, subject};
use fathom_evidence::tables::Span;

use super::sweep::Candidate;
use crate::idle::only_readers;
use crate::read_times::TOLD_BY_CALLS;
use crate::sources::Sources;
use crate::states::{Precedence, ThreadState, Wait};
use crate::waits::{self, PLAIN, Waits};

/// As the kernel's waits are called that Java's locks, conditions and sleeps are.
const FUTEX: &str = "futex";

type ByThread = BTreeMap<i64, Vec<Candidate>>;

/// Everything that is found, by thread; of threads of other programs nothing is known.
pub(crate) fn of(sources: &Sources<'_>) -> ByThread {
    let mut found = ByThread::new();
    let mut waits = Waits::new(sources);
    // The kernel sees all calls, the JVM those of some classes.
    let calls_looked_at = sources.calls_looked_at();
    for (kind, state) in PLAIN {
        each(sources, kind, |row, wait| {
            let is_repeated = TOLD_BY_CALLS.contains(kind) && calls_looked_at.contains(wait.time_ns);
            if !is_repeated {
                add(&mut found, row, wait, waits.of_file(wait, *state));
            }
        });
    }
    for kind in [span::PARK, span::MONITOR_WAIT] {
        each(sources, kind, |row, wait| add(&mut found, row, wait, waits.of_park(wait)));
    }
    // In a program that is its own service, the others wait for the thread that sleeps.
    let of_sleep = |waits: &mut Waits<'_, '_>, wait: &Span| match sources.traffic.peers.has_own() {
        true => ThreadState::Idle,
        false => waits.of_park(wait),
    };
    each(sources, span::SLEEP, |row, wait| add(&mut found, row, wait, of_sleep(&mut waits, wait)));
    each(sources, span::SYSTEM_GC, |row, call| {
        // Who needs direct memory cannot go on without it. Others may ask for a collection because they have nothing else to do.
        let memory = ThreadState::Blocked(Wait::DirectMemory);
        if waits.of_frames(call.stack_id) == Some(memory) {
            add(&mut found, row, call, memory);
        }
    });
    each(sources, span::SYSTEM_CALL, |row, call| {
        let of_frames = waits.of_frames(call.stack_id);
        add(&mut found, row, call, waits::of_call(sources, call, of_frames));
    });
    each(sources, span::BLOCKED, |row, wait| {
        let of_frames = waits.of_frames(wait.stack_id);
        match waits::of_kernel_wait(sources, wait, of_frames) {
            // The system call around it has the stack of who asks.
            state @ ThreadState::Blocked(Wait::Process) => add_sampled(&mut found, row, wait, Some(state)),
            state => add(&mut found, row, wait, state),
        }
        if sources.recording.text(wait.name) == FUTEX {
            add_sampled(&mut found, row, wait, waits.of_standing(wait));
        }
    });
    each(sources, span::SAMPLED_WAIT, |row, wait| add_sampled(&mut found, row, wait, waits.of_look(wait)));
    add_short_calls(sources, &mut found);
    let readers = only_readers(sources);
    for kind in [span::SOCKET_READ, span::SOCKET_WRITE] {
        each(sources, kind, |row, socket| match readers.contains(&socket.tid) {
            true => add(&mut found, row, socket, ThreadState::Blocked(Wait::Unnamed)),
            false => add_socket(sources, &mut found, row, socket),
        });
    }
    found
}

/// Calls in which a wait is too short to be recorded: who asks a service and reads its answer waits for it, but for what is known better.
fn add_short_calls(sources: &Sources<'_>, found: &mut ByThread) {
    let recorded_from_ns = sources.recording.fact(subject::RECORDING, recorded::BLOCKED_THRESHOLD_NS);
    let Some(recorded_from_ns) = recorded_from_ns.and_then(|text| text.parse::<i64>().ok()) else { return };
    each(sources, span::CALL, |row, call| {
        if call.duration_ns < recorded_from_ns && sources.traffic.waits_for_a_call(call) {
            add_as(Precedence::Called, found, row, call, ThreadState::Blocked(Wait::Socket));
        }
    });
}

fn each(sources: &Sources<'_>, kind: &str, mut see: impl FnMut(u32, &Span)) {
    for row in sources.rows(kind) {
        let span = sources.recording.spans.row(*row as usize);
        if span.tid != 0 {
            see(*row, &span);
        }
    }
}

fn add(found: &mut ByThread, row: u32, span: &Span, state: ThreadState) {
    add_as(state.row().precedence, found, row, span, state);
}

fn add_as(precedence: Precedence, found: &mut ByThread, row: u32, span: &Span, state: ThreadState) {
    let candidate = Candidate::new(precedence, state, span.time_ns, span.end_ns(), row);
    found.entry(span.tid).or_default().push(candidate);
}

/// What a stack says of a thread that did not run: less than the JVM, which knows what the thread parked on and for whom.
fn add_sampled(found: &mut ByThread, row: u32, wait: &Span, state: Option<ThreadState>) {
    state.into_iter().for_each(|state| add_as(Precedence::Sampled, found, row, wait, state));
}

/// A read of a service waits for its answer; of one that answers in this program, for as long as who answers sleeps: the
/// last of it. A read of a client waits for its next request.
fn add_socket(sources: &Sources<'_>, found: &mut ByThread, row: u32, socket: &Span) {
    if !sources.traffic.is_service(socket) {
        return add(found, row, socket, ThreadState::Idle);
    }
    let waited_ns = sources.traffic.peers.waited_ns(socket).min(socket.duration_ns.max(0));
    let answer = Span { time_ns: socket.end_ns().saturating_sub(waited_ns), duration_ns: waited_ns, ..*socket };
    add(found, row, &answer, ThreadState::Blocked(Wait::Socket));
    add(found, row, socket, ThreadState::Idle);
}
