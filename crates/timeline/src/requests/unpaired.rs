//! What is known of a port without matching answers to requests: how often data came and went, and how much. It is also
//! right for connections that carry several requests at once.

use fathom_evidence::kinds::counter;

use crate::sources::Sources;

/// Data that came to a port and left it while a recorder ran.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Unpaired {
    /// How often data arrived; of HTTP/2 in the clear, how many requests.
    pub arrivals: f64,
    /// How often something was sent.
    pub sends: f64,
    /// Bytes that were read.
    pub received_bytes: f64,
    /// Bytes that were sent.
    pub sent_bytes: f64,
    /// For how long it was counted, in s: from the first of it to the last.
    pub counted_s: f64,
}

impl Unpaired {
    /// What was counted at a port; `None` where it was not counted.
    pub fn of(sources: &Sources<'_>, port: &str) -> Option<Unpaired> {
        let arrivals = sources.counter(counter::DATA_ARRIVALS_COUNT, port);
        let of = |name: &str| sources.counter(name, port).total_rise();
        let ((from_ns, _), (to_ns, _)) = (*arrivals.0.first()?, *arrivals.0.last()?);
        Some(Unpaired {
            arrivals: arrivals.total_rise(),
            sends: of(counter::DATA_SENDS_COUNT),
            received_bytes: of(counter::RECEIVED_BYTES),
            sent_bytes: of(counter::SENT_BYTES),
            counted_s: to_ns.saturating_sub(from_ns) as f64 / 1e9,
        })
    }
}
