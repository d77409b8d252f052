//! System calls of any tracing tool, as rows of the collector of system calls: sums of each thread and call per second,
//! and single slow calls.

mod descriptors;
mod sums;

use fathom_evidence::detail::{SystemCall, to_text};
use fathom_evidence::kinds::{counter, span};
use fathom_evidence::{Recording, StackId, StrId, system_calls};
use rustc_hash::FxHashMap;

use crate::calls::descriptors::Descriptors;
use crate::calls::sums::{Rise, Sum, Sums};
use crate::rates::Rates;

/// Calls that take this long are rows of their own, as for the collector of system calls, in ns.
const SLOW_NS: i64 = 5_000_000;

/// Calls that have begun and not ended are kept for so many threads: the kernel allows no more.
const THREADS_MAX: usize = 4_194_304;

/// The counters of [`Sum::numbers`].
const NAMES: [&str; 4] = [
    counter::SYSTEM_CALLS_COUNT,
    counter::SYSTEM_CALLS_FAILED_COUNT,
    counter::SYSTEM_CALLS_NS,
    counter::SYSTEM_CALLS_BYTES,
];

/// A call, or as much as is known of it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    /// The first argument, if it is a number.
    pub(crate) descriptor: Option<i64>,
    /// What that is, where it is known.
    pub(crate) target: &'a [u8],
    /// The first argument that is a text.
    pub(crate) path: &'a [u8],
    /// Negative when it failed; none when it did not return.
    pub(crate) result: Option<i64>,
    pub(crate) duration_ns: Option<i64>,
}

/// A call that has begun on a thread, or the last one that had: its memory is used again.
#[derive(Debug, Default)]
struct Begun {
    is_open: bool,
    start_ns: i64,
    name: String,
    descriptor: Option<i64>,
    target: Vec<u8>,
    path: Vec<u8>,
    stacks: [StackId; 2],
}

/// What is known of a call by its name.
#[derive(Debug, Clone, Copy)]
struct Known {
    traits: u16,
    /// Under which name it is counted on a socket.
    on_socket: Option<StrId>,
}

/// Calls of a process. They come in the order of time.
#[derive(Debug)]
pub(crate) struct Calls {
    source: &'static str,
    sums: Sums,
    descriptors: Descriptors,
    begun: FxHashMap<i64, Begun>,
    known: FxHashMap<StrId, Known>,
    /// Rows, of which a long trace has fewer.
    rates: Rates,
    /// How many have ended.
    pub(crate) count: u64,
    /// How many of these have no length.
    pub(crate) without_length: i64,
}

impl Calls {
    /// Whose rows have a source.
    pub(crate) fn of(source: &'static str) -> Calls {
        let (sums, descriptors, begun, known, rates) = Default::default();
        Calls { source, sums, descriptors, begun, known, rates, count: 0, without_length: 0 }
    }

    /// A call begins.
    pub(crate) fn begins(&mut self, tid: i64, start_ns: i64, call: &Call<'_>, stacks: [StackId; 2]) {
        if self.begun.len() >= THREADS_MAX && !self.begun.contains_key(&tid) {
            return;
        }
        let begun = self.begun.entry(tid).or_default();
        call.name.clone_into(&mut begun.name);
        call.target.clone_into(&mut begun.target);
        call.path.clone_into(&mut begun.path);
        (begun.is_open, begun.start_ns, begun.descriptor, begun.stacks) = (true, start_ns, call.descriptor, stacks);
    }

    /// The call that has begun on a thread ends, if it is the same one; one without a name is.
    pub(crate) fn ends(&mut self, recording: &mut Recording, tid: i64, time_ns: i64, end: Call<'_>) {
        let Some(open) = self.begun.get_mut(&tid).filter(|begun| begun.is_open) else { return };
        open.is_open = false;
        if !end.name.is_empty() && open.name != end.name {
            return;
        }
        let begun = std::mem::take(open);
        let Begun { start_ns, name, descriptor, target, path, stacks, .. } = &begun;
        let took_ns = end.duration_ns.unwrap_or_else(|| time_ns.saturating_sub(*start_ns).max(0));
        let call = Call { name, descriptor: *descriptor, target, path, duration_ns: Some(took_ns), ..end };
        self.whole(recording, tid, (*start_ns, time_ns.max(*start_ns)), call, *stacks);
        self.begun.insert(tid, begun);
    }

