//! Numbers for people: three significant digits and the unit that fits.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A number and its unit, apart: two numbers with one unit name it once.
#[derive(Debug, Clone, PartialEq)]
struct Amount {
    number: String,
    unit: &'static str,
}

impl Amount {
    fn text(&self) -> String {
        match self.unit {
            "" => self.number.clone(),
            unit => format!("{} {unit}", self.number),
        }
    }
}

/// Steps from one unit to the next, the smallest first.
type Ladder = [(f64, &'static str)];

const DURATION: &Ladder = &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
/// Time spent per time, such as the waiting of several threads.
const TIME_RATE: &Ladder = &[(1.0, "ns/s"), (1e3, "µs/s"), (1e6, "ms/s"), (1e9, "s/s")];
/// Powers of 1024, as the JVM counts and prints them.
const BYTES: &Ladder = &[(1.0, "bytes"), (1024.0, "KB"), (1_048_576.0, "MB"), (1_073_741_824.0, "GB")];
const BYTE_RATE: &Ladder = &[(1.0, "bytes/s"), (1024.0, "KB/s"), (1_048_576.0, "MB/s"), (1_073_741_824.0, "GB/s")];

/// `value` in one of the units of [`fathom_causes::explanation::Evidence`]; other units are named as they are.
pub fn amount(value: f64, unit: &str) -> String {
    split(value, unit).map_or_else(|| format!("{} {unit}", digits(value)), |amount| amount.text())
}

/// A number before and after; the unit is named once if both share it.
pub fn change(before: f64, after: f64, unit: &str) -> String {
    match (split(before, unit), split(after, unit)) {
        (Some(old), Some(new)) if old.unit == new.unit => format!("{} → {}", old.number, new.text()),
        _ => format!("{} → {}", amount(before, unit), amount(after, unit)),
    }
}

/// A number and what it is compared with: `0.61 cores (baseline 0.17)`.
pub(crate) fn against(value: f64, baseline: f64, unit: &str) -> String {
    let before = match (split(value, unit), split(baseline, unit)) {
        (Some(now), Some(before)) if now.unit == before.unit => before.number,
        _ => amount(baseline, unit),
    };
    format!("{} (baseline {before})", amount(value, unit))
}

fn split(value: f64, unit: &str) -> Option<Amount> {
    if !value.is_finite() {
        return Some(Amount { number: "unknown".to_owned(), unit: "" });
    }
    let amount = match unit {
        "ns" if value.abs() >= 60e9 => Amount { number: minutes(value), unit: "" },
        "ns" => climb(value, DURATION),
        "ns/s" => climb(value, TIME_RATE),
        "bytes" => climb(value, BYTES),
        "bytes/s" => climb(value, BYTE_RATE),
        "count" => Amount { number: digits(value), unit: "" },
        "1/s" => Amount { number: digits(value), unit: "/s" },
        "ratio" => Amount { number: percent(value), unit: "%" },
        "cores" => Amount { number: digits(value), unit: if value == 1.0 { "core" } else { "cores" } },
        "threads" => Amount { number: digits(value), unit: if value == 1.0 { "thread" } else { "threads" } },
        "times" => Amount { number: digits(value), unit: "×" },
        _ => return None,
    };
    Some(amount)
}

/// Goes up the ladder to the last step that leaves at least 1, after rounding.
fn climb(value: f64, ladder: &Ladder) -> Amount {
    let reached = |step: &&(f64, &'static str)| value.abs() / step.0 >= 0.9995;
    let (size, unit) = ladder.iter().rev().find(reached).copied().unwrap_or(ladder[0]);
    Amount { number: digits(value / size), unit }
}

fn minutes(value_ns: f64) -> String {
    let seconds = (value_ns.abs() / 1e9).round();
    let (big, small, names) = match seconds {
        s if s < 3600.0 => ((s / 60.0).floor(), s % 60.0, ("min", "s")),
        s => ((s / 3600.0).floor(), (s % 3600.0 / 60.0).floor(), ("h", "min")),
    };
    let sign = if value_ns < 0.0 { "-" } else { "" };
    match small {
        0.0 => format!("{sign}{} {}", grouped(big), names.0),
        _ => format!("{sign}{} {} {small} {}", grouped(big), names.0, names.1),
    }
}

fn percent(ratio: f64) -> String {
    match ratio.abs() * 100.0 {
        0.0 => "0".to_owned(),
        p if p < 0.1 => "<0.1".to_owned(),
        p if p < 9.95 => trimmed(ratio * 100.0, 1),
        _ => grouped((ratio * 100.0).round()),
    }
}

/// Three significant digits, without zeros that say nothing.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 99.95 || v.fract() == 0.0 => grouped(value.round()),
        v if v >= 9.995 => trimmed(value, 1),
        v if v >= 0.9995 => trimmed(value, 2),
        v if v >= 0.0005 => trimmed(value, 3),
        _ => format!("{value:.1e}"),
    }
}

fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A whole number with thousands separated; very large ones as a power of ten.
fn grouped(value: f64) -> String {
    if value.abs() >= 1e15 {
        return format!("{value:.2e}");
    }
    let plain = format!("{:.0}", value.abs());
    let mut text = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A length of time.
pub fn duration(duration_ns: i64) -> String {
    amount(duration_ns as f64, "ns")
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
    fn amounts() {
        for (value, unit, expected) in [
            (850.0, "ns", "850 ns"),
            (12_345.0, "ns", "12.3 µs"),
            (999_990.0, "ns", "1 ms"),
            (19_800_000.0, "ns", "19.8 ms"),
            (4.2e9, "ns", "4.2 s"),
            (50e9, "ns", "50 s"),
            (200e9, "ns", "3 min 20 s"),
            (120e9, "ns", "2 min"),
            (7_500e9, "ns", "2 h 5 min"),
            (-1.5e6, "ns", "-1.5 ms"),
            (512.0, "bytes", "512 bytes"),
            (5_242_880.0, "bytes", "5 MB"),
            (3.5e9, "bytes/s", "3.26 GB/s"),
            (239_662_752.0, "ns/s", "240 ms/s"),
            (1_204.0, "count", "1,204"),
            (1_234_567.0, "count", "1,234,567"),
            (9.0, "1/s", "9 /s"),
            (0.44, "ratio", "44 %"),
            (0.032, "ratio", "3.2 %"),
            (0.0001, "ratio", "<0.1 %"),
            (12.5, "ratio", "1,250 %"),
            (1.0, "cores", "1 core"),
            (0.444_44, "cores", "0.444 cores"),
            (3.9, "times", "3.9 ×"),
            (0.000_01, "times", "1.0e-5 ×"),
            (7.0, "furlongs", "7 furlongs"),
            (f64::NAN, "ns", "unknown"),
            (f64::INFINITY, "bytes", "unknown"),
            (1e300, "count", "1.00e300"),
        ] {
            assert_eq!(amount(value, unit), expected, "{value} {unit}");
        }
    }

    #[test]
    fn changes_name_a_common_unit_once() {
        for (before, after, unit, expected) in [
            (400_000.0, 19_800_000.0, "ns", "400 µs → 19.8 ms"),
            (1_400_000.0, 19_800_000.0, "ns", "1.4 → 19.8 ms"),
            (0.17, 1.04, "ratio", "17 → 104 %"),
            (0.0, 9.0, "1/s", "0 → 9 /s"),
        ] {
            assert_eq!(change(before, after, unit), expected);
        }
    }

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
