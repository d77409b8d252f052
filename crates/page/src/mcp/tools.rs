//! The tools: what each is for, which arguments it takes, and whether the given arguments are valid.

use serde_json::{Map, Value, json};

/// Rows that a tool gives at once: an assistant reads all of them.
pub(crate) const ROWS_MAX: u64 = 200;
const ID_MAX: u64 = u32::MAX as u64;

/// Something to ask.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    title: &'static str,
    says: &'static str,
    takes: &'static [Argument],
}

/// Something that a tool takes.
#[derive(Debug)]
struct Argument {
    name: &'static str,
    kind: Kind,
    is_needed: bool,
    says: &'static str,
}

/// What an argument looks like.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A whole number up to this.
    Count(u64),
    /// Nanoseconds since the Unix epoch.
    Time,
    Text,
    Flag,
    OneOf(&'static [&'static str]),
}

const RECORDING: Argument = Argument {
    name: "recording",
    kind: Kind::Count(ID_MAX),
    is_needed: true,
    says: "id of a recording, from `recordings`",
};
const FROM: Argument = may("from_ns", Kind::Time, "beginning, as in explain; default: of the recording");
const TO: Argument = may("to_ns", Kind::Time, "end, not included");
const FIND: Argument = may("find", Kind::Text, "rows in which this text stands, whatever the case");
const LIMIT: Argument = may("limit", Kind::Count(ROWS_MAX), "rows, default 50");
const OFFSET: Argument = may("offset", Kind::Count(ID_MAX), "rows to skip");
const THREADS: Argument = may("threads", Kind::Text, "indices of threads from `contents`, such as 0-5,9; default: all");

const fn must(name: &'static str, kind: Kind, says: &'static str) -> Argument {
    Argument { name, kind, is_needed: true, says }
}

const fn may(name: &'static str, kind: Kind, says: &'static str) -> Argument {
    Argument { name, kind, is_needed: false, says }
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "recordings",
        title: "List recordings",
        says: "The recordings that can be asked about, with their ids; of those that were explained the headline and first cause.",
        takes: &[],
    },
    Tool {
        name: "explain",
        title: "Why was it slow",
        says: "Headline, slow intervals, the causes that were found with verdict (shown, likely, possible), share of the lost \
               time, measurements and what to do; which causes are ruled_out, and from when to when; which cannot be told, and \
               the command that would tell most. `cause` has all that is known of one; form=json everything (docs/json.md).",
        takes: &[
            RECORDING,
            may("cause", Kind::Text, "id of a cause: why it is ruled out, what is missing, every measurement"),
            may("form", Kind::OneOf(&["short", "json", "markdown"]), "default: short; markdown is for a ticket"),
        ],
    },
    Tool {
        name: "contents",
        title: "What a recording holds",
        says: "Names that the other tools take: kinds of spans, events of samples, lanes of counters, threads that did most.",
        takes: &[
            RECORDING,
            may(
                "part",
                Kind::OneOf(&["kinds", "events", "lanes", "threads", "facts"]),
                "all of these with what they mean; of threads (those that did most), facts and instances of a lane the first 50",
            ),
        ],
    },
    Tool {
        name: "spans",
        title: "Things that took time",
        says: "Rows of pauses, waits, compilations, faults, requests: the longest first. `total` counts all that match, without \
               `idle_left_out`, the waits of threads that seemed to have nothing to do: `idle` shows them.",
        takes: &[
            RECORDING,
            may("kinds", Kind::Text, "kinds from `contents`, separated by commas; default: all"),
            FROM,
            TO,
            THREADS,
            FIND,
            may("sort", Kind::OneOf(&["duration", "time", "name", "thread"]), "default: duration"),
            may("order", Kind::OneOf(&["desc", "asc"]), "default: desc"),
            may("idle", Kind::Flag, "also waits of threads that seemed to have nothing to do; default: false"),
            LIMIT,
            OFFSET,
        ],
    },
    Tool {
        name: "samples",
        title: "Hottest frames",
        says: "Frames by their samples: own weight, weight with what they call, and both in the baseline if `compare`.",
        takes: &[
            RECORDING,
            may("event", Kind::Text, "event from `contents`; default: the first"),
            FROM,
            TO,
            THREADS,
            may("compare", Kind::Flag, "beside what the slow time was compared with, scaled to the same duration"),
            may("sort", Kind::OneOf(&["self", "total", "growth"]), "default: self"),
            LIMIT,
        ],
    },
    Tool {
        name: "counter",
        title: "A number over time",
        says: "Least, greatest and last value of one counter in each of `width` parts of the time.",
        takes: &[
            RECORDING,
            must("lane", Kind::Text, "id of a lane from `contents`"),
            may("instance", Kind::Text, "which, where the lane has several"),
            FROM,
            TO,
            may("width", Kind::Count(ROWS_MAX), "parts, default 50"),
        ],
    },
    Tool {
        name: "stack",
        title: "Frames of a stack",
        says: "The frames of a stack that a row of `spans` names, the leaf first.",
        takes: &[RECORDING, must("id", Kind::Count(ID_MAX), "`stack` or `kernel_stack` of a row")],
    },
    Tool {
        name: "log",
        title: "Lines of logs",
        says: "Lines of GC logs and others that came with the recording, by time.",
        takes: &[RECORDING, FROM, TO, FIND, LIMIT, OFFSET],
    },
    Tool {
        name: "compare",
        title: "Two recordings side by side",
        says: "Headlines, figures and shares of causes of two recordings, such as before and after a change.",
        takes: &[
            must("a", Kind::Count(ID_MAX), "id of a recording"),
            must("b", Kind::Count(ID_MAX), "id of the other"),
        ],
    },
];

