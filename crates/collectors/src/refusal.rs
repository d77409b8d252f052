//! What the machine or the JVM refuses to show.

/// Why a collector, or a part of one, cannot observe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What stands in the way, as a fact: `perf_event_paranoid is 2 and the process lacks CAP_PERFMON`.
    pub why: String,
    /// What a person can do to grant it; empty when nothing can be done on this machine.
    pub grant: String,
    /// Whether the same may be granted a little later: an answer has not come yet.
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

/// What a collector needs of the machine.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// No privileges beyond those of the JVM's user.
    #[default]
    Process = 0,
    /// `perf_event_open` (CAP_PERFMON).
    Perf = 1,
    /// BPF programs (CAP_BPF and CAP_PERFMON).
    Bpf = 2,
}

/// How a collector observes that lacks rights for the better way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesser {
    /// What it still needs.
    pub tier: Tier,
    /// What it still sees, or all that it would see where `refusal` says what of it cannot be seen.
    pub sees: String,
    /// What stands in the way of the rest.
    pub refusal: Refusal,
}
