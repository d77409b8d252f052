//! Times of day and shares for people; other numbers are printed as the causes print them.

pub(crate) use fathom_causes::format::against;
pub use fathom_causes::format::{amount, change};

use fathom_causes::explanation::Cost;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A length of time.
pub fn duration(duration_ns: i64) -> String {
    amount(duration_ns as f64, "ns")
}

/// What a cause costs: `1.2 ms per request`.
pub(crate) fn cost(cost: &Cost) -> String {
    format!("{} per {}", amount(cost.ns, "ns"), cost.per)
}

/// Whole percents of shares that add up to the rounded sum of all: the largest remainders are
/// rounded up, so that what is printed adds up like what was measured.
pub(crate) fn whole_percents(shares: &[f64]) -> Vec<u32> {
    let exact: Vec<f64> = shares.iter().map(|share| share.clamp(0.0, 1.0) * 100.0).collect();
    let mut percents: Vec<u32> = exact.iter().map(|percent| percent.floor() as u32).collect();
    let sum = exact.iter().sum::<f64>().round() as u32;
    let mut by_remainder: Vec<usize> = (0..exact.len()).collect();
    by_remainder.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
    let missing = sum.saturating_sub(percents.iter().sum());
    for index in by_remainder.into_iter().take(missing as usize) {
        percents[index] += 1;
    }
    percents
}

/// A time of day, to the second.
pub fn time_of_day(time_ns: i64, zone: &TimeZone) -> String {
    format_time(time_ns, zone, "%H:%M:%S")
}

/// Date and time of day, to the second.
pub fn date_and_time(time_ns: i64, zone: &TimeZone) -> String {
    format_time(time_ns, zone, "%Y-%m-%d %H:%M:%S")
}

/// From one instant to another, with the date, which is named twice only if it differs.
pub(crate) fn time_range(from_ns: i64, to_ns: i64, zone: &TimeZone) -> String {
    let date = |time_ns| format_time(time_ns, zone, "%Y-%m-%d");
    let to = if date(from_ns) == date(to_ns) { time_of_day(to_ns, zone) } else { date_and_time(to_ns, zone) };
    format!("{}-{to}", date_and_time(from_ns, zone))
}

fn format_time(time_ns: i64, zone: &TimeZone, format: &str) -> String {
    match Timestamp::from_nanosecond(i128::from(time_ns)) {
        Ok(time) => time.to_zoned(zone.clone()).strftime(format).to_string(),
        Err(_) => "unknown time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_percents_add_up() {
        for (shares, expected) in [
            (vec![0.71, 0.29], vec![71, 29]),
            (vec![1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0], vec![34, 33, 33]),
            (vec![0.005, 0.995], vec![1, 99]),
            (vec![0.0, 0.0], vec![0, 0]),
            (vec![], vec![]),
            (vec![f64::NAN, 1.0], vec![0, 100]),
            (vec![-1.0, 7.0], vec![0, 100]),
        ] {
            assert_eq!(whole_percents(&shares), expected, "{shares:?}");
        }
    }

    #[test]
    fn times() {
        let utc = TimeZone::UTC;
        assert_eq!(time_range(0, 50_000_000_000, &utc), "1970-01-01 00:00:00-00:00:50");
        assert_eq!(time_range(0, 86_400_000_000_000, &utc), "1970-01-01 00:00:00-1970-01-02 00:00:00");
        assert_eq!(time_of_day(i64::MIN, &utc), "00:12:43");
        assert_eq!(time_of_day(i64::MAX, &utc), "23:47:16");
    }
}
