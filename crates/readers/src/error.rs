//! Why a file could not be read.

use std::io;
use std::path::PathBuf;

/// A file of which nothing can be used. The text is one line: what and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file has no content.
    #[error("{}: the file is empty: what writes it may not have begun, or have no room (of Flight Recorder: jcmd PID JFR.dump)", .0.display())]
    Empty(PathBuf),
    /// No reader recognises the file.
    #[error("{}: not a format that fathom knows (JFR, GC log, latencies, thread dumps, perf.data, perf script, perf trace, strace, vmstat, sysstat, Prometheus, blktrace, jstat, hs_err, jcmd, captures of packets, profiles of pprof, Firefox Profiler, Perfetto, OpenTelemetry and speedscope, collapsed stacks, logs of applications); see fathom import --help", .0.display())]
    UnknownFormat(PathBuf),
    /// The file is of a known format but nothing in it can be used.
    #[error("{}: {says}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        says: String,
    },
}
