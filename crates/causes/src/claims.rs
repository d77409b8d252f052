//! Which kinds of time causes claim in a recording: for tests of the catalogue.

use fathom_evidence::Recording;
use fathom_timeline::{Options as ExplainOptions, ThreadState, analyse};

use crate::catalog;
use crate::cause::{Cause, Support};
use crate::comparison::Comparison;

/// Each cause whose signs were seen, with each kind of time that it claims.
pub fn claims(recording: &Recording, options: &ExplainOptions<'_>) -> Vec<(&'static Cause, ThreadState)> {
    let Some(analysis) = analyse(recording, options) else { return Vec::new() };
    let comparison = Comparison::new(&analysis);
    let of = |cause: &&'static Cause| {
        let finding = (cause.decide)(&comparison);
        let is_seen = finding.support <= Support::Weak;
        finding.claims.into_iter().filter(move |_| is_seen).map(|claim| claim.state).collect::<Vec<_>>()
    };
    catalog().iter().flat_map(|cause| of(cause).into_iter().map(|state| (*cause, state))).collect()
}
