//! JSON for other programs; `docs/json.md` describes every field.
//!
//! Control characters are written as escapes even where JSON would allow them raw, so that a name
//! from a file cannot steer the terminal that the JSON is looked at with.

use fathom_causes::explanation::{Explanation, SCHEMA};
use serde::Serialize;

use crate::clean::steers;

/// Several explanations in one answer.
#[derive(Debug, Serialize)]
struct AllOf<'a> {
    schema: u32,
    explanations: &'a [Explanation],
}

/// One explanation as the object of version [`SCHEMA`]; any other number of them as
/// `{"schema": …, "explanations": […]}`.
pub fn explanations(explanations: &[Explanation]) -> String {
    match explanations {
        [one] => pretty(one),
        several => pretty(&AllOf { schema: SCHEMA, explanations: several }),
    }
}

/// What [`explanations`] writes of several, as they come: of a folder there may be thousands, and none is kept for the others.
#[derive(Debug, Default)]
pub struct Several {
    /// The first, until it is known whether it is the only one.
    first: Option<String>,
    is_open: bool,
}

impl Several {
    /// What can be written with this one.
    pub fn add(&mut self, explanation: &Explanation) -> String {
        let next = pretty(explanation);
        match (self.is_open, self.first.take()) {
            (true, _) => format!(",\n{}", within(&next)),
            (false, None) => {
                self.first = Some(next);
                String::new()
            }
            (false, Some(first)) => {
                self.is_open = true;
                let begin = format!("{{\n  \"schema\": {SCHEMA},\n  \"explanations\": [\n");
                format!("{begin}{},\n{}", within(&first), within(&next))
            }
        }
    }

    /// What remains to be written.
    pub fn end(self) -> String {
        match self.first {
            Some(only) => only,
            None if self.is_open => "\n  ]\n}\n".to_owned(),
            None => explanations(&[]),
        }
    }
}

/// A value as it is indented in the list of several.
fn within(pretty: &str) -> String {
    pretty.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Any value, indented, with a line break at the end.
pub fn pretty(value: &impl Serialize) -> String {
    let mut text = tame(serde_json::to_string_pretty(value));
    text.push('\n');
    text
}

/// Any value in one line, without a line break.
pub fn line(value: &impl Serialize) -> String {
    tame(serde_json::to_string(value))
}

fn tame(written: serde_json::Result<String>) -> String {
    // Serialising fails only for maps whose keys are not text, which no answer has.
    let raw = written.unwrap_or_else(|error| format!("{{\"error\": {error:?}}}"));
    let mut text = String::with_capacity(raw.len() + 1);
    for character in raw.chars() {
        match character {
            '\n' => text.push('\n'),
            c if steers(c) => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                text.push_str(&format!("\\u{unit:04x}"));
            }),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_but_do_not_steer() {
        let name = "a\x1b[31m\u{9b}2J\u{202e}\u{e0041}\"\\\n名";
        let text = pretty(&[name]);
        assert!(!text.chars().any(|c| c != '\n' && steers(c)), "{text}");
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, [name]);
        assert_eq!(line(&["a\nb", "\u{202e}"]), r#"["a\nb","\u202e"]"#);
    }
}
