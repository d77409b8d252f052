//! What a finding lacks because of what was not recorded, and what would record it.

use fathom_evidence::kinds::{counter, loss, recorded, subject};

use crate::cause::{Cause, Claim, Finding, Support};
use crate::comparison::Comparison;
use crate::explanation::Missing;
use crate::latency;

/// A mechanism that was seen, but it is unknown whether users felt it.
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

/// A mechanism that was seen, but the time that it takes was not recorded: its cost is unknown.
pub(crate) fn without_account(comparison: &Comparison<'_>, finding: &mut Finding) {
    let is_known = |claim: &Claim| comparison.excess().of(claim.state).is_some_and(|excess| excess.slow_ns > 0.0);
    let is_open = comparison.is_slow() && finding.support < Support::Absent && finding.harm.is_none();
    if is_open && !finding.claims.iter().any(is_known) {
        finding.support = Support::NotMeasured;
        finding.says = format!("seen, but what it cost was not recorded: {}", finding.says);
        finding.missing.push(Missing::from_kernel("how much of the threads' time it took was not recorded"));
    }
}

/// If all rights and everything that shows the cause were already in use, recording with them is not advised again. If the
/// kernel refused a collector, the advice is where to read what it refuses.
pub(crate) fn without_use(comparison: &Comparison<'_>, cause: &Cause, missing: &mut [Missing]) {
    for missing in missing {
        let better = match missing.record_with.as_str() {
            Missing::RECORD => instead(comparison, cause.collectors, ""),
            Missing::REQUESTS => instead(comparison, &["requests"], Missing::LATENCY).map(|_| Missing::LATENCY),
            _ => None,
        };
        missing.record_with = better.map_or_else(|| std::mem::take(&mut missing.record_with), str::to_owned);
    }
}

/// What to do instead of recording with all rights where that was done; `otherwise` where each of these collectors has recorded all.
fn instead(comparison: &Comparison<'_>, collectors: &[&str], otherwise: &'static str) -> Option<&'static str> {
    let recording = comparison.recording();
    let refused: Vec<&str> = (recording.losses.rows())
        .filter(|row| recording.text(row.kind) == loss::REFUSED)
        .map(|row| recording.text(row.source))
        .collect();
    let fact = |key: &str| recording.fact(subject::RECORDING, key);
    let is_refused = |name: &&str| refused.contains(name);
    let records = |name: &&str| !comparison.sources().counter(counter::OWN_CPU_NS, name).0.is_empty();
    let has_all_rights = fact(recorded::RIGHTS) == Some(recorded::ALL_RIGHTS);
    let takes_part = |name: &&str| records(name) || has_all_rights && is_refused(name);
    match collectors.iter().any(is_refused) {
        _ if !collectors.iter().all(takes_part) => None,
        true => has_all_rights.then_some(Missing::DOCTOR),
        false => (has_all_rights || fact("tier") == Some("2")).then_some(otherwise),
    }
}
