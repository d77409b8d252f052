//! Tracepoints of the scheduler and of disks to waits and requests.
//!
//! What a CPU wrote is in order, and CPUs are not: all is kept and put in order at the end.

use std::collections::HashMap;

use fathom_evidence::detail::{BlockRequest, Blocked, RunQueueWait, to_text};
use fathom_evidence::kinds::{role, span};
use fathom_evidence::{Recording, StackId, Thread};

use crate::perf_data::formats::Format;

/// Waits that take this long are kept, as by the collector of waits, in ns.
const LONG_NS: i64 = 1_000_000;

/// Events that are kept, each of some 60 bytes.
const EVENTS_MAX: usize = 20_000_000;

const SECTOR_BYTES: u64 = 512;

/// A thread left its CPU, became runnable, or came onto a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Out { is_runnable: bool, state: char, stacks: [StackId; 2] },
    Woken { waker: i64 },
    In { instead: i64 },
}

/// A request, by device and first sector.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Request {
    Issued { bytes: u64, tid: i64, name: String, operation: String },
    Completed { error: i64 },
}

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Switches {
    changes: Vec<(i64, i64, Change)>,
    requests: Vec<(i64, (i64, i64), Request)>,
    /// Threads of the process.
    ours: HashMap<i64, ()>,
}

impl Switches {
    /// Takes a tracepoint if it is known; `is_ours` if it was hit by the process.
    pub(super) fn see(
        &mut self,
        format: &Format,
        raw: &[u8],
        time_ns: i64,
        is_ours: bool,
        stacks: [StackId; 2],
    ) -> bool {
        if self.changes.len() + self.requests.len() >= EVENTS_MAX {
            return false;
        }
        let number = |name: &str| format.number(raw, name);
        match format.name.as_str() {
            "sched:sched_switch" => {
                let (Some(prev), Some(next)) = (number("prev_pid"), number("next_pid")) else { return false };
                if is_ours {
                    self.ours.insert(prev, ());
                    let (is_runnable, state) = state(number("prev_state").unwrap_or(0));
                    self.changes.push((time_ns, prev, Change::Out { is_runnable, state, stacks }));
                }
                self.changes.push((time_ns, next, Change::In { instead: prev }));
            }
            "sched:sched_wakeup" | "sched:sched_wakeup_new" => {
                let (Some(woken), Some(waker)) = (number("pid"), number("common_pid")) else { return false };
                self.changes.push((time_ns, woken, Change::Woken { waker }));
            }
            "block:block_rq_issue" => self.request(format, raw, time_ns, |format| {
                let bytes = format.number(raw, "bytes").map(|bytes| bytes as u64);
                let sectors =
                    || format.number(raw, "nr_sector").map(|sectors| (sectors as u64).saturating_mul(SECTOR_BYTES));
                let text =
                    |name: &str| String::from_utf8_lossy(format.text(raw, name).unwrap_or_default()).into_owned();
                Request::Issued {
                    bytes: bytes.or_else(sectors).unwrap_or(0),
                    tid: format.number(raw, "common_pid").unwrap_or(0),
                    name: text("comm"),
                    operation: words(&text("rwbs")),
                }
            }),
            "block:block_rq_complete" => self.request(format, raw, time_ns, |format| Request::Completed {
                error: format.number(raw, "error").unwrap_or(0),
            }),
            _ => return false,
        }
        true
    }

    fn request(&mut self, format: &Format, raw: &[u8], time_ns: i64, of: impl FnOnce(&Format) -> Request) {
        if let Some(place) = format.number(raw, "dev").zip(format.number(raw, "sector")) {
            self.requests.push((time_ns, place, of(format)));
        }
    }

    /// Puts all in order, and makes waits and requests of it.
    pub(super) fn into_spans(mut self, recording: &mut Recording, source: &str) {
        self.changes.retain(|(_, tid, _)| self.ours.contains_key(tid));
        self.changes.sort_by_key(|(time_ns, _, _)| *time_ns);
        let mut waiting: HashMap<i64, Waiting> = HashMap::new();
        for (time_ns, tid, change) in self.changes {
            change_of(recording, source, waiting.entry(tid).or_default(), (time_ns, tid, change));
        }
        self.requests.sort_by_key(|(time_ns, _, _)| *time_ns);
        let mut issued: HashMap<(i64, i64), (i64, Request)> = HashMap::new();
        for (time_ns, place, request) in self.requests {
            match request {
                // A request that is issued again goes on waiting.
                Request::Issued { .. } => {
                    issued.entry(place).or_insert((time_ns, request));
                }
                Request::Completed { error } => {
                    if let Some(begun) = issued.remove(&place) {
                        completed(recording, source, place, begun, (time_ns, error));
                    }
                }
            }
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
    let Request::Issued { bytes, tid, name: submitter, operation } = request else { return };
    if recording.threads.get(tid).is_none() {
        // Not the JVM's: it must not pass for one of its threads.
        let [name, role] = [&submitter, role::KERNEL].map(|text| recording.strings.intern(text));
        recording.threads.insert(tid, Thread { name, role });
    }
    let duration_ns = end_ns.saturating_sub(begun_ns);
    // As the kernel numbers devices inside: 12 bits of the major number and 20 of the minor.
    let name = format!("{}:{}", (device as u64) >> 20, device & 0xf_ffff);
    let detail = BlockRequest {
        operation: Some(operation),
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
