//! Times as users type them: `2026-11-20T10:02:21Z`, `2026-11-20 10:02:21`, `10:02:21`, `+30s`.

use std::str::FromStr;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

/// A point in time, some of them relative to a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TimePoint {
    /// With a zone.
    Instant(Timestamp),
    /// In the local zone.
    Local(DateTime),
    /// In the local zone, on the day of the recording.
    OfDay(Time),
    /// After the beginning of the recording.
    Elapsed(SignedDuration),
}

const HOUR_NS: i64 = 3_600_000_000_000;

/// From one point to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeRange {
    from: TimePoint,
    to: TimePoint,
}

/// A time that makes no sense.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum TimeError {
    #[error("not a time: {0:?} (2026-11-20T10:02:21Z, \"2026-11-20 10:02:21\", 10:02:21, or +30s after the beginning)")]
    NotATime(String),
    #[error("not a range of time: {0:?} (FROM..TO, for example 10:02:21..10:02:51 or +20s..+50s)")]
    NotARange(String),
    #[error("the date is missing (2026-11-20T10:02:21Z or \"2026-11-20 10:02:21\")")]
    NeedsDate,
    #[error("the time is out of the range of 1678 to 2261")]
    OutOfRange,
    #[error("the end of the range is not after its beginning")]
    Backwards,
}

impl FromStr for TimePoint {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let text = text.trim();
        let not_a_time = || TimeError::NotATime(text.to_owned());
        if let Some(elapsed) = text.strip_prefix('+') {
            return elapsed.parse().map(TimePoint::Elapsed).map_err(|_| not_a_time());
        }
        let zoned = || text.parse::<Zoned>().map(|zoned| TimePoint::Instant(zoned.timestamp()));
        let instant = text.parse::<Timestamp>().map(TimePoint::Instant).or_else(|_| zoned());
        let local = instant.or_else(|_| text.parse::<DateTime>().map(TimePoint::Local));
        local.or_else(|_| text.parse::<Time>().map(TimePoint::OfDay)).map_err(|_| not_a_time())
    }
}

/// A point in time that needs no recording.
pub(crate) fn absolute(text: &str) -> Result<TimePoint, TimeError> {
    match text.parse()? {
        TimePoint::OfDay(_) | TimePoint::Elapsed(_) => Err(TimeError::NeedsDate),
        absolute => Ok(absolute),
    }
}

impl FromStr for TimeRange {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let (from, to) = text.split_once("..").ok_or_else(|| TimeError::NotARange(text.to_owned()))?;
        Ok(TimeRange { from: from.parse()?, to: to.parse()? })
    }
}

impl TimePoint {
    /// The instant in ns since the Unix epoch, for a time that needs no recording.
    pub(crate) fn absolute_ns(self, zone: &TimeZone) -> Result<i64, TimeError> {
        match self {
            TimePoint::Instant(instant) => nanoseconds(instant),
            TimePoint::Local(local) => local_ns(local, zone),
            TimePoint::OfDay(_) | TimePoint::Elapsed(_) => Err(TimeError::NeedsDate),
        }
    }

    /// The instant; times of day are the first at or after `not_before_ns`, or else on its day.
    fn resolve_ns(self, start_ns: i64, not_before_ns: i64, end_ns: i64, zone: &TimeZone) -> Result<i64, TimeError> {
        match self {
            TimePoint::Elapsed(after) => {
                let after_ns = i64::try_from(after.as_nanos()).map_err(|_| TimeError::OutOfRange)?;
                start_ns.checked_add(after_ns).ok_or(TimeError::OutOfRange)
            }
            TimePoint::OfDay(time) => time_of_day_ns(time, not_before_ns, end_ns, zone),
            absolute => absolute.absolute_ns(zone),
        }
    }
}

impl TimeRange {
    /// The instants, for a recording of `start_ns..end_ns`.
    pub(crate) fn resolve_ns(self, start_ns: i64, end_ns: i64, zone: &TimeZone) -> Result<(i64, i64), TimeError> {
        let from_ns = self.from.resolve_ns(start_ns, start_ns, end_ns, zone)?;
        // What ends a little after the recording may go over midnight; an end of the next day is a beginning and an end
        // that changed places.
        let to_ns = self.to.resolve_ns(start_ns, from_ns, end_ns.saturating_add(HOUR_NS), zone)?;
        if to_ns <= from_ns { Err(TimeError::Backwards) } else { Ok((from_ns, to_ns)) }
    }
}

