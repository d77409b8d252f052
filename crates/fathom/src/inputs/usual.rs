//! The quiet minute that `fathom watch` has put into a recording.

use std::path::PathBuf;

use fathom_causes::ExplainOptions;
use fathom_evidence::Recording;
use fathom_evidence::kinds::recorded::{TRIGGER, TRIGGER_OF_REQUESTS, USUAL};
use fathom_evidence::kinds::subject;

use super::{Hints, Service, file_name, services};
use crate::terminal::Terminal;

/// Kind of a baseline that is a part of the recording itself.
const OWN: &str = "rest_of_recording";

/// Such a minute.
pub(crate) struct Usual {
    /// What it is called.
    pub(crate) name: String,
    /// Its rows.
    pub(crate) recording: Recording,
    /// The time that was slow, in ns: as it was asked for, or all of it where requests were noticed to be and nothing stands out.
    pub(crate) slow: Option<(i64, i64)>,
}

/// That minute, where the recording has no time of its own that tells how the service usually is: what was noticed late began before it.
pub(crate) fn of(service: &Service, slow: Option<(i64, i64)>, terminal: &Terminal) -> Option<Usual> {
    let usual_in = |path: &&PathBuf| fathom_store::is_recording(&path.join(USUAL));
    let path = service.paths.iter().find(usual_in)?;
    let alone = fathom_causes::explain(&service.recording, &ExplainOptions { slow, baseline: None });
    if alone.baseline.kind == OWN {
        return None;
    }
    let found = services(&[path.join(USUAL)], &Hints::default(), terminal).ok()?;
    let name = format!("{}/{USUAL}", file_name(path));
    let recording = found.into_iter().next()?.recording;
    let slow = slow.or_else(|| noticed(&service.recording, &recording));
    Some(Usual { name, recording, slow })
}

/// All of the time of a recording that was made because requests were slow by hours of history, if they are by too little to stand out.
fn noticed(recording: &Recording, usual: &Recording) -> Option<(i64, i64)> {
    recording.fact(subject::RECORDING, TRIGGER).filter(|trigger| trigger.starts_with(TRIGGER_OF_REQUESTS))?;
    let explanation = fathom_causes::explain(recording, &ExplainOptions { slow: None, baseline: Some(usual) });
    if explanation.slow.is_empty() { recording.time_range_ns() } else { None }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fathom_evidence::kinds::span;
    use fathom_store::FolderWriter;

    use super::*;
    use crate::terminal::Color;

    const BEGIN_NS: i64 = 1_796_000_000_000_000_000;

    /// A minute of requests that each call a service, which takes a time and from its middle on another one.
    fn minute(before_ms: i64, after_ms: i64) -> Recording {
        let mut recording = Recording::default();
        for at in 0..600 {
            let call_ns = if at < 300 { before_ms } else { after_ms } * 1_000_000;
            let at_ns = BEGIN_NS + at * 100_000_000;
            let detail = r#"{"port":8080,"reader_tid":11,"unread_ns":0}"#;
            recording.add_span(at_ns, call_ns + 4_000_000, 11, span::REQUEST, ":8080", detail, "requests");
            let detail = format!(r#"{{"port":9090,"peer_ns":{call_ns}}}"#);
            recording.add_span(at_ns + 1_000_000, call_ns, 11, span::CALL, "10.0.0.7:9090", &detail, "requests");
        }
        recording
    }

    fn write(folder: &Path, recording: &Recording) {
        FolderWriter::create(folder).unwrap().flush(&mut recording.clone()).unwrap();
    }

    /// The answer about a recording with such a minute in it, and whether that minute was used.
    fn answer(recording: Recording) -> (String, bool) {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("x.fathom");
        write(&folder, &recording);
        write(&folder.join(USUAL), &minute(20, 20));
        let service =
            Service { paths: vec![folder], sources: Vec::new(), recording, unpacked: Vec::new(), unread: Vec::new() };
        let usual = of(&service, None, &Terminal::new(Color::Never));
        let (baseline, slow) = usual.as_ref().map(|usual| (&usual.recording, usual.slow)).unzip();
        let slow = slow.flatten();
        let explanation = fathom_causes::explain(&service.recording, &ExplainOptions { slow, baseline });
        let first = explanation.causes.first().map(|cause| cause.id.to_owned());
        (first.unwrap_or_default(), usual.is_some())
    }

    #[test]
    fn what_was_slow_throughout_is_compared_with_it_and_the_rest_with_itself() {
        assert_eq!(answer(minute(60, 60)), ("slow_downstream".to_owned(), true));
        assert_eq!(answer(minute(20, 60)), ("slow_downstream".to_owned(), false));
        // By too little to stand out, without and with a reason of watch.
        let mut noticed = minute(29, 29);
        assert_ne!(answer(noticed.clone()).0, "slow_downstream");
        noticed.add_fact(subject::RECORDING, TRIGGER, "requests_slow :8080", "watch");
        assert_eq!(answer(noticed), ("slow_downstream".to_owned(), true));
    }
}
