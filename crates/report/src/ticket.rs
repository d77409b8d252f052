//! An explanation as Markdown for a ticket: what was slow, why, how sure, what to do.
//!
//! It is pasted into pages of others: names from files are escaped, so that none of them can become markup, a link
//! or a mention there.

use std::fmt::Write;

use fathom_causes::explanation::{CauseVerdict, During, Evidence, Explanation, Verdict};
use jiff::tz::TimeZone;

use crate::clean::shorten;
use crate::text::{machine, sources, verdict_word};
use crate::units;

/// Longer texts are cut in their middle.
const TEXT_MAX_CHARS: usize = 600;

/// At most so many losses and excluded causes are listed.
const LIST_MAX: usize = 12;

/// The explanation as Markdown, times in UTC.
pub fn ticket(explanation: &Explanation) -> String {
    let mut text = String::new();
    // Writing into a text does not fail.
    let _ = write_all(&mut text, explanation);
    text
}

fn write_all(text: &mut String, explanation: &Explanation) -> std::fmt::Result {
    let recording = &explanation.recording;
    let when = units::time_range(recording.from_ns, recording.to_ns, &TimeZone::UTC);
    writeln!(text, "## Why {} was slow\n", safe(&recording.title))?;
    let mut known: Vec<String> = recording.pid.map(|pid| format!("pid {pid}")).into_iter().collect();
    known.extend(machine(recording));
    known.push(format!("{when} UTC"));
    known.push(sources(recording));
    writeln!(text, "{}\n", safe(&known.join(" · ")))?;
    write_slow(text, explanation)?;
    write_causes(text, explanation)?;
    write_rest(text, explanation)
}

fn write_slow(text: &mut String, explanation: &Explanation) -> std::fmt::Result {
    if explanation.slow.is_empty() {
        writeln!(text, "**{}**\n", safe(&explanation.headline.says))?;
    }
    for but in &explanation.headline.but {
        writeln!(text, "**{}**\n", safe(but))?;
    }
    for slow in &explanation.slow {
        let when = units::time_range(slow.from_ns, slow.to_ns, &TimeZone::UTC);
        let length = units::duration(slow.to_ns.saturating_sub(slow.from_ns));
        writeln!(text, "- **slow for {length}**, {when} UTC: {}", safe(&slow.says))?;
    }
    for figure in &explanation.figures {
        writeln!(text, "- {}", measurement(figure))?;
    }
    if !explanation.slow.is_empty() {
        writeln!(text, "- compared with {}", safe(&explanation.baseline.says))?;
    }
    writeln!(text)
}

fn write_causes(text: &mut String, explanation: &Explanation) -> std::fmt::Result {
    let named: Vec<&CauseVerdict> =
        explanation.causes.iter().filter(|cause| cause.verdict <= Verdict::Possible).collect();
    let mut shares: Vec<f64> = named.iter().map(|cause| cause.share).collect();
    shares.push(explanation.unexplained.share);
    let percents = units::whole_percents(&shares);
    for (cause, percent) in named.iter().zip(&percents) {
        writeln!(text, "### {percent} % `{}` ({})\n", cause.id, verdict_word(cause.verdict).1)?;
        if let Some(cost) = &cause.cost {
            writeln!(text, "{}\n", units::cost(cost))?;
        }
        writeln!(text, "{}\n", safe(&cause.says))?;
        for evidence in &cause.evidence {
            writeln!(text, "- {}", measurement(evidence))?;
        }
        for action in &cause.actions {
            writeln!(text, "- do: {}", safe(action))?;
        }
        if !cause.prove.is_empty() {
            writeln!(text, "- prove: `{}`", cause.prove)?;
        }
        writeln!(text)?;
    }
    if explanation.unexplained.share > 0.0 {
        let percent = percents.last().copied().unwrap_or(0);
        writeln!(text, "### {percent} % unexplained\n\n{}\n", safe(&explanation.unexplained.says))?;
    }
    Ok(())
}

/// What was excluded, what could not be decided, and what is missing.
fn write_rest(text: &mut String, explanation: &Explanation) -> std::fmt::Result {
    let with = |verdict: Verdict| explanation.causes.iter().filter(move |cause| cause.verdict == verdict);
    let list = |items: Vec<String>| {
        let more = items.len().saturating_sub(LIST_MAX);
        let shown: Vec<String> = items.into_iter().take(LIST_MAX).collect();
        shown.join(" · ") + &if more > 0 { format!(" · {more} more") } else { String::new() }
    };
    let excluded: Vec<String> =
        with(Verdict::RuledOut).map(|cause| format!("`{}` ({})", cause.id, safe(&cause.says))).collect();
    let untold: Vec<String> = with(Verdict::NotEnough).map(|cause| format!("`{}`", cause.id)).collect();
    let losses: Vec<String> = explanation.losses.iter().map(|loss| safe(&loss.says)).collect();
    let during = with(Verdict::RuledOut).find_map(|cause| cause.during).filter(|_| !explanation.slow.is_empty());
    let when = during.map_or_else(String::new, |During { from_ns, to_ns }| {
        format!(" within the slow time of {} UTC", units::time_range(from_ns, to_ns, &TimeZone::UTC))
    });
    for (what, when, items) in
        [("ruled out", when.as_str(), excluded), ("cannot tell", "", untold), ("losses", "", losses)]
    {
        if !items.is_empty() {
            writeln!(text, "**{what}**{when}: {}\n", list(items))?;
        }
    }
    Ok(())
}

fn measurement(evidence: &Evidence) -> String {
    let value = match evidence.baseline {
        Some(baseline) => units::change(baseline, evidence.value, &evidence.unit),
        None => units::amount(evidence.value, &evidence.unit),
    };
    format!("{}: {value}", safe(&evidence.says))
}

/// Text from a file as text of Markdown: in one line, and nothing in it means anything there.
pub(crate) fn safe(text: &str) -> String {
    let words: Vec<String> = shorten(text, TEXT_MAX_CHARS).split(' ').map(safe_word).collect();
    words.join(" ")
}

fn safe_word(word: &str) -> String {
    if is_made_a_link(word) { code(word) } else { escaped(word) }
}

/// Whether pages make a link of a word without being asked to.
fn is_made_a_link(word: &str) -> bool {
    word.contains("://") || word.to_ascii_lowercase().contains("www.")
}

/// A word as code, in which nothing is a link; escapes and entities are undone before some pages look for links.
fn code(word: &str) -> String {
    let longest = word.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Between the fence and a backtick of the word's own stands a space, which is not shown.
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{word}{space}{fence}")
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            // A mention would notify a person.
            '@' => safe.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => safe.extend(['\\', character]),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup() {
        for (name, expected) in [
            ("plain name", "plain name"),
            ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
            ("[x](y) `b` *c*", "\\[x\\](y) \\`b\\` \\*c\\*"),
            ("[x](http://a) see HTTPS://a.b/c_d", "`[x](http://a)` see `HTTPS://a.b/c_d`"),
            ("www.a.b, (WWW.a.b)", "`www.a.b,` `(WWW.a.b)`"),
            ("`ftp://a``b", "``` `ftp://a``b ```"),
            ("two\nlines\x1b[2J", "two lines\\\\x1b\\[2J"),
            ("@everyone #1", "&#64;everyone \\#1"),
        ] {
            assert_eq!(safe(name), expected);
        }
    }
}
