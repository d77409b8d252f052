//! The `detail` of a span: one struct per kind, written as a JSON object.
//!
//! Readers write through these, so that the keys are the same whatever the source; unknown parts
//! stay out of the text. Reading is forgiving: a key that is missing is `None`.

use crate::kinds::Word;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Text of a detail for the `detail` column.
pub fn to_text(detail: &impl Serialize) -> String {
    match serde_json::to_string(detail) {
        Ok(text) if text != "{}" => text,
        _ => String::new(),
    }
}

/// A detail from its text; the default when the text is empty or of another kind.
pub fn from_text<T: DeserializeOwned + Default>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_default()
}

/// The keys of the details of some kinds of spans.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    /// Of which kinds.
    pub of: &'static str,
    /// Each key and its meaning.
    pub keys: &'static [Word],
}

/// Declares detail structs, all of whose fields are optional, and the list `ALL` of their keys.
macro_rules! details {
    ($( $(#[doc = $doc:literal])+ $name:ident { $( $(#[doc = $field_doc:literal])+ $field:ident: $type:ty, )+ } )+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $( $(#[doc = $field_doc])+
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>, )+
        }
    )+
        /// The keys of all details.
        pub const ALL: &[Keys] = &[$( Keys {
            of: concat!($($doc),+),
            keys: &[$( Word { word: stringify!($field), meaning: concat!($($field_doc),+) }, )+],
        }, )+];
    };
}

