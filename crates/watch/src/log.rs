//! What happens, as one JSON object per line of standard output: for the journal and its readers.

use std::io::Write;

use jiff::Timestamp;
use serde_json::{Map, Value};

/// Writes a line: what happened, and about what.
pub(crate) fn line(event: &str, about: &[(&str, Value)]) {
    let mut object = Map::new();
    object.insert("time".to_owned(), Timestamp::now().to_string().into());
    object.insert("event".to_owned(), event.into());
    object.extend(about.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    let text = Value::Object(object).to_string();
    // The reader may be gone; watching goes on.
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// The same for one sentence.
pub(crate) fn says(event: &str, what: &str) {
    line(event, &[("says", what.into())]);
}
