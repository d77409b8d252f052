//! Several runs of one program on two sides: what differs in their facts, whether one side is slower, and how small a difference
//! would have been found.
//!
//! [`Run::of`] makes a few numbers of a recording; from then on no recording is needed. [`compare`] compares two sides of runs;
//! [`History`] looks at one series of them over time. [`statistics`] knows numbers only.

mod appearance;
mod comparable;
mod facts;
mod history;
mod latencies;
mod lost;
mod measures;
mod profiles;
mod requirement;
mod run;
pub mod statistics;
mod verdict;

pub use appearance::Appearance;
pub use comparable::{Accepted, Reason, percent};
pub use facts::{FactDifference, Facts, FactsCompared};
pub use history::{History, Mark};
pub use latencies::Latencies;
pub use lost::LostDifference;
pub use measures::{Measure, MeasureDifference};
pub use profiles::{FrameDifference, Profile, ProfileDifference, Profiles};
pub use requirement::{Outcome, Requirement, RequirementError, State};
pub use run::Run;
pub use verdict::{Comparison, SCHEMA, Side, Verdict, VerdictKind, compare};

/// More runs on a side are not read.
pub const MAX_RUNS: usize = 100;
