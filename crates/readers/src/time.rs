//! Reads the time of a line: ISO-8601, or as access logs write it.

use crate::cursor::Cursor;

const SECOND_NS: i64 = 1_000_000_000;

/// Bytes of `2026-11-20T06:30:`, which consecutive lines share.
const MINUTE_LENGTH: usize = 17;

/// Reads ISO-8601 times; remembers the minute, as consecutive lines share it.
#[derive(Debug, Default)]
pub(crate) struct IsoTimes {
    minute: [u8; MINUTE_LENGTH],
    minute_ns: i64,
}

impl IsoTimes {
    /// `2026-11-20T06:30:00.123+0000` and variants: a blank for the `T`, a comma for the point, any
    /// number of decimals or none, a zone of `Z`, `+01`, `+0100` or `+01:00`. Without a zone it is UTC.
    pub(crate) fn read(&mut self, cursor: &mut Cursor<'_>) -> Option<i64> {
        let mut rest = *cursor;
        let minute: [u8; MINUTE_LENGTH] = rest.0.get(..MINUTE_LENGTH)?.try_into().ok()?;
        if minute != self.minute || self.minute == [0; MINUTE_LENGTH] {
            self.minute_ns = minute_ns(&minute)?;
            self.minute = minute;
        }
        rest.skip(MINUTE_LENGTH);
        let seconds_at = rest.0;
        let second_ns = rest.fixed(9).filter(|ns| *ns < 61 * SECOND_NS)?;
        (seconds_at.len() - rest.0.len() >= 2).then_some(())?;
        let zone_ns = zone_ns(&mut rest)?;
        *cursor = rest;
        Some(self.minute_ns + second_ns - zone_ns)
    }
}

/// `YYYY-MM-DDThh:mm:` as nanoseconds since the epoch, were it UTC.
fn minute_ns(text: &[u8; MINUTE_LENGTH]) -> Option<i64> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T' | b' ', h0, h1, b':', n0, n1] = text[..16] else {
        return None;
    };
    (text[16] == b':').then_some(())?;
    let two = |a: u8, b: u8| {
        (a.is_ascii_digit() && b.is_ascii_digit()).then(|| i64::from(a - b'0') * 10 + i64::from(b - b'0'))
    };
    let (year, month, day) = (two(y0, y1)? * 100 + two(y2, y3)?, two(m0, m1)?, two(d0, d1)?);
    let (hour, minute) = (two(h0, h1)?, two(n0, n1)?);
    let in_range = (1970..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    (in_range && hour < 24 && minute < 60).then_some(())?;
    Some((days_from_epoch(year, month, day) * 86_400 + hour * 3_600 + minute * 60) * SECOND_NS)
}

/// The beginning of a day in UTC.
pub(crate) fn midnight_ns(year: i64, month: i64, day: i64) -> Option<i64> {
    let in_range = (1970..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    in_range.then(|| days_from_epoch(year, month, day) * 86_400 * SECOND_NS)
}

/// Times that are believed: 1990 to 2190, in ns since the epoch.
pub const TIMES_NS: std::ops::Range<i64> = 631_152_000_000_000_000..6_942_672_000_000_000_000;

const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// The month that three letters name, from 1 on.
pub(crate) fn month(name: &[u8]) -> Option<i64> {
    // Most lines that are asked begin with a digit.
    name.first().filter(|first| first.is_ascii_uppercase())?;
    Some(MONTHS.iter().position(|known| **known == *name)? as i64 + 1)
}

/// The year of an instant in UTC.
pub(crate) fn year(time_ns: i64) -> i64 {
    let first = 1970 + time_ns.div_euclid(366 * 86_400 * SECOND_NS);
    (first..first + 3)
        .take_while(|year| midnight_ns(*year, 1, 1).is_some_and(|ns| ns <= time_ns))
        .last()
        .unwrap_or(first)
}

/// `Fri Nov 27 23:03:37 2026`, as C's `ctime` writes it, in a zone that it does not name.
pub(crate) fn ctime_ns(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut rest = *cursor;
    let mut word = || {
        rest.spaces();
        rest.run(|byte| !matches!(byte, b' ' | b'\t'))
    };
    let [_, month, day, time, year] = std::array::from_fn(|_| word());
    let month = self::month(month)?;
    let number = |text: &[u8]| i64::try_from(Cursor(text).integer()?).ok();
    let [h0, h1, b':', n0, n1, b':', s0, s1] = time else { return None };
    let [hour, minute, second] = [[*h0, *h1], [*n0, *n1], [*s0, *s1]].map(|two| number(&two));
    let (hour, minute, second) = (hour?, minute?, second?);
    (hour < 24 && minute < 60 && second < 61).then_some(())?;
    let midnight_ns = midnight_ns(number(year)?, month, number(day)?)?;
    *cursor = rest;
    Some(midnight_ns + (hour * 3_600 + minute * 60 + second) * SECOND_NS)
}

/// `20/Nov/2026:06:30:00 +0000`, as access logs write it.
pub(crate) fn clf_time_ns(cursor: &mut Cursor<'_>) -> Option<i64> {
    let [d0, d1, b'/', m0, m1, m2, b'/', y0, y1, y2, y3, b':', h0, h1, b':', n0, n1, b':', rest @ ..] = cursor.0 else {
        return None;
    };
    let month = month(&[*m0, *m1, *m2])? as u8;
    let (month0, month1) = (b'0' + month / 10, b'0' + month % 10);
    let minute = [*y0, *y1, *y2, *y3, b'-', month0, month1, b'-', *d0, *d1, b'T', *h0, *h1, b':', *n0, *n1, b':'];
    let mut rest = Cursor(rest);
    let minute_ns = minute_ns(&minute)?;
    let second_ns = rest.fixed(9).filter(|ns| *ns < 61 * SECOND_NS)?;
    rest.spaces();
    let zone_ns = zone_ns(&mut rest)?;
    *cursor = rest;
    Some(minute_ns + second_ns - zone_ns)
}

/// Days since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap
/// day is a year's last.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let march_year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    march_year * 365 + march_year / 4 - march_year / 100 + march_year / 400 + day_of_year - 719_468
}

