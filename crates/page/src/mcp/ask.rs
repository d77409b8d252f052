//! Turns tools into the page's questions, and the answers into text.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fathom_report::clean::shorten;
use serde_json::{Value, json};

use super::{brief, rows};
use crate::model::{self, Others};
use crate::refused::Refused;
use crate::serve::{self, Shelf};
use crate::{Loaded, Query};

const ROWS: u64 = 50;
/// What a model can read at all is some hundred kilobytes.
const ANSWER_MAX_BYTES: usize = 1 << 20;
/// Threads, facts and instances of counters that are listed; there may be ten thousands.
const LISTED_MAX: usize = 50;
/// Recordings that are explained for the list of them: as many as stay in memory.
const EXPLAINED_MAX: usize = 3;
/// Names that a refusal says would be right.
const NAMED_MAX: usize = 12;

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
        let shelf = self.shelf()?;
        if shelf.len() <= EXPLAINED_MAX {
            shelf.look_into_all(|| true);
        }
        page_answers(shelf, "recordings", &[]).and_then(|bytes| text(&brief::without_nulls(parsed(&bytes)?)))
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
        let page = shelf.recording(recording).map_err(|refused| of_shelf(&refused, shelf))?;
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
    let ask = |question: &str| {
        let query = Query::of(parameters(tool, arguments, page.origin_ns()));
        let answer = model::answer(page, question, &query, others).map(|answer| answer.bytes);
        answer.map_err(|refused| with_what_there_is(&refused, page, arguments))
    };
    match tool {
        "explain" => explain(page, arguments, || ask("markdown")),
        "contents" => contents(page, &parsed(&ask("overview")?)?, arguments),
        "stack" => text(&parsed(&ask("stack")?)?),
        "samples" => text(&rows::of(&ask("frames")?, page)?),
        "spans" => {
            has_kinds(page, arguments)?;
            text(&rows::of(&ask("table")?, page)?)
        }
        other => text(&rows::of(&ask(other)?, page)?),
    }
}

/// The first answer, all that is known of one cause, or everything.
fn explain(
    page: &Loaded,
    arguments: &Value,
    markdown: impl FnOnce() -> Result<Vec<u8>, String>,
) -> Result<String, String> {
    let explanation = page.explanation();
    if let Some(id) = arguments.get("cause").and_then(Value::as_str) {
        let cause = explanation.causes.iter().find(|cause| cause.id == id);
        let ids = || explanation.causes.iter().map(|cause| cause.id.as_str());
        return match cause {
            Some(cause) => bounded(fathom_report::json::line(cause)),
            None => Err(format!(
                "no cause {}: there are {}",
                shorten(id, NAME_MAX_CHARS),
                ids().collect::<Vec<_>>().join(", ")
            )),
        };
    }
    match arguments.get("form").and_then(Value::as_str) {
        Some("markdown") => markdown().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        Some("json") => bounded(fathom_report::json::line(explanation)),
        _ => text(&brief::explanation(explanation)),
    }
}

/// The names of what can be asked about, or all of one kind with what they mean.
fn contents(page: &Loaded, overview: &Value, arguments: &Value) -> Result<String, String> {
    let whole = whole_contents(overview, page.origin_ns());
    match arguments.get("part").and_then(Value::as_str) {
        Some(part) => text(&brief::part(&whole, part)),
        None => text(&brief::contents(&whole)),
    }
}

/// Kinds of which none is there would be an answer without rows.
fn has_kinds(page: &Loaded, arguments: &Value) -> Result<(), String> {
    let kinds = arguments.get("kinds").and_then(Value::as_str).unwrap_or_default();
    let there: Vec<&str> = page.spans.kinds.iter().map(|kind| kind.word.as_str()).collect();
    let mut named = kinds.split(',').filter(|word| !word.is_empty()).peekable();
    if named.peek().is_none() || named.any(|word| word == "all" || there.contains(&word)) {
        return Ok(());
    }
    Err(format!("no spans of {}: there are {}", shorten(kinds, NAME_MAX_CHARS), listed(&there)))
}

/// Longest name of an argument's value that is repeated, in characters.
const NAME_MAX_CHARS: usize = 60;

