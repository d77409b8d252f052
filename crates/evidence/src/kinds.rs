//! The words that columns of a recording use: sample events, span kinds, counters, roles, subjects.
//!
//! Readers write these constants and causes look for them, so that one thing has one name whatever its source. `docs/schema.md` is printed
//! from the lists. Another word may appear in a column (another event of async-profiler, say); it is kept but no cause knows it.

/// A word of a column and what it means.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// As it stands in the column.
    pub word: &'static str,
    /// Meaning, unit and source.
    pub meaning: &'static str,
}

/// Declares a module of words and the list `ALL` of them.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $module:ident { $( $(#[doc = $meaning:literal])+ $name:ident = $word:literal; )+ }) => {
        $(#[doc = $doc])+
        pub mod $module {
            $( $(#[doc = $meaning])+ pub const $name: &str = $word; )+

            /// All of them with their meaning.
            pub const ALL: &[super::Word] = &[$( super::Word { word: $word, meaning: concat!($($meaning),+) }, )+];
        }
    };
}

mod events;
mod frames;
mod losses;
mod roles;

pub use events::{UNTIMED, event};
pub use frames::frame;
pub use losses::loss;
pub use roles::role;

words! {
    /// What a span is.
    span {
        /// A whole collection from its start to its end, concurrent parts included. Name: collector. Detail: gc_id, cause, sum_of_pauses_ns, longest_pause_ns.
        GC = "gc";
        /// A call of `System.gc()`, from the call to its return; the stack has the caller (JFR `jdk.SystemGC`, JDK 17 and later). Detail: concurrent.
        SYSTEM_GC = "system_gc";
        /// One stop of the application by the collector. Name: as logged, or the phase's name in JFR. Detail: gc_id, cause, scope (young, mixed, full, remark, cleanup, other), collector, heap and old-generation bytes before and after, user_ns, system_ns.
        GC_PAUSE = "gc_pause";
        /// A part of a pause. Name: the phase. Detail: gc_id, level.
        GC_PHASE = "gc_phase";
        /// A phase that runs beside the application. Name: the phase. Detail: gc_id.
        GC_CONCURRENT = "gc_concurrent";
        /// All Java threads stopped, from the request to the release. Name: the operation when known. Detail: safepoint_id, time_to_safepoint_ns, threads.
        SAFEPOINT = "safepoint";
        /// Waiting for the last thread to stop; the first part of a safepoint. Detail: safepoint_id, threads.
        TIME_TO_SAFEPOINT = "time_to_safepoint";
        /// Housekeeping of the JVM within a safepoint (JDK 11-21). Detail: safepoint_id.
        SAFEPOINT_CLEANUP = "safepoint_cleanup";
        /// Work of the VM thread. Name: the operation. Detail: safepoint (true or false), safepoint_id, caller.
        VM_OPERATION = "vm_operation";
        /// A sampled thread's delay until its next safepoint poll (JFR `jdk.SafepointLatency`): one per sample, not per safepoint.
        SAFEPOINT_LATENCY = "safepoint_latency";
        /// One compilation. Name: the method. Detail: compile_id, compiler, level, osr, code_bytes, inlined_bytes, succeeded.
        COMPILATION = "compilation";
        /// An allocation in the code cache failed (instant). Name: the segment. Detail: used_bytes, reserved_bytes, full_count.
        CODE_CACHE_FULL = "code_cache_full";
        /// The sweeper removed code (JDK 8-19). Detail: swept, flushed, zombified.
        CODE_CACHE_SWEEP = "code_cache_sweep";
        /// Compilation was switched on again after the cache was full (instant). Detail: freed_bytes.
        JIT_RESTART = "jit_restart";
        /// Compiled code was left for the interpreter (instant). Name: the method. Detail: reason, action, compile_id.
        DEOPTIMIZATION = "deoptimization";
        /// Blocked entering a monitor. Name: the lock's class. Detail: previous_owner, address.
        MONITOR_ENTER = "monitor_enter";
        /// In `Object.wait`. Name: the monitor's class. Detail: timeout_ns, timed_out.
        MONITOR_WAIT = "monitor_wait";
        /// Parked. Name: the class of the blocker, empty when there is none. Detail: timeout_ns.
        PARK = "park";
        /// In `Thread.sleep`.
        SLEEP = "sleep";
        /// A virtual thread waited and kept its carrier (JFR `jdk.VirtualThreadPinned`).
        PINNED = "pinned";
        /// Blocked on a lock of native code, such as a pthread mutex (async-profiler `nativelock`). Detail: address.
        NATIVE_LOCK = "native_lock";
        /// A call of a method that the recorder was set to trace (JFR `jdk.MethodTrace`, async-profiler `trace`). Name: the method.
        METHOD_TRACE = "method_trace";
        /// Time that a profile covers which has no time of each sample (pprof).
        PROFILE = "profile";
        /// Time between two functions that async-profiler was set to profile between (`begin`, `end`, `ttsp`).
        WINDOW = "window";
        /// Something that the application marked by async-profiler's API. Name: its tag.
        SPAN = "span";
        /// Reading a file. Name: the path. Detail: bytes.
        FILE_READ = "file_read";
        /// Writing a file. Name: the path. Detail: bytes.
        FILE_WRITE = "file_write";
        /// Forcing a file to disk. Name: the path.
        FILE_FORCE = "file_force";
        /// Reading a socket. Name: `host:port` of the peer. Detail: host, port, bytes, timeout_ns.
        SOCKET_READ = "socket_read";
        /// Writing a socket. Name: `host:port` of the peer. Detail: host, port, bytes.
        SOCKET_WRITE = "socket_write";
        /// A thread waited for the collector to free memory (ZGC allocation stall, Shenandoah pacing). Name: as reported.
        ALLOCATION_STALL = "allocation_stall";
        /// ZGC allocated a page. Detail: bytes.
        PAGE_ALLOCATION = "page_allocation";
        /// A thread began (instant). Name: the thread.
        THREAD_START = "thread_start";
        /// A thread ended (instant). Name: the thread.
        THREAD_END = "thread_end";
        /// A class was loaded. Name: the class.
        CLASS_LOAD = "class_load";
        /// Compilation was switched off, or on again, because of the code cache, by a log (instant). Name: the segment.
        COMPILER_DISABLED = "compiler_disabled";
        /// A page fault that took long, from its entry to its completion. Name: what was touched (file and section, or kind of memory). Detail: address, instruction, instruction_path, path, section, file_offset, major, in_kernel, off_cpu_ns, being_bound, call_site, call_instruction. The kernel stack is that of its longest time off the CPU.
        PAGE_FAULT = "page_fault";
        /// Off the CPU, not runnable, for long. Name: the kind of wait (`page_fault`; `uninterruptible`: a disk, memory or a lock of the kernel; `futex`: a lock, a condition, or a sleep of Java; `poll`; `sleep`; `read_write`: a call that transfers, mostly on a socket or pipe; `other`). Detail: state, waker_tid (absent when an interrupt woke it on an idle CPU), system_call.
        BLOCKED = "blocked";
        /// A wait that only looks at the thread show. By a profiler's samples of the wall clock: from the first to the last look that found the thread in it, and where nothing else measured waits half of the time to the looks before and after as well; made when a recording is opened. By thread dumps: the time that these stand for. By looks of `fathom watch` (source `standing`): half of the time to the looks before and after included, of waits that had gone on for a twentieth of a second at a look, as far as that is known, or that two looks found; so only some of the short ones. Name: the class of the lock or blocker. Detail: how, looks, previous_owner, address, deadlock.
        SAMPLED_WAIT = "sampled_wait";
        /// Runnable but not running for long. Detail: cpu, instead_tid, instead (who ran on that CPU), preempted.
        RUN_QUEUE_WAIT = "run_queue_wait";
        /// A system call that took long. Name: the call. Detail: result, arguments, path, bytes.
        SYSTEM_CALL = "system_call";
        /// The VM thread was in the same call that writes from this look to that (collector `threads`, each 100 ms): what it really took is up to two looks more. Name: the call. Detail: descriptor, path.
        VM_THREAD_WRITE = "vm_thread_write";
        /// A request to a block device, from its bio's queueing to its completion; the thread is the submitter's. Name: the device. Detail: operation, bytes, sector, q2g_ns, g2i_ns, i2d_ns (or g2d_ns where there is no scheduler), d2c_ns, reissue_ns, dispatches, error.
        BLOCK_REQUEST = "block_request";
        /// Packets were dropped on their way to the process, one after the other; at most 100 ms of a burst. Name: protocol and reason. Detail: port, reason, count.
        PACKET_DROP = "packet_drop";
        /// Datagrams that stood in the queue of a UDP socket of the process for 5 ms or longer, one after the other: from when the first of them came until the last was read, by the thread. Name: `udp 8125`, protocol and local port. Detail: port, inode, count, longest_ns, pause_ns, queue_most, dropped, unread.
        DATAGRAMS_LATE = "datagrams_late";
        /// A thread of Fathom that does nothing but sleep woke up late. Name: a word of `stall`. Detail: run_queue_ns, cpu.
        HOST_STALL = "host_stall";
        /// One request of the service. From a latency file: name is the kind of request if given. Measured at its socket (source `requests`): from the arrival of its first byte until the last byte of the answer was handed to the kernel, or left it where it stood there for a millisecond or longer; the thread is the one that answered. Name: `:port` that it came to, `udp :port` of a datagram. Detail: port, unread_ns, first_byte_ns, reader_tid, worker_tid, returned_ns, bytes_in, bytes_out, stands_for, overlapping, unanswered, given_up, unsent_ns, unsent_for, window_full_ns, uncertain_ns.
        REQUEST = "request";
        /// One call of another service, measured at its socket, over TCP, a Unix socket, or by datagrams to the one peer that the socket is connected to: from the first byte sent until the answer had been read; the thread is the one that sent. Name: `host:port` of the peer. Detail: host, port, peer_ns, own_delay_ns, reader_tid, bytes_in, bytes_out, stands_for, overlapping, unanswered, unsent_ns, unsent_for.
        CALL = "call";
        /// A run of a collector by the JVM's performance counters, which keep the last one only: of runs that follow each other faster than the looks one is seen. Name: collector. Detail: cause.
        COLLECTOR_RUN = "collector_run";
        /// The whole process was stopped from outside, as looks at it each 100 ms show. Name: a word of `stopped`.
        PROCESS_STOPPED = "process_stopped";
        /// The JVM died (instant), by its error file; the thread and the stack are those that it died in. Name: what it died of. Detail: thread, state, frame, uptime_ns, mappings, mappings_max, available_bytes.
        CRASH = "crash";
        /// Something that Fathom itself did to the process. Name: the action.
        OWN_ACTION = "own_action";
        /// The recorder itself did not run for a second or longer: it was stopped, had no CPU, or its disk hung. What the kernel counts was seen; what is looked at now and then was not.
        NOT_RECORDED = "not_recorded";
    }
}

words! {
    /// Numbers. Instances are named in parentheses. One that only grows says since when it counts.
    counter {
        /// Heap in use (`before_gc`, `after_gc`).
        HEAP_USED_BYTES = "heap_used_bytes";
        /// Heap committed (`before_gc`, `after_gc`).
        HEAP_COMMITTED_BYTES = "heap_committed_bytes";
        /// Young generation in use (`before_gc`, `after_gc`).
        YOUNG_USED_BYTES = "young_used_bytes";
        /// Young generation's capacity (`before_gc`, `after_gc`).
        YOUNG_CAPACITY_BYTES = "young_capacity_bytes";
        /// Old generation in use (`before_gc`, `after_gc`).
        OLD_USED_BYTES = "old_used_bytes";
        /// Old generation's capacity (`before_gc`, `after_gc`).
        OLD_CAPACITY_BYTES = "old_capacity_bytes";
        /// Metaspace in use (`before_gc`, `after_gc`).
        METASPACE_USED_BYTES = "metaspace_used_bytes";
        /// Bytes of the pages that one collection of ZGC chose from (`total`), found empty (`empty`) and decided to clear by moving what lives there (`relocate`).
        RELOCATION_SET_BYTES = "relocation_set_bytes";
        /// Heap that ZGC gave back to the system, in this step.
        UNCOMMITTED_BYTES = "uncommitted_bytes";
        /// CPU time of one collection's pauses (`user`, `system`), at the end of the collection.
        GC_CPU_NS = "gc_cpu_ns";
        /// Elapsed time that belongs to `gc_cpu_ns`.
        GC_REAL_NS = "gc_real_ns";
        /// Code cache in use (segment; empty for the only one).
        CODE_CACHE_USED_BYTES = "code_cache_used_bytes";
        /// Code cache size limit (segment).
        CODE_CACHE_RESERVED_BYTES = "code_cache_reserved_bytes";
        /// Compiled methods in the code cache (segment).
        CODE_CACHE_METHODS_COUNT = "code_cache_methods_count";
        /// Times that an allocation in the code cache failed, since start (segment).
        CODE_CACHE_FULL_COUNT = "code_cache_full_count";
        /// Runs of the code cache's sweeper since start (JDK 11-19).
        CODE_SWEEPS_COUNT = "code_sweeps_count";
        /// Compiled methods that the sweeper removed since start (JDK 11-19).
        CODE_SWEEPS_RECLAIMED_COUNT = "code_sweeps_reclaimed_count";
        /// Time spent sweeping since start (JDK 11-19).
        CODE_SWEEPS_NS = "code_sweeps_ns";
        /// Compilations since start.
        COMPILE_COUNT = "compile_count";
        /// Time spent compiling since start, over all compiler threads.
        COMPILE_TIME_NS = "compile_time_ns";
        /// Bytes of machine code produced since start, freed code included.
        COMPILE_CODE_BYTES = "compile_code_bytes";
        /// Compiled methods invalidated since start.
        COMPILE_INVALIDATED_COUNT = "compile_invalidated_count";
        /// Compilations given up since start.
        COMPILE_BAILOUT_COUNT = "compile_bailout_count";
        /// Compilations waiting (compiler).
        COMPILE_QUEUE_COUNT = "compile_queue_count";
        /// CPU of the JVM as a share of all CPUs (`user`, `system`).
        CPU_PROCESS_RATIO = "cpu_process_ratio";
        /// CPU of the machine as a share of all CPUs.
        CPU_MACHINE_RATIO = "cpu_machine_ratio";
        /// CPU of one thread as a share of all CPUs (`user`, `system`), over the period that ends here.
        CPU_THREAD_RATIO = "cpu_thread_ratio";
        /// Bytes allocated by one thread since its start.
        THREAD_ALLOCATED_BYTES = "thread_allocated_bytes";
        /// Context switches per second of the machine.
        CONTEXT_SWITCHES_PER_SECOND = "context_switches_per_second";
        /// Scheduling periods of the container since its start. Instance of this and of all `cgroup_*` words: empty for the process's own group, the path for a group above it.
        CGROUP_PERIODS_COUNT = "cgroup_periods_count";
        /// Scheduling periods in which the container was throttled, since its start.
        CGROUP_THROTTLED_COUNT = "cgroup_throttled_count";
        /// Time for which the container was throttled, since its start.
        CGROUP_THROTTLED_NS = "cgroup_throttled_ns";
        /// CPU time of the container since its start.
        CGROUP_CPU_NS = "cgroup_cpu_ns";
        /// Memory of the container by kind (`current`: all that counts against the limit; `limit`, while there is one; `swap`, `anon`, `file`, `kernel`, `slab`, `shmem`, `file_mapped`, `file_dirty`, `file_writeback`, `anon_thp`), from `memory.current`, `memory.max` and `memory.stat`.
        CGROUP_MEMORY_BYTES = "cgroup_memory_bytes";
        /// How often the container's memory came to a limit, since its start (`max`: at the limit; `high`: slowed down above it; `low`: reclaimed although protected; `oom`, `oom_kill`, ...), from `memory.events`, or `memory.failcnt` in version 1.
        CGROUP_MEMORY_EVENTS_COUNT = "cgroup_memory_events_count";
        /// Events of memory management in the container since its start (name of the field in `memory.stat`, such as `workingset_refault_file`).
        CGROUP_MEMORY_STAT_COUNT = "cgroup_memory_stat_count";
        /// Bytes that the container read and wrote since its start (`254:0 read`, `254:0 write`, `254:0 discard`: device and operation; empty for all together, as JFR has it).
        CGROUP_IO_BYTES = "cgroup_io_bytes";
        /// Requests of the container to disks since its start (instances as for `cgroup_io_bytes`).
        CGROUP_IO_COUNT = "cgroup_io_count";
        /// How many bytes or requests per second the container may read and write, while there is a limit (`254:0 read bytes`, `254:0 write requests`: device, operation and what is limited; with the path for a group above the process's own).
        CGROUP_IO_LIMIT = "cgroup_io_limit";
        /// Time since the container's start in which some or all of its tasks were short of something (instances as for `pressure_ns`).
        CGROUP_PRESSURE_NS = "cgroup_pressure_ns";
        /// Processes and threads in the container.
        CGROUP_TASKS_COUNT = "cgroup_tasks_count";
        /// Memory in use (`container`, `machine`, `swap`).
        MEMORY_USED_BYTES = "memory_used_bytes";
        /// Memory of direct buffers (`used`; `limit`: `-XX:MaxDirectMemorySize`, or the size of the heap where that is not set).
        DIRECT_MEMORY_BYTES = "direct_memory_bytes";
        /// Resident set of the process.
        RESIDENT_BYTES = "resident_bytes";
        /// Classes loaded since start.
        CLASSES_LOADED_COUNT = "classes_loaded_count";
        /// Classes unloaded since start.
        CLASSES_UNLOADED_COUNT = "classes_unloaded_count";
        /// Exceptions thrown since start.
        EXCEPTIONS_COUNT = "exceptions_count";
        /// CPU time of one thread since its start (`/proc/PID/task/TID/schedstat`; where the kernel does not account it, `stat` in ticks of 10 ms). A row stands where the number began to rise and where it was read since.
        THREAD_CPU_NS = "thread_cpu_ns";
        /// Time for which one thread was runnable but waited for a CPU, since its start, up to the last time that it got one (`schedstat`); throttling by a quota counts as well. Rows as for `thread_cpu_ns`.
        THREAD_RUN_QUEUE_NS = "thread_run_queue_ns";
        /// Minor page faults of one thread since its start; rows as for `thread_cpu_ns`.
        THREAD_MINOR_FAULTS_COUNT = "thread_minor_faults_count";
        /// Major page faults of one thread since its start; rows as for `thread_cpu_ns`.
        THREAD_MAJOR_FAULTS_COUNT = "thread_major_faults_count";
        /// Events of the kernel's memory management since boot, over the whole machine (name of the field in `/proc/vmstat`, such as `pgmajfault`).
        VMSTAT_COUNT = "vmstat_count";
        /// CPU time that a part of the recorder has used since its start (collector).
        OWN_CPU_NS = "own_cpu_ns";
        /// Page faults of one thread since the recording began, counted at their end (`minor`, `major`; `unserved`: no page came but a signal, as for the JVM's null checks; `repeated`: of the first two, those at the page of the thread's fault before and within 10 ms of it, as when a page is read first and then written).
        PAGE_FAULTS_COUNT = "page_faults_count";
        /// Time that one thread has spent in page faults since the recording began (empty: in all; `in vain`: in those that had to be repeated).
        PAGE_FAULTS_NS = "page_faults_ns";
        /// Page faults of the process since the recording began that took at least as many ns as the instance says, and less than twice that.
        PAGE_FAULTS_BY_LATENCY_COUNT = "page_faults_by_latency_count";
        /// Calls of one system call by one thread since the recording began, counted when they return (name of the call; `read socket`, `write pipe` and so on for those of the calls on any descriptor that were on a socket or, from this program's own collector, on a pipe).
        SYSTEM_CALLS_COUNT = "system_calls_count";
        /// Time that those calls took since the recording began, waits included (instances as for `system_calls_count`).
        SYSTEM_CALLS_NS = "system_calls_ns";
        /// Bytes that those calls transferred since the recording began, for the calls that read, write, send and receive (instances as for `system_calls_count`).
        SYSTEM_CALLS_BYTES = "system_calls_bytes";
        /// How many of those calls failed since the recording began, `EAGAIN` included (instances as for `system_calls_count`).
        SYSTEM_CALLS_FAILED_COUNT = "system_calls_failed_count";
        /// From which length on waits in system calls that do nothing but wait are samples now, in ns; no rows while a profiler in the JVM looks at waiting threads instead.
        WAITS_SAMPLED_FROM_NS = "waits_sampled_from_ns";
        /// Time that one thread has been off the CPU and not runnable since the recording began, in waits that have ended (kind of wait, as the name of `blocked` spans). At the end of the recording, waits that go on count as well.
        BLOCKED_NS = "blocked_ns";
        /// Number of those waits since the recording began (kind of wait).
        BLOCKED_COUNT = "blocked_count";
        /// Time that one thread has been runnable without a CPU since the recording began.
        RUN_QUEUE_WAITS_NS = "run_queue_waits_ns";
        /// Number of those waits since the recording began.
        RUN_QUEUE_WAITS_COUNT = "run_queue_waits_count";
        /// CPU time of one thread since its start by mode (`user`, `system`), in ticks of 10 ms (procfs `stat`).
        THREAD_MODE_CPU_NS = "thread_mode_cpu_ns";
        /// CPU time of the process since its start, ended threads included (`user`, `system`, in ticks of 10 ms; empty: both together).
        PROCESS_CPU_NS = "process_cpu_ns";
        /// Page faults of the process since its start, ended threads included (`minor`, `major`).
        PROCESS_FAULTS_COUNT = "process_faults_count";
        /// Calls of the process that read or write, since its start, those on sockets and pipes included (`read`, `write`; `/proc/PID/io`).
        PROCESS_IO_CALLS_COUNT = "process_io_calls_count";
        /// What they transferred (instances as for `process_io_calls_count`).
        PROCESS_IO_BYTES = "process_io_bytes";
        /// Threads of the process, those of the JVM and of native libraries included (procfs).
        PROCESS_THREADS_COUNT = "process_threads_count";
        /// Memory of the machine (name of the field in `/proc/meminfo`). `HugePages_*` are numbers of pages.
        MEMINFO_BYTES = "meminfo_bytes";
        /// Time since boot in which some or all tasks of the machine were short of something (`cpu some`, `cpu full`, `memory some`, `memory full`, `io some`, `io full`): pressure stall information.
        PRESSURE_NS = "pressure_ns";
        /// Memory of the process by kind (`virtual`, `anonymous`, `file`, `shared`, `swap`, `page_tables`, `locked`, `huge_tlb`, `resident_peak` of `status`; `proportional`, `anonymous_huge`, `shared_huge`, `file_huge`, `lazily_freed`, `private_dirty` of `smaps_rollup`). `anonymous_huge` is also part of `anonymous`, and so on.
        PROCESS_MEMORY_BYTES = "process_memory_bytes";
        /// CPU time of all CPUs together since boot (`user`, `nice`, `system`, `idle`, `iowait`, `irq`, `softirq`, `steal`, `guest`, `guest_nice`), in ticks of 10 ms. `guest` is also part of `user`; idle time in `iowait` is idle.
        MACHINE_CPU_NS = "machine_cpu_ns";
        /// The same of one CPU since boot (`cpu3 user`, ...), each second; stolen time each 100 ms.
        ONE_CPU_NS = "one_cpu_ns";
        /// Context switches of the machine since boot.
        CONTEXT_SWITCHES_COUNT = "context_switches_count";
        /// Interrupts of the machine since boot (`all`; and each that belongs to no device, by its description in `/proc/interrupts`, such as `TLB shootdowns`).
        INTERRUPTS_COUNT = "interrupts_count";
        /// Soft interrupts of the machine since boot (`NET_RX`, `TIMER`, ...).
        SOFTIRQS_COUNT = "softirqs_count";
        /// Processes and threads created since boot on the machine.
        TASKS_CREATED_COUNT = "tasks_created_count";
        /// Processes and threads of the machine now (`runnable`: on a CPU or waiting for one; `blocked`: waiting for a disk).
        TASKS_COUNT = "tasks_count";
        /// Load averages of the machine (`1 min`, `5 min`, `15 min`): runnable tasks and those in an uninterruptible wait.
        LOAD_COUNT = "load_count";
        /// Requests to a block device that have completed since the recording began, of all processes (`device operation`).
        BLOCK_REQUESTS_COUNT = "block_requests_count";
        /// Bytes of those requests since the recording began (`device operation`).
        BLOCK_REQUESTS_BYTES = "block_requests_bytes";
        /// Time that those requests spent in a stage since the recording began (`device operation stage`): `q2g` waiting for a request structure, `g2i` and `i2d` up to and in the scheduler's queue, or `g2d` where there was none, `d2c` at the device.
        BLOCK_STAGE_NS = "block_stage_ns";
        /// Packets dropped at full receive queues since the recording began, in the network namespace of the process (`protocol port reason`; reason as the kernel names it).
        PACKETS_DROPPED_COUNT = "packets_dropped_count";
        /// Requests to a block device since boot (`vda read`, `vda write`, `vda discard`, `vda flush`), from `/proc/diskstats`. Devices made of others count the same request again.
        DISK_REQUESTS_COUNT = "disk_requests_count";
        /// Requests that were merged into others before they went to the device, since boot (instances as for `disk_requests_count`).
        DISK_MERGED_COUNT = "disk_merged_count";
        /// Bytes that a block device read and wrote since boot (instances as for `disk_requests_count`).
        DISK_BYTES = "disk_bytes";
        /// Sum of the times of all requests to a block device since boot, each from its start to its completion (instances as for `disk_requests_count`); in ms. Divided by the requests it is the average latency.
        DISK_TIME_NS = "disk_time_ns";
        /// Requests that a block device has been given and not yet completed (device).
        DISK_IN_FLIGHT_COUNT = "disk_in_flight_count";
        /// Time since boot in which a block device had a request (device). A device that serves many at once is not full when this rises as fast as time.
        DISK_BUSY_NS = "disk_busy_ns";
        /// Sum over all requests of the time in flight since boot (device); its rise per second is the average queue length.
        DISK_QUEUE_TIME_NS = "disk_queue_time_ns";
        /// Protocol events in the process's network namespace since its start (`Udp RcvbufErrors`, `Udp6 RcvbufErrors`, `Tcp RetransSegs`, `TcpExt ListenOverflows`, ...: protocol and field of `/proc/PID/net/snmp`, `snmp6`, `netstat`).
        NETWORK_COUNT = "network_count";
        /// Requests that the service has answered since the recording began, counted at its sockets (`:port`), or by its own metrics (empty).
        REQUESTS_COUNT = "requests_count";
        /// Sum of the times of those requests, each from its first byte to the last byte of its answer (`:port`).
        REQUEST_TIME_NS = "request_time_ns";
        /// Part of that time in which the request was not read yet (`:port`).
        REQUEST_UNREAD_NS = "request_unread_ns";
        /// Those requests that took at least as many ns as the instance says, and less than a quarter of its power of two more (`:port ns`); each second.
        REQUESTS_BY_LATENCY_COUNT = "requests_by_latency_count";
        /// Requests that have arrived and are not answered yet (`:port`).
        REQUESTS_UNDER_WAY_COUNT = "requests_under_way_count";
        /// Calls of other services that were answered since the recording began, counted at the sockets of the process (`host:port` of the peer).
        CALLS_COUNT = "calls_count";
        /// Sum of the times of those calls, each from its first byte until its answer had been read (`host:port`).
        CALL_TIME_NS = "call_time_ns";
        /// Part of that time in which an answer had arrived and was not read yet (`host:port`).
        CALL_UNREAD_NS = "call_unread_ns";
        /// Those calls that took at least as many ns as the instance says, and less than a quarter of its power of two more (`host:port ns`); each second.
        CALLS_BY_LATENCY_COUNT = "calls_by_latency_count";
        /// Calls whose answer has not arrived yet (`host:port`).
        CALLS_UNDER_WAY_COUNT = "calls_under_way_count";
        /// Segments that were sent again since the recording began, because they or their acknowledgements were lost (`:port` that was listened on, `host:port` of who was called).
        SEGMENTS_RESENT_COUNT = "segments_resent_count";
        /// Connections that either side reset since the recording began: ended without agreement (instances as for `segments_resent_count`).
        CONNECTIONS_RESET_COUNT = "connections_reset_count";
        /// Attempts to connect that were refused or not answered, since the recording began (`host:port` of who was called).
        CONNECTS_FAILED_COUNT = "connects_failed_count";
        /// Connections that ended after something had been asked over them, without any answer ever, since the recording began (instances as for `segments_resent_count`).
        CLOSED_UNANSWERED_COUNT = "closed_unanswered_count";
        /// Connections that were made to the network namespace of the process since the recording began and that no look at its connections met, where requests are known from such looks only: they were made and closed from one look to the next, or are of another process.
        CONNECTIONS_NOT_MET_COUNT = "connections_not_met_count";
        /// How often data arrived since the recording began: segments of TCP that had some; seen by BPF programs and in the clear, of HTTP/2 the streams that clients opened, and of other connections with several requests at once the messages, if they begin with their length (`:port` that is listened on, `host:port` of who is called); each second. Also datagrams that came to a UDP socket of the process, or in a capture of packets to a port, the dropped ones included (`udp 8125`); each tenth of a second.
        DATA_ARRIVALS_COUNT = "data_arrivals_count";
        /// Datagrams that came into the queue of a UDP socket of the process since the recording began, or since it was found if that was later (`udp 8125 #4711`: protocol, local port, inode).
        DATAGRAMS_QUEUED_COUNT = "datagrams_queued_count";
        /// Datagrams that a thread of the process has read from a UDP socket, since the same (instances as for `datagrams_queued_count`).
        DATAGRAMS_READ_COUNT = "datagrams_read_count";
        /// Those of them whose arrival was seen, since the same (instances likewise).
        DATAGRAMS_TIMED_COUNT = "datagrams_timed_count";
        /// Sum of the times from when these came into the queue until the thread had read them, since the same (instances likewise).
        DATAGRAM_UNREAD_NS = "datagram_unread_ns";
        /// Datagrams after which the thread that had read it sent one from the same socket before it read the next, as servers do, since the same (instances likewise).
        DATAGRAMS_ANSWERED_COUNT = "datagrams_answered_count";
        /// Sum of the times from when these came into the queue until the thread had sent that one, since the same (instances likewise).
        DATAGRAM_ANSWER_NS = "datagram_answer_ns";
        /// Datagrams of a UDP socket that took at least as many ns from its queue to a thread as the instance says, and less than twice as many, since the same (`udp 8125 #4711 ns`); each second.
        DATAGRAMS_BY_UNREAD_COUNT = "datagrams_by_unread_count";
        /// Most datagrams that stood in the queue of a UDP socket at an arrival, in the tenth of a second before the row (instances as for `datagrams_queued_count`).
        DATAGRAM_QUEUE_MOST_COUNT = "datagram_queue_most_count";
        /// Longest time without an arrival that ended in the tenth of a second before the row (instances likewise).
        DATAGRAM_GAP_MOST_NS = "datagram_gap_most_ns";
        /// How often a thread of the process sent something, or in a capture of packets a segment left (instances as for `data_arrivals_count`); each second.
        DATA_SENDS_COUNT = "data_sends_count";
        /// Bytes that the process has read (instances as for `data_arrivals_count`); each second.
        RECEIVED_BYTES = "received_bytes";
        /// Bytes that the process has given to the kernel to send (instances as for `data_arrivals_count`); each second.
        SENT_BYTES = "sent_bytes";
        /// Bytes received that the process has not read (`udp 8125 #4711`: protocol, local port, inode, for each UDP socket; `tcp all`, `tcp fullest`: sum and maximum over its connections). For UDP it is the memory charged, which is several times the payload of small datagrams.
        SOCKET_RECEIVE_QUEUE_BYTES = "socket_receive_queue_bytes";
        /// Bytes that the process has sent and the peer has not acknowledged, or that have not left (instances as for `socket_receive_queue_bytes`).
        SOCKET_SEND_QUEUE_BYTES = "socket_send_queue_bytes";
        /// Datagrams that a UDP socket of the process has dropped since it was opened, mostly as its queue was full (`udp 8125 #4711`).
        SOCKET_DROPS_COUNT = "socket_drops_count";
        /// Connections that wait to be accepted by the process (`tcp 8080 #4711`: each listening socket).
        SOCKET_ACCEPT_QUEUE_COUNT = "socket_accept_queue_count";
        /// How many connections may wait there; one more still fits (instances as for `socket_accept_queue_count`).
        SOCKET_ACCEPT_QUEUE_LIMIT_COUNT = "socket_accept_queue_limit_count";
        /// Attempts to connect that a listening socket has dropped since it was opened, mostly as its queue was full; the peer tries again after a second (instances as for `socket_accept_queue_count`).
        SOCKET_ACCEPT_DROPS_COUNT = "socket_accept_drops_count";
        /// Connections that the process is making and whose peer has not answered yet (`host:port` of the peer).
        CONNECTING_COUNT = "connecting_count";
        /// Files, sockets, pipes and the like that the process has open.
        OPEN_FILES_COUNT = "open_files_count";
        /// Sockets of the process (`udp`, `tcp established`, `tcp listen`, `tcp close_wait`, ...).
        SOCKETS_COUNT = "sockets_count";
        /// How late Fathom's sleeping thread was woken in the last second (`p99`, `max`), at 250 wake-ups per second.
        WAKEUP_DELAY_NS = "wakeup_delay_ns";
        /// Java threads alive.
        THREADS_COUNT = "threads_count";
        /// Runs of a collector since start (collector, as the JVM's performance counters name it).
        GC_RUNS_COUNT = "gc_runs_count";
        /// Time that runs of a collector took since start (collector).
        GC_TIME_NS = "gc_time_ns";
        /// Safepoints since start.
        SAFEPOINTS_COUNT = "safepoints_count";
        /// Time for which all Java threads were stopped at safepoints, since start.
        SAFEPOINT_TIME_NS = "safepoint_time_ns";
        /// Part of it that was spent waiting for the last thread to stop, since start.
        SAFEPOINT_SYNC_NS = "safepoint_sync_ns";
        /// Time between safepoints, since start.
        APPLICATION_TIME_NS = "application_time_ns";
        /// A space of the heap in use (`young eden`, `old`), as the collector last stated it.
        HEAP_SPACE_USED_BYTES = "heap_space_used_bytes";
        /// Capacity of a space of the heap.
        HEAP_SPACE_CAPACITY_BYTES = "heap_space_capacity_bytes";
        /// A figure of the collector's policy, in the JVM's own unit (its name, for example `scavengeSkipped`).
        GC_POLICY = "gc_policy";
        /// CPU time of a group of the JVM's own threads since start (`gc_parallel_workers`, `gc_conc_mark`, `vm`).
        JVM_THREADS_CPU_NS = "jvm_threads_cpu_ns";
        /// Lines of a log read so far, at its first and its last line with a time: the time that the log covers.
        LOG_LINES_COUNT = "log_lines_count";
        /// Memory of the JVM by its own account, by kind (`Java Heap committed`, `Thread reserved`, `total committed`): NativeMemoryTracking.
        NATIVE_MEMORY_BYTES = "native_memory_bytes";
        /// Objects of a class that a histogram of the heap found (class), of the 100 largest.
        CLASS_HISTOGRAM_BYTES = "class_histogram_bytes";
        /// Messages in logs of the application since the log begins (level, logger and what messages of its kind have in common; `exception` and the class of each exception); by the second, or longer steps for a long log.
        LOG_MESSAGES_COUNT = "log_messages_count";
        /// Requests that began since an access log, or another file of named requests, begins (method and path: `<*>` stands for ids); by the second, or longer steps for a long log.
        REQUEST_KINDS_COUNT = "request_kinds_count";
        /// Requests that began since an access log begins, by the status of their answers (`503`); by the second, or longer steps for a long log.
        REQUEST_STATUS_COUNT = "request_status_count";
    }
}

pub mod recorded;
mod sending;
mod stops;
mod subjects;
pub use sending::unsent;
pub use stops::{stall, stopped};
pub use subjects::subject;

/// Whether a counter only grows, so that its rises are what happened: those that say since when they count.
pub fn only_grows(counter: &str) -> bool {
    counter::ALL.iter().any(|word| word.word == counter && word.meaning.split_whitespace().any(|word| word == "since"))
}
