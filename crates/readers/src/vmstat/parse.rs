//! Lines of vmstat. Knows no evidence.

use crate::columns::{Columns, all_words};
use crate::cursor::Cursor;
use crate::lines;
use crate::time::IsoTimes;

/// A heading has these columns in every release, from `r` on.
const ALWAYS: &[&str] = &["r", "b", "swpd", "free", "si", "so", "in", "cs", "us", "sy", "id", "wa"];

/// How many lines may stand before the heading.
const LINES_BEFORE: usize = 5;

/// No time is longer.
const TIME_MAX_BYTES: usize = 64;

/// A line.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// Names of columns, and the zone if times follow.
    Heading(Columns, Option<String>),
    /// Values, and the time.
    Row(Vec<&'a [u8]>, Option<i64>),
    /// `procs ----memory----`, which stands above the heading.
    Title,
    Other,
}

/// Whether a file that begins with `head` is a table of vmstat.
pub(super) fn is_vmstat(head: &[u8]) -> bool {
    let mut lines = lines::of_head(head).filter(|line| !line.trim_ascii().is_empty()).take(LINES_BEFORE);
    lines.any(|text| matches!(line(text, &mut IsoTimes::default()), Line::Heading(..)))
}

/// Reads a line.
pub(super) fn line<'a>(text: &'a [u8], times: &mut IsoTimes) -> Line<'a> {
    let mut all = all_words(text);
    match all.first() {
        None => Line::Title,
        Some(first) if *first == b"procs" => Line::Title,
        Some(first) if first[0].is_ascii_digit() => {
            let time = time_at_end(&mut all, times);
            Line::Row(all, time)
        }
        Some(_) => heading(&all).unwrap_or(Line::Other),
    }
}

fn heading(words: &[&[u8]]) -> Option<Line<'static>> {
    let mut columns = Columns::of(words.iter().copied());
    ALWAYS.iter().all(|name| columns.has(name)).then_some(())?;
    // The last column of the newest release is `gu`, of older ones `st` or `wa`; whatever is in capitals behind is the zone.
    let zone = words.last().filter(|word| !word.iter().any(u8::is_ascii_lowercase));
    if zone.is_some() {
        columns = Columns::of(words[..words.len() - 1].iter().copied());
    }
    Some(Line::Heading(columns, zone.map(|zone| String::from_utf8_lossy(zone).into_owned())))
}

/// `2026-11-27 15:57:14` at the end of a row, which is taken off.
fn time_at_end(words: &mut Vec<&[u8]>, times: &mut IsoTimes) -> Option<i64> {
    let [.., date, time] = words[..] else { return None };
    let (mut text, length) = ([b' '; TIME_MAX_BYTES], date.len() + 1 + time.len());
    text.get_mut(..date.len())?.copy_from_slice(date);
    text.get_mut(date.len() + 1..length)?.copy_from_slice(time);
    let mut cursor = Cursor(&text[..length]);
    let time_ns = times.read(&mut cursor).filter(|_| cursor.is_done())?;
    words.truncate(words.len() - 2);
    Some(time_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 9  0      0 18250772  45540 4875256    0    0  2002  5845  473  707 67  9 23  0  0 2026-11-27 15:57:14
";

    #[test]
    fn a_table_with_times() {
        assert!(is_vmstat(TABLE.as_bytes()));
        let lines: Vec<Line<'_>> = TABLE.lines().map(|text| line(text.as_bytes(), &mut IsoTimes::default())).collect();
        let Line::Heading(columns, zone) = &lines[1] else { panic!("{lines:?}") };
        assert_eq!((columns.len(), zone.as_deref()), (17, Some("UTC")));
        let Line::Row(values, time) = &lines[2] else { panic!("{lines:?}") };
        assert_eq!((columns.row(values).number("cs"), *time), (Some(707.0), Some(1_795_795_034_000_000_000)));
        for other in ["", "r b\n1 2\n", "time,latency_ms\n1,2\n"] {
            assert!(!is_vmstat(other.as_bytes()), "{other}");
        }
    }
}
