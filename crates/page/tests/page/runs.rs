//! A folder of recordings as runs over time: the numbers and marks are those of `fathom runs`.

use fathom_compare::{History, Run};
use fathom_evidence::Recording;
use fathom_evidence::kinds::{span, subject};
use fathom_page::model::Others;
use fathom_page::serve::{Entry, Library, LoadError, Shelf, answer};
use fathom_page::{About, Loaded, Query};
use serde_json::Value;

use crate::world::{lab, near};

const START_NS: i64 = 1_795_168_921_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;
const RUNS: i64 = 12;
/// The first run with the change.
const CHANGED: i64 = 6;

/// Recordings that are made when they are asked for.
struct Folder {
    entries: Vec<Entry>,
    recording: fn(i64) -> Option<Recording>,
}

impl Library for Folder {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn load(&self, number: usize) -> Result<Loaded, LoadError> {
        let recording = (self.recording)(number as i64).ok_or_else(|| LoadError("not a recording".to_owned()))?;
        Ok(Loaded::new(recording, About { name: name(number as i64), ..About::default() }))
    }
}

fn shelf(count: i64, recording: fn(i64) -> Option<Recording>) -> Shelf {
    let entries = (0..count).map(|number| Entry { name: name(number), size_bytes: 7 }).collect();
    Shelf::new(Box::new(Folder { entries, recording }), 1)
}

/// Recordings in another order than that of time, and one that cannot be read.
fn nightly() -> Shelf {
    shelf(RUNS + 1, |number| (number < RUNS).then(|| recording(when(number))))
}

fn name(number: i64) -> String {
    format!("{number:02}.fathom")
}

/// Which run of the series a recording is: 5 is coprime to their count.
fn when(number: i64) -> i64 {
    number * 5 % RUNS
}

/// Requests of about 5 ms, of about 8 ms after the change.
fn recording(run: i64) -> Recording {
    let mut recording = Recording::default();
    let start_ns = START_NS + run * 100 * SECOND_NS;
    let (length_ms, fix) = if run < CHANGED { (5.0, "true") } else { (8.0, "false") };
    recording.add_fact(subject::JVM, "started_at_ns", &(start_ns - 600 * SECOND_NS).to_string(), "test");
    recording.add_fact(subject::FLAG, "UseFix", fix, "test");
    for request in 0..300 {
        let scattered = 1.0 + 0.2 * (((request + run) * 104_729 % 101) as f64 / 50.0 - 1.0);
        let duration_ns = (length_ms * scattered * 1e6) as i64;
        recording.add_span(start_ns + request * 33_000_000, duration_ns, 0, span::REQUEST, "", "", "latency");
    }
    recording
}

fn runs(shelf: &Shelf) -> Value {
    serde_json::from_slice(&answer(shelf, "runs", &Query::parse("")).unwrap().bytes).unwrap()
}

#[test]
fn the_series_is_that_of_the_terminal() {
    let shelf = nightly();
    shelf.look_into_all(|| true);
    let found = runs(&shelf);
    let run = |number| Run::of(&name(number), &recording(when(number)));
    let printed = serde_json::to_vec(&History::of((0..RUNS).map(run).collect())).unwrap();
    let printed: Value = serde_json::from_slice(&printed).unwrap();
    for (field, expected) in printed.as_object().unwrap() {
        assert_eq!(&found[field], expected, "{field}");
    }
    let in_order = found["recordings"].as_array().unwrap().iter().map(|id| when(id.as_i64().unwrap()));
    assert_eq!(in_order.collect::<Vec<_>>(), (0..RUNS).collect::<Vec<_>>());
    assert_eq!((found["marks"].as_array().unwrap().len(), &found["marks"][0]["at"]), (1, &CHANGED.into()));
    assert!(found["changes"][0]["by"].as_str().unwrap().starts_with("p50 +"), "{}", found["changes"]);
    assert_eq!(found["changes"][0]["with_it"][0], "flag UseFix true → false");
    assert_eq!([&found["unread"], &found["unreadable"], &found["left_out"]], [0, 1, 0]);
}

#[test]
fn a_series_says_what_was_not_read_so_far() {
    let shelf = nightly();
    let count = |found: &Value| found["runs"].as_array().unwrap().len() as i64;
    let none = runs(&shelf);
    assert_eq!((count(&none), none["unread"].as_i64()), (0, Some(RUNS + 1)));
    for id in [3, 1, 3] {
        shelf.recording(id).unwrap();
    }
    let two = runs(&shelf);
    assert_eq!((count(&two), two["unread"].as_i64()), (2, Some(RUNS - 1)));
}

#[test]
fn lost_time_is_per_request_and_by_cause() {
    let shelf = shelf(1, |_| Some(lab("lock_contention-sick-jdk17")));
    shelf.look_into_all(|| true);
    let found = runs(&shelf);
    let run = Run::of("", &lab("lock_contention-sick-jdk17"));
    let lost = found["lost"].as_array().unwrap();
    assert_eq!((lost[0]["id"].as_str(), lost[0]["name"].as_str()), (Some("lock_contention"), Some("Lock contention")));
    assert_eq!(lost.len(), run.causes.len());
    for cause in lost {
        let ns = run.per_unit(run.causes[cause["id"].as_str().unwrap()]);
        assert!(ns > 0.0 && near(cause["ns"][0].as_f64().unwrap(), ns, 1e-9), "{cause}");
    }
}
