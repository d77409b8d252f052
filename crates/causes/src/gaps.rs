//! What a finding lacks because of what was not recorded, and what would record it.

use fathom_evidence::kinds::{counter, loss, subject};

use crate::cause::{Cause, Claim, Finding, Support};
use crate::comparison::Comparison;
use crate::explanation::Missing;
use crate::latency;

/// A mechanism that was seen where nobody knows whether it was felt.
pub(crate) struct Unjudged {
    pub(crate) says: String,
    /// How much thread time there was of it, in ns.
    pub(crate) ns: f64,
}

/// Where nothing was found slow, what was seen is excluded only by requests that were measured exactly and were quick.
pub(crate) fn without_requests(comparison: &Comparison<'_>, finding: &mut Finding) -> Option<Unjudged> {
    if comparison.is_slow() || finding.support >= Support::Absent || latency::are_requests_quick(comparison) {
        return None;
    }
    let seen_ns = finding.seen_ns(comparison);
    let is_sure = finding.support <= Support::Consistent;
    let missing = match latency::is_long_throughout(comparison) {
        true => Missing {
            says: "a time when requests were quick, to compare with".to_owned(),
            record_with: "fathom explain … --baseline RECORDING".to_owned(),
        },
        false => Missing::from_requests("how long requests took, measured where clients wait"),
    };
    let unjudged = Unjudged { says: finding.says.clone(), ns: seen_ns };
    finding.support = Support::NotMeasured;
    finding.says = format!("seen, but whether requests waited for it is not known: {}", finding.says);
    finding.missing.push(missing);
    is_sure.then_some(unjudged)
}

/// A mechanism that was seen where the time that it takes was not recorded: nobody knows what it cost.
pub(crate) fn without_account(comparison: &Comparison<'_>, finding: &mut Finding) {
    let is_known = |claim: &Claim| comparison.excess().of(claim.state).is_some_and(|excess| excess.slow_ns > 0.0);
    let is_open = comparison.is_slow() && finding.support < Support::Absent && finding.harm.is_none();
    if is_open && !finding.claims.iter().any(is_known) {
        finding.support = Support::NotMeasured;
        finding.says = format!("seen, but what it cost was not recorded: {}", finding.says);
        finding.missing.push(Missing::from_kernel("how much of the threads' time it took was not recorded"));
    }
}

/// Whoever has recorded with all rights and all that shows the cause is not told to do so.
pub(crate) fn without_use(comparison: &Comparison<'_>, cause: &Cause, missing: &mut [Missing]) {
    let is_told = |missing: &Missing| missing.record_with == Missing::RECORD;
    if missing.iter().any(is_told) && took_part(comparison, cause.collectors) {
        let useless = missing.iter_mut().filter(|missing| is_told(missing));
        useless.for_each(|missing| missing.record_with.clear());
    }
}

/// Whether the recording was made with all rights, and these collectors recorded.
fn took_part(comparison: &Comparison<'_>, collectors: &[&str]) -> bool {
    let recording = comparison.recording();
    let refused: Vec<&str> = (recording.losses.rows())
        .filter(|row| recording.text(row.kind) == loss::REFUSED)
        .map(|row| recording.text(row.source))
        .collect();
    let cpu = |name: &str| comparison.sources().counter(counter::OWN_CPU_NS, name);
    let records = |name: &&str| !refused.contains(name) && !cpu(name).0.is_empty();
    recording.fact(subject::RECORDING, "tier") == Some("2") && collectors.iter().all(records)
}
