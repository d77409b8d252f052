//! The tables of a recording. Everything observed is a fact, a sample, a span, a counter or a log
//! line; losses and clock pairs say how far the rest can be trusted.

use crate::dictionaries::{StackId, StrId};
use crate::table::table;

table! {
    /// Something true of the whole recording: host, JVM, flags, settings.
    Facts = "facts", row Fact {
        /// What it is about, one of the subjects listed under "Facts".
        ["text"] subject: StrId,
        /// Which property, for example `MaxHeapSize`.
        ["text"] key: StrId,
        /// Its value as text; numbers without separators, in the unit that the key's source uses.
        ["text"] value: StrId,
        /// The reader or collector that saw it, for example `jfr`.
        ["text"] source: StrId,
    }
}

table! {
    /// A thread seen at an instant.
    Samples = "samples", row Sample {
        /// When the thread was seen.
        ["ns since the Unix epoch"] time_ns: i64,
        /// Which thread: OS thread id, or a virtual thread's Java id negated.
        ["id"] tid: i64,
        /// CPU on which it ran; -1 when the source does not say.
        ["number"] cpu: i32,
        /// Why it was sampled, one of the events listed under "Sample events".
        ["text"] event: StrId,
        /// Time that the sample stands for; 0 for allocation samples.
        ["ns"] weight_ns: i64,
        /// Bytes that the sample stands for; 0 for samples of time.
        ["bytes"] size_bytes: i64,
        /// State of the thread as the source names it, for example `STATE_RUNNABLE`; empty if unknown.
        ["text"] state: StrId,
        /// Its stack.
        ["id"] stack_id: StackId,
    }
}

/// In how much time the samples of bytes of a thread may be one row, in ns: what is asked of them are rates.
pub const BYTES_TOGETHER_NS: i64 = 10_000_000;

impl Sample {
    /// The instant that it counts for: of bytes the beginning of [their time](BYTES_TOGETHER_NS), so that it does not matter
    /// how many rows they are.
    pub fn counts_at_ns(&self) -> i64 {
        let offset_ns = if self.size_bytes > 0 { self.time_ns.rem_euclid(BYTES_TOGETHER_NS) } else { 0 };
        self.time_ns.saturating_sub(offset_ns)
    }
}

impl Samples {
    /// Those of an event, in order. Of most rows no more than the event is looked at.
    pub fn of_event(&self, event: StrId) -> impl Iterator<Item = Sample> + '_ {
        let rows = self.event.iter().enumerate().filter(move |(_, of)| **of == event);
        rows.map(|(row, _)| self.row(row))
    }
}

table! {
    /// Something with a beginning and an end, on a thread or on the whole process.
    Spans = "spans", row Span {
        /// When it began.
        ["ns since the Unix epoch"] time_ns: i64,
        /// How long it took; 0 marks an instant.
        ["ns"] duration_ns: i64,
        /// Thread it happened on; 0 for the whole process.
        ["id"] tid: i64,
        /// What it is, one of the kinds listed under "Span kinds".
        ["text"] kind: StrId,
        /// Which one of its kind: the collection, operation, method, class or file.
        ["text"] name: StrId,
        /// User stack at its beginning or end, as the source takes it; 0 when there is none.
        ["id"] stack_id: StackId,
        /// Kernel stack of the wait; 0 when there is none.
        ["id"] kernel_stack_id: StackId,
        /// A JSON object whose keys depend on the kind, listed under "Details of spans"; empty when there is nothing to add.
        ["JSON"] detail: StrId,
        /// The reader or collector that saw it. Two sources may report the same pause.
        ["text"] source: StrId,
    }
}

impl Span {
    /// When it ended; a damaged length is none.
    #[must_use]
    pub fn end_ns(&self) -> i64 {
        self.time_ns.saturating_add(self.duration_ns.max(0))
    }
}

table! {
    /// A number at an instant.
    Counters = "counters", row Counter {
        /// When the number was read.
        ["ns since the Unix epoch"] time_ns: i64,
        /// Which number, one of the names listed under "Counters". The name ends with the unit.
        ["text"] name: StrId,
        /// Which one of several, for example the code cache segment; empty when there is one.
        ["text"] instance: StrId,
        /// Thread it belongs to; 0 for the whole process.
        ["id"] tid: i64,
        /// The number, in the unit that the name ends with.
        ["as named"] value: f64,
        /// The reader or collector that saw it.
        ["text"] source: StrId,
    }
}

table! {
    /// A line of text with its class.
    Logs = "logs", row Log {
        /// When it was written; 0 when the line does not say.
        ["ns since the Unix epoch"] time_ns: i64,
        /// File or stream it came from.
        ["text"] source: StrId,
        /// Level as written, for example `warning`; empty if none.
        ["text"] level: StrId,
        /// What kind of line it is, for example `code_cache` or `not_understood`.
        ["text"] class: StrId,
        /// The line with its variable parts replaced; empty when not computed.
        ["text"] template: StrId,
        /// The line, at most 1,000 characters of it.
        ["text"] text: StrId,
    }
}

table! {
    /// Something that is missing: events lost, files cut, sources refused, clocks guessed.
    Losses = "losses", row Loss {
        /// The reader or collector that lost it, with the file's name where there is one.
        ["text"] source: StrId,
        /// One of the kinds listed under "Losses".
        ["text"] kind: StrId,
        /// How many (events, bytes, lines, nanoseconds), as in `says`; 0 when unknown.
        ["as said"] count: i64,
        /// One sentence for a person.
        ["text"] says: StrId,
        /// Start of the time concerned; 0 when unknown.
        ["ns since the Unix epoch"] from_ns: i64,
        /// End of the time concerned; 0 when unknown.
        ["ns since the Unix epoch"] to_ns: i64,
    }
}

table! {
    /// The same instant on two clocks; with these a source is put on the common time axis.
    Clocks = "clocks", row ClockPair {
        /// The other clock: `monotonic`, `boot`, `tsc`, `jfr_ticks`, `jvm_uptime`.
        ["text"] clock: StrId,
        /// Its reading, in its own unit.
        ["ns or ticks"] reading: i64,
        /// How many of its units make a second.
        ["1/s"] per_second: i64,
        /// Wall-clock time of the reading.
        ["ns since the Unix epoch"] time_ns: i64,
        /// The source that gave the pair.
        ["text"] source: StrId,
    }
}

table! {
    /// Threads by id (dictionary).
    StoredThreads = "threads", row StoredThread {
        /// OS thread id, or a virtual thread's Java id negated; below -2^52 that of a thread of which only the name is known.
        ["id"] tid: i64,
        /// Name of the thread when last seen.
        ["text"] name: StrId,
        /// What it does, one of the roles listed under "Thread roles".
        ["text"] role: StrId,
    }
}

table! {
    /// Places in code (dictionary).
    StoredFrames = "frames", row StoredFrame {
        /// Id that `stacks` refers to.
        ["id"] frame_id: u32,
        /// `class.method` for Java, the function for native code.
        ["text"] symbol: StrId,
        /// Library or Java module; empty when unknown.
        ["text"] module: StrId,
        /// Layer, one of the kinds listed under "Frame kinds".
        ["text"] kind: StrId,
        /// Source line, 0 when unknown.
        ["number"] line: u32,
    }
}

table! {
    /// Stacks, each as its caller's stack plus one frame (dictionary).
    StoredStacks = "stacks", row StoredStack {
        /// Id that samples and spans refer to.
        ["id"] stack_id: u32,
        /// Stack of the caller; 0 at the root.
        ["id"] parent_id: u32,
        /// Frame on top.
        ["id"] frame_id: u32,
    }
}
