//! Tools to the page's questions, and their answers to text.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value, json};

use super::rows;
use crate::model::{self, Others};
use crate::serve::{self, Shelf};
use crate::{Loaded, Query};

const ROWS: u64 = 50;
/// What a model can read at all is some hundred kilobytes.
const ANSWER_MAX_BYTES: usize = 1 << 20;
/// Threads, facts and instances of counters that are listed; there may be ten thousands.
const LISTED_MAX: usize = 50;

/// Who answers.
pub(crate) trait Recordings {
    /// The answer of a tool, or in one line why there is none.
    fn ask(&mut self, tool: &str, arguments: &Value) -> Result<String, String>;
}

/// Recordings that are found when they are first asked about.
pub(crate) struct Asked<F> {
    find: F,
    shelf: Option<Shelf>,
}

impl<F: Fn() -> Result<Shelf, String>> Asked<F> {
    pub(crate) fn new(find: F) -> Asked<F> {
        Asked { find, shelf: None }
    }

    fn shelf(&mut self) -> Result<&Shelf, String> {
        let shelf = match self.shelf.take() {
            Some(shelf) => shelf,
            None => (self.find)()?,
        };
        Ok(self.shelf.insert(shelf))
    }

    /// Looks for recordings again: some may be new. What is known of the others stays unless the list has changed.
    fn listed(&mut self) -> Result<String, String> {
        let found = (self.find)()?;
        if self.shelf.as_ref().is_none_or(|shelf| shelf.entries() != found.entries()) {
            self.shelf = Some(found);
        }
        page_answers(self.shelf()?, "recordings", &[]).and_then(|bytes| text(&parsed(&bytes)?))
    }

    fn answered(&mut self, tool: &str, arguments: &Value) -> Result<String, String> {
        if tool == "recordings" {
            return self.listed();
        }
        let shelf = self.shelf()?;
        let number = |name: &str| arguments.get(name).map(Value::to_string).unwrap_or_default();
        if tool == "compare" {
            let sides = [("a", number("a")), ("b", number("b"))];
            return page_answers(shelf, "compare", &sides).and_then(|bytes| text(&parsed(&bytes)?));
        }
        let recording = number("recording").parse().map_err(|_| "recording: expected its id".to_owned())?;
        let page = shelf.recording(recording).map_err(|refused| refused.to_string())?;
        of_recording(&page, tool, arguments, shelf)
    }
}

impl<F: Fn() -> Result<Shelf, String>> Recordings for Asked<F> {
    fn ask(&mut self, tool: &str, arguments: &Value) -> Result<String, String> {
        let answered = catch_unwind(AssertUnwindSafe(|| self.answered(tool, arguments)));
        answered.unwrap_or_else(|_| Err("a mistake in fathom itself; please report it".to_owned()))
    }
}

fn of_recording(page: &Loaded, tool: &str, arguments: &Value, others: &Shelf) -> Result<String, String> {
    let is_markdown = arguments.get("form").is_some_and(|form| form == "markdown");
    let ask = |question: &str| {
        let query = Query::of(parameters(tool, arguments, page.origin_ns()));
        model::answer(page, question, &query, others).map(|answer| answer.bytes).map_err(|refused| refused.to_string())
    };
    match tool {
        "explain" if is_markdown => ask("markdown").map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        "explain" => bounded(fathom_report::json::line(page.explanation())),
        "contents" => text(&contents(&parsed(&ask("overview")?)?, page.origin_ns())),
        "stack" => text(&parsed(&ask("stack")?)?),
        "samples" => text(&rows::of(&ask("frames")?, page)?),
        "spans" => text(&rows::of(&ask("table")?, page)?),
        other => text(&rows::of(&ask(other)?, page)?),
    }
}

/// The page's parameters for what a tool was given.
fn parameters(tool: &str, arguments: &Value, origin_ns: i64) -> Vec<(String, String)> {
    let mut parameters = vec![("limit".to_owned(), ROWS.to_string()), ("width".to_owned(), ROWS.to_string())];
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let since_origin = || value.as_i64().unwrap_or(i64::MAX).saturating_sub(origin_ns).to_string();
        let plain = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let (name, value) = match (tool, name.as_str()) {
            (_, "from_ns") => ("from", since_origin()),
            (_, "to_ns") => ("to", since_origin()),
            ("samples", "compare") => ("baseline", if value == true { "baseline" } else { "none" }.to_owned()),
            (_, "recording" | "form") => continue,
            (_, name) => (name, plain()),
        };
        parameters.retain(|(known, _)| known != name);
        parameters.push((name.to_owned(), value));
    }
    parameters
}

fn page_answers(shelf: &Shelf, question: &str, parameters: &[(&str, String)]) -> Result<Vec<u8>, String> {
    let pairs = parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let answer = serve::answer(shelf, question, &Query::of(pairs));
    answer.map(|answer| answer.bytes).map_err(|refused| refused.to_string())
}

/// What can be asked, from the page's overview: without what `explain` tells, and without what only pictures need.
fn contents(overview: &Value, origin_ns: i64) -> Value {
    let time = |value: &Value| value.as_i64().map(|time| time.saturating_add(origin_ns));
    let with = |value: &Value, fields: &[&str]| -> Value {
        fields.iter().map(|field| ((*field).to_owned(), value[*field].clone())).collect::<Map<_, _>>().into()
    };
    let list = |name: &str| overview[name].as_array().into_iter().flatten();
    // Requests by time and length are no counter.
    let drawn = list("lanes").filter(|lane| lane["kind"] != "latency");
    let (kinds, lanes): (Vec<&Value>, Vec<&Value>) = drawn.partition(|lane| lane["kind"] == "spans");
    let lane = |lane: &&Value| {
        let mut lane = with(lane, &["id", "title", "unit", "kind", "instances"]);
        lane["instances"].as_array_mut().into_iter().for_each(|instances| instances.truncate(LISTED_MAX));
        lane
    };
    let mut threads: Vec<&Value> = list("threads").collect();
    let did = |thread: &Value| thread["cpu_ns"].as_f64().unwrap_or(0.0) + thread["samples"].as_f64().unwrap_or(0.0);
    threads.sort_by(|a, b| did(b).total_cmp(&did(a)));
    let thread = |thread: &&Value| with(thread, &["index", "tid", "name", "role", "cpu_ns", "samples"]);
    json!({
        "from_ns": time(&overview["from"]),
        "to_ns": time(&overview["to"]),
        "kinds": kinds.iter().map(|kind| with(kind, &["id", "says"])).collect::<Vec<_>>(),
        "events": list("events").map(|event| with(event, &["id", "says", "unit", "samples"])).collect::<Vec<_>>(),
        "lanes": lanes.iter().map(lane).collect::<Vec<_>>(),
        "threads_count": overview["threads_count"],
        "threads": threads.iter().take(LISTED_MAX).map(thread).collect::<Vec<_>>(),
        "facts": list("facts").take(LISTED_MAX).map(|fact| with(fact, &["subject", "key", "value"])).collect::<Vec<_>>(),
        "lines_of_logs": overview["logs"],
    })
}

fn parsed(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("a mistake in fathom: {error}"))
}

fn text(value: &Value) -> Result<String, String> {
    bounded(fathom_report::json::line(value))
}

fn bounded(text: String) -> Result<String, String> {
    let size = text.len();
    if size <= ANSWER_MAX_BYTES { Ok(text) } else { Err(format!("the answer has {size} bytes: ask for fewer rows")) }
}
