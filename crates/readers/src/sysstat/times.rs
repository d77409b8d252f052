//! Dates and times as sysstat prints them. Knows no evidence.

use crate::cursor::Cursor;
use crate::time::{IsoTimes, midnight_ns};

const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// A row this much before the one before it is of the next day, in ns.
const BACK_NS: i64 = DAY_NS / 2;

/// Follows the time from row to row.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The midnight that times of day count from.
    midnight_ns: Option<i64>,
    last_ns: Option<i64>,
    /// The same of a date that may be two, read as month and day: that it is where times have AM or PM.
    month_first_ns: Option<i64>,
    /// Whether such a date is taken for month and day anyway.
    pub(super) takes_month_first: bool,
    /// Whether a time without a zone was read.
    pub(super) is_local: bool,
}

impl Clock {
    /// Takes the date of a first line; false if it may be two dates.
    pub(super) fn date(&mut self, text: &[u8]) -> bool {
        self.month_first_ns = date(text, true);
        self.midnight_ns = date(text, self.takes_month_first);
        self.last_ns = None;
        self.midnight_ns.is_some()
    }

    /// `15:57:15`, or `03:57:15 PM`, or seconds since the epoch.
    pub(super) fn of_row(&mut self, word: &[u8], next: Option<&[u8]>) -> Option<i64> {
        if word.len() >= 9 && word.iter().all(u8::is_ascii_digit) {
            return Cursor(word).integer().and_then(|s| i64::try_from(s).ok()?.checked_mul(1_000_000_000));
        }
        let of_day_ns = of_day(word, next)?;
        self.is_local = true;
        if is_half(next) {
            self.midnight_ns = self.midnight_ns.or(self.month_first_ns);
        }
        let mut time_ns = self.midnight_ns?.checked_add(of_day_ns)?;
        if self.last_ns.is_some_and(|last_ns| last_ns - time_ns > BACK_NS) {
            self.midnight_ns = self.midnight_ns.and_then(|midnight| midnight.checked_add(DAY_NS));
            time_ns = time_ns.checked_add(DAY_NS)?;
        }
        self.last_ns = Some(time_ns);
        Some(time_ns)
    }

    /// A line that is nothing but date and time, as iostat has it.
    pub(super) fn alone(&mut self, words: &[&[u8]]) -> Option<i64> {
        if let [whole] = words {
            let mut cursor = Cursor(whole);
            return IsoTimes::default().read(&mut cursor).filter(|_| cursor.is_done());
        }
        let [day, time, rest @ ..] = words else { return None };
        (rest.len() <= 1).then_some(())?;
        let half = rest.first().copied();
        let time_ns = date(day, self.takes_month_first || is_half(half))?.checked_add(of_day(time, half)?)?;
        self.is_local = true;
        Some(time_ns)
    }
}

/// Whether a word is a time of day.
pub(super) fn of_day(word: &[u8], next: Option<&[u8]>) -> Option<i64> {
    let mut cursor = Cursor(word);
    let (hour, _) = (cursor.integer()?, cursor.expect(b":")?);
    let (minute, _) = (cursor.integer()?, cursor.expect(b":")?);
    let second = cursor.integer()?;
    (cursor.is_done() && hour < 24 && minute < 60 && second < 61).then_some(())?;
    let hour = match next {
        Some(b"PM") if hour < 12 => hour + 12,
        Some(b"AM") if hour == 12 => 0,
        _ => hour,
    };
    i64::try_from((hour * 3_600 + minute * 60 + second) * 1_000_000_000).ok()
}

/// Whether a word is the half of a day.
fn is_half(word: Option<&[u8]>) -> bool {
    matches!(word, Some(b"AM" | b"PM"))
}

/// A date; none of `05/06/26`, which is two, unless the month comes first. Years of two digits are of this century.
pub(super) fn date(text: &[u8], is_month_first: bool) -> Option<i64> {
    let parts: Vec<&[u8]> = text.split(|byte| matches!(byte, b'-' | b'/' | b'.')).collect();
    let [first, second, third] = parts[..] else { return None };
    let number = |part: &[u8]| {
        let mut cursor = Cursor(part);
        cursor.integer().filter(|_| cursor.is_done()).and_then(|value| i64::try_from(value).ok())
    };
    let (a, b, c) = (number(first)?, number(second)?, number(third)?);
    let (year, month, day) = match (first.len(), a, b) {
        (4, ..) => (a, b, c),
        (_, 13.., 1..=12) => (c, b, a),
        (_, 1..=12, 13..) => (c, a, b),
        _ if a == b || is_month_first => (c, a, b),
        _ => return None,
    };
    midnight_ns(if year < 100 { year + 2_000 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 1_795_737_600_000_000_000;

    #[test]
    fn dates_of_several_places() {
        for (text, expected) in [
            ("2026-11-27", Some(DAY)),
            ("11/27/26", Some(DAY)),
            ("11/27/2026", Some(DAY)),
            ("27.11.2026", Some(DAY)),
            ("05/06/26", None),
            ("2026-13-27", None),
            ("x", None),
        ] {
            assert_eq!(date(text.as_bytes(), false), expected, "{text}");
        }
    }

    #[test]
    fn a_date_that_may_be_two_is_one_where_days_have_halves() {
        let mut clock = Clock::default();
        assert!(!clock.date(b"05/06/2026"));
        assert_eq!(clock.of_row(b"11:59:59", None), None);
        let sixth_of_may = midnight_ns(2026, 5, 6).unwrap();
        assert_eq!(clock.of_row(b"01:00:00", Some(b"AM")), Some(sixth_of_may + 3_600_000_000_000));
        let alone = Clock::default().alone(&[b"05/06/2026", b"01:00:00", b"AM"]);
        assert_eq!(alone, Some(sixth_of_may + 3_600_000_000_000));
        assert_eq!(Clock::default().alone(&[b"05/06/2026", b"01:00:00"]), None);
    }

    #[test]
    fn a_day_ends() {
        let mut clock = Clock::default();
        assert!(clock.date(b"2026-11-27"));
        let seconds = |time: Option<i64>| time.map(|ns| (ns - DAY) / 1_000_000_000);
        assert_eq!(seconds(clock.of_row(b"11:59:59", Some(b"PM"))), Some(86_399));
        assert_eq!(seconds(clock.of_row(b"12:00:00", Some(b"AM"))), Some(86_400));
        assert_eq!(seconds(clock.of_row(b"1795737601", None)), Some(1));
        assert_eq!(clock.of_row(b"all", None), None);
        assert_eq!(clock.alone(&[b"2026-11-27T15:57:14+0000"]), Some(DAY + 57_434_000_000_000));
    }
}
