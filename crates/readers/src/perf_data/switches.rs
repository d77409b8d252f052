//! Tracepoints of the scheduler and of disks to waits and requests.

use fathom_evidence::detail::{BlockRequest, Blocked, RunQueueWait, to_text};
use fathom_evidence::kinds::{role, span};
use fathom_evidence::{Recording, StackId, StrId, Thread};
use rustc_hash::FxHashMap;

use crate::perf_data::formats::Format;

/// Waits that take this long are kept, as by the collector of waits, in ns.
const LONG_NS: i64 = 1_000_000;

/// Requests that are under way at once, and threads: a trace without their ends would fill the memory.
const UNDER_WAY_MAX: usize = 1_000_000;

const SECTOR_BYTES: u64 = 512;

/// A thread left its CPU, became runnable, or came onto a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Out { is_runnable: bool, state: char, stacks: [StackId; 2] },
    Woken { waker: i64 },
    In { instead: i64 },
}

/// What happened to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Issued { bytes: u64, tid: i64, name: StrId, operation: StrId },
    Completed { error: i64 },
}

/// Device and first sector.
type Place = (i64, i64);

/// What a tracepoint says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Of(i64, Change),
    At(Place, Request),
}

/// Gives what a tracepoint says to `add`, if it is known; `is_ours` if it was hit by the process.
pub(super) fn events(
    recording: &mut Recording,
    format: &Format,
    raw: &[u8],
    is_ours: bool,
    stacks: [StackId; 2],
    add: &mut dyn FnMut(Event),
) -> bool {
    let number = |name: &str| format.number(raw, name);
    let place = || number("dev").zip(number("sector"));
    match format.name.as_str() {
        "sched:sched_switch" => {
            let (Some(prev), Some(next)) = (number("prev_pid"), number("next_pid")) else { return false };
            if is_ours {
                let (is_runnable, state) = state(number("prev_state").unwrap_or(0));
                add(Event::Of(prev, Change::Out { is_runnable, state, stacks }));
            }
            add(Event::Of(next, Change::In { instead: prev }));
        }
        "sched:sched_wakeup" | "sched:sched_wakeup_new" => {
            let (Some(woken), Some(waker)) = (number("pid"), number("common_pid")) else { return false };
            add(Event::Of(woken, Change::Woken { waker }));
        }
        "block:block_rq_issue" => {
            place().into_iter().for_each(|place| add(Event::At(place, issued(recording, format, raw))));
        }
        "block:block_rq_complete" => {
            let completed = Request::Completed { error: number("error").unwrap_or(0) };
            place().into_iter().for_each(|place| add(Event::At(place, completed)));
        }
        _ => return false,
    }
    true
}

fn issued(recording: &mut Recording, format: &Format, raw: &[u8]) -> Request {
    let number = |name: &str| format.number(raw, name);
    let text = |name: &str| String::from_utf8_lossy(format.text(raw, name).unwrap_or_default());
    let sectors = || number("nr_sector").map(|sectors| (sectors as u64).saturating_mul(SECTOR_BYTES));
    Request::Issued {
        bytes: number("bytes").map(|bytes| bytes as u64).or_else(sectors).unwrap_or(0),
        tid: number("common_pid").unwrap_or(0),
        name: recording.strings.intern(&text("comm")),
        operation: recording.strings.intern(&words(&text("rwbs"))),
    }
}

/// Makes waits and requests of what comes in the order of time.
#[derive(Debug, Default)]
pub(super) struct Switches {
    /// Threads of the process, from the first time on that one left its CPU.
    waiting: FxHashMap<i64, Waiting>,
    issued: FxHashMap<Place, (i64, Request)>,
}

impl Switches {
    pub(super) fn take(&mut self, recording: &mut Recording, source: &str, time_ns: i64, event: Event) {
        match event {
            Event::Of(tid, change) => {
                if matches!(change, Change::Out { .. }) && self.waiting.len() < UNDER_WAY_MAX {
                    self.waiting.entry(tid).or_default();
                }
                if let Some(waiting) = self.waiting.get_mut(&tid) {
                    change_of(recording, source, waiting, (time_ns, tid, change));
                }
            }
            // A request that is issued again goes on waiting.
            Event::At(place, request @ Request::Issued { .. }) => {
                if self.issued.len() < UNDER_WAY_MAX {
                    self.issued.entry(place).or_insert((time_ns, request));
                }
            }
            Event::At(place, Request::Completed { error }) => {
                if let Some(begun) = self.issued.remove(&place) {
                    completed(recording, source, place, begun, (time_ns, error));
                }
            }
        }
    }

    /// Something came too late: how long the thread waits, or the request takes, is not known.
    pub(super) fn forget(&mut self, event: Event) {
        match event {
            Event::Of(tid, _) => drop(self.waiting.remove(&tid)),
            Event::At(place, _) => drop(self.issued.remove(&place)),
        }
    }
}

/// A thread that is off its CPU: since when, how, and since when it could run.
#[derive(Debug, Default)]
struct Waiting {
    blocked: Option<(i64, char, [StackId; 2])>,
    runnable: Option<(i64, bool)>,
}

