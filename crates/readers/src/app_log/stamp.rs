//! The time that a line of a log begins with. Knows no evidence.

use crate::cursor::Cursor;
use crate::time::{self, IsoTimes};

const SECOND_NS: i64 = 1_000_000_000;

const DAY_NS: i64 = 86_400 * SECOND_NS;

/// Bytes of `2026/11/28 03:38:57`.
const SLASHED_LENGTH: usize = 19;

/// What a time is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Clock {
    /// The time of day alone.
    OfDay,
    /// A date without its year: since the beginning of 1970 were it that year.
    OfYear,
    /// Local time of a zone that is not told.
    Local,
    /// Since the epoch.
    Exact,
}

/// When a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) ns: i64,
    pub(super) clock: Clock,
}

impl Stamp {
    pub(super) fn exact(ns: i64) -> Stamp {
        Stamp { ns, clock: Clock::Exact }
    }
}

/// Reads times.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    iso: IsoTimes,
}

impl Stamps {
    /// The time that stands next, of any form but that of `java.util.logging`.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Option<Stamp> {
        match *cursor.0 {
            [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'-', ..] => self.iso(cursor),
            [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'/', ..] => self.slashed(cursor),
            [b'0'..=b'9', b'0'..=b'9', b':', ..] => of_day(cursor),
            [b'0'..=b'9', b'0'..=b'9', b'-' | b' ', b'A'..=b'Z', ..] => day_first(cursor),
            [b'A'..=b'Z', b'a'..=b'z', b'a'..=b'z', b' ', ..] => of_syslog(cursor),
            [b'1'..=b'9', ..] => since_epoch(cursor),
            _ => None,
        }
    }

    fn iso(&mut self, cursor: &mut Cursor<'_>) -> Option<Stamp> {
        let before = cursor.0;
        let ns = self.iso.read(cursor)?;
        let text = &before[..before.len() - cursor.0.len()];
        let has_zone = text[SLASHED_LENGTH.min(text.len())..].iter().any(|byte| matches!(byte, b'Z' | b'+' | b'-'));
        Some(Stamp { ns, clock: if has_zone { Clock::Exact } else { Clock::Local } })
    }

    /// `2026/11/28 03:38:57.123`.
    fn slashed(&mut self, cursor: &mut Cursor<'_>) -> Option<Stamp> {
        let mut text: [u8; SLASHED_LENGTH] = cursor.0.get(..SLASHED_LENGTH)?.try_into().ok()?;
        text.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'-');
        let ns = self.iso.read(&mut Cursor(&text))?;
        cursor.skip(SLASHED_LENGTH);
        Some(Stamp { ns: ns + cursor.fraction(9), clock: Clock::Local })
    }
}

/// `3:38:57.123`.
fn clock_ns(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut upto = |max: u64, end: &[u8]| {
        let value = cursor.integer().filter(|value| *value <= max)?;
        cursor.expect(end)?;
        i64::try_from(value).ok()
    };
    let (hour, minute, second) = (upto(23, b":")?, upto(59, b":")?, upto(60, b"")?);
    Some((hour * 3_600 + minute * 60 + second) * SECOND_NS + cursor.fraction(9))
}

fn of_day(cursor: &mut Cursor<'_>) -> Option<Stamp> {
    let mut rest = *cursor;
    let ns = clock_ns(&mut rest)?;
    *cursor = rest;
    Some(Stamp { ns, clock: Clock::OfDay })
}

/// `28-Nov-2026 03:38:57.123`, `28 Nov 2026 03:38:57,123`.
fn day_first(cursor: &mut Cursor<'_>) -> Option<Stamp> {
    let mut rest = *cursor;
    let day = rest.integer()?;
    rest.skip(1);
    let month = month(&mut rest)?;
    rest.skip(1);
    let year = rest.integer()?;
    rest.expect(b" ")?;
    let midnight_ns = midnight_ns(year, month, day)?;
    let ns = midnight_ns + clock_ns(&mut rest)?;
    *cursor = rest;
    Some(Stamp { ns, clock: Clock::Local })
}

