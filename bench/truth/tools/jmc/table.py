"""The causes that a rule of JMC can mean, by the rule's id, with the reason. In doubt a cause is listed."""

COLLECTIONS = ["full_gc_old_generation_full", "heap_too_small", "allocation_pressure", "explicit_gc", "metaspace_full"]
STOPS = ["long_time_to_safepoint", "vm_operations", "process_stopped_by_signal", "gc_log_blocked", "machine_stood_still"]
CALLS = [
    "slow_downstream", "connection_pool_exhausted", "connect_slow", "dns_slow", "retry_storm", "retransmissions", "slow_consumer",
    "chatty_socket_reads", "delayed_acknowledgement", "receive_queue_overflow",
]
FILES = ["block_device_slow", "block_queue_wait", "file_sync_slow", "file_pages_evicted", "file_locked", "logging_blocked", "memory_reclaim"]
LOCKS = ["lock_contention", "logging_blocked", "connection_pool_exhausted", "thread_pool_exhausted", "file_locked"]
CPU = [
    "more_traffic", "application_code", "deoptimization_storm", "jit_warm_up", "code_cache_full", "code_cache_churn", "exceptions_storm",
    "nmethod_barrier_storm", "icache_flush_storm", "class_loading", "many_system_calls", "slow_clock_source", "retry_storm",
]
OTHERS = ["run_queue_wait", "stolen_cpu", "cpu_quota_throttled", "child_processes"]

RULES = {
    "ApplicationHalts": (COLLECTIONS + STOPS, "the application was stopped, by whatever it was"),
    "biasedLockingRevocation": (["vm_operations", "lock_contention"], "revocations stop the JVM, and come from contended locks"),
    "biasedLockingRevocationPause": (["vm_operations", "lock_contention"], "the same"),
    "ClassLeak": (["metaspace_full", "class_loading"], "classes that are loaded again and again fill the metaspace"),
    "ClassLoading": (["class_loading", "jit_warm_up", "metaspace_full"], "time spent loading classes"),
    "CodeCache": (["code_cache_full", "code_cache_churn"], "the code cache is nearly or entirely full"),
    "Errors": (["exceptions_storm"], "errors are thrown often"),
    "Exceptions": (["exceptions_storm"], "exceptions are thrown often"),
    "FileForce": (FILES, "a slow call that forces a file to its device"),
    "FileRead": (FILES, "a slow read of a file"),
    "FileWrite": (FILES, "a slow write to a file"),
    "FullGc": (COLLECTIONS, "there were full collections; the rule does not ask for their reason"),
    "GcFreedRatio": (["full_gc_old_generation_full", "heap_too_small", "allocation_pressure"], "collections free little"),
    "GcLocker": (["allocation_pressure", "heap_too_small"], "collections because of native code"),
    "GcPauseRatio": (COLLECTIONS, "much time is lost in pauses of collections"),
    "GcPauseTargetRule": (COLLECTIONS, "pauses are longer than their goal"),
    "GcStall": (["full_gc_old_generation_full", "heap_too_small", "allocation_pressure"], "the collector does not keep up"),
    "GarbageCollectionInfoRule": (COLLECTIONS, "what is unusual about collections"),
    "HeapDump": (["vm_operations", "explicit_gc"], "a heap dump stops the JVM, and collects before"),
    "HeapInspectionGc": (["vm_operations", "explicit_gc"], "a histogram collects before it counts"),
    "HighGc": (COLLECTIONS, "pauses of collections take much of some seconds"),
    "HighJvmCpu": (CPU, "the JVM uses much CPU, for whatever"),
    "IncreasingMetaSpaceLiveSet": (["metaspace_full", "class_loading"], "the metaspace grows"),
    "JavaBlocking": (LOCKS, "threads wait for monitors"),
    "LongGcPause": (COLLECTIONS, "a long pause of a collection"),
    "MetaspaceOom": (["metaspace_full"], "the metaspace was exhausted"),
    "SocketRead": (CALLS, "a slow read from a socket"),
    "SocketWrite": (CALLS, "a slow write to a socket"),
    "SystemGc": (["explicit_gc"], "System.gc() was called"),
    "VMOperations": (STOPS + COLLECTIONS, "a long operation of the JVM, collections included"),
}

# They describe the application or the machine, and do not say that this made anything slow.
DOUBTFUL = {
    "Allocations.class": (["allocation_pressure", "heap_too_small"], "what is allocated most"),
    "Allocations.thread": (["allocation_pressure", "heap_too_small"], "which thread allocates most"),
    "CompareCpu": (OTHERS, "other processes use much CPU: true of many machines where the service is well"),
    "ContextSwitch": (["lock_contention", "run_queue_wait", "many_system_calls"], "there are many context switches"),
    "FewSampledThreads": (["lock_contention", "thread_pool_exhausted", "carrier_threads_exhausted", "routing_skew"], "few threads use the CPUs"),
    "GcInvertedParallelism": (["run_queue_wait", "memory_reclaim", "swap_in"], "collections use more time than CPU time"),
    "HeapContent": (["full_gc_old_generation_full", "heap_too_small"], "few classes fill the heap"),
    "IncreasingLiveSet": (["full_gc_old_generation_full", "heap_too_small"], "what is alive after collections grows"),
    "LowOnPhysicalMemory": (["memory_reclaim", "swap_in", "file_pages_evicted"], "how much of the machine's memory is used, page cache included"),
    "ManyRunningProcesses": (OTHERS, "many processes run on the machine"),
    "MethodProfiling": (CPU, "which method uses most CPU"),
    "PrimitiveToObjectConversion": (["allocation_pressure"], "boxing allocates"),
    "StringDeduplication": (["heap_too_small", "full_gc_old_generation_full"], "equal strings could be shared"),
    "TlabAllocationRatio": (["allocation_pressure"], "much is allocated outside of thread-local buffers"),
}
