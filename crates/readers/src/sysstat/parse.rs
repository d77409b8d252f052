//! Lines of sysstat's tables. Knows no evidence.

use crate::columns::{all_words, number, words};
use crate::lines;
use crate::sysstat::times::of_day;

/// How many lines may stand before the first line of the tool.
const LINES_BEFORE: usize = 3;

/// A line.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// `Linux 6.18.44 (host)  2026-11-27  _x86_64_ (2 CPU)`: date and CPUs.
    First(&'a [u8], usize),
    /// What may be a time, so many words, and names of columns.
    Heading(Vec<&'a [u8]>, usize),
    /// What may be a time, and values.
    Row(Vec<&'a [u8]>),
    /// Averages at the end, blank lines, restarts.
    Nothing,
}

/// Whether a file that begins with `head` has tables of sysstat.
pub(super) fn is_tables(head: &[u8]) -> bool {
    let lines = lines::of_head(head).filter(|line| !line.trim_ascii().is_empty()).take(LINES_BEFORE);
    lines.into_iter().any(|text| first(text).is_some() || is_heading_of_iostat(text))
}

/// Whether a line is a heading that only iostat has: a file may be the end of a longer one, and begin without the first line.
fn is_heading_of_iostat(text: &[u8]) -> bool {
    let all = all_words(text);
    let has = |word: &[u8]| all.contains(&word);
    all.first() == Some(&&b"avg-cpu:"[..]) && has(b"%iowait") || has(b"%util") && (has(b"r/s") || has(b"rkB/s"))
}

/// Reads a line.
pub(super) fn line(text: &[u8]) -> Line<'_> {
    if let Some(line) = first(text) {
        return line;
    }
    // pidstat -h marks its heading.
    let mut all = all_words(text);
    if all.first().is_some_and(|word| *word == b"#") {
        all.remove(0);
    }
    match all.first() {
        None => Line::Nothing,
        // In every language the averages begin with a word and a colon.
        Some(first) if first.ends_with(b":") && *first != b"avg-cpu:" && *first != b"Device:" => Line::Nothing,
        Some(_) => match names_from(&all) {
            Some(taken) => Line::Heading(all, taken),
            None => Line::Row(all),
        },
    }
}

fn first(text: &[u8]) -> Option<Line<'_>> {
    let text = text.trim_ascii_start();
    text.starts_with(b"Linux ").then_some(())?;
    let all: Vec<&[u8]> = words(text).collect();
    let at = all.iter().position(|word| word.starts_with(b"(") && word.len() > 1 && word[1].is_ascii_digit())?;
    (all.get(at + 1)?.starts_with(b"CPU")).then_some(())?;
    let cpus = number(&all[at][1..])? as usize;
    Some(Line::First(all.get(at.checked_sub(2)?)?, cpus))
}

/// How many words stand before the names of a heading, if a line is one.
fn names_from(all: &[&[u8]]) -> Option<usize> {
    let taken = match all {
        [time, half, ..] if (*half == b"AM" || *half == b"PM") && of_day(time, None).is_some() => 2,
        [time, ..] if of_day(time, None).is_some() => 1,
        [time, ..] if *time == b"Time" => 1,
        _ => 0,
    };
    let names = &all[taken..];
    let is_named = names.len() > 1 && names.iter().all(|word| number(word).is_none() && *word != b"-");
    // A row of a table without numbers there is none, but of a thread whose columns are all texts.
    let is_known = |word: &&[u8]| KEYS.contains(word) || word.starts_with(b"%") || word.ends_with(b"/s");
    (is_named && names.iter().any(is_known)).then_some(taken)
}

/// Columns that headings have.
const KEYS: &[&[u8]] = &[
    b"CPU",
    b"DEV",
    b"Device",
    b"Device:",
    b"avg-cpu:",
    b"UID",
    b"PID",
    b"runq-sz",
    b"kbmemfree",
    b"IFACE",
    b"TTY",
    b"INTR",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_tools() {
        let kind = |text: &str| match line(text.as_bytes()) {
            Line::First(date, cpus) => format!("{} {cpus}", String::from_utf8_lossy(date)),
            Line::Heading(words, taken) => format!("heading of {} after {taken}", words.len() - taken),
            Line::Row(values) => format!("row of {}", values.len()),
            Line::Nothing => "nothing".to_owned(),
        };
        for (text, expected) in [
            ("Linux 6.18.44-fc-v595 (vm) \t2026-11-27 \t_x86_64_\t(2 CPU)", "2026-11-27 2"),
            ("15:57:14     CPU    %usr   %nice", "heading of 3 after 1"),
            ("03:57:14 PM     CPU    %usr   %nice", "heading of 3 after 2"),
            ("15:57:15     all   47.00   42.50", "row of 4"),
            ("avg-cpu:  %user   %nice %system %iowait  %steal   %idle", "heading of 7 after 0"),
            ("          66.36    1.09    9.42    0.46    0.12   22.55", "row of 6"),
            ("Device            r/s     rkB/s", "heading of 3 after 0"),
            ("# Time        UID      TGID       TID    %usr", "heading of 4 after 1"),
            ("15:57:15        0     22637         -    6.93", "row of 5"),
            ("2026-11-27T15:57:14+0000", "row of 1"),
            ("Average:        CPU     %user", "nothing"),
            ("Durchschn.:     CPU     %user", "nothing"),
            ("", "nothing"),
            (" # ", "nothing"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
