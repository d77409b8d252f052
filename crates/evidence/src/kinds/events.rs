//! Why threads were sampled.

use super::Word;

/// How events of samples end that have no time: those of a profile which has only sums.
pub const UNTIMED: &str = "_untimed";

words! {
    /// Why a thread was sampled.
    event {
        /// On CPU, by a CPU timer or the CPU clock (async-profiler `cpu`/`ctimer`/`itimer`, JFR `jdk.CPUTimeSample`).
        CPU = "cpu";
        /// On CPU, by a clock of the kernel, walked from outside without the JVM's help (collector `cpu_samples`). When a recording is opened these become `cpu`, unless the profiler inside the JVM looked for longer.
        CPU_FROM_OUTSIDE = "cpu_from_outside";
        /// On CPU, sampled by a second profiler: `cpu` has the samples of the profiler that ran longest. Made when a recording is opened.
        CPU_SET_ASIDE = "cpu_set_aside";
        /// Executing Java, found by walking a few runnable threads each period (JFR `jdk.ExecutionSample`): not a CPU sample.
        EXECUTION = "execution";
        /// In a native method when looked at (JFR `jdk.NativeMethodSample`); may be waiting there.
        NATIVE = "native";
        /// Seen at wall-clock intervals, running or not (async-profiler `wall`).
        WALL = "wall";
        /// In a wait that has ended, from `time_ns` on for `weight_ns`, taken from outside in proportion to its length (collector `system_calls`).
        WAIT = "wait";
        /// Allocated; `size_bytes` is what the sample stands for (JFR `jdk.ObjectAllocation*`, async-profiler `alloc`).
        ALLOCATION = "allocation";
        /// Allocated, picked at random by JFR (`jdk.ObjectAllocationSample`) in a chunk that also has the ones that it picks by thread-local buffer; `size_bytes` is what the sample stands for. Each of the two kinds accounts for all bytes, so they must not be added up.
        ALLOCATION_SAMPLED = "allocation_sampled";
        /// Allocated earlier and still alive at the end of the recording; `size_bytes` is the size of the object (async-profiler `live`).
        LIVE_OBJECT = "live_object";
        /// Page fault (async-profiler `page-faults`), without its duration.
        PAGE_FAULT = "page_fault";
        /// Native memory allocated (async-profiler `nativemem`).
        MALLOC = "malloc";
        /// In a wait that no signal ends (state `D`) when looked at, mostly for a disk or for memory; seen each 100 ms in procfs, with the kernel function of the wait as its stack. A glance, not a measure of time.
        UNINTERRUPTIBLE = "uninterruptible";
        /// Seen in a thread dump, running or not; `weight_ns` is the time that the dump stands for.
        DUMP = "dump";
        /// Sampled, and the profile does not say whether the thread ran (Firefox Profiler without CPU times, Perfetto, OpenTelemetry).
        SAMPLED = "sampled";
        /// On CPU, in a profile that has no time of each sample (pprof, collapsed stacks, speedscope): all samples are at its beginning. No cause uses such samples. Other events of such profiles also end with `_untimed`.
        CPU_UNTIMED = "cpu_untimed";
        /// Allocated, in a profile that has no time of each sample.
        ALLOCATION_UNTIMED = "allocation_untimed";
        /// Sampled, in a profile that has no time of each sample and does not say why.
        SAMPLED_UNTIMED = "sampled_untimed";
    }
}