/// `Nov 28 03:38:57`, `Nov  2 03:38:57.123`.
fn of_syslog(cursor: &mut Cursor<'_>) -> Option<Stamp> {
    let mut rest = *cursor;
    let month = month(&mut rest)?;
    rest.spaces();
    let day = rest.integer()?;
    rest.expect(b" ")?;
    // A leap year, so that each day is one.
    let midnight_ns = midnight_ns(LEAP_YEAR, month, day)? - midnight_ns(LEAP_YEAR, 1, 1)?;
    let ns = midnight_ns + clock_ns(&mut rest)?;
    *cursor = rest;
    Some(Stamp { ns, clock: Clock::OfYear })
}

const LEAP_YEAR: u64 = 2_000;

/// `1795823253.123456`, as `journalctl -o short-unix` writes it.
fn since_epoch(cursor: &mut Cursor<'_>) -> Option<Stamp> {
    let mut rest = *cursor;
    let is_decimal = rest.0.get(10) == Some(&b'.');
    let ns = rest.fixed(9).filter(|ns| is_decimal && time::TIMES_NS.contains(ns))?;
    *cursor = rest;
    Some(Stamp::exact(ns))
}

/// `Nov 28, 2026 3:38:57 AM`: what `java.util.logging` writes in English.
pub(super) fn of_jul(cursor: &mut Cursor<'_>) -> Option<Stamp> {
    let mut rest = *cursor;
    let month = month(&mut rest)?;
    rest.expect(b" ")?;
    let day = rest.integer()?;
    rest.expect(b", ")?;
    let year = rest.integer()?;
    rest.expect(b" ")?;
    let clock = clock_ns(&mut rest).filter(|ns| *ns < 13 * 3_600 * SECOND_NS)?;
    rest.expect(b" ")?;
    let half = if rest.eat(b"AM") { 0 } else { rest.expect(b"PM").map(|()| DAY_NS / 2)? };
    *cursor = rest;
    Some(Stamp { ns: midnight_ns(year, month, day)? + clock % (DAY_NS / 2) + half, clock: Clock::Local })
}

fn month(cursor: &mut Cursor<'_>) -> Option<i64> {
    let month = time::month(cursor.0.get(..3)?)?;
    cursor.skip(3);
    Some(month)
}

fn midnight_ns(year: u64, month: i64, day: u64) -> Option<i64> {
    time::midnight_ns(i64::try_from(year).ok()?, month, i64::try_from(day).ok()?)
}

/// The year that a file was written in and times without one: those that would be later are of the year before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Year {
    year: i64,
    last_ns: i64,
}

/// Lines of a log are out of order by less than this.
const ORDER_NS: i64 = 180 * DAY_NS;

/// What is so much later than the line before is of the year before: a log may say nothing for months, but hardly for so long.
const LATE_IN_YEAR_NS: i64 = 360 * DAY_NS;

/// The same of a day, of which a log may say nothing for many hours.
const LATE_IN_DAY_NS: i64 = 23 * 3_600 * SECOND_NS;

impl Year {
    /// Of a log whose first line has the time `first_ns` in its year and that was written until `written_ns`.
    pub(super) fn of(first_ns: i64, written_ns: i64) -> Year {
        let year = time::year(written_ns);
        let is_later = start_ns(year).saturating_add(first_ns) > written_ns.saturating_add(DAY_NS);
        Year { year: if is_later { year - 1 } else { year }, last_ns: first_ns }
    }

    /// Since the epoch.
    pub(super) fn place(&mut self, ns: i64) -> i64 {
        // A line from before New Year that stands behind it leaves the year as it is.
        if ns.saturating_sub(self.last_ns) > LATE_IN_YEAR_NS {
            return in_year(self.year - 1, ns);
        }
        if self.last_ns.saturating_sub(ns) > ORDER_NS {
            self.year += 1;
        }
        self.last_ns = ns;
        in_year(self.year, ns)
    }
}

/// A time of a leap year in another year, since the epoch.
fn in_year(year: i64, ns: i64) -> i64 {
    let is_leap = time::midnight_ns(year, 3, 1).zip(time::midnight_ns(year, 2, 28));
    let is_leap = is_leap.is_some_and(|(march, february)| march - february > DAY_NS);
    let behind_february = ns >= 60 * DAY_NS && !is_leap;
    start_ns(year) + ns - if behind_february { DAY_NS } else { 0 }
}

fn start_ns(year: i64) -> i64 {
    time::midnight_ns(year, 1, 1).unwrap_or(0)
}

/// The day of times that have none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Day {
    midnight_ns: i64,
    last_ns: i64,
}