details! {
    /// Of `gc`, `gc_pause`, `gc_phase` and `gc_concurrent`.
    Gc {
        /// Number of the collection, to join what belongs to it.
        gc_id: u64,
        /// Cause as the JVM names it, for example `Allocation Failure`.
        cause: String,
        /// `young`, `mixed`, `full`, `remark`, `cleanup`, `mark_start`, `mark_end`, `relocate_start`, `degenerated` or `other`.
        scope: String,
        /// Collector or generation as the JVM names it, for example `G1New`, `ParallelOld`.
        collector: String,
        /// Nesting of a phase, 0 for the pause itself.
        level: u32,
        /// Heap in use before, in bytes.
        heap_before_bytes: u64,
        /// Heap in use after, in bytes.
        heap_after_bytes: u64,
        /// Heap committed after, in bytes.
        heap_committed_bytes: u64,
        /// Old generation in use before, in bytes.
        old_before_bytes: u64,
        /// Old generation in use after, in bytes.
        old_after_bytes: u64,
        /// Old generation's capacity, in bytes.
        old_capacity_bytes: u64,
        /// Young generation in use before, in bytes.
        young_before_bytes: u64,
        /// Young generation in use after, in bytes.
        young_after_bytes: u64,
        /// Young generation's capacity, in bytes.
        young_capacity_bytes: u64,
        /// Permanent generation (JDK 7 and before) in use before, in bytes.
        permanent_before_bytes: u64,
        /// Permanent generation's capacity, in bytes.
        permanent_capacity_bytes: u64,
        /// CPU time in user mode over all threads of the collector, in ns.
        user_ns: u64,
        /// CPU time in the kernel over all threads of the collector, in ns.
        system_ns: u64,
        /// Elapsed time that belongs to user and system, in ns.
        real_ns: u64,
        /// Sum of the pauses of a whole collection, in ns.
        sum_of_pauses_ns: u64,
        /// Longest pause of a whole collection, in ns.
        longest_pause_ns: u64,
    }
    /// Of `safepoint` and `time_to_safepoint`.
    Safepoint {
        /// Number of the safepoint, to join its parts.
        safepoint_id: u64,
        /// From the request until the last thread had stopped, in ns.
        time_to_safepoint_ns: u64,
        /// Java threads at the time.
        threads: u64,
        /// Threads that were running when the safepoint was requested.
        running_threads: u64,
    }
    /// Of `vm_operation`.
    VmOperation {
        /// Whether it ran at a safepoint.
        safepoint: bool,
        /// Number of that safepoint.
        safepoint_id: u64,
        /// The thread that asked for it.
        caller: String,
    }
    /// Of `compilation`.
    Compilation {
        /// Number of the compilation.
        compile_id: u64,
        /// `c1`, `c2` or `jvmci`.
        compiler: String,
        /// Tier 1-4.
        level: u32,
        /// Whether it replaces a running loop.
        osr: bool,
        /// Machine code produced, in bytes.
        code_bytes: u64,
        /// Bytecodes inlined, in bytes.
        inlined_bytes: u64,
        /// Whether it produced code.
        succeeded: bool,
    }
    /// Of `code_cache_full`, `code_cache_sweep`, `jit_restart`.
    CodeCache {
        /// In use, in bytes.
        used_bytes: u64,
        /// Size limit, in bytes.
        reserved_bytes: u64,
        /// Times that the segment was full so far.
        full_count: u64,
        /// Bytes freed.
        freed_bytes: u64,
        /// Methods looked at by the sweeper.
        swept: u64,
        /// Methods removed by the sweeper.
        flushed: u64,
        /// Methods marked for removal by the sweeper.
        zombified: u64,
    }
    /// Of `deoptimization`.
    Deoptimization {
        /// Why, for example `unstable_if`.
        reason: String,
        /// What the JVM does about it, for example `reinterpret`.
        action: String,
        /// Number of the compilation that was left.
        compile_id: u64,
    }
    /// Of `crash`.
    Crash {
        /// The thread that it died in.
        thread: String,
        /// What that thread did, as the JVM names it, for example `_thread_in_native`.
        state: String,
        /// Where the error was: function and library, or method.
        frame: String,
        /// How long the JVM had run, in ns.
        uptime_ns: i64,
        /// Lines of the memory map, if it died as there was no memory.
        mappings: u64,
        /// How many the kernel allows, in that case.
        mappings_max: u64,
        /// Memory that the machine had available, in that case.
        available_bytes: u64,
    }
    /// Of `monitor_enter`, `monitor_wait`, `park`, `sleep` and `sampled_wait`.
    Wait {
        /// Thread that held the lock before, by name.
        previous_owner: String,
        /// Time limit of the wait, in ns; absent when there is none.
        timeout_ns: i64,
        /// Whether the limit was reached.
        timed_out: bool,
        /// Identity of the lock within the recording.
        address: u64,
        /// Of a wait that was seen by looks only: what it is (`monitor_enter`, `monitor_wait`, `park`, `sleep`).
        how: String,
        /// Of such a wait: how many looks found the thread in it, without CPU in between.
        looks: u32,
        /// Whether the JVM found the thread in a deadlock.
        deadlock: bool,
    }
    /// Of `file_*` and `socket_*`.
    Io {
        /// Bytes transferred.
        bytes: i64,
        /// Host name or address of the peer.
        host: String,
        /// Port of the peer.
        port: u32,
        /// Read time-out, in ns; absent when there is none.
        timeout_ns: i64,
    }
    /// Of `page_fault`.
    PageFault {
        /// Address that was touched.
        address: u64,
        /// Address of the instruction that touched it.
        instruction: u64,
        /// File that the instruction is in.
        instruction_path: String,
        /// File that is mapped there, or the kind of memory: `[anon]`, `[heap]`, `[stack]`.
        path: String,
        /// Section of the file, for example `.dynstr`.
        section: String,
        /// Offset in the file, in bytes.
        file_offset: u64,
        /// Whether the kernel counted it as major.
        major: bool,
        /// Whether it was taken in kernel mode, on behalf of a system call.
        in_kernel: bool,
        /// Part of it that the thread was off the CPU, in ns.
        off_cpu_ns: i64,
        /// Function of another library that the dynamic linker was looking up for the thread.
        being_bound: String,
        /// Where the call of that function stands, for example `Java_App_call+0x1d (libapp.so)`.
        call_site: String,
        /// The instruction there, as assemblers write it.
        call_instruction: String,
    }
    /// Of `blocked`.
    Blocked {
        /// State in which it waited: `S` interruptible, `D` uninterruptible, or as the kernel names it.
        state: String,
        /// Thread that woke it.
        waker_tid: i64,
        /// System call in which it waited, if it was in one.
        system_call: String,
        /// Whether it went on when the recording ended.
        unfinished: bool,
    }
    /// Of `run_queue_wait`.
    RunQueueWait {
        /// CPU on which it ran at last.
        cpu: u32,
        /// Thread that ran on that CPU before it.
        instead_tid: i64,
        /// Name of that thread.
        instead: String,
        /// Whether that thread belongs to the same process.
        own: bool,
        /// Whether it was preempted, not woken.
        preempted: bool,
    }
    /// Of `system_call`.
    SystemCall {
        /// What it returned; negative numbers are errors.
        result: i64,
        /// File descriptor, if the call has one.
        descriptor: i64,
        /// File or socket of the descriptor.
        path: String,
        /// Bytes transferred.
        bytes: i64,
    }
    /// Of `block_request`.
    BlockRequest {
        /// `read`, `write`, `flush`, `discard`, with `sync` or `ahead` where the kernel says so.
        operation: String,
        /// Bytes of the request.
        bytes: u64,
        /// First sector.
        sector: u64,
        /// From queueing to getting a request structure, in ns.
        q2g_ns: i64,
        /// From there to the scheduler's queue, in ns; absent without a scheduler.
        g2i_ns: i64,
        /// From there to the first issue to the driver, in ns; absent without a scheduler.
        i2d_ns: i64,
        /// From getting a request structure to the first issue, in ns, where there was no scheduler's queue.
        g2d_ns: i64,
        /// From the first issue to completion, in ns.
        d2c_ns: i64,
        /// From the first issue to the last, when there were several, in ns; a part of `d2c_ns`.
        reissue_ns: i64,
        /// Times that it was issued to the driver.
        dispatches: u32,
        /// Error of the device; 0 is none.
        error: i64,
    }
    /// Of `packet_drop`.
    PacketDrop {
        /// Local port of the socket.
        port: u32,
        /// Reason as the kernel names it.
        reason: String,
        /// Drops that this row stands for.
        count: u64,
    }
    /// Of `datagrams_late`.
    DatagramsLate {
        /// Local port of the socket.
        port: u32,
        /// Inode of the socket.
        inode: u64,
        /// How many were read that late.
        count: u64,
        /// The longest time that one of them stood in the queue, in ns.
        longest_ns: i64,
        /// The longest time without a read while there was something to read, in ns.
        pause_ns: i64,
        /// Most datagrams that stood in the queue when one of them was read.
        queue_most: u64,
        /// Datagrams that were dropped at the socket meanwhile; absent where that was not recorded.
        dropped: u64,
        /// Whether the oldest one was not read when the recording ended.
        unread: bool,
    }
    /// Of `request`, where it was measured at its socket.
    Request {
        /// Local port that it came to.
        port: u32,
        /// From its arrival to the first read, in ns; absent if it was never read.
        unread_ns: i64,
        /// From its arrival to the first byte of the answer, in ns; absent when there was none.
        first_byte_ns: i64,
        /// Thread that read it, if that is not the one that answered.
        reader_tid: i64,
        /// Thread that worked on it, where an event loop read and answered it and was woken for that by another thread.
        worker_tid: i64,
        /// From its arrival until that thread woke the event loop, in ns.
        returned_ns: i64,
        /// Bytes that were read until the answer began.
        bytes_in: u64,
        /// Bytes of the answer.
        bytes_out: u64,
        /// How many requests this row stands for: absent is 1. More than 1 for those picked at random from the ordinary ones.
        stands_for: u64,
        /// Whether requests overlap on its connection, or the process often sends without having been asked (HTTP/2, pipelining, WebSocket): the row is then a busy period of the connection.
        overlapping: bool,
        /// Whether it is one stream of a connection of HTTP/2 in the clear, from the frame that opened it to the last of its answer; many may be under way at once there.
        stream: bool,
        /// Whether it has no answer: the recording ended, or the connection was closed, before.
        unanswered: bool,
        /// Whether the client closed its side of the connection without an answer: that is the end then.
        given_up: bool,
        /// For how long the end of the answer stood in the kernel after the program had given it away, until it left for the last time, in ns; a part of the duration. Absent when it left at once.
        unsent_ns: i64,
        /// What it waited for there: a word of `unsent`.
        unsent_for: String,
        /// For how long the client had no room for more of the answer, by its TCP window, in ns; known to a few ms.
        window_full_ns: i64,
        /// How far its length may be off, in ns, where it is from looks at the connection now and then; absent where each byte was seen, 0 where each was seen in a capture of packets. Neither who answered it nor when it was read is known then.
        uncertain_ns: i64,
        /// What the kernel's clock shows of its length, in ns, if that is less than how far the length may be off. It is too short or too long by up to a tick; the mean over many requests is neither.
        ticks_ns: i64,
    }
    /// Of `call`.
    Call {
        /// Address of the peer.
        host: String,
        /// Port of the peer.
        port: u32,
        /// From the first byte sent until an answer arrived, in ns; absent when none did.
        peer_ns: i64,
        /// From the arrival of the answer until the first of it was read, in ns; absent if it was never read.
        own_delay_ns: i64,
        /// Thread that read the answer, if that is not the one that sent.
        reader_tid: i64,
        /// Bytes of the answer that were read.
        bytes_in: u64,
        /// Bytes that were sent until the answer began.
        bytes_out: u64,
        /// How many calls this row stands for: absent is 1. More than 1 for those picked at random from the ordinary ones.
        stands_for: u64,
        /// Whether calls overlap on its connection (HTTP/2, pipelining): the row is then a busy period of the connection.
        overlapping: bool,
        /// Whether it has no answer: the recording ended, or the connection was closed, before.
        unanswered: bool,
        /// For how long the end of what was sent stood in the kernel after the program had given it away, until it left for the last time, in ns; a part of `peer_ns`. Absent when it left at once.
        unsent_ns: i64,
        /// What it waited for there: a word of `unsent`.
        unsent_for: String,
        /// How far its length may be off, in ns, where it is from looks at the connection now and then; absent where each byte was seen. Who sent it is not known then, and the answer ends with its last byte.
        uncertain_ns: i64,
        /// The same as of a request.
        ticks_ns: i64,
    }
    /// Of `host_stall`.
    HostStall {
        /// Part of the delay in which the thread was runnable and had no CPU, in ns.
        run_queue_ns: u64,
        /// CPU on which it woke up.
        cpu: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_details_are_empty_text_and_unknown_text_is_empty_detail() {
        assert_eq!(to_text(&Gc::default()), "");
        assert_eq!(from_text::<Gc>(""), Gc::default());
        assert_eq!(from_text::<Gc>("not JSON"), Gc::default());
        let detail = Gc { gc_id: Some(7), cause: Some("System.gc()".into()), ..Gc::default() };
        assert_eq!(to_text(&detail), r#"{"gc_id":7,"cause":"System.gc()"}"#);
        assert_eq!(from_text::<Gc>(&to_text(&detail)), detail);
    }
}
