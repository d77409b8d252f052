//! One row per state: everything that is said, drawn or known of a kind of thread time. Code that needs something of a
//! state looks it up here; **a new kind of wait is a row.**

use fathom_evidence::kinds::{counter, role, span};

use super::row::{Known, Precedence, StateRow, states};

impl Wait {
    /// Everything that is known of it.
    pub fn row(self) -> &'static StateRow {
        self.state().row()
    }
}

states! {
    waits {
        /// The kernel, for a page of memory that was touched.
        PageFault {
            id: "page_fault", title: "waiting for a page of memory", says: "waiting for pages of memory",
            told_by: &[span::PAGE_FAULT], precedence: Precedence::Interruption, known: Known::Observed,
            is_never_long: true,
        }
        /// A lock that another thread holds: a monitor, or a lock of `java.util.concurrent`.
        Lock {
            id: "lock", title: "waiting for a lock", says: "waiting for locks",
            told_by: &[span::MONITOR_ENTER, span::PARK],
            classes: &["ReentrantLock$", "ReentrantReadWriteLock$", "StampedLock"], is_ended_by_a_thread: true,
            is_never_long: true,
            frames: &[
                // Locks of databases in the program, on rows and tables.
                "org.apache.derby.impl.services.locks.ActiveLock.waitForGrant",
                "org.hsqldb.lib.CountUpDownLatch.await",
                "org.h2.mvstore.tx.Transaction.waitFor",
                "org.h2.mvstore.db.MVTable.doLock",
            ],
        }
        /// A permit of a semaphore: of a pool that is used up, or of work that has not come yet.
        Permit {
            id: "permit", title: "waiting for a permit of a semaphore", says: "waiting for permits of a semaphore",
            told_by: &[span::PARK, span::MONITOR_WAIT], classes: &["Semaphore$"], is_ended_by_a_thread: true,
            is_never_long: true,
        }
        /// An object of a pool (a connection, say) that all others had taken.
        Pool {
            id: "pool", title: "waiting for an object of a pool", says: "waiting for an object of a pool",
            told_by: &[span::PARK, span::MONITOR_WAIT], is_told_by_frames_alone: true, is_ended_by_a_thread: true,
            is_below_other_code: false, is_never_long: true,
            frames: &[
                // Pools of connections and other objects.
                "com.zaxxer.hikari.pool.HikariPool.getConnection",
                "com.zaxxer.hikari.util.ConcurrentBag.borrow",
                "org.apache.commons.pool2.impl.GenericObjectPool.borrowObject",
                "org.apache.commons.pool2.impl.GenericKeyedObjectPool.borrowObject",
                "org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection",
                "org.apache.tomcat.jdbc.pool.ConnectionPool.getConnection",
                "io.agroal.pool.",
                "com.mchange.v2.resourcepool.BasicResourcePool.",
                "oracle.ucp.",
                "com.alibaba.druid.pool.DruidDataSource.",
                "org.apache.http.pool.AbstractConnPool.",
                "org.apache.http.impl.conn.PoolingHttpClientConnectionManager",
                "org.apache.hc.core5.pool.",
                "org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager",
            ],
        }
        /// The result of work that another thread of the program does: a future, a latch.
        Task {
            id: "task", title: "waiting for the result of another thread",
            says: "waiting for the result of another thread", told_by: &[span::PARK, span::MONITOR_WAIT],
            classes: &["CompletableFuture$", "FutureTask", "CountDownLatch$"], is_ended_by_a_thread: true,
            frames: &[
                // Results of work that another thread does.
                "java.util.concurrent.FutureTask.",
                "java.util.concurrent.CompletableFuture.",
                "java.util.concurrent.ForkJoinTask.",
                "java.util.concurrent.CountDownLatch.",
                "java.util.concurrent.CyclicBarrier.",
                "java.util.concurrent.Phaser.",
                "java.util.concurrent.AbstractExecutorService.invoke",
                "java.lang.Thread.join",
                // Room in a full queue: another thread has to take from it.
                "java.util.concurrent.ArrayBlockingQueue.put",
                "java.util.concurrent.LinkedBlockingQueue.put",
                "java.util.concurrent.LinkedBlockingDeque.put",
                "java.util.concurrent.SynchronousQueue.put",
                "java.util.concurrent.LinkedTransferQueue.transfer",
                // The same in the queue of a log, for which its writer has to write.
                "ch.qos.logback.core.AsyncAppenderBase.put",
                "org.apache.log4j.AsyncAppender.append",
                "org.apache.logging.log4j.core.appender.AsyncAppender.",
                "org.apache.logging.log4j.core.async.",
            ],
        }
        /// The answer of another service.
        Socket {
            id: "service", title: "waiting for another service", says: "waiting for other services",
            told_by: &[span::CALL, span::SOCKET_READ, span::SYSTEM_CALL],
        }
        /// Room in a buffer that is full, of a client that sends in the background.
        Buffer {
            id: "buffer",
            title: "waiting for room in a buffer",
            says: "waiting for room in a buffer",
            told_by: &[span::PARK],
            frames: &["org.apache.kafka.clients.producer.internals.BufferPool.allocate"],
            is_never_long: true,
        }
        /// The address of a host.
        NameLookup {
            id: "name_lookup", title: "waiting for the address of a host", says: "waiting for the address of a host",
            is_told_by_frames_alone: true, is_below_other_code: false, is_never_long: true,
            frames: &[
                // Names of hosts.
                "java.net.Inet4AddressImpl.lookupAllHostAddr",
                "java.net.Inet6AddressImpl.lookupAllHostAddr",
                "java.net.InetAddress$NameServiceAddresses.get",
                "java.net.InetAddress.getAddressesFromNameService",
                "getaddrinfo",
            ],
        }
        /// A file.
        File {
            id: "file", title: "waiting for a file", says: "waiting for files",
            told_by: &[span::FILE_FORCE, span::FILE_READ, span::FILE_WRITE, span::SYSTEM_CALL], known: Known::Files,
            is_never_long: true,
            frames: &[
                // What others write into a journal and write through for all who commit.
                "org.apache.derby.impl.store.raw.log.LogToFile.flush",
                "org.apache.cassandra.db.commitlog.BatchCommitLogService.maybeWaitForSync",
                "org.apache.cassandra.db.commitlog.GroupCommitLogService.maybeWaitForSync",
                "org.apache.cassandra.db.commitlog.PeriodicCommitLogService.maybeWaitForSync",
                "org.apache.activemq.store.kahadb.disk.journal.DataFileAppender.storeItem",
                "org.apache.activemq.artemis.core.persistence.impl.journal.OperationContextImpl.waitCompletion",
            ],
        }
        /// Files, for so short each time that only the sum is known.
        FileBriefly {
            id: "file_briefly", title: "waiting for files, briefly each time", says: "short waits for files",
            told_by: &[counter::BLOCKED_NS, counter::SYSTEM_CALLS_NS], known: Known::Files, is_a_sum: true,
        }
        /// A lock on a file.
        FileLock {
            id: "file_lock", title: "waiting for a lock on a file", says: "waiting for a lock on a file",
            is_never_long: true,
        }
        /// Another process, at a pipe or until it has ended.
        Process {
            id: "process", title: "waiting for another process", says: "waiting for another process",
            frames: &[
                // The end of a child process.
                "java.lang.ProcessImpl.waitFor",
                "java.lang.UNIXProcess.waitFor",
            ],
        }
        /// Child processes, for so short each time that only the sum is known.
        ProcessBriefly {
            id: "process_briefly", title: "waiting for child processes, briefly each time",
            says: "short waits for child processes",
            told_by: &[counter::BLOCKED_NS, counter::SYSTEM_CALLS_NS], known: Known::Observed, is_a_sum: true,
        }
        /// A connection to be made: the peer has not answered yet.
        Connect {
            id: "connect", title: "waiting for connections to be made", says: "waiting for connections to be made",
            is_told_by_frames_alone: true, is_never_long: true,
            frames: &[
                // The answer to an attempt to connect.
                "sun.nio.ch.Net.connect0",
                "sun.nio.ch.Net.pollConnect",
                "java.net.PlainSocketImpl.socketConnect",
            ],
        }
        /// The collector, for memory.
        AllocationStall {
            id: "allocation_stall", title: "waiting for the collector to free memory",
            says: "waiting for the collector to free memory", told_by: &[span::ALLOCATION_STALL], is_below_other_code: false, is_never_long: true,
        }
        /// The collector, for memory outside the heap that belongs to buffers that are no longer used.
        DirectMemory {
            id: "direct_memory", title: "waiting for direct memory to be freed",
            says: "waiting for direct memory to be freed", told_by: &[span::GC_PAUSE, span::SLEEP],
            is_below_other_code: false, is_never_long: true,
            frames: &[
                // Memory of direct buffers, until the collector has found some that are not used any more.
                "java.nio.Bits.reserveMemory",
            ],
        }
    }
    others {
        /// In a wait of the kernel that no signal ends, for what is not known.
        KernelWait: STATE {
            id: "kernel_wait", title: "in a wait of the kernel that nothing ends",
            says: "in waits of the kernel that nothing ends", color: "blocked",
        }
        /// It could have run but had no CPU.
        Runnable: STATE {
            id: "runnable", title: "waiting for a CPU", says: "waiting for a CPU", color: "runnable",
            told_by: &[span::RUN_QUEUE_WAIT, counter::THREAD_RUN_QUEUE_NS, counter::CPU_MACHINE_RATIO],
            precedence: Precedence::Interruption, known: Known::WaitsForCpu,
        }
        /// A compiler thread ran.
        Compiler: STATE {
            id: "compiler", title: "compiling", says: "compiler threads", color: "compiler",
            told_by: &[span::COMPILATION, counter::COMPILE_COUNT], roles: &[role::COMPILER],
        }
        /// It had nothing to do, for a reason that is known: its queue was empty, say.
        Idle: STATE {
            id: "idle", title: "waiting for work, or for what is not told", says: "nothing to do",
            precedence: Precedence::Unnamed,
        }
        /// It waited for the last thread to reach the safepoint.
        ToSafepoint: STOP {
            id: "to_safepoint", title: "waiting for all threads to stop",
            says: "waiting for threads to reach a safepoint", told_by: &[span::TIME_TO_SAFEPOINT, span::SAFEPOINT],
        }
        /// A pause of the collector.
        Collection: STOP {
            id: "collection", title: "stopped by the collector", says: "paused for",
            told_by: &[span::GC_PAUSE, counter::HEAP_USED_BYTES],
        }
        /// Another operation of the VM thread.
        Operation: STOP {
            id: "operation", title: "stopped by an operation of the VM thread", says: "stopped by VM operations",
            told_by: &[span::VM_OPERATION, span::SAFEPOINT],
        }
        /// The whole process stood still.
        Stopped: STOP {
            id: "stopped", title: "stopped as a whole process",
            says: "stopped as a whole process (SIGSTOP, debugger, freezer)", told_by: &[span::PROCESS_STOPPED],
        }
        /// The whole machine stood still.
        Machine: STOP {
            id: "machine", title: "stopped with the whole machine", says: "stopped with the whole machine",
            told_by: &[span::HOST_STALL, counter::WAKEUP_DELAY_NS],
        }
        /// It ran compiled Java, or Java of unknown layer.
        Java: RUNNING {
            id: "java", title: "running compiled Java", says: "Java code of the application's threads", color: "java",
        }
        /// It ran Java in the interpreter.
        Interpreted: RUNNING {
            id: "interpreted", title: "running interpreted Java",
            says: "interpreted Java of the application's threads", color: "interpreted",
        }
        /// It ran native methods or libraries.
        Native: RUNNING {
            id: "native", title: "running native code", says: "native code of the application's threads",
            color: "native",
        }
        /// It ran the JVM's C++ code.
        Vm: RUNNING {
            id: "vm", title: "running code of the JVM", says: "JVM code on the application's threads", color: "vm",
        }
        /// The kernel ran on its behalf.
        Kernel: RUNNING {
            id: "kernel", title: "running in the kernel", says: "kernel code on the application's threads",
            color: "kernel",
        }
        /// It ran, and no sample says what.
        Running: RUNNING {
            id: "running", title: "running, code not sampled", says: "running code that was not sampled",
            color: "java",
        }
        /// A thread of the collector ran.
        Collector: STATE {
            id: "collector", title: "collecting", says: "collector threads in", color: "gc",
            told_by: &[span::GC_CONCURRENT, span::GC_PAUSE], roles: &[role::GC],
        }
        /// Another thread of the JVM ran.
        Jvm: RUNNING {
            id: "jvm", title: "running as a thread of the JVM", says: "other threads of the JVM", color: "vm",
            roles: &[role::VM],
        }
        /// The hypervisor took the CPU from threads of the application.
        Stolen: STATE {
            id: "stolen", title: "without the CPU that the hypervisor took",
            says: "CPU time stolen by the hypervisor", color: "stolen", told_by: &[counter::MACHINE_CPU_NS],
            known: Known::Observed,
        }
        /// What the program had answered stood in the kernel. No thread waits for that; its user does.
        Unsent: STATE {
            id: "unsent", title: "answered, and not sent", says: "answers that had not left the machine",
            color: "blocked", told_by: &[counter::SEGMENTS_RESENT_COUNT, span::REQUEST], known: Known::Observed,
        }
        /// It was not recorded, or what was waited for is unknown.
        Unknown: STATE {
            id: "unknown", title: "not looked at", says: "time that was not recorded", precedence: Precedence::OffCpu,
        }
    }
    last {
        /// Something without a name. It stays in the total, and no cause explains it.
        Unnamed {
            id: "unnamed", title: "waits that may be idle time",
            says: "waits that may be idle time", color: "idle", precedence: Precedence::Unnamed,
        }
    }
}