impl Day {
    /// Of a log that begins with the JVM.
    pub(super) fn since(started_at_ns: i64) -> Day {
        let of_day_ns = started_at_ns.rem_euclid(DAY_NS);
        Day { midnight_ns: started_at_ns - of_day_ns, last_ns: of_day_ns }
    }

    /// Since the epoch.
    pub(super) fn place(&mut self, ns: i64) -> i64 {
        // A line from before midnight that stands behind it leaves the day as it is.
        if ns.saturating_sub(self.last_ns) > LATE_IN_DAY_NS {
            return self.midnight_ns.saturating_sub(DAY_NS).saturating_add(ns);
        }
        if self.last_ns.saturating_sub(ns) > DAY_NS / 2 {
            self.midnight_ns = self.midnight_ns.saturating_add(DAY_NS);
        }
        self.last_ns = ns;
        self.midnight_ns.saturating_add(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_forms() {
        const NS: i64 = 1_795_837_137_123_000_000;
        for (text, ns, clock) in [
            ("2026-11-28T03:38:57.123Z", NS, Clock::Exact),
            ("2026-11-28T04:38:57,123+01:00", NS, Clock::Exact),
            ("2026-11-28 03:38:57,123", NS, Clock::Local),
            ("2026/11/28 03:38:57.123", NS, Clock::Local),
            ("28-Nov-2026 03:38:57.123", NS, Clock::Local),
            ("28 Nov 2026 03:38:57,123", NS, Clock::Local),
            ("1795837137.123000", NS, Clock::Exact),
            ("03:38:57.123", NS % DAY_NS, Clock::OfDay),
            ("Jan  2 00:00:01", DAY_NS + SECOND_NS, Clock::OfYear),
        ] {
            let mut cursor = Cursor(text.as_bytes());
            assert_eq!(Stamps::default().read(&mut cursor), Some(Stamp { ns, clock }), "{text}");
            assert!(cursor.is_done(), "{text}");
        }
        for text in ["", "2026", "28-Nob-2026 03:38:57", "25:00:00", "Nov 31 03:38:57 x", "12", "1795837137"] {
            let read = Stamps::default().read(&mut Cursor(text.as_bytes()));
            assert!(read.is_none_or(|stamp| stamp.clock == Clock::OfYear), "{text} {read:?}");
        }
    }

    #[test]
    fn noon_and_midnight() {
        for (text, hour) in [("12:38:57 AM", 0), ("3:38:57 AM", 3), ("12:38:57 PM", 12), ("3:38:57 PM", 15)] {
            let text = format!("Nov 28, 2026 {text} a.B c");
            let stamp = of_jul(&mut Cursor(text.as_bytes())).unwrap();
            assert_eq!(stamp.ns.rem_euclid(DAY_NS) / (3_600 * SECOND_NS), hour, "{text}");
        }
    }

    #[test]
    fn years_and_days_that_end() {
        let of = |text: &str| Stamps::default().read(&mut Cursor(text.as_bytes())).unwrap().ns;
        let exact = |text: &str| of(text);
        let written_ns = exact("2027-01-02T00:00:00Z");
        let mut year = Year::of(of("Dec 31 23:59:59"), written_ns);
        assert_eq!(year.place(of("Dec 31 23:59:59")), exact("2026-12-31T23:59:59Z"));
        assert_eq!(year.place(of("Jan  1 00:00:00")), exact("2027-01-01T00:00:00Z"));
        assert_eq!(year.place(of("Dec 31 23:59:58")), exact("2026-12-31T23:59:58Z"));
        assert_eq!(year.place(of("Jan  1 00:00:01")), exact("2027-01-01T00:00:01Z"));
        assert_eq!(Year::of(0, written_ns).place(of("Mar  1 00:00:00")), exact("2027-03-01T00:00:00Z"));
        let mut day = Day::since(exact("2026-11-28T23:59:00Z"));
        assert_eq!(day.place(of("23:59:59")), exact("2026-11-28T23:59:59Z"));
        assert_eq!(day.place(of("00:00:01")), exact("2026-11-29T00:00:01Z"));
        assert_eq!(day.place(of("23:59:58")), exact("2026-11-28T23:59:58Z"));
        assert_eq!(day.place(of("00:00:02")), exact("2026-11-29T00:00:02Z"));
    }
}
