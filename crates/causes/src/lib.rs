//! Causes: who took the time.
//!
//! Each folder of `catalog/` is one cause and is found by the build script. A cause looks at the
//! [`Comparison`] (the account of time with what was measured) and answers with a [`Finding`]: how well
//! its own signature is seen, the measurements, and the thread time it claims. [`explain`] lets all
//! causes look, hands out the time so that no nanosecond is counted twice, and makes verdicts.
//! Causes do no input or output and know nothing of each other.

mod attribution;
mod cause;
mod chains;
mod changes;
mod claims;
mod comparison;
mod coverage;
mod crash;
mod crowding;
mod drill_down;
mod elsewhere;
mod engine;
pub mod explanation;
mod failures;
mod family;
mod fields;
pub mod format;
mod gaps;
mod headline;
mod latency;
mod limits;
pub mod measure;
pub mod messages;
mod need;
mod per_request;
mod period;
mod piece;
mod remainder;
mod rhythm;
mod signs;
mod summary;
mod unexplained;
mod versions;
mod worst;

pub use cause::{Cause, Claim, Extent, Finding, Harm, Support, ThreadTime};
pub use claims::claims;
pub use comparison::Comparison;
pub use engine::{explain, investigate};
pub(crate) use explanation::Evidence;
pub use family::{Family, Refined};
pub use fathom_timeline::Options as ExplainOptions;
pub use need::Need;
pub use period::Period;
pub use remainder::general_cause;
pub use summary::of_nothing as explain_nothing;

include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

/// Every cause, sorted by id.
pub fn catalog() -> &'static [&'static Cause] {
    ALL
}

/// The cause with an id.
pub fn cause(id: &str) -> Option<&'static Cause> {
    catalog().iter().copied().find(|cause| cause.id == id)
}
