//! Which event becomes which row: one table row for each event type.
//!
//! Names on the right of a row are fields of the event, as paths (`heapSpace.committedSize`).
//! A field that this JDK's event lacks gives nothing: no counter, no key in the detail. Times are
//! converted by the field's own unit, whatever it is, to nanoseconds. To add an event, add a row.

use fathom_evidence::kinds::{counter, event, span, subject};

use super::load_map::{
    Event, GcPart, Map, Name, SafepointPart, Weight, allocation, counter, counter_of, fact, named_fact, sample, span,
};

const FLAG: &[Map] = &[named_fact(subject::FLAG, "name", "value"), named_fact(subject::FLAG_ORIGIN, "name", "origin")];

/// All events that are read; every other one is stepped over.
pub(super) const EVENTS: &[(&str, &[Map])] = &[
    // Samples.
    (
        "jdk.ExecutionSample",
        &[Map::Sample { event: Event::Setting, weight: Weight::Period, class: "", state: &["state"] }],
    ),
    ("jdk.NativeMethodSample", &[sample(event::NATIVE, Weight::Period)]),
    (
        "jdk.CPUTimeSample",
        &[Map::Sample {
            event: Event::Is(event::CPU),
            weight: Weight::Time("samplingPeriod"),
            class: "",
            state: &["failed", "biased"],
        }],
    ),
    ("profiler.WallClockSample", &[sample(event::WALL, Weight::Periods("samples"))]),
    ("jdk.ObjectAllocationSample", &[allocation(event::ALLOCATION_SAMPLED, "weight")]),
    ("jdk.ObjectAllocationInNewTLAB", &[allocation(event::ALLOCATION, "tlabSize")]),
    ("jdk.ObjectAllocationOutsideTLAB", &[allocation(event::ALLOCATION, "allocationSize")]),
    ("profiler.Malloc", &[sample(event::MALLOC, Weight::Bytes("size"))]),
    (
        "profiler.LiveObject",
        &[Map::Sample {
            event: Event::Is(event::LIVE_OBJECT),
            weight: Weight::Bytes("allocationSize"),
            class: "objectClass",
            state: &[],
        }],
    ),
    // Collector.
    ("jdk.GarbageCollection", &[Map::Gc(GcPart::Collection)]),
    ("jdk.GCPhasePause", &[Map::Gc(GcPart::Pause)]),
    ("jdk.GCPhasePauseLevel1", &[Map::Gc(GcPart::Phase(1))]),
    ("jdk.GCPhasePauseLevel2", &[Map::Gc(GcPart::Phase(2))]),
    ("jdk.GCPhasePauseLevel3", &[Map::Gc(GcPart::Phase(3))]),
    ("jdk.GCPhasePauseLevel4", &[Map::Gc(GcPart::Phase(4))]),
    ("jdk.GCPhaseConcurrent", &[Map::Gc(GcPart::Concurrent)]),
    ("jdk.GCPhaseConcurrentLevel1", &[Map::Gc(GcPart::Concurrent)]),
    ("jdk.GCPhaseConcurrentLevel2", &[Map::Gc(GcPart::Concurrent)]),
    ("jdk.G1GarbageCollection", &[Map::Gc(GcPart::G1Type)]),
    (
        "jdk.ZYoungGarbageCollection",
        &[span(span::GC_CONCURRENT, Name::Is("Young Generation"), &[("gc_id", &["gcId"])])],
    ),
    ("jdk.ZOldGarbageCollection", &[span(span::GC_CONCURRENT, Name::Is("Old Generation"), &[("gc_id", &["gcId"])])]),
    ("jdk.SystemGC", &[span(span::SYSTEM_GC, Name::Is("System.gc()"), &[("concurrent", &["invokedConcurrent"])])]),
    ("jdk.GCCPUTime", &[Map::Gc(GcPart::CpuTime)]),
    ("jdk.GCHeapSummary", &[Map::Gc(GcPart::Heap)]),
    ("jdk.PSHeapSummary", &[Map::Gc(GcPart::ParallelHeap)]),
    ("jdk.G1HeapSummary", &[Map::Gc(GcPart::G1Heap)]),
    ("jdk.MetaspaceSummary", &[counter_of(counter::METASPACE_USED_BYTES, Name::When, &["metaspace.used"])]),
    ("jdk.ZAllocationStall", &[span(span::ALLOCATION_STALL, Name::Of("type"), &[("bytes", &["size"])])]),
    ("jdk.ZPageAllocation", &[span(span::PAGE_ALLOCATION, Name::Of("type"), &[("bytes", &["size"])])]),
    (
        "jdk.ZRelocationSet",
        &[
            counter_of(counter::RELOCATION_SET_BYTES, Name::Is("total"), &["total"]),
            counter_of(counter::RELOCATION_SET_BYTES, Name::Is("empty"), &["empty"]),
            counter_of(counter::RELOCATION_SET_BYTES, Name::Is("relocate"), &["relocate"]),
        ],
    ),
    ("jdk.ZUncommit", &[counter(counter::UNCOMMITTED_BYTES, &["uncommitted"])]),
    // Safepoints.
    ("jdk.SafepointBegin", &[Map::Safepoint(SafepointPart::Begin)]),
    ("jdk.SafepointStateSynchronization", &[Map::Safepoint(SafepointPart::Synchronization)]),
    ("jdk.SafepointEnd", &[Map::Safepoint(SafepointPart::End)]),
    ("jdk.SafepointCleanup", &[span(span::SAFEPOINT_CLEANUP, Name::Is(""), &[("safepoint_id", &["safepointId"])])]),
    (
        "jdk.ExecuteVMOperation",
        &[
            span(
                span::VM_OPERATION,
                Name::Of("operation"),
                &[("safepoint", &["safepoint"]), ("safepoint_id", &["safepointId"]), ("caller", &["caller"])],
            ),
            Map::Safepoint(SafepointPart::Operation),
        ],
    ),
    ("jdk.SafepointLatency", &[span(span::SAFEPOINT_LATENCY, Name::Of("threadState"), &[])]),
    // Compilers and their code.
    (
        "jdk.Compilation",
        &[span(
            span::COMPILATION,
            Name::Of("method"),
            &[
                ("compile_id", &["compileId"]),
                ("compiler", &["compiler"]),
                ("level", &["compileLevel"]),
                ("osr", &["isOsr"]),
                ("code_bytes", &["codeSize"]),
                ("inlined_bytes", &["inlinedBytes"]),
                // Spelt like this in the JVM.
                ("succeeded", &["succeded"]),
            ],
        )],
    ),
    (
        "jdk.CompilerStatistics",
        &[
            counter(counter::COMPILE_COUNT, &["compileCount"]),
            counter(counter::COMPILE_TIME_NS, &["totalTimeSpent"]),
            counter(counter::COMPILE_CODE_BYTES, &["nmethodsSize"]),
            counter(counter::COMPILE_INVALIDATED_COUNT, &["invalidatedCount"]),
            counter(counter::COMPILE_BAILOUT_COUNT, &["bailoutCount"]),
        ],
    ),
    ("jdk.CompilerQueueUtilization", &[counter_of(counter::COMPILE_QUEUE_COUNT, Name::Of("compiler"), &["queueSize"])]),
    (
        "jdk.CodeCacheStatistics",
        &[
            counter_of(
                counter::CODE_CACHE_USED_BYTES,
                Name::Segment,
                &["reservedTopAddress", "-startAddress", "-unallocatedCapacity"],
            ),
            counter_of(counter::CODE_CACHE_RESERVED_BYTES, Name::Segment, &["reservedTopAddress", "-startAddress"]),
            counter_of(counter::CODE_CACHE_METHODS_COUNT, Name::Segment, &["methodCount"]),
            counter_of(counter::CODE_CACHE_FULL_COUNT, Name::Segment, &["fullCount"]),
        ],
    ),
    (
        "jdk.CodeCacheConfiguration",
        &[
            fact(subject::CODE_CACHE, "initial_bytes", "initialSize"),
            fact(subject::CODE_CACHE, "reserved_bytes", "reservedSize"),
            fact(subject::CODE_CACHE, "non_nmethod_bytes", "nonNMethodSize"),
            fact(subject::CODE_CACHE, "profiled_bytes", "profiledSize"),
            fact(subject::CODE_CACHE, "non_profiled_bytes", "nonProfiledSize"),
        ],
    ),
    (
        "jdk.CodeCacheFull",
        &[span(
            span::CODE_CACHE_FULL,
            Name::Segment,
            &[
                ("used_bytes", &["reservedTopAddress", "-startAddress", "-unallocatedCapacity"]),
                ("reserved_bytes", &["reservedTopAddress", "-startAddress"]),
                ("full_count", &["fullCount"]),
            ],
        )],
    ),
    (
        "jdk.SweepCodeCache",
        &[span(
            span::CODE_CACHE_SWEEP,
            Name::Is(""),
            &[("swept", &["sweptCount"]), ("flushed", &["flushedCount"]), ("zombified", &["zombifiedCount"])],
        )],
    ),
    (
        "jdk.CodeSweeperStatistics",
        &[
            counter(counter::CODE_SWEEPS_COUNT, &["sweepCount"]),
            counter(counter::CODE_SWEEPS_RECLAIMED_COUNT, &["methodReclaimedCount"]),
            counter(counter::CODE_SWEEPS_NS, &["totalSweepTime"]),
        ],
    ),
    (
        "jdk.JITRestart",
        &[span(
            span::JIT_RESTART,
            Name::Is(""),
            &[("freed_bytes", &["freedMemory"]), ("reserved_bytes", &["codeCacheMaxCapacity"])],
        )],
    ),
    (
        "jdk.Deoptimization",
        &[span(
            span::DEOPTIMIZATION,
            Name::Of("method"),
            &[("reason", &["reason"]), ("action", &["action"]), ("compile_id", &["compileId"])],
        )],
    ),
    // Threads and what they wait for.
    (
        "jdk.JavaMonitorEnter",
        &[span(
            span::MONITOR_ENTER,
            Name::Of("monitorClass"),
            &[("previous_owner", &["previousOwner"]), ("address", &["address"])],
        )],
    ),
    (
        "jdk.JavaMonitorWait",
        &[span(
            span::MONITOR_WAIT,
            Name::Of("monitorClass"),
            &[("timeout_ns", &["timeout"]), ("timed_out", &["timedOut"]), ("address", &["address"])],
        )],
    ),
    (
        "jdk.ThreadPark",
        &[span(span::PARK, Name::Of("parkedClass"), &[("timeout_ns", &["timeout"]), ("address", &["address"])])],
    ),
    ("jdk.ThreadSleep", &[span(span::SLEEP, Name::Is(""), &[("timeout_ns", &["time"])])]),
    ("jdk.VirtualThreadPinned", &[span(span::PINNED, Name::Is(""), &[])]),
    ("jdk.ThreadStart", &[span(span::THREAD_START, Name::Of("thread"), &[])]),
    ("jdk.ThreadEnd", &[span(span::THREAD_END, Name::Of("thread"), &[])]),
    ("profiler.NativeLock", &[span(span::NATIVE_LOCK, Name::Is(""), &[("address", &["address"])])]),
    ("profiler.Window", &[span(span::WINDOW, Name::Is(""), &[])]),
    ("profiler.Span", &[span(span::SPAN, Name::Of("tag"), &[])]),
    ("jdk.MethodTrace", &[span(span::METHOD_TRACE, Name::Of("method"), &[])]),
    ("jdk.JavaThreadStatistics", &[counter(counter::THREADS_COUNT, &["activeCount"])]),
    ("jdk.ThreadAllocationStatistics", &[counter(counter::THREAD_ALLOCATED_BYTES, &["allocated"])]),
    ("jdk.ExceptionStatistics", &[counter(counter::EXCEPTIONS_COUNT, &["throwables"])]),
    (
        "jdk.ClassLoadingStatistics",
        &[
            counter(counter::CLASSES_LOADED_COUNT, &["loadedClassCount"]),
            counter(counter::CLASSES_UNLOADED_COUNT, &["unloadedClassCount"]),
        ],
    ),
    ("jdk.ClassLoad", &[span(span::CLASS_LOAD, Name::Of("loadedClass"), &[])]),
    // Files and sockets.
    ("jdk.FileRead", &[span(span::FILE_READ, Name::Of("path"), &[("bytes", &["bytesRead"])])]),
    ("jdk.FileWrite", &[span(span::FILE_WRITE, Name::Of("path"), &[("bytes", &["bytesWritten"])])]),
    ("jdk.FileForce", &[span(span::FILE_FORCE, Name::Of("path"), &[])]),
    (
        "jdk.SocketRead",
        &[span(
            span::SOCKET_READ,
            Name::Peer,
            &[("bytes", &["bytesRead"]), ("host", &["host"]), ("port", &["port"]), ("timeout_ns", &["timeout"])],
        )],
    ),
    (
        "jdk.SocketWrite",
        &[span(
            span::SOCKET_WRITE,
            Name::Peer,
            &[("bytes", &["bytesWritten"]), ("host", &["host"]), ("port", &["port"])],
        )],
    ),
    // CPU, memory, container.
    (
        "jdk.CPULoad",
        &[
            counter_of(counter::CPU_PROCESS_RATIO, Name::Is("user"), &["jvmUser"]),
            counter_of(counter::CPU_PROCESS_RATIO, Name::Is("system"), &["jvmSystem"]),
            counter(counter::CPU_MACHINE_RATIO, &["machineTotal"]),
        ],
    ),
    (
        "jdk.ThreadCPULoad",
        &[
            counter_of(counter::CPU_THREAD_RATIO, Name::Is("user"), &["user"]),
            counter_of(counter::CPU_THREAD_RATIO, Name::Is("system"), &["system"]),
        ],
    ),
    ("jdk.ThreadContextSwitchRate", &[counter(counter::CONTEXT_SWITCHES_PER_SECOND, &["switchRate"])]),
    ("jdk.ContainerCPUUsage", &[counter(counter::CGROUP_CPU_NS, &["cpuTime"])]),
    (
        "jdk.ContainerCPUThrottling",
        &[
            counter(counter::CGROUP_PERIODS_COUNT, &["cpuElapsedSlices"]),
            counter(counter::CGROUP_THROTTLED_COUNT, &["cpuThrottledSlices"]),
            counter(counter::CGROUP_THROTTLED_NS, &["cpuThrottledTime"]),
        ],
    ),
    ("jdk.ContainerMemoryUsage", &[counter_of(counter::MEMORY_USED_BYTES, Name::Is("container"), &["memoryUsage"])]),
    (
        "jdk.ContainerIOUsage",
        &[
            counter(counter::CGROUP_IO_COUNT, &["serviceRequests"]),
            counter(counter::CGROUP_IO_BYTES, &["dataTransferred"]),
        ],
    ),
    (
        "jdk.PhysicalMemory",
        &[
            fact(subject::HOST, "memory_bytes", "totalSize"),
            counter_of(counter::MEMORY_USED_BYTES, Name::Is("machine"), &["usedSize"]),
        ],
    ),
    ("jdk.SwapSpace", &[counter_of(counter::MEMORY_USED_BYTES, Name::Is("swap"), &["totalSize", "-freeSize"])]),
    (
        "jdk.DirectBufferStatistics",
        &[
            counter_of(counter::DIRECT_MEMORY_BYTES, Name::Is("used"), &["memoryUsed"]),
            counter_of(counter::DIRECT_MEMORY_BYTES, Name::Is("limit"), &["maxCapacity"]),
        ],
    ),
    ("jdk.ResidentSetSize", &[counter(counter::RESIDENT_BYTES, &["size"])]),
    // What holds for the whole recording.
    (
        "jdk.JVMInformation",
        &[
            fact(subject::JVM, "name", "jvmName"),
            fact(subject::JVM, "version", "jvmVersion"),
            fact(subject::JVM, "arguments", "jvmArguments"),
            fact(subject::JVM, "flags", "jvmFlags"),
            fact(subject::JVM, "java_arguments", "javaArguments"),
            fact(subject::JVM, "started_at_ns", "jvmStartTime"),
            fact(subject::JVM, "pid", "pid"),
        ],
    ),
    ("jdk.OSInformation", &[fact(subject::HOST, "os", "osVersion")]),
    (
        "jdk.CPUInformation",
        &[
            fact(subject::HOST, "cpu", "cpu"),
            fact(subject::HOST, "cpus", "hwThreads"),
            fact(subject::HOST, "cpu_description", "description"),
        ],
    ),
    ("jdk.VirtualizationInformation", &[fact(subject::HOST, "virtualization", "name")]),
    (
        "jdk.ContainerConfiguration",
        &[
            fact(subject::HOST, "container", "containerType"),
            fact(subject::HOST, "container_cpu_period_ns", "cpuSlicePeriod"),
            fact(subject::HOST, "container_cpu_quota_ns", "cpuQuota"),
            fact(subject::HOST, "container_cpu_shares", "cpuShares"),
            fact(subject::HOST, "container_cpus", "effectiveCpuCount"),
            fact(subject::HOST, "container_memory_limit_bytes", "memoryLimit"),
        ],
    ),
    (
        "jdk.GCConfiguration",
        &[
            fact(subject::GC, "young_collector", "youngCollector"),
            fact(subject::GC, "old_collector", "oldCollector"),
            fact(subject::GC, "parallel_threads", "parallelGCThreads"),
            fact(subject::GC, "concurrent_threads", "concurrentGCThreads"),
            fact(subject::GC, "explicit_gc_concurrent", "isExplicitGCConcurrent"),
            fact(subject::GC, "explicit_gc_disabled", "isExplicitGCDisabled"),
            fact(subject::GC, "pause_target_ns", "pauseTarget"),
        ],
    ),
    (
        "jdk.GCHeapConfiguration",
        &[
            fact(subject::GC, "heap_min_bytes", "minSize"),
            fact(subject::GC, "heap_initial_bytes", "initialSize"),
            fact(subject::GC, "heap_max_bytes", "maxSize"),
        ],
    ),
    ("jdk.IntFlag", FLAG),
    ("jdk.UnsignedIntFlag", FLAG),
    ("jdk.LongFlag", FLAG),
    ("jdk.UnsignedLongFlag", FLAG),
    ("jdk.DoubleFlag", FLAG),
    ("jdk.BooleanFlag", FLAG),
    ("jdk.StringFlag", FLAG),
    // The value of the flag after it was changed in the running JVM.
    ("jdk.IntFlagChanged", &[named_fact(subject::FLAG, "name", "newValue")]),
    ("jdk.UnsignedIntFlagChanged", &[named_fact(subject::FLAG, "name", "newValue")]),
    ("jdk.LongFlagChanged", &[named_fact(subject::FLAG, "name", "newValue")]),
    ("jdk.UnsignedLongFlagChanged", &[named_fact(subject::FLAG, "name", "newValue")]),
    ("jdk.DoubleFlagChanged", &[named_fact(subject::FLAG, "name", "newValue")]),
    ("jdk.BooleanFlagChanged", &[named_fact(subject::FLAG, "name", "newValue")]),
    ("jdk.StringFlagChanged", &[named_fact(subject::FLAG, "name", "newValue")]),
    ("jdk.InitialSystemProperty", &[named_fact(subject::PROPERTY, "key", "value")]),
    ("jdk.InitialEnvironmentVariable", &[named_fact(subject::ENVIRONMENT, "key", "value")]),
    ("jdk.NativeLibrary", &[named_fact(subject::LIBRARY, "name", "baseAddress")]),
    ("jdk.ActiveSetting", &[Map::Setting]),
    ("profiler.Log", &[Map::Log { class: "profiler", level: "level", text: "message" }]),
    // What the recorder itself lost.
    (
        "jdk.DataLoss",
        &[Map::Loss { says: "bytes of events dropped by JFR because its buffers were full", count: "amount" }],
    ),
    (
        "jdk.CPUTimeSamplesLost",
        &[Map::Loss { says: "CPU time samples dropped by JFR because its queues were full", count: "lostSamples" }],
    ),
];

#[cfg(test)]
mod tests {
    use fathom_evidence::kinds::{self, Word};

    use super::*;

    /// Each word in the tables is one that the schema describes.
    #[test]
    fn words_are_described() {
        let check = |words: &[Word], word: &str, of: &str| {
            assert!(words.iter().any(|known| known.word == word), "{of}: {word} is not in the schema");
        };
        for (of, maps) in EVENTS {
            for map in *maps {
                match map {
                    Map::Sample { event: Event::Is(word), .. } => check(kinds::event::ALL, word, of),
                    Map::Span { kind, .. } => check(kinds::span::ALL, kind, of),
                    Map::Counter { name, .. } => check(kinds::counter::ALL, name, of),
                    Map::Fact { subject, .. } | Map::NamedFact { subject, .. } => {
                        check(kinds::subject::ALL, subject, of);
                    }
                    _ => {}
                }
            }
        }
    }
}