/// A time that is all there is in a line: ISO 8601, seconds (or ms, µs, ns) since the epoch, or as `date` prints it where months have their English
/// names: `Sat Nov 28 04:06:06 UTC 2026`, `Sat 28 Nov 2026 04:06:06 AM UTC`, `Sat, 28 Nov 2026 04:06:06 +0100`. Whether its zone is known.
pub(crate) fn date_line(text: &[u8]) -> Option<(i64, bool)> {
    let mut cursor = Cursor(text);
    if let Some(ns) = IsoTimes::default().read(&mut cursor).filter(|_| cursor.is_done()) {
        let zone = text.get(MINUTE_LENGTH..).unwrap_or_default();
        return Some((ns, zone.iter().any(|byte| matches!(byte, b'Z' | b'+' | b'-'))));
    }
    let seconds = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let decimals = match seconds {
        9..=10 => 9,
        13 => 6,
        16 => 3,
        19 => 0,
        _ => return date_words(text),
    };
    let mut cursor = Cursor(text);
    let ns = cursor.fixed(decimals).filter(|ns| cursor.is_done() && TIMES_NS.contains(ns))?;
    Some((ns, true))
}

/// What words of a date have said.
#[derive(Default)]
struct Said {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    clock_ns: Option<i64>,
    /// Hours that a half of the day adds, where it is one of twelve.
    half: Option<i64>,
    zone_ns: Option<i64>,
    others: usize,
}

fn date_words(text: &[u8]) -> Option<(i64, bool)> {
    /// Weekday, day, month, year, time, half of the day, zone.
    const WORDS_MAX: usize = 7;
    const NAME_MAX_BYTES: usize = 12;
    let mut said = Said::default();
    let words = text.split(|byte| matches!(byte, b' ' | b'\t' | b',')).filter(|word| !word.is_empty());
    for (nth, word) in words.enumerate() {
        let is_name = word.len() <= NAME_MAX_BYTES && !word.iter().any(u8::is_ascii_digit);
        (nth < WORDS_MAX && (said.take(word) || is_name)).then_some(())?;
        said.others += usize::from(is_name);
    }
    let midnight_ns = midnight_ns(said.year?, said.month?, said.day?)?;
    let clock_ns = match (said.half, said.clock_ns?) {
        (None, ns) => ns,
        (Some(half), ns) => ns % (12 * 3_600 * SECOND_NS) + half,
    };
    // A sentence with a date has more words than weekday, month, zone and half of the day.
    (said.others <= 4).then_some((midnight_ns + clock_ns - said.zone_ns.unwrap_or(0), said.zone_ns.is_some()))
}

impl Said {
    /// Takes what a word says; false if it says nothing new.
    fn take(&mut self, word: &[u8]) -> bool {
        fn set<T>(place: &mut Option<T>, value: T) -> bool {
            place.replace(value).is_none()
        }
        let number = |word: &[u8]| {
            let mut cursor = Cursor(word);
            i64::try_from(cursor.integer()?).ok().filter(|_| cursor.is_done())
        };
        if let Some(month) = month(word.get(..3).unwrap_or_default()).filter(|_| word.len() == 3) {
            return set(&mut self.month, month);
        }
        match word {
            b"AM" | b"am" => set(&mut self.half, 0),
            b"PM" | b"pm" => set(&mut self.half, 12 * 3_600 * SECOND_NS),
            b"UTC" | b"GMT" | b"Z" => set(&mut self.zone_ns, 0),
            [b'+' | b'-', _, _, _, _] => match zone_ns(&mut Cursor(word)) {
                Some(ns) => set(&mut self.zone_ns, ns),
                None => false,
            },
            [_, _, b':', ..] => clock_ns(word).is_some_and(|ns| set(&mut self.clock_ns, ns)),
            [_, _, _, _] => number(word).is_some_and(|year| set(&mut self.year, year)),
            [day @ .., b'.'] => number(day).is_some_and(|day| set(&mut self.day, day)),
            _ => number(word).is_some_and(|day| set(&mut self.day, day)),
        }
    }
}

