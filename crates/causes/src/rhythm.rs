//! What is said of slow stretches that recur by the clock.

use fathom_timeline::{Analysis, Rhythm as Found};

use crate::explanation::Rhythm;
use crate::format;

/// What begins in this part of the period after the full one, or before it, begins with it.
const AT_THE_FULL: f64 = 0.05;

/// Of a recording in which something was slow.
pub(crate) fn of(analysis: &Analysis<'_>) -> Option<Rhythm> {
    let found = Found::of(analysis)?;
    let Found { period_ns, phase_ns, count, chance, .. } = found;
    Some(Rhythm { says: says(&found), period_ns, phase_ns, count: count as u64, chance })
}

fn says(found: &Found) -> String {
    let within = format::time(found.within_ns as f64);
    let often = format!("{} slow stretches", found.count);
    match found.phase_ns {
        Some(phase_ns) => format!(
            "{often} begin {}, give or take {within}: look for what runs then (cron, timers, flushes, other hosts' jobs)",
            when(phase_ns, found.period_ns)
        ),
        None => format!(
            "{often} follow each other every {}, give or take {within}: look for what comes so often (timers, expiry, collections)",
            format::time(found.period_ns as f64)
        ),
    }
}

/// `at each full minute`, `12 s after each full minute`, `at each multiple of 10 s`.
fn when(phase_ns: i64, period_ns: i64) -> String {
    let full = match period_ns / 1_000_000_000 {
        1 => "full second".to_owned(),
        60 => "full minute".to_owned(),
        3600 => "full hour".to_owned(),
        seconds if seconds % 60 == 0 => format!("full {} minutes", seconds / 60),
        seconds => format!("full {seconds} seconds"),
    };
    let phase = phase_ns as f64 / period_ns as f64;
    match phase {
        _ if !(AT_THE_FULL..=1.0 - AT_THE_FULL).contains(&phase) => format!("at each {full}"),
        _ => format!("{} after each {full}", format::time(phase_ns as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    #[test]
    fn people_read_when_it_comes() {
        let found = |period_ns, phase_ns| Found { period_ns, phase_ns, within_ns: 300_000_000, count: 8, chance: 1e-4 };
        for (period_s, phase_ms, expected) in [
            (60, Some(100), "begin at each full minute, give or take 300 ms"),
            (60, Some(59_500), "begin at each full minute"),
            (60, Some(12_000), "begin 12 s after each full minute"),
            (300, Some(0), "begin at each full 5 minutes"),
            (10, Some(0), "begin at each full 10 seconds"),
            (3600, Some(0), "begin at each full hour"),
            (47, None, "follow each other every 47 s, give or take 300 ms"),
        ] {
            let says = says(&found(period_s * SECOND_NS, phase_ms.map(|ms| ms * 1_000_000)));
            assert!(says.contains(expected), "{says}");
        }
    }
}
