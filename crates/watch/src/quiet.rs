//! Times in which nothing is recorded, whatever happens: maintenance, when slowness is expected.

use jiff::Timestamp;
use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use serde::Deserialize;

/// A time of the day, on some days of the week or all.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Window {
    /// Those on which it begins; all without any.
    days: Vec<Weekday>,
    from: Time,
    /// On the next day where it is not after `from`.
    to: Time,
    zone: TimeZone,
}

/// As it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    days: Vec<String>,
    from: String,
    to: String,
    zone: Option<String>,
}

impl TryFrom<Written> for Window {
    type Error = String;

    fn try_from(written: Written) -> Result<Window, String> {
        let zone = match &written.zone {
            None => TimeZone::system(),
            Some(name) => TimeZone::get(name).map_err(|_| format!("no time zone is called {name}"))?,
        };
        let days = written.days.iter().map(|name| day(name)).collect::<Result<_, _>>()?;
        Ok(Window { days, from: time_of_day(&written.from)?, to: time_of_day(&written.to)?, zone })
    }
}

fn time_of_day(text: &str) -> Result<Time, String> {
    Time::strptime("%H:%M", text).map_err(|_| format!("{text:?} is no time of the day: write it like 02:30"))
}

fn day(name: &str) -> Result<Weekday, String> {
    let named = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].iter().position(|other| *other == name);
    let day = named.and_then(|at| Weekday::from_monday_zero_offset(at as i8).ok());
    day.ok_or_else(|| format!("{name:?} is no day: mon, tue, wed, thu, fri, sat or sun"))
}

impl Window {
    /// Whether it is now.
    pub fn holds(&self, now: Timestamp) -> bool {
        let now = self.zone.to_datetime(now);
        let is_meant = |day: Weekday| self.days.is_empty() || self.days.contains(&day);
        let (today, time) = (now.date().weekday(), now.time());
        if self.from < self.to {
            return is_meant(today) && (self.from..self.to).contains(&time);
        }
        (is_meant(today) && time >= self.from) || (is_meant(today.previous()) && time < self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(toml: &str) -> Result<Window, String> {
        toml::from_str(toml).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn windows_hold_on_their_days_and_past_midnight() {
        let utc = "zone = \"UTC\"\n";
        for (text, now, expected) in [
            // 2026-11-23 is a Monday.
            ("from = \"02:00\"\nto = \"04:00\"", "2026-11-23T02:00Z", true),
            ("from = \"02:00\"\nto = \"04:00\"", "2026-11-23T04:00Z", false),
            ("days = [\"sun\"]\nfrom = \"22:00\"\nto = \"01:00\"", "2026-11-22T23:00Z", true),
            ("days = [\"sun\"]\nfrom = \"22:00\"\nto = \"01:00\"", "2026-11-23T00:59Z", true),
            ("days = [\"sun\"]\nfrom = \"22:00\"\nto = \"01:00\"", "2026-11-23T22:30Z", false),
            ("days = [\"mon\"]\nfrom = \"00:00\"\nto = \"00:00\"", "2026-11-23T12:00Z", true),
            ("days = [\"mon\"]\nfrom = \"00:00\"\nto = \"00:00\"", "2026-11-24T00:00Z", false),
        ] {
            let now: Timestamp = now.parse().unwrap();
            assert_eq!(window(&format!("{utc}{text}")).unwrap().holds(now), expected, "{text} {now}");
        }
        let berlin = window("from = \"02:00\"\nto = \"04:00\"\nzone = \"Europe/Berlin\"").unwrap();
        assert!(berlin.holds("2026-11-23T01:30Z".parse().unwrap()));
    }

    #[test]
    fn what_is_no_window_is_reported() {
        for (text, says) in [
            ("from = \"25:00\"\nto = \"04:00\"", "no time of the day"),
            ("from = \"02:00\"\nto = \"04:00\"\ndays = [\"Sunday\"]", "is no day"),
            ("from = \"02:00\"\nto = \"04:00\"\nzone = \"Moon/Sea\"", "no time zone"),
        ] {
            let reported = window(text).unwrap_err();
            assert!(reported.contains(says), "{reported}");
        }
    }
}