fn change_of(
    recording: &mut Recording,
    source: &str,
    waiting: &mut Waiting,
    (time_ns, tid, change): (i64, i64, Change),
) {
    match change {
        Change::Out { is_runnable: true, .. } => *waiting = Waiting { blocked: None, runnable: Some((time_ns, true)) },
        Change::Out { state, stacks, .. } => {
            *waiting = Waiting { blocked: Some((time_ns, state, stacks)), runnable: None }
        }
        Change::Woken { waker } => {
            if let Some(begun) = waiting.blocked.take() {
                blocked(recording, source, tid, begun, (time_ns, Some(waker)));
                waiting.runnable = Some((time_ns, false));
            }
        }
        Change::In { instead } => {
            // Where wake-ups were not recorded, the time until it ran is in the wait.
            if let Some(begun) = waiting.blocked.take() {
                blocked(recording, source, tid, begun, (time_ns, None));
            }
            if let Some((since_ns, is_preempted)) =
                waiting.runnable.take().filter(|(since, _)| time_ns.saturating_sub(*since) >= LONG_NS)
            {
                let detail = RunQueueWait {
                    instead_tid: Some(instead),
                    preempted: Some(is_preempted),
                    ..RunQueueWait::default()
                };
                recording.add_span(
                    since_ns,
                    time_ns.saturating_sub(since_ns),
                    tid,
                    span::RUN_QUEUE_WAIT,
                    "",
                    &to_text(&detail),
                    source,
                );
            }
        }
    }
}

fn blocked(
    recording: &mut Recording,
    source: &str,
    tid: i64,
    (since_ns, state, [stack_id, kernel_stack_id]): (i64, char, [StackId; 2]),
    (end_ns, waker_tid): (i64, Option<i64>),
) {
    let duration_ns = end_ns.saturating_sub(since_ns);
    if duration_ns < LONG_NS {
        return;
    }
    let name = if state == 'D' { "uninterruptible" } else { kind_of(recording, kernel_stack_id) };
    let detail = Blocked { state: Some(state.to_string()), waker_tid, ..Blocked::default() };
    recording.add_span(since_ns, duration_ns, tid, span::BLOCKED, name, &to_text(&detail), source);
    let row = recording.spans.stack_id.len() - 1;
    (recording.spans.stack_id[row], recording.spans.kernel_stack_id[row]) = (stack_id, kernel_stack_id);
}

/// The kind of a wait by the kernel's functions that it is in.
fn kind_of(recording: &Recording, stack: StackId) -> &'static str {
    const KINDS: &[(&str, &str)] = &[
        ("futex", "futex"),
        ("poll", "poll"),
        ("select", "poll"),
        ("nanosleep", "sleep"),
        ("vfs_read", "read_write"),
        ("vfs_write", "read_write"),
        ("sock_recvmsg", "read_write"),
        ("sock_sendmsg", "read_write"),
        ("accept", "read_write"),
    ];
    let functions = || recording.stacks.leaf_to_root(stack).map(|frame| recording.text(frame.symbol));
    let known = KINDS.iter().find(|(part, _)| functions().any(|function| function.contains(part)));
    known.map_or("other", |(_, kind)| kind)
}

fn completed(
    recording: &mut Recording,
    source: &str,
    (device, sector): (i64, i64),
    (begun_ns, request): (i64, Request),
    (end_ns, error): (i64, i64),
) {
    let Request::Issued { bytes, tid, name, operation } = request else { return };
    if recording.threads.get(tid).is_none() {
        // Not the JVM's: it must not pass for one of its threads.
        let role = recording.strings.intern(role::KERNEL);
        recording.threads.insert(tid, Thread { name, role });
    }
    let duration_ns = end_ns.saturating_sub(begun_ns);
    // As the kernel numbers devices inside: 12 bits of the major number and 20 of the minor.
    let name = format!("{}:{}", (device as u64) >> 20, device & 0xf_ffff);
    let detail = BlockRequest {
        operation: Some(recording.text(operation).to_owned()),
        bytes: Some(bytes),
        sector: u64::try_from(sector).ok(),
        d2c_ns: Some(duration_ns),
        error: Some(error).filter(|error| *error != 0),
        ..BlockRequest::default()
    };
    recording.add_span(begun_ns, duration_ns, tid, span::BLOCK_REQUEST, &name, &to_text(&detail), source);
}

/// `R`, `WS`, `RA`, `FF` in words.
fn words(operation: &str) -> String {
    const WORDS: &[(char, &str)] =
        &[('R', "read"), ('W', "write"), ('D', "discard"), ('F', "flush"), ('S', "sync"), ('A', "ahead")];
    let found = WORDS.iter().filter(|(letter, _)| operation.contains(*letter)).map(|(_, word)| *word);
    found.collect::<Vec<_>>().join(" ")
}

/// Whether a thread that leaves its CPU could go on, and its state as a letter.
fn state(bits: i64) -> (bool, char) {
    const LETTERS: &[(i64, char)] =
        &[(1, 'S'), (2, 'D'), (4, 'T'), (8, 't'), (16, 'X'), (32, 'Z'), (64, 'P'), (128, 'I')];
    let known = LETTERS.iter().find(|(bit, _)| bits & bit != 0);
    known.map_or((true, 'R'), |(_, letter)| (false, *letter))
}
