//! Where something is known from, in words.

/// A source as people call it.
pub(crate) fn spelled(source: &str) -> &str {
    match source {
        "jfr" => "JFR",
        "gc_log" => "GC log",
        "latency" => "request latencies",
        "hs_err" => "an error file of the JVM",
        "perf_data" => "perf.data",
        "perf_script" => "perf script",
        "perf_trace" => "perf trace",
        "thread_dump" => "thread dumps",
        "app_log" => "logs of applications",
        "pcap" => "a capture of packets",
        "proc_files" => "files of /proc",
        "recording" => "recording of fathom",
        other => other,
    }
}
