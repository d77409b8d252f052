//! What a finding lacks because of what was not recorded, and what would record it.

use fathom_evidence::kinds::{counter, loss, subject};

use crate::cause::{Cause, Claim, Finding, Support};
use crate::comparison::Comparison;
use crate::explanation::Missing;
use crate::latency;

/// Where requests took long all the time nobody knows what is usual: what would explain it is told, and what would say whether
/// it does.
pub(crate) fn without_baseline(comparison: &Comparison<'_>, finding: &mut Finding) {
    let is_open =
        !comparison.is_slow() && finding.support < Support::Excluded && latency::is_long_throughout(comparison);
    if is_open {
        finding.support = Support::NotMeasured;
        finding.missing.push(Missing {
            says: "a time when requests were quick, to compare with".to_owned(),
            record_with: "fathom explain … --baseline RECORDING".to_owned(),
        });
    }
}

/// A mechanism that was seen where the time that it takes was not recorded: nobody knows what it cost.
pub(crate) fn without_account(comparison: &Comparison<'_>, finding: &mut Finding) {
    let is_known = |claim: &Claim| comparison.excess().of(claim.state).is_some_and(|excess| excess.slow_ns > 0.0);
    let is_open = comparison.is_slow() && finding.support < Support::Excluded && finding.harm.is_none();
    if is_open && !finding.claims.iter().any(is_known) {
        finding.support = Support::NotMeasured;
        finding.says = format!("seen, but what it cost was not recorded: {}", finding.says);
        finding.missing.push(Missing::from_kernel("how much of the threads' time it took was not recorded"));
    }
}

/// Whoever has recorded with all rights and all that shows the cause is not told to do so.
pub(crate) fn without_use(comparison: &Comparison<'_>, cause: &Cause, finding: &mut Finding) {
    let is_told = |missing: &Missing| missing.record_with == Missing::RECORD;
    if finding.missing.iter().any(is_told) && took_part(comparison, cause.collectors) {
        let useless = finding.missing.iter_mut().filter(|missing| is_told(missing));
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

/// Where requests were slow when nothing else was observed, nobody is acquitted by what was not seen then.
pub(crate) fn without_observation(comparison: &Comparison<'_>, finding: &mut Finding) {
    let (from_ns, to_ns) = comparison.sources().observed_ns;
    let seen_ns = comparison.slow.time.within_ns(from_ns, to_ns);
    let is_unseen = comparison.is_slow() && 2 * seen_ns < comparison.slow.time.total_ns();
    if is_unseen && finding.support == Support::Excluded {
        finding.support = Support::NotMeasured;
        finding.says = "nothing but requests was recorded in the slow period".to_owned();
        finding.missing.push(Missing::from_kernel("the slow period itself"));
    }
}

/// Where a part of the recording is gone nobody is acquitted by what is not in the rest.
pub(crate) fn without_table(comparison: &Comparison<'_>, finding: &mut Finding) {
    if finding.support != Support::Excluded {
        return;
    }
    let recording = comparison.recording();
    let gone = recording.losses.rows().find(|row| recording.text(row.kind) == loss::MISSING);
    if let Some(gone) = gone {
        finding.support = Support::NotMeasured;
        finding.says = format!("{}: {}", recording.text(gone.says), finding.says);
        finding.missing.push(Missing::from_kernel("the part of the recording that is gone"));
    }
}
