//! One request of a line, from the texts of its parts. Knows no evidence.

use crate::cursor::{Cursor, trim};
use crate::time::{IsoTimes, TIMES_NS};

/// Longest request that is believed.
const MAX_DURATION_NS: i64 = 7 * 86_400 * 1_000_000_000;

/// One request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// When it began, in ns since the Unix epoch.
    pub(super) start_ns: i64,
    /// How long it took.
    pub(super) duration_ns: i64,
    /// What kind of request, if the file says.
    pub(super) name: &'a [u8],
    /// The status of the answer, if the file says.
    pub(super) status: Option<u16>,
}

/// What a line of an access log says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arrival<'a> {
    /// The time that stands in the line.
    pub(super) time_ns: i64,
    /// How long before it the request began.
    pub(super) before_ns: i64,
    /// `GET /path?query HTTP/1.1`
    pub(super) asked: &'a [u8],
}

/// A number's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl Unit {
    /// How many decimal digits of nanoseconds the unit has.
    pub(super) fn scale(self) -> u32 {
        match self {
            Unit::Second => 9,
            Unit::Millisecond => 6,
            Unit::Microsecond => 3,
            Unit::Nanosecond => 0,
        }
    }
}

/// Which end of the request the file's time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeIs {
    Start,
    End,
}

/// A duration, in `unit` unless it carries its own: `12`, `0.5`, `1.2e3`, `12ms`.
pub(super) fn duration_ns(text: &[u8], unit: Unit) -> Option<i64> {
    let mut cursor = Cursor(text);
    if let Some(ns) = cursor.fixed(unit.scale()).filter(|_| cursor.is_done()) {
        return Some(ns);
    }
    let own =
        [(&b"ms"[..], Unit::Millisecond), (b"us", Unit::Microsecond), (b"ns", Unit::Nanosecond), (b"s", Unit::Second)];
    for (suffix, unit) in own {
        if let Some(number) = text.strip_suffix(suffix) {
            let mut cursor = Cursor(trim(number));
            return cursor.fixed(unit.scale()).filter(|_| cursor.is_done());
        }
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let ns = value * 10_f64.powi(unit.scale() as i32);
    // The range check also refuses what is not a number.
    (0.0..=MAX_DURATION_NS as f64).contains(&ns).then_some(ns as i64)
}

/// Puts a request together, unless it cannot be true.
pub(super) fn request<'a>(time_ns: i64, time_is: TimeIs, duration_ns: i64, name: &'a [u8]) -> Option<Request<'a>> {
    (0..=MAX_DURATION_NS).contains(&duration_ns).then_some(())?;
    let start_ns = match time_is {
        TimeIs::Start => time_ns,
        TimeIs::End => time_ns.checked_sub(duration_ns)?,
    };
    TIMES_NS.contains(&start_ns).then_some(Request { start_ns, duration_ns, name, status: None })
}

/// A time: ISO-8601, or a number since the epoch whose unit is given or told by its size.
pub(crate) fn time_ns(text: &[u8], unit: Option<Unit>, times: &mut IsoTimes) -> Option<i64> {
    let mut cursor = Cursor(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ns = match (digits, unit) {
        (4, _) if text.get(4) == Some(&b'-') => times.read(&mut cursor)?,
        (_, Some(unit)) => cursor.fixed(unit.scale())?,
        (9..=10, None) => cursor.fixed(9)?,
        (11..=13, None) => cursor.fixed(6)?,
        (14..=16, None) => cursor.fixed(3)?,
        (17..=19, None) => cursor.fixed(0)?,
        _ => return None,
    };
    cursor.is_done().then_some(ns)
}