/// A refusal, with the names that would have been right.
fn with_what_there_is(refused: &Refused, page: &Loaded, arguments: &Value) -> String {
    let lane = || page.lanes.iter().find(|lane| arguments.get("lane").is_some_and(|id| *id == *lane.id));
    let there: Vec<&str> = match refused {
        Refused::NotThere { what: "event", .. } => page.events.iter().map(|event| event.word.as_str()).collect(),
        Refused::NotThere { what: "lane", .. } => page.lanes.iter().map(|lane| lane.id.as_str()).collect(),
        Refused::NotThere { what: "instance", .. } => {
            lane().into_iter().flat_map(|lane| &lane.instances).map(|instance| instance.name.as_str()).collect()
        }
        _ => Vec::new(),
    };
    if there.is_empty() { refused.to_string() } else { format!("{refused}: there are {}", listed(&there)) }
}

/// A refusal that is not about one recording.
fn of_shelf(refused: &Refused, shelf: &Shelf) -> String {
    match refused {
        Refused::NotThere { what: "recording", .. } => {
            format!("{refused}: `recordings` lists them, {} in all, the first is 0", shelf.len())
        }
        _ => refused.to_string(),
    }
}

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more, see `contents`"),
    }
}

/// The page's parameters for what a tool was given.
fn parameters(tool: &str, arguments: &Value, origin_ns: i64) -> Vec<(String, String)> {
    let defaults = [("limit", ROWS.to_string()), ("width", ROWS.to_string()), ("without_idle", "1".to_owned())];
    let mut parameters: Vec<(String, String)> = defaults.map(|(name, value)| (name.to_owned(), value)).into();
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let since_origin = || value.as_i64().unwrap_or(i64::MAX).saturating_sub(origin_ns).to_string();
        let plain = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let (name, value) = match (tool, name.as_str()) {
            (_, "from_ns") => ("from", since_origin()),
            (_, "to_ns") => ("to", since_origin()),
            ("samples", "compare") => ("baseline", if value == true { "baseline" } else { "none" }.to_owned()),
            ("spans", "idle") => ("without_idle", u8::from(value != true).to_string()),
            (_, "recording" | "form" | "cause" | "part") => continue,
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
    answer.map(|answer| answer.bytes).map_err(|refused| of_shelf(&refused, shelf))
}

/// What can be asked, from the page's overview: without what `explain` tells, and without what only pictures need.
fn whole_contents(overview: &Value, origin_ns: i64) -> Value {
    let time = |value: &Value| value.as_i64().map(|time| time.saturating_add(origin_ns));
    let list = |name: &str| overview[name].as_array().into_iter().flatten();
    // Requests by time and length are no counter.
    let drawn = list("lanes").filter(|lane| lane["kind"] != "latency");
    let (kinds, lanes): (Vec<&Value>, Vec<&Value>) = drawn.partition(|lane| lane["kind"] == "spans");
    let lane = |lane: &&Value| {
        let mut lane = brief::of(lane, &["id", "title", "unit", "kind", "instances"]);
        lane["instances"].as_array_mut().into_iter().for_each(|instances| instances.truncate(LISTED_MAX));
        lane
    };
    let mut threads: Vec<&Value> = list("threads").collect();
    let did = |thread: &Value| thread["cpu_ns"].as_f64().unwrap_or(0.0) + thread["samples"].as_f64().unwrap_or(0.0);
    threads.sort_by(|a, b| did(b).total_cmp(&did(a)));
    let thread = |thread: &&Value| brief::of(thread, &["index", "tid", "name", "role", "cpu_ns", "samples"]);
    json!({
        "from_ns": time(&overview["from"]),
        "to_ns": time(&overview["to"]),
        "kinds": kinds.iter().map(|kind| brief::of(kind, &["id", "says"])).collect::<Vec<_>>(),
        "events": list("events").map(|event| brief::of(event, &["id", "says", "unit", "samples"])).collect::<Vec<_>>(),
        "lanes": lanes.iter().map(lane).collect::<Vec<_>>(),
        "threads_count": overview["threads_count"],
        "threads": threads.iter().take(LISTED_MAX).map(thread).collect::<Vec<_>>(),
        "facts_count": list("facts").count(),
        "facts": list("facts").take(LISTED_MAX).map(|fact| brief::of(fact, &["subject", "key", "value"])).collect::<Vec<_>>(),
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
