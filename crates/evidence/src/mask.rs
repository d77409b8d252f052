//! Keeps secrets out of recordings: passwords, tokens and keys in properties, variables and command lines.
//!
//! A secret is known by the name before it (`dbPwd=`, `--token X`, `"secret": "x"`, `Authorization: Bearer x`), by the place
//! it stands in (`scheme://user:X@host`, `-u user:X`), by the form that its issuer gave it (AWS, JWT, PEM, GitHub), or because
//! it looks like nothing that a person would write. What is masked too much costs a reader a word; what is masked too
//! little is in a ticket for everybody to read. Of properties that are not the JDK's own only plain values are shown.

mod forms;
mod names;
mod plain;
mod signs;
mod threads;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Value};

pub use threads::{keep_thread_names, thread_name};

/// What stands in place of a secret.
pub const MASK: &str = "[masked]";

/// What follows a secret in a text without quotes may still be a part of it. How far it goes depends on the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// Options only: each begins with a dash, and what does not belongs to the one before.
    Options,
    /// A main class and what is said to it, or any other text.
    Text,
}

/// The value of the property or variable `name`, or the mask.
pub fn value<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    if value.is_empty() || names::is_harmless(value) {
        return Cow::Borrowed(value);
    }
    match names::is_secret(name) || !(names::is_of_the_jdk(name) || plain::is_plain(value)) {
        true => Cow::Borrowed(MASK),
        false => command_line(value),
    }
}

/// The value of something that is called `name`, masked if its name or its text shows that it is a secret.
pub fn flag<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    command_line(unless_secret(name, value))
}

/// The value, or the mask where the name alone shows that it is a secret.
pub(crate) fn unless_secret<'a>(name: &str, value: &'a str) -> &'a str {
    if names::is_secret(name) && !names::is_harmless(value) { MASK } else { value }
}

/// Any text of a recording. The values of a JSON object, which details of spans are, are looked at one by one: in its text the
/// quotes of one value would hide what is inside of it.
pub fn text(text: &str) -> Cow<'_, str> {
    if !text.starts_with('{') || !signs::may_hold_a_secret(text) {
        return command_line(text);
    }
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(mut object) => match mask_object(&mut object) {
            true => Cow::Owned(Value::Object(object).to_string()),
            false => Cow::Borrowed(text),
        },
        Err(_) => command_line(text),
    }
}

/// Whether anything in it had to be masked.
fn mask_object(object: &mut Map<String, Value>) -> bool {
    object.iter_mut().fold(false, |is_masked, (name, value)| mask_value(name, value) | is_masked)
}

fn mask_value(name: &str, value: &mut Value) -> bool {
    match value {
        Value::String(text) => match flag(name, text) {
            Cow::Borrowed(same) if same.len() == text.len() => false,
            masked => {
                *text = masked.into_owned();
                true
            }
        },
        Value::Array(all) => all.iter_mut().fold(false, |is_masked, one| mask_value(name, one) | is_masked),
        Value::Object(object) => mask_object(object),
        _ => false,
    }
}

/// A command line, or any other text, whose secrets are masked.
pub fn command_line(line: &str) -> Cow<'_, str> {
    masked(line, Context::Text)
}

/// Options of a JVM as it prints them itself, with blanks between them: a value that has blanks reaches to the next option.
pub fn options(line: &str) -> Cow<'_, str> {
    masked(line, Context::Options)
}

/// Arguments as they were given, one by one.
pub fn arguments<T: AsRef<str>>(arguments: &[T]) -> String {
    let mut line = String::new();
    let mut is_secret_next = false;
    for argument in arguments {
        let argument = argument.as_ref();
        let is_secret = is_secret_next && !argument.starts_with('-');
        is_secret_next = words::announces_a_secret(argument);
        line.push_str(if line.is_empty() { "" } else { " " });
        // In an argument of its own a value ends where the argument does.
        let whole =
            names::assigned(argument).filter(|(name, value)| names::is_secret(name) && !names::is_harmless(value));
        match whole {
            _ if is_secret => line.push_str(MASK),
            Some((name, _)) if !argument.contains("://") => line.extend([name, "=", MASK]),
            _ => line.push_str(&command_line(argument)),
        }
    }
    line
}

fn masked(text: &str, context: Context) -> Cow<'_, str> {
    if !signs::may_hold_a_secret(text) {
        return Cow::Borrowed(text);
    }
    let mut secrets = forms::secrets(text);
    secrets.extend(words::secrets(text, context));
    match secrets.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(without(text, secrets)),
    }
}

/// The text with the mask in place of the ranges, which may overlap.
fn without(text: &str, mut secrets: Vec<Range<usize>>) -> String {
    secrets.sort_by_key(|secret| secret.start);
    let mut masked = String::with_capacity(text.len());
    let mut copied = 0;
    for secret in secrets {
        if secret.end <= copied {
            continue;
        }
        if secret.start >= copied {
            masked += &text[copied..secret.start];
            masked += MASK;
        }
        copied = secret.end;
    }
    masked + &text[copied..]
}
