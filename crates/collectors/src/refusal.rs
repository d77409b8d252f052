//! What the machine or the JVM refuses to show.

/// Why a collector, or a part of one, cannot observe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What stands in the way, as a fact: `perf_event_paranoid is 2 and the process lacks CAP_PERFMON`.
    pub why: String,
    /// What a person can do to grant it; empty when nothing can be done on this machine.
    pub grant: String,
    /// Whether the same may be granted a little later: somebody has not answered yet.
    pub may_pass: bool,
}

impl Refusal {
    /// A refusal with its remedy.
    pub fn new(why: impl Into<String>, grant: impl Into<String>) -> Refusal {
        Refusal { why: why.into(), grant: grant.into(), may_pass: false }
    }

    /// What stands in the way of both of two ways; the remedy is that of this one, the better.
    pub(crate) fn and(self, other: &Refusal) -> Refusal {
        Refusal { why: format!("{}; {}", self.why, other.why), ..self }
    }

    /// The same, worth another try.
    pub(crate) fn that_may_pass(self) -> Refusal {
        Refusal { may_pass: true, ..self }
    }
}
