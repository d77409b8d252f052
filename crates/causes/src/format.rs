//! Numbers for people: three digits are enough to decide.

/// A length of time given in ns.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        ns if ns >= 60e9 => (ns / 60e9, "min"),
        ns if ns >= 1e9 => (ns / 1e9, "s"),
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns if ns >= 1e3 => (ns / 1e3, "µs"),
        ns => (ns, "ns"),
    };
    format!("{}{} {unit}", if ns < 0.0 { "-" } else { "" }, number(value))
}

/// An amount of memory given in bytes.
pub fn bytes(bytes: f64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let (value, unit) = match bytes.abs() {
        b if b >= 1024.0 * MIB => (bytes / (1024.0 * MIB), "GB"),
        b if b >= MIB => (bytes / MIB, "MB"),
        b if b >= 1024.0 => (bytes / 1024.0, "KB"),
        _ => (bytes, "B"),
    };
    format!("{} {unit}", number(value))
}

/// A share, 1.0 being 100 %.
pub fn percent(ratio: f64) -> String {
    format!("{} %", number(ratio * 100.0))
}

/// A plain number with about three digits, thousands separated.
pub fn number(value: f64) -> String {
    // Adding zero makes minus zero plain zero.
    let value = value + 0.0;
    let magnitude = value.abs();
    if !value.is_finite() {
        "unknown".to_owned()
    } else if magnitude >= 1000.0 {
        thousands(value)
    } else if magnitude >= 100.0 || magnitude == magnitude.trunc() {
        format!("{value:.0}")
    } else if magnitude >= 1.0 {
        format!("{value:.1}")
    } else {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// "1 stall", "23 stalls".
pub fn count(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", number(count as f64))
}

/// What something was before, where that is known: ` (before: 0.2)`.
pub fn before(value: Option<f64>, text_of: impl Fn(f64) -> String) -> String {
    value.map_or(String::new(), |value| format!(" (before: {})", text_of(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        for (text, expected) in [
            (time(147e6), "147 ms"),
            (time(1.5e9), "1.5 s"),
            (time(90e9), "1.5 min"),
            (time(-2_500.0), "-2.5 µs"),
            (time(0.0), "0 ns"),
            (bytes(5.0 * 1024.0 * 1024.0), "5 MB"),
            (bytes(78_120.0), "76.3 KB"),
            (percent(0.394), "39.4 %"),
            (percent(1.0), "100 %"),
            (number(1_234_567.0), "1,234,567"),
            (number(0.25), "0.25"),
            (number(f64::NAN), "unknown"),
            (count(1, "stall"), "1 stall"),
            (count(23, "stall"), "23 stalls"),
        ] {
            assert_eq!(text, expected);
        }
    }
}