/// The names of all tools.
pub(crate) fn names() -> String {
    TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ")
}

/// The tool with a name.
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// All tools, as a client wants to know them.
pub(crate) fn list() -> Vec<Value> {
    TOOLS.iter().map(Tool::described).collect()
}

impl Tool {
    fn described(&self) -> Value {
        let properties: Map<String, Value> =
            self.takes.iter().map(|argument| (argument.name.to_owned(), argument.schema())).collect();
        let needed: Vec<&str> = self.takes.iter().filter(|argument| argument.is_needed).map(|it| it.name).collect();
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.says,
            "inputSchema": {
                "type": "object", "properties": properties, "required": needed, "additionalProperties": false,
            },
            "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false },
        })
    }
}

impl Argument {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Count(max) => json!({ "type": "integer", "minimum": 0, "maximum": max }),
            Kind::Time => json!({ "type": "integer" }),
            Kind::Text => json!({ "type": "string" }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::OneOf(words) => json!({ "type": "string", "enum": words }),
        };
        schema["description"] = self.says.into();
        schema
    }

    fn is(&self, value: &Value) -> bool {
        match self.kind {
            Kind::Count(max) => value.as_u64().is_some_and(|number| number <= max),
            Kind::Time => value.is_i64() || value.is_u64(),
            Kind::Text => value.is_string(),
            Kind::Flag => value.is_boolean(),
            Kind::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        }
    }

    fn expected(&self) -> String {
        match self.kind {
            Kind::Count(max) => format!("a whole number up to {max}"),
            Kind::Time => "nanoseconds since the Unix epoch, a whole number".to_owned(),
            Kind::Text => "a text".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::OneOf(words) => words.join(" or "),
        }
    }
}

/// Whether `arguments` are what a tool takes; else what is wrong, in one line.
pub(crate) fn checked(tool: &Tool, arguments: &Value) -> Result<(), String> {
    let Some(given) = arguments.as_object() else { return Err("arguments are an object".to_owned()) };
    let names = || tool.takes.iter().map(|argument| argument.name).collect::<Vec<_>>().join(", ");
    for (name, value) in given {
        let Some(argument) = tool.takes.iter().find(|argument| argument.name == name) else {
            return Err(format!("no argument {name}: {} takes {}", tool.name, names()));
        };
        if !argument.is(value) {
            return Err(format!("{name}: expected {}", argument.expected()));
        }
    }
    match tool.takes.iter().find(|argument| argument.is_needed && !given.contains_key(argument.name)) {
        Some(missing) => Err(format!("{} is missing: {}", missing.name, missing.says)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_or_refused_in_one_line() {
        let spans = find("spans").unwrap();
        for (arguments, expected) in [
            (json!({ "recording": 0 }), Ok(())),
            (json!({ "recording": 0, "from_ns": 1_800_000_000_000_000_000_i64, "sort": "time", "limit": 200 }), Ok(())),
            (json!({}), Err("recording is missing")),
            (json!({ "recording": "first" }), Err("recording: expected a whole number")),
            (json!({ "recording": 0, "limit": 100_000 }), Err("limit: expected a whole number up to 200")),
            (json!({ "recording": 0, "sort": "size" }), Err("sort: expected duration or time")),
            (json!({ "recording": 0, "where": "x" }), Err("no argument where: spans takes recording, kinds")),
            (json!([]), Err("arguments are an object")),
        ] {
            match (checked(spans, &arguments), expected) {
                (Ok(()), Ok(())) => {}
                (Err(says), Err(begin)) => assert!(says.starts_with(begin) && !says.contains('\n'), "{says}"),
                (got, expected) => panic!("{arguments}: {got:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn every_tool_only_reads_and_says_what_it_takes() {
        for tool in list() {
            assert_eq!(tool["annotations"]["readOnlyHint"], true);
            let needed = tool["inputSchema"]["required"].as_array().unwrap();
            let known = tool["inputSchema"]["properties"].as_object().unwrap();
            assert!(needed.iter().all(|name| known.contains_key(name.as_str().unwrap())));
            assert!(known.values().all(|schema| !schema["description"].as_str().unwrap().is_empty()));
        }
    }
}