    /// A call from its beginning to its end.
    pub(crate) fn whole(
        &mut self,
        recording: &mut Recording,
        tid: i64,
        (start_ns, end_ns): (i64, i64),
        call: Call<'_>,
        stacks: [StackId; 2],
    ) {
        let name = recording.strings.intern(call.name);
        let known = self
            .known
            .entry(name)
            .or_insert_with(|| Known { traits: system_calls::traits(call.name), on_socket: None });
        let traits = known.traits;
        let is = |any_of: u16| traits & any_of != 0;
        let is_on_socket = self.descriptors.see(&call, traits);
        self.count += 1;
        self.without_length += i64::from(call.duration_ns.is_none());
        let bytes = call.result.filter(|result| is(system_calls::TRANSFERS) && *result > 0).unwrap_or(0);
        let failed = i64::from(call.result.is_some_and(|result| result < 0));
        let counted = match is_on_socket && is(system_calls::ON_ANYTHING) {
            true => *known.on_socket.get_or_insert_with(|| recording.strings.intern(&format!("{} socket", call.name))),
            false => name,
        };
        self.sums.add(end_ns, (tid, counted), Sum { count: 1, failed, ns: call.duration_ns.unwrap_or(0), bytes });
        if call.duration_ns.is_some_and(|ns| ns >= SLOW_NS) && !is(system_calls::WAITS) {
            self.slow(recording, (tid, start_ns), &call, bytes, stacks);
        }
    }

    fn slow(
        &mut self,
        recording: &mut Recording,
        (tid, time_ns): (i64, i64),
        call: &Call<'_>,
        bytes: i64,
        [stack_id, kernel_stack_id]: [StackId; 2],
    ) {
        let detail = SystemCall {
            result: call.result,
            descriptor: call.descriptor,
            path: self.descriptors.path(call),
            bytes: Some(bytes).filter(|bytes| *bytes > 0),
        };
        let duration_ns = call.duration_ns.unwrap_or(0);
        recording.add_span(time_ns, duration_ns, tid, span::SYSTEM_CALL, call.name, &to_text(&detail), self.source);
        let row = recording.spans.stack_id.len() - 1;
        (recording.spans.stack_id[row], recording.spans.kernel_stack_id[row]) = (stack_id, kernel_stack_id);
    }

    /// Writes the rows of all seconds that are over.
    pub(crate) fn rows_until(&mut self, recording: &mut Recording, now_ns: i64) {
        let rises = self.sums.over(now_ns);
        rises.into_iter().for_each(|rise| self.rise(recording, rise));
    }

    /// How long the call of a thread takes is not known.
    pub(crate) fn forget(&mut self, tid: i64) {
        self.begun.remove(&tid);
    }

    /// Writes the rows of what is left.
    pub(crate) fn rows_of_rest(&mut self, recording: &mut Recording) {
        let rises = self.sums.end();
        rises.into_iter().for_each(|rise| self.rise(recording, rise));
    }

    /// Writes all rows that are left, and says so if some were left out.
    pub(crate) fn finish(mut self, recording: &mut Recording) {
        self.rows_of_rest(recording);
        self.rates.finish(recording, self.source);
    }

    fn rise(&mut self, recording: &mut Recording, Rise { key: (tid, instance), which, before, after }: Rise) {
        let [name, source] = [NAMES[which], self.source].map(|text| recording.strings.intern(text));
        let id = self.rates.id_of((name, instance, tid), source);
        for (time_ns, value) in before.into_iter().chain([after]) {
            self.rates.now(recording, id, time_ns, value as f64);
        }
    }
}
