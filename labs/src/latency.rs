//! The program's own figures: the phases of `dose.json` and the requests of `latency.csv`.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::declaration::{Phase, PhaseRole};
use crate::error::LabError;

/// The latency of the requests that were due in a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseLatency {
    /// The phase's name.
    pub name: String,
    /// What the phase is for.
    pub role: PhaseRole,
    /// When it began, in milliseconds since 1970.
    pub from_ms: i64,
    /// When it ended.
    pub to_ms: i64,
    /// Requests that were due in it.
    pub requests: usize,
    /// How many of those were answered before it ended.
    pub answered: usize,
    /// The median.
    pub p50_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

#[derive(Deserialize)]
struct Dose {
    phases: Vec<DosePhase>,
}

#[derive(Deserialize)]
struct DosePhase {
    name: String,
    from_ms: i64,
    to_ms: i64,
}

/// Reads both files and puts every request into the phase in which it was due.
pub(crate) fn read(dose: &Path, latency: &Path, phases: &[Phase]) -> Result<Vec<PhaseLatency>, LabError> {
    let dose_text = fs::read_to_string(dose).map_err(LabError::io("cannot read", dose))?;
    let latency_text = fs::read_to_string(latency).map_err(LabError::io("cannot read", latency))?;
    let dose: Dose = serde_json::from_str(&dose_text)
        .map_err(|e| LabError::Report { path: dose.to_owned(), problem: e.to_string() })?;
    let requests = parse_requests(&latency_text)
        .map_err(|line| LabError::Report { path: latency.to_owned(), problem: format!("line {line} is damaged") })?;
    Ok(dose.phases.iter().filter_map(|phase| summary(phase, phases, &requests)).collect())
}

/// Pairs of the time at which a request was due and its latency; the error is a line number.
fn parse_requests(text: &str) -> Result<Vec<(i64, f64)>, usize> {
    let lines = text.lines().enumerate().skip(1);
    lines.map(|(i, line)| parse_request(line).ok_or(i + 1)).collect()
}

fn parse_request(line: &str) -> Option<(i64, f64)> {
    let (time_ms, latency_ms) = line.split_once(',')?;
    Some((time_ms.parse().ok()?, latency_ms.parse().ok().filter(|ms: &f64| ms.is_finite())?))
}

fn summary(dose: &DosePhase, phases: &[Phase], requests: &[(i64, f64)]) -> Option<PhaseLatency> {
    let phase = phases.iter().find(|phase| phase.name == dose.name)?;
    let due = requests.iter().filter(|(time_ms, _)| (dose.from_ms..dose.to_ms).contains(time_ms));
    let answered =
        due.clone().filter(|(time_ms, latency_ms)| *time_ms as f64 + latency_ms <= dose.to_ms as f64).count();
    let mut latencies: Vec<f64> = due.map(|(_, latency_ms)| *latency_ms).collect();
    latencies.sort_by(f64::total_cmp);
    Some(PhaseLatency {
        name: dose.name.clone(),
        role: phase.role,
        from_ms: dose.from_ms,
        to_ms: dose.to_ms,
        requests: latencies.len(),
        answered,
        p50_ms: quantile(&latencies, 50),
        p99_ms: quantile(&latencies, 99),
        max_ms: quantile(&latencies, 100),
    })
}

/// The smallest value that at least `percent` of the values do not exceed; 0 if there are none.
fn quantile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        for (values, percent, expected) in
            [(&hundred[..], 50, 50.0), (&hundred, 99, 99.0), (&hundred, 100, 100.0), (&[7.0], 50, 7.0), (&[], 99, 0.0)]
        {
            assert_eq!(quantile(values, percent).to_bits(), f64::to_bits(expected), "{percent} of {}", values.len());
        }
    }

    #[test]
    fn damaged_lines_are_named() {
        for (text, expected) in [
            ("time,latency_ms\n1000,1.5\n2000,0.125\n", Ok(vec![(1000, 1.5), (2000, 0.125)])),
            ("time,latency_ms\n1000,1.5\n20", Err(3)),
            ("time,latency_ms\n1000,inf\n", Err(2)),
            ("", Ok(vec![])),
        ] {
            assert_eq!(parse_requests(text), expected, "{text:?}");
        }
    }

    #[test]
    fn requests_belong_to_the_phase_in_which_they_were_due() {
        let phase = |name: &str, role| Phase { name: name.to_owned(), role, seconds: 1.0, requests_per_second: 1.0 };
        let phases = [phase("before", PhaseRole::Baseline), phase("after", PhaseRole::Exposed)];
        let dose = |name: &str, from_ms, to_ms| DosePhase { name: name.to_owned(), from_ms, to_ms };
        let requests = [(0, 1.0), (999, 2.0), (1000, 40.0), (1500, 30.0), (2000, 9.0)];
        let before = summary(&dose("before", 0, 1000), &phases, &requests).expect("the phase is known");
        let after = summary(&dose("after", 1000, 2000), &phases, &requests).expect("the phase is known");
        assert_eq!((before.requests, before.answered, before.p50_ms, before.max_ms), (2, 1, 1.0, 2.0));
        assert_eq!((after.requests, after.answered, after.p50_ms, after.max_ms), (2, 2, 30.0, 40.0));
        assert_eq!(summary(&dose("other", 0, 1), &phases, &requests), None);
    }
}
