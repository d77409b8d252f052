//! The input of a replay: the arrivals of an access log, a CSV or a recording.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use fathom_evidence::Recording;
use fathom_evidence::detail;
use fathom_evidence::kinds::span;
use fathom_readers::{Arrivals, Arrived, as_request};

use super::schedule::{REQUESTS_MAX, resolution_ns};
use crate::finish;

/// Methods that change nothing, by the rules of HTTP.
const READS: [&str; 3] = ["GET ", "HEAD ", "OPTIONS "];

/// A recording has rows of some of the requests; the others arrived at unknown times within about this of them.
const SAMPLED_WITHIN_NS: i64 = 1_000_000_000;

/// Arrivals, and what has to be said of them.
pub(super) struct Source {
    pub(super) arrivals: Arrivals,
    pub(super) notes: Vec<String>,
}

impl Source {
    /// Reads a file or a recording. Only requests that change nothing stay, unless `with_writes`.
    pub(super) fn read(path: &Path, with_writes: bool, seed: u64) -> Result<Source> {
        let name = || path.display().to_string();
        let mut source = match fathom_store::is_recording(path) {
            true => of_recording(&finish::open(path).with_context(name)?, seed).with_context(name)?,
            false => of_file(fathom_readers::arrivals(path)?),
        };
        if !with_writes && !source.leave_out_writes() {
            bail!("{}: all requests may change something: --send-writes sends them", name());
        }
        Ok(source)
    }

    /// Whether its requests can be sent. Those that a recorder measured at sockets have times and no paths.
    pub(super) fn has_paths(&self) -> bool {
        self.arrivals.requests.iter().all(|(request, _)| as_request(request).is_some())
    }

    /// False if nothing is left then.
    fn leave_out_writes(&mut self) -> bool {
        let Arrivals { requests, arrived, .. } = &mut self.arrivals;
        let is_write = |text: &str| as_request(text).is_some() && !READS.iter().any(|method| text.starts_with(method));
        let writes: Vec<bool> = requests.iter().map(|(text, _)| is_write(text)).collect();
        let weight = |requests: &[(String, f64)]| requests.iter().map(|(_, weight)| weight).sum::<f64>();
        let before = weight(requests);
        requests.iter_mut().zip(&writes).filter(|(_, is_write)| **is_write).for_each(|((_, weight), _)| *weight = 0.0);
        arrived.retain(|one| !writes[one.request as usize]);
        let share = 1.0 - weight(requests) / before.max(f64::MIN_POSITIVE);
        if writes.contains(&true) {
            self.notes.push(format!(
                "{:.1} % of the requests may change something (POST, PUT, …) and were left out; --send-writes sends them, \
                 without a body",
                100.0 * share
            ));
        }
        writes.is_empty() || writes.contains(&false)
    }
}

fn of_file(arrivals: Arrivals) -> Source {
    let mut notes = Vec::new();
    if arrivals.left_out > 0 {
        notes.push(format!("{} lines hold no request that can be sent and were left out", arrivals.left_out));
    }
    notes.extend(arrivals.cut.clone());
    let step = match resolution_ns(&arrivals.arrived) {
        _ if arrivals.arrived.is_empty() => None,
        1_000_000_000 => Some("seconds"),
        1_000_000 => Some("milliseconds"),
        _ => None,
    };
    notes.extend(step.map(|step| format!("times are whole {step}: requests were placed at random within them")));
    Source { arrivals, notes }
}

/// The requests of the latency file that the recording was made with, else those of the port that had most.
fn of_recording(recording: &Recording, seed: u64) -> Result<Source> {
    let mut by_name: BTreeMap<&str, Vec<(i64, u64)>> = BTreeMap::new();
    for row in recording.spans.rows().filter(|row| recording.text(row.kind) == span::REQUEST) {
        let detail: detail::Request = detail::from_text(recording.text(row.detail));
        let stands_for = detail.stands_for.unwrap_or(1).max(1);
        by_name.entry(recording.text(row.name)).or_default().push((row.time_ns, stands_for));
    }
    let count = |rows: &[(i64, u64)]| rows.iter().fold(0_u64, |sum, (_, stands_for)| sum.saturating_add(*stands_for));
    if by_name.keys().any(|name| as_request(name).is_some()) {
        by_name.retain(|name, _| as_request(name).is_some());
    } else if let Some(most) = by_name.iter().max_by_key(|(_, rows)| count(rows)).map(|(name, _)| *name) {
        by_name.retain(|name, _| *name == most);
    }
    if by_name.is_empty() {
        bail!("no requests in it; record those of the service, or import them with --latency");
    }
    let all = by_name.values().fold(0_u64, |sum, rows| sum.saturating_add(count(rows)));
    if all > REQUESTS_MAX as u64 {
        bail!("{all} requests are more than {REQUESTS_MAX}: take a shorter recording");
    }
    Ok(expanded(&by_name, seed))
}

