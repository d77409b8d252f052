//! Numbers for people: three significant digits and the unit that fits. Sentences, tables and headlines all print them here, so
//! that one measurement reads the same everywhere.

/// A length of time given in ns.
pub fn time(ns: f64) -> String {
    amount(ns, "ns")
}

/// An amount of memory given in bytes.
pub fn bytes(bytes: f64) -> String {
    amount(bytes, "bytes")
}

/// A share, 1.0 being 100 %.
pub fn percent(ratio: f64) -> String {
    amount(ratio, "ratio")
}

/// A plain number, thousands separated.
pub fn number(value: f64) -> String {
    amount(value, "count")
}

/// "1 stall", "23 stalls".
pub fn count(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", number(count as f64))
}

/// What something is in the baseline, where that is known: ` (baseline 0.2)`.
pub fn baseline(value: Option<f64>, text_of: impl Fn(f64) -> String) -> String {
    value.map_or(String::new(), |value| format!(" (baseline {})", text_of(value)))
}

/// The same in a sentence, of a length of time in ns: ` instead of 2 ms`.
pub fn instead_of(before_ns: Option<f64>) -> String {
    before_ns.map_or(String::new(), |ns| format!(" instead of {}", time(ns)))
}

/// That something takes no longer than `before`, in ns.
pub fn no_longer(now_ns: f64, before_ns: f64) -> String {
    /// What varies by itself.
    const SHORTER_FROM: f64 = 0.7;
    let how = if now_ns < SHORTER_FROM * before_ns { "less than in the baseline" } else { "as in the baseline" };
    format!("{how} ({})", time(before_ns))
}

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

/// `value` in one of the units of [`crate::explanation::Evidence`]; other units are named as they are.
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
pub fn against(value: f64, baseline: f64, unit: &str) -> String {
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
        "ratio" => Amount { number: percents(value), unit: "%" },
        "cores" => of_few(value, ("core", "cores")),
        "threads" => of_few(value, ("thread", "threads")),
        "times" => Amount { number: few(value), unit: "×" },
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

fn percents(ratio: f64) -> String {
    match ratio.abs() * 100.0 {
        0.0 => "0".to_owned(),
        p if p < 0.1 => "<0.1".to_owned(),
        p if p < 9.95 => trimmed(ratio * 100.0, 1),
        _ => grouped((ratio * 100.0).round()),
    }
}

/// One of them is what is printed as one.
fn of_few(value: f64, (one, many): (&'static str, &'static str)) -> Amount {
    let number = few(value);
    Amount { unit: if number == "1" { one } else { many }, number }
}

/// Nearly zero needs no digits.
fn few(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.0005 { "<0.001".to_owned() } else { digits(value) }
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
            (0.000_01, "times", "<0.001 ×"),
            (0.000_16, "threads", "<0.001 threads"),
            (0.999_8, "threads", "1 thread"),
            (1.01, "cores", "1.01 cores"),
            (0.000_28, "1/s", "2.8e-4 /s"),
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
    fn counts_name_what_is_counted() {
        assert_eq!((count(1, "stall"), count(23, "stall")), ("1 stall".to_owned(), "23 stalls".to_owned()));
    }
}