/// `04:06:06`, perhaps with decimals, in ns since midnight.
fn clock_ns(word: &[u8]) -> Option<i64> {
    let [h0, h1, b':', n0, n1, b':', seconds @ ..] = word else { return None };
    let two = |a: &u8, b: &u8| i64::try_from(Cursor(&[*a, *b]).integer()?).ok();
    let (hour, minute) = (two(h0, h1)?, two(n0, n1)?);
    let mut cursor = Cursor(seconds);
    let second_ns = cursor.fixed(9).filter(|ns| cursor.is_done() && *ns < 61 * SECOND_NS)?;
    (hour < 24 && minute < 60).then_some((hour * 3_600 + minute * 60) * SECOND_NS + second_ns)
}

/// The offset from UTC that stands next, if any.
fn zone_ns(cursor: &mut Cursor<'_>) -> Option<i64> {
    let sign = match cursor.peek() {
        Some(b'Z') => {
            cursor.skip(1);
            return Some(0);
        }
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Some(0),
    };
    cursor.skip(1);
    let digits = |text: &[u8]| Cursor(text).integer().and_then(|value| i64::try_from(value).ok());
    let first = cursor.run(|byte| byte.is_ascii_digit());
    let (hours, minutes) = match first.len() {
        4 => (digits(&first[..2])?, digits(&first[2..])?),
        2 if cursor.eat(b":") => (digits(first)?, digits(cursor.run(|byte| byte.is_ascii_digit()))?),
        2 => (digits(first)?, 0),
        _ => return None,
    };
    (hours <= 18 && minutes < 60).then(|| sign * (hours * 3_600 + minutes * 60) * SECOND_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_times() {
        for (text, expected) in [
            ("1970-01-01T00:00:00.000+0000", Some(0)),
            ("2000-02-29T12:00:01.5Z", Some(951_825_601_500_000_000)),
            ("2026-11-20T07:30:00.123+0100", Some(1_795_156_200_123_000_000)),
            ("2026-11-20T01:00:00.123-05:30", Some(1_795_156_200_123_000_000)),
            ("2026-11-20 06:30:00,123", Some(1_795_156_200_123_000_000)),
            ("2026-11-20T06:30:00+00", Some(1_795_156_200_000_000_000)),
            ("2026-13-20T06:30:00.000+0000", None),
            ("2026-11-20T06:30:0", None),
            ("2026-11-20T06:30:99.000", None),
            ("2026-11-20T06:30:00.000+9900", None),
            ("2026-11-20T06:30:00.000+01:9223372036854775807", None),
            ("1234", None),
        ] {
            assert_eq!(IsoTimes::default().read(&mut Cursor(text.as_bytes())), expected, "{text}");
        }
    }

    #[test]
    fn lines_of_date() {
        const NS: i64 = 1_795_838_991_000_000_000;
        for (text, expected) in [
            ("1795838991", Some((NS, true))),
            ("1795838991.000000001", Some((NS + 1, true))),
            ("1795838991,5", Some((NS + 500_000_000, true))),
            ("1795838991000", Some((NS, true))),
            ("1795838991000000002", Some((NS + 2, true))),
            ("Sat Nov 28 04:09:51 UTC 2026", Some((NS, true))),
            ("Sat 28 Nov 2026 04:09:51 AM UTC", Some((NS, true))),
            ("Sat Nov 28 12:09:51 AM CET 2026", Some((NS - 4 * 3_600 * SECOND_NS, false))),
            ("Sat Nov 28 04:09:51 PM UTC 2026", Some((NS + 12 * 3_600 * SECOND_NS, true))),
            ("Sat, 28 Nov 2026 05:09:51 +0100", Some((NS, true))),
            ("Sa 28. Nov 04:09:51 UTC 2026", Some((NS, true))),
            ("2026-11-28T04:09:51,000000000+00:00", Some((NS, true))),
            ("2026-11-28 04:09:51", Some((NS, false))),
            ("Sat Nov 28 04:09:51 2026", Some((NS, false))),
            ("So 29. Mai 04:09:51 UTC 2026", None),
            ("Sat Nov 28 28 04:09:51 UTC 2026", None),
            ("it was on Sat Nov 28 04:09:51 2026 that", None),
            ("28.11.2026 04:09:51", None),
            ("123456", None),
            ("24684092000000", None),
            ("", None),
        ] {
            assert_eq!(date_line(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_remembered_minute_is_not_mistaken_for_another() {
        let mut times = IsoTimes::default();
        let mut read = |text: &str| times.read(&mut Cursor(text.as_bytes()));
        assert_eq!(read("1970-01-01T00:01:00.000Z"), Some(60_000_000_000));
        assert_eq!(read("1970-01-01T00:01:30.000Z"), Some(90_000_000_000));
        assert_eq!(read("1970-01-01T00:02:00.000Z"), Some(120_000_000_000));
        assert_eq!(read("1970-01-01T00:0x:00.000Z"), None);
    }
}