/// One arrival for each request that a row stands for.
fn expanded(by_name: &BTreeMap<&str, Vec<(i64, u64)>>, seed: u64) -> Source {
    let mut rng = Rng::with_seed(seed);
    let mut arrivals = Arrivals::default();
    for (request, (name, rows)) in (0..).zip(by_name) {
        for (time_ns, stands_for) in rows {
            let around = (1..*stands_for)
                .map(|_| time_ns.saturating_add(rng.i64(-SAMPLED_WITHIN_NS / 2..SAMPLED_WITHIN_NS / 2)));
            let times = std::iter::once(*time_ns).chain(around);
            arrivals.arrived.extend(times.map(|time_ns| Arrived { time_ns, before_ns: 0, request }));
        }
        arrivals.requests.push(((*name).to_owned(), rows.iter().map(|(_, stands_for)| *stands_for as f64).sum()));
    }
    let rows: usize = by_name.values().map(Vec::len).sum();
    let notes = (rows < arrivals.arrived.len()).then(|| {
        format!(
            "the recording has {rows} rows for {} requests: the others were placed at random within half a second of a row",
            arrivals.arrived.len()
        )
    });
    Source { arrivals, notes: notes.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(rows: &[(&str, i64, &str)]) -> Recording {
        let mut recording = Recording::default();
        for (name, time_ns, detail) in rows {
            recording.add_span(*time_ns, 1_000, 1, span::REQUEST, name, detail, "requests");
        }
        recording
    }

    #[test]
    fn rows_of_a_recording_stand_for_requests() {
        const T: i64 = 1_795_156_200_000_000_000;
        let rows = [(":8080", T, r#"{"stands_for":3}"#), (":8080", T + 1, ""), (":9000", T, "")];
        let source = of_recording(&recording(&rows), 1).unwrap();
        assert_eq!(source.arrivals.requests, [(":8080".to_owned(), 4.0)]);
        let times: Vec<i64> = source.arrivals.arrived.iter().map(|one| one.time_ns - T).collect();
        assert_eq!((times.len(), times[0], times[3]), (4, 0, 1));
        assert!(times.iter().all(|time| time.abs() <= SAMPLED_WITHIN_NS / 2));
        assert!(!source.has_paths() && source.notes[0].contains("2 rows for 4 requests"), "{:?}", source.notes);
        assert!(of_recording(&recording(&[]), 1).is_err());
        let many = format!(r#"{{"stands_for":{}}}"#, i64::MAX);
        assert!(of_recording(&recording(&[(":8080", T, &many), (":8080", T, &many)]), 1).is_err());
    }

    #[test]
    fn paths_are_taken_before_ports() {
        let source = of_recording(&recording(&[(":8080", 5, ""), ("GET /a", 6, ""), ("POST /b", 7, "")]), 1).unwrap();
        assert!(source.has_paths());
        assert_eq!(source.arrivals.requests, [("GET /a".to_owned(), 1.0), ("POST /b".to_owned(), 1.0)]);
    }

    #[test]
    fn writes_are_left_out() {
        let mut source = of_recording(&recording(&[("GET /a", 6, ""), ("POST /b", 7, "")]), 1).unwrap();
        assert!(source.leave_out_writes());
        assert_eq!(source.arrivals.requests, [("GET /a".to_owned(), 1.0), ("POST /b".to_owned(), 0.0)]);
        assert_eq!(source.arrivals.arrived.len(), 1);
        assert!(source.notes[0].starts_with("50.0 % of the requests"), "{:?}", source.notes);
    }
}
