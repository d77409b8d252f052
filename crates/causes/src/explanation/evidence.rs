//! The measurements behind an answer, and those that it lacks.

use serde::Serialize;

/// A measurement.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Evidence {
    /// What was measured, without the number.
    pub says: String,
    /// Its value in the slow time.
    pub value: f64,
    /// Its value in the baseline, if there is one.
    pub baseline: Option<f64>,
    /// Unit of both: `ns`, `bytes`, `count`, `1/s`, `ns/s` (time per time), `bytes/s`, `ratio` (1.0 = 100 %), `cores`, `threads`, `times`.
    pub unit: String,
    /// Table it was read from.
    pub table: String,
    /// What it was read from there: names of counters, kinds of spans, events of samples, keys of facts; for `account` the
    /// roles of the threads. Empty when that cannot be said.
    pub of: Vec<String>,
    /// Beginning of the time it covers.
    pub from_ns: i64,
    /// End of the time it covers.
    pub to_ns: i64,
    /// Stack, leaf first, frames separated by `;`; empty when it has none.
    pub stack: String,
}

impl Evidence {
    /// What the measurement of the CPU that other processes used says of itself.
    pub const CPU_OF_OTHERS: &str = "CPU of other processes";

    /// The same of what the host gave to others.
    pub const STOLEN_CPU: &str = "CPU time stolen, of all CPUs";

    /// Says what it was read from.
    #[must_use]
    pub fn of(mut self, words: &[&str]) -> Evidence {
        self.of = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }
}

/// Evidence that is not there, and the command that records it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missing {
    /// What is missing and what for.
    pub says: String,
    /// How to record it; empty where nothing that is known would.
    pub record_with: String,
}

impl Missing {
    /// Records what only the kernel has.
    pub const RECORD: &str = "sudo fathom record --pid PID --for 60s";

    /// Records what the JVM has.
    pub(crate) const JFR: &str =
        "jcmd PID JFR.start settings=profile duration=60s filename=app.jfr, then fathom explain app.jfr";

    /// Records what collections were.
    pub(crate) const GC_LOG: &str = "-Xlog:gc*:file=gc.log:time,uptime,level,tags";

    /// What only the kernel has.
    pub fn from_kernel(says: &str) -> Missing {
        Missing { says: says.to_owned(), record_with: Missing::RECORD.to_owned() }
    }

    /// Says what the kernel refuses even with all rights, and what would allow it.
    pub(crate) const DOCTOR: &str = "sudo fathom doctor --pid PID";

    /// Tells how long requests took, or measures it.
    pub(crate) const REQUESTS: &str = "fathom explain … --latency FILE, or sudo fathom record --pid PID --for 60s";

    /// Tells how long requests took.
    pub(crate) const LATENCY: &str = "fathom explain … --latency FILE";

    /// What only those know who wait for the service.
    pub fn from_requests(says: &str) -> Missing {
        Missing { says: says.to_owned(), record_with: Missing::REQUESTS.to_owned() }
    }
}
