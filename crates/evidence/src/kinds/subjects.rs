//! What facts are about.

use super::Word;

words! {
    /// What a fact is about.
    subject {
        /// The recording itself: schema_version, files, settings that Fathom chose.
        RECORDING = "recording";
        /// The JVM: name, version, runtime, pid, started_at_ns, died_of, arguments, java_arguments, collector names.
        JVM = "jvm";
        /// A flag of the JVM as it was at the end: key is the flag's name.
        FLAG = "flag";
        /// How a flag got its value: key is the flag's name, value for example `Command line`.
        FLAG_ORIGIN = "flag_origin";
        /// A system property; secrets are masked.
        PROPERTY = "property";
        /// An environment variable; secrets are masked.
        ENVIRONMENT = "environment";
        /// The machine: os, cpu, cpus (count), memory_bytes, container; kernel, kernel_hz, kernel_options, `mitigation.NAME` (what the kernel does against a weakness of the CPU), memory_gib, clocksource, cpu_microcode, cpu_midr and cpu_ctr_el0 (arm64), `memory_low_watermark_bytes` and `memory_high_watermark_bytes` (free memory below which the kernel begins to reclaim, and up to which it then does), `damon.actions` (what the kernel's DAMON does to memory as it is used, of the schemes that run), `as_the_jvm_died` (CPU, cores, memory and system in one text, of an error file), settings by their usual names such as `vm.swappiness` and `transparent_hugepage.enabled`.
        HOST = "host";
        /// A setting of the profiler or recorder: key is `event#setting`.
        SETTING = "setting";
        /// The container's limits: `cpu_limit` (CPUs; the tightest of the process's group and those above, or `none`), `memory_limit_bytes` (likewise), `path`, and each group's `cpu.max` (quota and period in µs), `memory.max`, `memory.high`, `pids.max`, `cpu.weight` or `cpu.shares`, `cpuset.cpus.effective`; the key ends with the path for a group above the process's own.
        CGROUP = "cgroup";
        /// The container that the process is in, where that is not also ours: `id` (the first 12 digits), and `image` (its name), `image_id` (the first 16 digits of the digest of its configuration) and `image_digest` (of its manifest), as far as its engine keeps them in files.
        CONTAINER = "container";
        /// A native library: key is the path.
        LIBRARY = "library";
        /// A library of Java on the class path, or open: key is the jar's name without its version, value the version, or `none` where the name has none.
        JAR = "jar";
        /// When a program or library of the process binds the calls to other libraries: key is the path, value `lazy` (each at its first call, unless `LD_BIND_NOW` is set), `now` (when it was loaded) or `none`.
        LIBRARY_BINDING = "library_binding";
        /// Which build of a program or library the process had loaded when the recording began: key is the path, value the first 16 hexadecimal digits of its build id, or `none` where the linker left none.
        LIBRARY_BUILD = "library_build";
        /// The process as the kernel has it: `limit.open_files` and other limits (soft and hard), `mappings` (lines of the memory map), `cpus_allowed`, `oom_score_adj`, `seccomp`, `system` (what the `os-release` of its root says), ...
        PROCESS = "process";
        /// Where files of the process are: `working_folder`, `program`, `temporary_folder` (the JVM's counters and sockets), `java_temporary_folder`, `gc_log`, `heap_dumps`, `written_folder_1` and so on (files open for writing), each with `.path`, `.mount`, `.file_system`, `.options`, `.device` (major:minor) and `.disk` (name of the whole device; for a container's overlay that of the folder that takes the writes).
        PLACE = "place";
        /// A block device, by its name: `vda.kind` (`disk`, `device_mapper`, `raid`, `loop`, `zram`, ...), `vda.scheduler`, `vda.nr_requests`, `vda.rotational`, `vda.made_of`, ..., from sysfs.
        DISK = "disk";
        /// The collector's configuration.
        GC = "gc";
        /// The code cache's configuration: initial_bytes, reserved_bytes, and the sizes of its segments.
        CODE_CACHE = "code_cache";
    }
}
