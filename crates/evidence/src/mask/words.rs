//! Secrets that are known by the name before them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

use super::Context;
use super::names::{is_account, is_harmless, is_secret, is_secret_word};

/// A name and what assigns: `name=`, `"name": `, `name : `, `name%3D`.
static ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?P<name>[\p{L}_][\p{L}\p{N}_.$-]*)(?P<quote>\\?["'])?(?P<sign>\s?=\s?|\s?:\s*|%3[dD]|=>\s?)"#).ok()
});

/// Where a value without quotes ends inside of a list of assignments.
const ENDS: &[char] = &['&', ';', ',', '}', ')', ']', '"', '\'', '<', '>', '`'];

/// A value with blanks in it, between semicolons, is no longer than this.
const LONGEST_BYTES: usize = 512;

/// Words that stand before a secret in its value.
const SCHEMES: &[&str] = &["bearer", "basic", "digest", "token", "negotiate", "apikey", "splunk"];

/// Where such secrets are.
pub(super) fn secrets(text: &str, context: Context) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    if let Some(assignment) = ASSIGNMENT.as_ref() {
        let mut at = 0;
        // A value is not looked at again: it may look like an assignment itself.
        while let Some(captures) = assignment.captures_at(text, at) {
            let value = value_of(text, &captures, context);
            let end = captures.get(0).map_or(text.len(), |all| all.end());
            at = value.as_ref().map_or(end, |value| value.end.max(end));
            found.extend(value);
        }
    }
    found.extend(announced(text, context));
    found
}

/// Where the secret of an assignment is; `None` when it has none.
fn value_of(text: &str, captures: &Captures<'_>, context: Context) -> Option<Range<usize>> {
    let (name, sign) = (captures.name("name")?, captures.name("sign")?);
    let rest = &text[sign.end()..];
    let called = called(text, name);
    if is_account(called)
        && sign.as_str().trim() == "="
        && let Some(behind) = behind_account(rest)
    {
        return (!is_harmless(&rest[behind.clone()])).then(|| sign.end() + behind.start..sign.end() + behind.end);
    }
    let is_colon = sign.as_str().contains(':');
    let is_tight = is_colon && sign.as_str().ends_with(':') && captures.name("quote").is_none();
    // Hosts with ports, lists of files and addresses have colons too.
    let is_no_value = rest.starts_with('/') || port(rest) || !is_secret_word(called);
    if !is_secret(called) || is_tight && is_no_value {
        return None;
    }
    let from = sign.end();
    let length = length_of(text, name.start(), from, context);
    (length > 0 && !is_harmless(&text[from..from + length])).then(|| from..from + length)
}

/// A name without the option of the JVM that may stand before it.
fn called<'t>(text: &str, name: Match<'t>) -> &'t str {
    let is_property = text[..name.start()].ends_with('-');
    name.as_str().strip_prefix('D').filter(|_| is_property).unwrap_or(name.as_str())
}

/// What stands behind the name of an account in its value: `me:SECRET`, `me/SECRET`, but no port, path or address.
fn behind_account(rest: &str) -> Option<Range<usize>> {
    let end = rest.find(|c: char| c.is_whitespace() || ENDS.contains(&c)).unwrap_or(rest.len());
    let value = &rest[..end];
    let sign = value.find([':', '/']).filter(|sign| *sign > 0)?;
    let behind = &value[sign + 1..];
    let is_other = behind.is_empty() || behind.starts_with('/') || port(behind) && behind.len() <= 5;
    (!is_other).then_some(sign + 1..end)
}

fn port(rest: &str) -> bool {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (1..=5).contains(&digits) && !rest[digits..].starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// How long the value at `from` is, whose name begins at `name`.
fn length_of(text: &str, name: usize, from: usize, context: Context) -> usize {
    let rest = &text[from..];
    if let Some(quoted) = quoted(rest) {
        return quoted;
    }
    let before = text[..name].trim_end_matches('-').chars().next_back();
    // The name may be that of an option: -Dname, --name, name.
    let is_own_word = text[..name].trim_end_matches('-').is_empty() || before.is_some_and(char::is_whitespace);
    let blank = rest.find(char::is_whitespace).unwrap_or(rest.len());
    // Looked for no further than a value may be long: a text may be nothing but secrets.
    let near = &rest[..rest.floor_char_boundary(rest.len().min(blank.max(LONGEST_BYTES)))];
    let end = near.find(ENDS).unwrap_or(near.len());
    if before == Some(';') && end > blank && rest[end..].starts_with(';') && !rest[..end].contains('=') {
        return end;
    }
    match is_own_word || blank < end {
        true => with_what_follows(rest, blank, context),
        false => end.min(blank),
    }
}

/// The length of what stands between quotes at the start, with them; also of quotes that are escaped.
fn quoted(rest: &str) -> Option<usize> {
    let open = ["\\\"", "\\'", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote))?;
    let mut at = open.len();
    loop {
        let found = rest[at..].find(open).map(|found| at + found);
        match found {
            // An escaped quote inside does not end it.
            Some(found) if open.len() == 1 && rest[..found].ends_with('\\') => at = found + 1,
            Some(found) => return Some(found + open.len()),
            None => return Some(rest.len()),
        }
    }
}

/// The length with the words that follow and are no option, no assignment, no file and no class.
fn with_what_follows(rest: &str, first: usize, context: Context) -> usize {
    let mut end = first;
    let is_scheme = SCHEMES.contains(&rest[..first].to_ascii_lowercase().as_str());
    for (number, word) in words(&rest[first..]).enumerate() {
        let range = first + word.start..first + word.end;
        let text = &rest[range.clone()];
        let is_part = match context {
            Context::Options => !text.starts_with('-'),
            Context::Text => is_scheme && number == 0 || !text.starts_with('-') && !text.contains(['=', '/', '.']),
        };
        if !is_part {
            break;
        }
        end = range.end;
    }
    end
}

/// Secrets that are the word after an option.
fn announced(text: &str, context: Context) -> Vec<Range<usize>> {
    let all: Vec<Range<usize>> = words(text).collect();
    let mut found = Vec::new();
    for (index, option) in all.iter().enumerate() {
        let next = |number: usize| all.get(index + number).map(|word| (word.start, &text[word.clone()]));
        let Some((start, value)) = next(1) else { break };
        let option = &text[option.clone()];
        let is_secret_value = !value.starts_with('-') && !is_harmless(value);
        // To the launcher of Java -p is where modules are.
        let is_modules = context == Context::Options
            || next(2).is_some_and(|(_, word)| word.starts_with("-m") || word.starts_with("--"));
        let is_short = matches!(option, "-p" | "-P") && !is_modules && !port(value) && !value.contains(['/', '.']);
        if is_secret_value && (announces_a_secret(option) || is_short) {
            let rest = &text[start..];
            found.push(
                start..start + quoted(rest).unwrap_or_else(|| with_what_follows(rest, value.len(), Context::Text)),
            );
        }
    }
    found
}

/// Whether what follows this argument is a secret.
pub(super) fn announces_a_secret(option: &str) -> bool {
    option.starts_with('-') && !option.contains(['=', ':']) && is_secret(option)
}

/// What stands between blanks.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(|c: char| !c.is_whitespace())?;
        at = start + text[start..].find(char::is_whitespace).unwrap_or(text.len() - start);
        Some(start..at)
    })
}