/// A time of day on the day of `not_before_ns`, or on the next day if it is past by then and the
/// next one is not after `end_ns`: recordings may go over midnight.
fn time_of_day_ns(time: Time, not_before_ns: i64, end_ns: i64, zone: &TimeZone) -> Result<i64, TimeError> {
    let start = Timestamp::from_nanosecond(i128::from(not_before_ns)).map_err(|_| TimeError::OutOfRange)?;
    let date = start.to_zoned(zone.clone()).date();
    let same_day_ns = local_ns(date.to_datetime(time), zone)?;
    // A time of day without fractions stands for its whole second.
    let second_ns = 1_000_000_000;
    if same_day_ns.saturating_add(second_ns) > not_before_ns {
        return Ok(same_day_ns);
    }
    let tomorrow = date.checked_add(1.day()).map_err(|_| TimeError::OutOfRange)?;
    let next_day_ns = local_ns(tomorrow.to_datetime(time), zone)?;
    Ok(if next_day_ns <= end_ns { next_day_ns } else { same_day_ns })
}

fn local_ns(local: DateTime, zone: &TimeZone) -> Result<i64, TimeError> {
    let instant = zone.to_ambiguous_timestamp(local).compatible().map_err(|_| TimeError::OutOfRange)?;
    nanoseconds(instant)
}

fn nanoseconds(instant: Timestamp) -> Result<i64, TimeError> {
    i64::try_from(instant.as_nanosecond()).map_err(|_| TimeError::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    fn ns(text: &str) -> i64 {
        nanoseconds(text.parse().unwrap()).unwrap()
    }

    /// A recording from 23:59:00 to 00:01:00 in Berlin (UTC+1 in winter).
    fn check(range: &str, expected: Result<(&str, &str), TimeError>) {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let (start, end) = (ns("2026-11-20T22:59:00Z"), ns("2026-11-20T23:01:00Z"));
        let found = range.parse::<TimeRange>().and_then(|range| range.resolve_ns(start, end, &zone));
        assert_eq!(found, expected.map(|(from, to)| (ns(from), ns(to))), "{range}");
    }

    #[test]
    fn ranges() {
        let (from, to) = ("2026-11-20T22:59:10Z", "2026-11-20T23:00:30Z");
        check("2026-11-20T22:59:10Z..2026-11-20T23:00:30Z", Ok((from, to)));
        check("2026-11-20T23:59:10+01:00..2026-11-21 00:00:30", Ok((from, to)));
        check("2026-11-20 23:59:10..2026-11-21T00:00:30", Ok((from, to)));
        check("23:59:10..00:00:30", Ok((from, to)));
        check("+10s..+90s", Ok((from, to)));
        check("+10s..+1m30s", Ok((from, to)));
        check("23:59:10..+1m 30s", Ok((from, to)));
        check("00:00:10..00:00:30", Ok(("2026-11-20T23:00:10Z", to)));
        check("23:59..00:00:30", Ok(("2026-11-20T22:59:00Z", to)));
    }

    #[test]
    fn what_is_no_range() {
        let not_a_time = |text: &str| Err(TimeError::NotATime(text.to_owned()));
        check("10:00", Err(TimeError::NotARange("10:00".to_owned())));
        check("", Err(TimeError::NotARange(String::new())));
        check("..", not_a_time(""));
        check("yesterday..10:00", not_a_time("yesterday"));
        check("+20..+30", not_a_time("+20"));
        check("25:00:00..26:00:00", not_a_time("25:00:00"));
        check("+20s..+10s", Err(TimeError::Backwards));
        check("23:59:50..23:59:10", Err(TimeError::Backwards));
        check("+9000000h..+9000001h", Err(TimeError::OutOfRange));
        check("9999-01-01T00:00:00Z..9999-01-02T00:00:00Z", Err(TimeError::OutOfRange));
    }

    #[test]
    fn the_start_of_a_jvm_needs_a_date() {
        let start = |text: &str| text.parse::<TimePoint>().unwrap().absolute_ns(&TimeZone::UTC);
        assert_eq!(start("1970-01-01 00:00:02"), Ok(2 * SECOND_NS));
        assert_eq!(start("1970-01-01T01:00:02+01:00"), Ok(2 * SECOND_NS));
        assert_eq!(start("10:00:00"), Err(TimeError::NeedsDate));
        assert_eq!(start("+1s"), Err(TimeError::NeedsDate));
    }
}
